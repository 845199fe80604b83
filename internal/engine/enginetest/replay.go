package enginetest

import (
	"bytes"
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/wirespeed/wirespeed/internal/engine"
	"github.com/wirespeed/wirespeed/internal/packet"
	"github.com/wirespeed/wirespeed/internal/wire"
)

// play is Play of a plan that is not refused.
func (l *Loop) play(t *testing.T, p engine.Plan) (engine.Counters, [][]byte) {
	t.Helper()
	c, got, err := l.Play(t, p)
	if err != nil {
		t.Fatal(err)
	}
	return c, got
}

// Play runs a plan and returns what the port says of it, and the frames as they arrived where that can be seen. The receiver
// expects none of them, so that every frame passes it. An error is why the port refused the plan.
func (l *Loop) Play(t *testing.T, p engine.Plan) (c engine.Counters, frames [][]byte, err error) {
	t.Helper()
	// 0x88b6 is for local experiments (IEEE 802), and no frame here has it.
	r := l.receive(t, engine.Expect{Run: p.Run, SrcMACs: [][6]byte{{2, 0, 0, 0, 0, 99}}, EtherTypes: []uint16{0x88b6}})
	port := l.open(t)
	if err := port.Load(p); err != nil {
		return c, nil, err
	}
	if l.InOrder != nil {
		l.InOrder(t)
	}
	captured := func() [][]byte { return nil }
	if l.Captured != nil {
		captured = l.Captured(t)
	} else {
		t.Log("frames are not compared:", l.Nothing)
	}
	ctx, stop := context.WithTimeout(context.Background(), patience)
	defer stop()
	if err := port.Run(ctx); err != nil {
		t.Fatal(err)
	}
	if ctx.Err() != nil {
		t.Fatalf("the run did not end by itself: %+v", port.Counters())
	}
	got := captured()
	if r != nil {
		if err := r.Stop(); err != nil {
			t.Error(err)
		}
	}
	return port.Counters(), got, nil
}

// arrived checks that exactly the sequence's frames came, in their order, from the first on.
func arrived(t *testing.T, p engine.Plan, c engine.Counters, seen bool, got [][]byte, n int) {
	t.Helper()
	if sum := c.Total(); sum.Sent != uint64(n) || sum.Submitted != uint64(n) || c.Reason != "" {
		t.Errorf("sent %d of %d, reason %q", sum.Sent, n, c.Reason)
	}
	if !seen {
		return
	}
	if len(got) != n {
		t.Fatalf("%d frames arrived of %d", len(got), n)
	}
	s := p.Program.Sequence
	for i, b := range got {
		e := &s.Frames[i%len(s.Frames)]
		if want := s.Bytes[e.At:][:e.Len]; e.Sig == 0 && !bytes.Equal(b, want) {
			t.Fatalf("frame %d:\n%x, want\n%x", i, b, want)
		}
	}
}

// sizes are as many kinds of lengths as there are ways to copy them.
func (l *Loop) sizes(t *testing.T) []int {
	t.Helper()
	c, err := l.Tx.Probe(context.Background(), l.TxTarget)
	if err != nil {
		t.Fatal(err)
	}
	return []int{64, 68, 65, 71, 72, 73, 127, 128, 129, 333, 594, 1023, 1024, min(1518, c.MaxFrame), 100, 67}
}

func replayWhole(t *testing.T, f Factory) {
	l := f(t, 1)
	frames := plain(l.sizes(t)...)
	p := replayPlan(Replay(t, packet.FormNone, frames, nil, never), 1)
	p.Program.Sequence.Rounds = 3
	c, got := l.play(t, p)
	arrived(t, p, c, l.Captured != nil, got, 3*len(frames))
	var size uint64
	for _, b := range frames {
		size += uint64(3 * (len(b) + 4))
	}
	if sum := c.Total(); sum.Bytes != size || sum.Streams[streamUnsigned] != sum.Sent {
		t.Errorf("%+v, want %d bytes", sum, size)
	}
}

// replaySigned mixes frames with a signature and without, and counts them at the receiver.
func replaySigned(t *testing.T, f Factory) {
	for name, form := range map[string]packet.Form{"full": packet.FormFull, "short": packet.FormShort} {
		t.Run(name, func(t *testing.T) {
			l := f(t, 1)
			frames := plain(100, 68, 333, 72, 90, 91)
			signed := func(i int) bool { return i != 1 && i != 3 }
			p := replayPlan(Replay(t, form, frames, nil, signed), 1)
			p.Program.Sequence.Rounds = 50
			p.Count = 299 // of 300
			want := p.Program.Shares(p.Count, 0, 1)
			r := l.receive(t, expectReplay(p))
			port := l.open(t)
			before := device(t, port)
			load(t, port, p)
			if err := port.Run(context.Background()); err != nil {
				t.Fatal(err)
			}
			c, got := port.Counters(), settle(t, r, port)
			if form == packet.FormFull { // the short signature has no last flag
				agree(t, c, before, device(t, port), got)
			}
			if s := c.Total().Streams; !slices.Equal(s, want) {
				t.Errorf("sent %v of the streams, want %v", s, want)
			}
			if got.TesterDrops > 0 {
				return
			}
			if got.Frames != 299 || len(got.Streams) != 1 || got.Streams[0].Frames != want[streamSigned] || got.Streams[0].Corrupt != 0 || got.Foreign != 0 {
				t.Errorf("received %d frames, foreign %d: %+v; want 299, %d of them signed", got.Frames, got.Foreign, got.Streams, want[streamSigned])
			}
		})
	}
}

// oneQueueOnly is what two queues come to where there is one: they are refused.
func oneQueueOnly(t *testing.T, l *Loop, p engine.Plan) {
	t.Helper()
	if err := l.open(t).Load(p); err == nil || !strings.Contains(err.Error(), "queue") {
		t.Errorf("two queues of one: %v", err)
	}
}

func replayTwoQueues(t *testing.T, f Factory) {
	l := f(t, 2)
	p := replayPlan(Replay(t, packet.FormFull, plain(100, 68, 333, 72, 90), nil, always), 2)
	p.Program.Sequence.Rounds = 401
	if queues(t, &l) < 2 {
		oneQueueOnly(t, &l, p)
		return
	}
	c, got := l.run(t, p)
	if len(c.Queues) != 2 || c.Queues[0].Sent != 1003 || c.Queues[1].Sent != 1002 {
		t.Fatalf("2005 frames on two queues: %+v", c.Queues)
	}
	if got.TesterDrops == 0 && (len(got.Streams) != 2 || got.Streams[0].Frames != 1003 || got.Streams[1].Frames != 1002) {
		t.Errorf("received %+v", got.Streams)
	}
}

// replayRecorded holds the time in each signature against when the frame was due.
func replayRecorded(t *testing.T, f Factory) {
	l := f(t, 1)
	due := []uint64{0, 1_000_000, 1_000_000, 1_050_000, 5_000_000, 5_300_000, 9_000_000, 9_000_001}
	p := replayPlan(Replay(t, packet.FormFull, plain(68, 68, 100, 68, 333, 68, 68, 70), due, always), 1)
	p.Recorded, p.CatchUp = true, 10*time.Millisecond
	s := p.Program.Sequence
	s.Rounds, s.Period = 5, 10_000_000
	c, got := l.play(t, p)
	arrived(t, p, c, l.Captured != nil, got, 5*len(due))
	sum := c.Total()
	want := int64(4*s.Period + due[len(due)-1])
	slack := int64(sum.BehindNsMax+sum.ShiftedNs) + int64(100*time.Microsecond)
	if l.Virtual {
		slack = int64(20 * time.Microsecond) // of the line rate
	}
	if took := sum.EndNs - sum.BeginNs; took < want-slack || took > want+slack+int64(20*time.Millisecond) {
		t.Errorf("took %d ns, want %d within %d", took, want, slack)
	}
	var first int64
	for i, b := range got {
		is := int64(uint64(i/len(due))*s.Period + due[i%len(due)])
		sig, ok := packet.ParseSignature(b[s.Frames[i%len(due)].Sig:])
		if !ok {
			t.Fatalf("frame %d has no signature: %x", i, b)
		}
		if i == 0 {
			first = int64(sig.Time)
		}
		if off := int64(sig.Time) - first - is; off < -slack || off > slack {
			t.Errorf("frame %d left %d ns after the first, due after %d", i, int64(sig.Time)-first, is)
		}
	}
}

// replayFor ends recorded frames by time; the last that are due then have left.
func replayFor(t *testing.T, f Factory) {
	l := f(t, 1)
	var due []uint64
	for i := range uint64(20) {
		due = append(due, i*500_000)
	}
	sizes := slices.Repeat([]int{68}, 20)
	p := replayPlan(Replay(t, packet.FormFull, plain(sizes...), due, always), 1)
	p.Program.Sequence.Rounds, p.Program.Sequence.Period = 0, 10_000_000
	p.Recorded, p.CatchUp, p.Duration = true, 10*time.Millisecond, 55*time.Millisecond
	c, got := l.run(t, p)
	sum := c.Total()
	// Where a stall dropped the very last frames, one with the last flag comes on top.
	if n := sum.Sent + sum.Skipped; n < 109 || n > 111 || sum.Skipped == 0 && sum.Sent != 110 {
		t.Errorf("sent %d and skipped %d of 110", sum.Sent, sum.Skipped)
	}
	if got.TesterDrops == 0 && (len(got.Streams) != 1 || !got.Streams[0].LastSeen) {
		t.Errorf("received %+v", got.Streams)
	}
}

// replayAtRate takes the place of what is recorded.
func replayAtRate(t *testing.T, f Factory) {
	l := f(t, 1)
	p := replayPlan(Replay(t, packet.FormFull, plain(68, 68, 100), []uint64{0, 1e15, 2e15}, always), 1)
	p.Program.Sequence.Rounds = 0
	p.Rate, p.Count, p.CatchUp = wire.FPS{Num: 20000, Den: 1}, 2000, 10*time.Millisecond
	c, _ := l.run(t, p)
	sum := c.Total()
	want := int64(100*time.Millisecond) + int64(sum.ShiftedNs)
	took, slack := sum.EndNs-sum.BeginNs, int64(sum.BehindNsMax)+int64(want)/50
	if sum.Sent != 2000 || took < want-slack || took > want+slack {
		t.Errorf("%d frames at 20,000 a second took %d ns, want %d within %d", sum.Sent, took, want, slack)
	}
}

func replayForever(t *testing.T, f Factory) {
	l := f(t, 1)
	p := replayPlan(Replay(t, packet.FormFull, plain(68, 68, 100), nil, always), 1)
	p.Program.Sequence.Rounds = 0
	r := l.receive(t, expectReplay(p))
	port := l.open(t)
	before := device(t, port)
	load(t, port, p)
	while(t, port, func(stop func()) {
		untilSent(port, 20)
		stop()
	})
	c := port.Counters()
	agree(t, c, before, device(t, port), settle(t, r, port))
	if sum := c.Total(); sum.Sent < 20 || sum.Sent != sum.Submitted {
		t.Errorf("handed over %d, sent %d", sum.Submitted, sum.Sent)
	}
}

// replaySource plays what comes piece by piece; an engine that cannot says what to do.
func replaySource(t *testing.T, f Factory) {
	for _, count := range []uint64{0, 250} {
		l := f(t, 1)
		frames := plain(slices.Repeat([]int{68, 72, 100}, 100)...)
		p := replayPlan(Replay(t, packet.FormFull, frames, nil, always), 1)
		whole := *p.Program
		p.Program.Source, p.Program.Sequence, p.Count = &Pieces{Of: whole.Sequence, Size: 70}, nil, count
		r := l.receive(t, expectReplay(p))
		port := l.open(t)
		if err := port.Load(p); err != nil {
			if !strings.Contains(err.Error(), "preload") {
				t.Fatalf("refused, but not with what to do: %v", err)
			}
			t.Log("this engine takes no source:", err)
			return
		}
		before := device(t, port)
		if err := port.Run(context.Background()); err != nil {
			t.Fatal(err)
		}
		c, got := port.Counters(), settle(t, r, port)
		agree(t, c, before, device(t, port), got)
		want := uint64(300)
		if count > 0 {
			want = count
		}
		if sum := c.Total(); sum.Sent != want || got.TesterDrops == 0 && got.Frames != want {
			t.Errorf("sent %d, received %d, of %d", sum.Sent, got.Frames, want)
		}
	}
}

func replayRefuses(t *testing.T, f Factory) {
	l := f(t, 1)
	c, err := l.Tx.Probe(context.Background(), l.TxTarget)
	if err != nil {
		t.Fatal(err)
	}
	_ = l.receive(t, expect(plan(t, 1, 1)))
	port := l.open(t)
	good := plain(68)
	long := append([][]byte{}, good[0], append(bytes.Clone(good[0]), make([]byte, c.MaxFrame+c.MaxTag-len(good[0])-3)...))
	for name, change := range map[string]func(*engine.Plan){
		"a frame too long":     func(p *engine.Plan) { p.Program = Replay(t, packet.FormNone, long, nil, never) },
		"no frames":            func(p *engine.Plan) { p.Program.Sequence.Frames = nil },
		"recorded and a rate":  func(p *engine.Plan) { p.Recorded, p.Rate = true, wire.FPS{Num: 1, Den: 1} },
		"a stream of its own":  func(p *engine.Plan) { p.Program.Sequence.Frames[0].Stream = 2 },
		"a frame out of it":    func(p *engine.Plan) { p.Program.Sequence.Frames[0].At = 1 << 20 },
		"no room for the sign": func(p *engine.Plan) { p.Program.Sequence.Frames[0].Sig = 60 },
	} {
		p := replayPlan(Replay(t, packet.FormFull, good, nil, always), 1)
		change(&p)
		if err := port.Load(p); err == nil {
			t.Errorf("%s was taken", name)
		} else {
			t.Logf("%s: %v", name, err)
		}
	}
	if sum := port.Counters().Total(); sum.Submitted != 0 {
		t.Errorf("after refusing all it sent %d", sum.Submitted)
	}
}
