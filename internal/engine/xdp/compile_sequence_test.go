package xdp

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"

	"github.com/wirespeed/wirespeed/internal/lab/need"
	"github.com/wirespeed/wirespeed/internal/packet"
	"github.com/wirespeed/wirespeed/internal/program"
)

// replayOf is a program that replays frames of the given lengths without FCS: random bytes behind an Ethernet header.
func replayOf(seed uint64, lens ...int) *program.Program {
	r := rand.New(rand.NewPCG(seed, 1))
	s := &program.Sequence{Rounds: 1}
	for i, n := range lens {
		s.Frames = append(s.Frames, program.SequenceFrame{At: len(s.Bytes), Len: uint16(n), Due: uint64(i) * 1000})
		frame := make([]byte, (n+7)&^7)
		for j := range frame[:n] {
			frame[j] = byte(r.Uint32())
		}
		frame[0], frame[12], frame[13] = 2, 0x88, 0xb5 // an experimental EtherType: no receiver looks further
		s.Bytes = append(s.Bytes, frame...)
	}
	s.Period = uint64(len(lens)) * 1000
	return &program.Program{Sequence: s, Streams: []program.Stream{{Name: "replay", Lens: []int{60}}}}
}

// signSome gives frames of a replay a signature where they have room, and a checksum that covers it.
func signSome(p *program.Program, form packet.Form, every int) {
	s := p.Sequence
	p.Streams = []program.Stream{{Name: "signed", Form: form, HasTime: form == packet.FormFull, Lens: []int{60}}, {Name: "short of room", Lens: []int{60}}}
	for i := range s.Frames {
		f := &s.Frames[i]
		f.Stream = 1
		if i%every != 0 || f.Len < 60 {
			continue
		}
		f.Stream, f.Sig, f.Sum, f.ZeroIsNone = 0, 42, 40, i%2 == 0
		b := s.Bytes[f.At:][:f.Len]
		clear(b[f.Sig:][:form.Len()])
		magic := uint16(packet.MagicFull)
		if form == packet.FormShort {
			magic = packet.MagicShort
		}
		binary.BigEndian.PutUint16(b[f.Sig:], magic)
		clear(b[f.Sum:][:2])
		f.Base = packet.Fold(packet.Sum(0, b[34:]))
		if i%5 == 0 {
			f.Sum, f.Base = 0, 0
		}
	}
}

// drawReplay draws a replay and the queue that sends it.
func drawReplay(t *rapid.T) (*program.Program, program.Binding) {
	most := rapid.SampledFrom([]int{60, 128, 600, 1514, maxLive}).Draw(t, "most")
	lens := rapid.SliceOfN(rapid.OneOf(rapid.Just(most), rapid.IntRange(14, most)), 1, 20).Draw(t, "lengths")
	if rapid.Bool().Draw(t, "uniform") {
		for i := range lens {
			lens[i] = lens[0]
		}
	}
	p := replayOf(rapid.Uint64().Draw(t, "seed"), lens...)
	p.Sequence.Rounds = 0
	form := rapid.SampledFrom([]packet.Form{packet.FormNone, packet.FormShort, packet.FormFull}).Draw(t, "form")
	if form != packet.FormNone {
		signSome(p, form, rapid.IntRange(1, 3).Draw(t, "every"))
	}
	b := program.Binding{Run: rapid.Byte().Draw(t, "run"), IDBase: uint16(rapid.IntRange(0, 100).Draw(t, "id")), Queues: rapid.IntRange(1, 5).Draw(t, "queues"),
		TimeKind: rapid.SampledFrom([]byte{packet.TimeNone, packet.TimeFrame, packet.TimeShared}).Draw(t, "time"),
		FirstSeq: rapid.SampledFrom([]uint64{0, 0, 1<<32 - 7, 1<<40 + 5}).Draw(t, "first")}
	b.Queue = rapid.IntRange(0, b.Queues-1).Draw(t, "queue")
	b.LastSeq = make([]uint64, len(p.Streams))
	for i := range b.LastSeq {
		b.LastSeq[i] = b.FirstSeq + rapid.Uint64Range(0, 20).Draw(t, "last")
	}
	return p, b
}

func compiledReplay(t fataler, p *program.Program, b program.Binding, recorded bool, opt options) (*unit, func()) {
	t.Helper()
	s, err := newSequence(p, recorded)
	if err != nil {
		t.Fatalf("%v", err)
	}
	u, err := compileSequence(s, p.Bind(b), opt)
	if err != nil {
		t.Fatalf("%+v", err)
	}
	return u, func() {
		if err := u.close(); err != nil {
			t.Fatal(err)
		}
		if err := s.close(); err != nil {
			t.Fatal(err)
		}
	}
}

// The program sends each frame of the queue in turn, byte for byte, with the signature and checksum that it has to have.
func TestReplayMakesTheBytes(t *testing.T) {
	need.Root(t)
	rapid.Check(t, func(t *rapid.T) {
		p, bind := drawReplay(t)
		u, done := compiledReplay(t, p, bind, false, options{timeKind: bind.TimeKind})
		defer done()
		const frames = 40
		u.reset(frames, 0, 0)
		want := p.Bind(bind)
		buf := []program.Frame{{Buf: make([]byte, maxLive)}}
		var sum, last uint64
		for n := range frames {
			f := &p.Sequence.Frames[(bind.Queue+n*bind.Queues)%len(p.Sequence.Frames)]
			got := step(t, u, false, 0)
			var stamp uint64
			if bind.TimeKind != packet.TimeNone && f.Sig != 0 && p.Streams[0].HasTime {
				if stamp = binary.BigEndian.Uint64(got[f.Sig+packet.SigTime:]); stamp < last || stamp == 0 {
					t.Fatalf("frame %d: stamped %d after %d", n, stamp, last)
				}
				last = stamp
			}
			if want.Fill(buf, stamp) != 1 {
				t.Fatal("Fill wrote nothing")
			}
			if w := buf[0].Buf[:buf[0].Len]; !bytes.Equal(got, w) {
				t.Fatalf("frame %d, %+v\ngot  %x\nwant %x", n, *f, got, w)
			}
			sum += uint64(f.Len) + 4
		}
		if step(t, u, false, 0) != nil {
			t.Fatal("a frame beyond the limit")
		}
		if from := u.place(); p.Streams[0].Form != packet.FormNone && bind.LastSeq[0] >= u.seq(0) { // one more, with the last flag
			has := want.FillLast(&buf[0], 0, last)
			if u.force(0, from) != has {
				t.Fatalf("the queue has the signed stream: %v", has)
			}
			if has && bind.TimeKind == packet.TimeNone {
				u.state.set(offLimit, frames+1)
				if got := step(t, u, false, 0); !bytes.Equal(got, buf[0].Buf[:buf[0].Len]) {
					t.Fatalf("last frame\ngot  %x\nwant %x", got, buf[0].Buf[:buf[0].Len])
				}
				sum += uint64(buf[0].Len) + 4
			}
		}
		if got := u.bytes(); got != sum {
			t.Fatalf("%d bytes counted, %d sent", got, sum)
		}
	})
}

// A sum that comes to zero is written as 0xffff where zero means that there is none, and as zero elsewhere.
func TestReplayedSumOfZero(t *testing.T) {
	need.Root(t)
	for zeroIsNone, want := range map[bool]uint16{true: 0xffff, false: 0} {
		p := replayOf(1, 60)
		signSome(p, packet.FormFull, 1)
		f := &p.Sequence.Frames[0]
		f.Sum, f.ZeroIsNone = 40, zeroIsNone
		buf := []program.Frame{{Buf: make([]byte, 60)}}
		bind := program.Binding{Run: 9, Queues: 1}
		p.Bind(bind).Fill(buf, 0)
		f.Base = packet.Fold(uint64(f.Base) + uint64(binary.BigEndian.Uint16(buf[0].Buf[f.Sum:]))) // what was missing to 0xffff
		u, done := compiledReplay(t, p, bind, false, options{})
		u.reset(1, 0, 0)
		got := step(t, u, false, 0)
		p.Bind(bind).Fill(buf, 0)
		if sum := binary.BigEndian.Uint16(got[f.Sum:]); sum != want || !bytes.Equal(got, buf[0].Buf) {
			t.Errorf("zero is none %v: sum %04x, want %04x\ngot  %x\nwant %x", zeroIsNone, sum, want, got, buf[0].Buf)
		}
		done()
	}
}
