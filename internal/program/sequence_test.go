package program_test

import (
	"bytes"
	"encoding/binary"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/wirespeed/wirespeed/internal/packet"
	"github.com/wirespeed/wirespeed/internal/program"
	"github.com/wirespeed/wirespeed/stream"
)

// The streams of a replay.
const (
	signed = iota
	unsigned
)

// sequence makes frames of the given sizes with FCS, some of them signed, due as given.
func sequence(t testing.TB, form packet.Form, sizes []int, sign []bool, due []uint64) *program.Program {
	t.Helper()
	s := &program.Sequence{Rounds: 1}
	for i, size := range sizes {
		p := compile(t, of("frames", udp4(t), size))
		f := next(t, p.Bind(program.Binding{Queues: 1}), 0)
		b := f.Buf[:f.Len]
		b[5] = byte(i) // each is another
		e := program.SequenceFrame{At: len(s.Bytes), Due: due[i], Len: uint16(f.Len), Stream: unsigned}
		if sign[i] {
			l, _ := packet.Walk(b)
			clear(b[l.Payload:][:form.Len()])
			binary.BigEndian.PutUint16(b[l.Payload:], packet.MagicFull)
			if form == packet.FormShort {
				binary.BigEndian.PutUint16(b[l.Payload:], packet.MagicShort)
			}
			b[l.L4+6], b[l.L4+7] = 0, 0
			base := packet.Fold(packet.Sum(packet.PseudoSum(b[l.L3+12:l.L3+20], 17, l.End-l.L4), b[l.L4:l.End]))
			e.Stream, e.Sig, e.Sum, e.Base, e.ZeroIsNone = signed, uint16(l.Payload), uint16(l.L4+6), base, true
		}
		s.Bytes = append(append(s.Bytes, b...), make([]byte, -len(b)&7)...)
		s.Frames = append(s.Frames, e)
	}
	s.Period = due[len(due)-1] + 1000
	lens := []int{slices.Min(sizes) - 4, slices.Max(sizes) - 4}
	return &program.Program{Sequence: s, Streams: []program.Stream{
		{Name: "signed", Set: &stream.Stream{}, Form: form, Lens: lens, HasTime: form == packet.FormFull},
		{Name: "unsigned", Set: &stream.Stream{}, Lens: lens},
	}}
}

func drawSequence(t *rapid.T, tb testing.TB) *program.Program {
	n := rapid.IntRange(1, 20).Draw(t, "frames")
	sizes, sign, due := make([]int, n), make([]bool, n), make([]uint64, n)
	for i := range n {
		sizes[i], sign[i] = rapid.IntRange(64, 90).Draw(t, "size"), rapid.Bool().Draw(t, "sign")
		if i > 0 {
			due[i] = due[i-1] + rapid.Uint64Max(100).Draw(t, "gap")
		}
	}
	p := sequence(tb, rapid.SampledFrom([]packet.Form{packet.FormFull, packet.FormShort}).Draw(t, "form"), sizes, sign, due)
	p.Sequence.Rounds = rapid.Uint64Range(1, 12).Draw(t, "rounds")
	return p
}

// pieces is a source that hands over a sequence in pieces, some of them late, each in the same memory.
type pieces struct {
	of    *program.Sequence
	cut   func(left int) int // frames of the next piece; 0: later
	final bool               // the last is known to be the last
	at    int
	piece program.Sequence
}

func (s *pieces) Next() (*program.Sequence, program.SourceState) {
	left := len(s.of.Frames) - s.at
	if left == 0 {
		return nil, program.SourceEnd
	}
	n := s.cut(left)
	for i := range s.piece.Bytes {
		s.piece.Bytes[i] = 0xee // nobody may look at what was before
	}
	if n == 0 {
		return nil, program.SourceLater
	}
	s.piece = program.Sequence{Bytes: slices.Clone(s.of.Bytes), Frames: slices.Clone(s.of.Frames[s.at : s.at+n]), Rounds: 1, Final: s.final && n == left}
	s.at += n
	return &s.piece, program.SourceReady
}

func (s *pieces) Err() error { return nil }

// played checks one frame against the sequence's and says what its signature is.
func checkPlayed(t *rapid.T, p *program.Program, b program.Binding, f program.Frame, e program.SequenceFrame, from []byte, seq, stamp uint64, last bool) {
	want := bytes.Clone(from[e.At:][:e.Len])
	if e.Sig != 0 {
		sig := signature(p, b, int(e.Stream), seq, stamp, last)
		if sig.Form == packet.FormShort {
			sig.Flags = 0
		}
		sig.Put(want[e.Sig:])
		// The checksum is held against a walk over the whole.
		copy(want[e.Sum:e.Sum+2], f.Buf[e.Sum:])
	}
	got := f.Buf[:f.Len]
	if f.Stream != int(e.Stream) || !bytes.Equal(got, want) {
		t.Fatalf("stream %d, want %d:\n%x\n%x", f.Stream, e.Stream, got, want)
	}
	l, _ := packet.Walk(got)
	if !packet.VerifyL4(got, &l) || binary.BigEndian.Uint16(got[l.L4+6:]) == 0 && e.Sig != 0 {
		t.Fatalf("a wrong checksum: %x", got)
	}
}

func fillAll(t *rapid.T, im *program.Image, stamp uint64, most int) (all []program.Frame) {
	for len(all) < most {
		frames := make([]program.Frame, min(most-len(all), rapid.IntRange(1, 9).Draw(t, "batch")))
		for i := range frames {
			frames[i].Buf = dirty()
		}
		state := im.Ready()
		n := im.Fill(frames, stamp)
		all = append(all, frames[:n]...)
		switch {
		case n > 0 && state == program.SourceEnd:
			t.Fatalf("%d frames behind the end", n)
		case state == program.SourceEnd:
			return all
		case n == 0 && state == program.SourceReady:
			t.Fatal("ready, and no frame comes")
		}
	}
	return all
}

// Every frame of the port goes to queue i mod N, round for round, whole, and signed right.
func TestSequenceIsPlayed(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		p := drawSequence(rt, t)
		n, queues := len(p.Sequence.Frames), rapid.IntRange(1, 5).Draw(rt, "queues")
		b := program.Binding{Run: rapid.Byte().Draw(rt, "run"), IDBase: rapid.Uint16Max(200).Draw(rt, "base"), Queues: queues, Queue: rapid.IntRange(0, queues-1).Draw(rt, "queue"),
			TimeKind: rapid.SampledFrom([]byte{packet.TimeNone, packet.TimeFrame}).Draw(rt, "kind")}
		total := rapid.Uint64Range(1, p.Total()).Draw(rt, "total")
		for _, k := range p.Shares(total, b.Queue, queues) {
			b.LastSeq = append(b.LastSeq, k-1)
		}
		if err := p.CheckBinding(b); err != nil {
			rt.Fatal(err)
		}
		im, stamp := p.Bind(b), rapid.Uint64().Draw(rt, "stamp")
		mine := 0
		for i := b.Queue; uint64(i) < total; i += queues {
			mine++
		}
		before := bytes.Clone(p.Sequence.Bytes)
		var seq [2]uint64
		for j, f := range fillAll(rt, im, stamp, mine) {
			e := p.Sequence.Frames[(b.Queue+j*queues)%n]
			checkPlayed(rt, p, b, f, e, before, seq[e.Stream], stamp, seq[e.Stream] == b.LastSeq[e.Stream])
			seq[e.Stream]++
		}
		for s := range seq {
			if seq[s] != b.LastSeq[s]+1 || im.Seq(s) != seq[s] {
				rt.Fatalf("stream %d: %d frames of %d", s, seq[s], b.LastSeq[s]+1)
			}
		}
		if !bytes.Equal(before, p.Sequence.Bytes) {
			rt.Fatal("the sequence has changed")
		}
	})
}

// A sequence is at its end behind its last round.
func TestSequenceEnds(t *testing.T) {
	p := sequence(t, packet.FormFull, []int{64, 80, 90}, []bool{true, false, true}, []uint64{0, 10, 20})
	p.Sequence.Rounds = 3
	for q, want := range []int{5, 4} {
		im := p.Bind(program.Binding{Queues: 2, Queue: q})
		frames := make([]program.Frame, 20)
		for i := range frames {
			frames[i].Buf = dirty()
		}
		if n := im.Fill(frames, 0); n != want || im.Ready() != program.SourceEnd {
			t.Errorf("queue %d: %d of %d frames", q, n, want)
		}
	}
}

// Pieces of a source are one sequence, and what is known of its end carries the last flag.
func TestSourceIsPlayed(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		p := drawSequence(rt, t)
		all := p.Sequence
		src := &pieces{of: all, final: rapid.Bool().Draw(rt, "final"), cut: func(left int) int { return rapid.IntRange(0, left).Draw(rt, "cut") }}
		p.Sequence, p.Source = nil, src
		b := program.Binding{Queues: 1, TimeKind: packet.TimeFrame, Total: rapid.Uint64Max(uint64(len(all.Frames))).Draw(rt, "total")}
		if err := p.CheckBinding(b); err != nil {
			rt.Fatal(err)
		}
		im, most := p.Bind(b), len(all.Frames)
		if b.Total > 0 {
			most = int(b.Total)
		}
		got := fillAll(rt, im, 77, most)
		if len(got) != most {
			rt.Fatalf("%d of %d frames", len(got), most)
		}
		lastSigned := -1
		for i, e := range all.Frames[:most] {
			if e.Sig != 0 {
				lastSigned = i
			}
		}
		var seq [2]uint64
		for i, f := range got {
			e := all.Frames[i]
			last := e.Sig != 0 && p.Streams[signed].Form == packet.FormFull && f.Buf[e.Sig+packet.SigFlags]&packet.FlagLast != 0
			if last && i != lastSigned {
				rt.Fatalf("frame %d of %d has the last flag, %d is the last", i, most, lastSigned)
			}
			checkPlayed(rt, p, b, f, e, all.Bytes, seq[e.Stream], 77, last)
			seq[e.Stream]++
		}
	})
}

// Where all is one piece, the end is known.
func TestSourceLastFlag(t *testing.T) {
	for _, total := range []uint64{0, 2} {
		p := sequence(t, packet.FormFull, []int{64, 80, 90}, []bool{true, true, false}, []uint64{0, 10, 20})
		p.Source = &pieces{of: p.Sequence, final: true, cut: func(left int) int { return left }}
		p.Sequence = nil
		im := p.Bind(program.Binding{Queues: 1, Total: total})
		for i := range 2 {
			f := next(t, im, 0)
			if s, ok := packet.ParseSignature(f.Buf[42:]); !ok || (s.Flags&packet.FlagLast != 0) != (i == 1) {
				t.Errorf("total %d, frame %d: %+v", total, i, s)
			}
		}
		if im.FillLast(&program.Frame{Buf: dirty()}, signed, 0) {
			t.Error("the last flag twice")
		}
	}
}

func TestFillLastOfASequence(t *testing.T) {
	p := sequence(t, packet.FormFull, []int{64, 80, 90}, []bool{true, false, true}, []uint64{0, 10, 20})
	p.Sequence.Rounds = 0
	im := p.Bind(program.Binding{Queues: 1})
	next(t, im, 0)
	f := program.Frame{Buf: dirty()}
	if !im.FillLast(&f, signed, 0) || f.Len != 86 {
		t.Fatalf("%d bytes", f.Len)
	}
	if s, _ := packet.ParseSignature(f.Buf[42:]); s.Flags&packet.FlagLast == 0 || s.Seq != 1 {
		t.Errorf("%+v", s)
	}
	if im.FillLast(&f, unsigned, 0) {
		t.Error("a frame without a signature has no flag")
	}
}

func TestDue(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		p := drawSequence(rt, t)
		s, queues := p.Sequence, rapid.IntRange(1, 3).Draw(rt, "queues")
		im := p.Bind(program.Binding{Queues: queues, Queue: queues - 1})
		var want []uint64
		for i := queues - 1; uint64(i) < p.Total(); i += queues {
			want = append(want, uint64(i/len(s.Frames))*s.Period+s.Frames[i%len(s.Frames)].Due)
		}
		by := rapid.Uint64Max(s.Period*s.Rounds).Draw(rt, "by")
		early := 0
		for early < len(want) && want[early] < by {
			early++
		}
		if n := s.FramesIn(0); n != 0 {
			rt.Fatalf("%d frames in no time", n)
		}
		if queues == 1 && by > 0 && s.FramesIn(1<<62) != p.Total() {
			rt.Fatalf("%d of %d frames in all times", s.FramesIn(1<<62), p.Total())
		}
		if queues == 1 && s.FramesIn(1) > uint64(early) && by > 0 {
			rt.Fatalf("%d frames at once, %d by %d", s.FramesIn(1), early, by)
		}
		if by > 0 {
			if n := im.DueBy(by-1, 1000); n != early {
				rt.Fatalf("%d due before %d, want %d", n, by, early)
			}
		}
		most := rapid.IntRange(0, len(want)).Draw(rt, "most")
		if n := im.SkipDue(by, uint64(most)); n != uint64(min(most, early)) {
			rt.Fatalf("%d skipped, want %d and %d at most", n, early, most)
		}
		for _, due := range want[min(most, early):] {
			if im.Ready() != program.SourceReady || im.Due() != due {
				rt.Fatalf("due %d, want %d", im.Due(), due)
			}
			next(t, im, 0)
		}
		if im.Ready() != program.SourceEnd {
			rt.Fatal("no end")
		}
	})
}

// Rounds that take less time than leaving out their frames one by one, or none, end nevertheless.
func TestSkipDueOfShortRounds(t *testing.T) {
	p := sequence(t, packet.FormFull, []int{64, 80, 90}, []bool{true, false, true}, []uint64{0, 1, 1})
	p.Sequence.Rounds, p.Sequence.Period = 0, 2
	for queue := range 2 {
		im := p.Bind(program.Binding{Queues: 2, Queue: queue})
		const late = 1 << 50 // ns
		if n := im.SkipDue(late, math.MaxUint64); n < late/2*3/2-2 || n > late/2*3/2+2 || im.Due() < late || im.Due() > late+4 {
			t.Errorf("queue %d: %d frames skipped, the next is due at %d", queue, n, im.Due())
		}
		if n := im.SkipDue(late*2, 1000); n != 1000 {
			t.Errorf("queue %d: %d frames skipped", queue, n)
		}
	}
	p.Sequence.Period = 0
	im := p.Bind(program.Binding{Queues: 1})
	if n := im.SkipDue(100, math.MaxUint64); n != 3 {
		t.Errorf("%d frames of rounds without time skipped", n)
	}
}

func TestCheckSequence(t *testing.T) {
	good := func() *program.Program {
		return sequence(t, packet.FormFull, []int{64, 80}, []bool{true, false}, []uint64{0, 10})
	}
	for name, c := range map[string]struct {
		change func(*program.Program)
		queues int
	}{
		"no frames":   {func(p *program.Program) { p.Sequence.Frames = nil }, 1},
		"out of it":   {func(p *program.Program) { p.Sequence.Frames[1].At = len(p.Sequence.Bytes) - 3 }, 1},
		"empty":       {func(p *program.Program) { p.Sequence.Frames[1].Len = 0 }, 1},
		"no stream":   {func(p *program.Program) { p.Sequence.Frames[1].Stream = 2 }, 1},
		"no room":     {func(p *program.Program) { p.Sequence.Frames[0].Sig = 50 }, 1},
		"source":      {func(p *program.Program) { p.Source, p.Sequence = &pieces{}, nil }, 2},
		"as it is":    {func(*program.Program) {}, 2},
		"one of them": {func(p *program.Program) { p.Source, p.Sequence = &pieces{}, nil }, 1},
	} {
		p := good()
		c.change(p)
		err := p.CheckBinding(program.Binding{Queues: c.queues})
		if ok := name == "as it is" || name == "one of them"; (err == nil) != ok {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestMeanSizeOfASequence(t *testing.T) {
	p := sequence(t, packet.FormFull, []int{64, 80, 90}, []bool{true, false, true}, []uint64{0, 10, 20})
	if n, d := p.MeanSize(); n != 78 || d != 1 {
		t.Errorf("%d/%d", n, d)
	}
}

func TestPlayingDoesNotAllocate(t *testing.T) {
	p := sequence(t, packet.FormFull, []int{64, 80, 90}, []bool{true, false, true}, []uint64{0, 10, 20})
	p.Sequence.Rounds = 0
	im := p.Bind(program.Binding{Queues: 1, TimeKind: packet.TimeFrame})
	frames := make([]program.Frame, 64)
	for i := range frames {
		frames[i].Buf = make([]byte, 128)
	}
	n := testing.AllocsPerRun(100, func() {
		im.Fill(frames, 1)
		im.Ready()
		im.DueBy(im.Due()+100, 10)
		im.SkipDue(im.Due(), 10)
		im.FillLast(&frames[0], signed, 1)
	})
	if n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// BenchmarkPlay is the cost of one frame of a replay: copied, or copied and signed.
func BenchmarkPlay(b *testing.B) {
	for name, sign := range map[string]bool{"copied": false, "signed": true} {
		b.Run(name, func(b *testing.B) {
			p := sequence(b, packet.FormFull, []int{64, 64, 64, 64}, []bool{sign, sign, sign, sign}, []uint64{0, 10, 20, 30})
			p.Sequence.Rounds = 0
			im := p.Bind(program.Binding{Queues: 1, TimeKind: packet.TimeFrame})
			frames := make([]program.Frame, 64)
			for i := range frames {
				frames[i].Buf = make([]byte, 128)
			}
			for i := 0; i < b.N; i += len(frames) {
				im.Fill(frames, uint64(i))
			}
		})
	}
}
