package xdp

import (
	"bytes"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
	"pgregory.net/rapid"

	"github.com/wirespeed/wirespeed/internal/engine"
	"github.com/wirespeed/wirespeed/internal/host"
	"github.com/wirespeed/wirespeed/internal/lab/labtest"
	"github.com/wirespeed/wirespeed/internal/lab/need"
	"github.com/wirespeed/wirespeed/internal/packet"
	"github.com/wirespeed/wirespeed/internal/program"
	"github.com/wirespeed/wirespeed/internal/wire"
)

// Recorded gaps are exact: after any number of frames, rounds and drops the next frame is due when the sequence says so, to the
// ns, and it is the frame that belongs there.
func TestRecordedScheduleIsExact(t *testing.T) {
	need.Root(t)
	rapid.Check(t, func(t *rapid.T) {
		p := replayOf(1, slices.Repeat([]int{60, 61, 64}, rapid.IntRange(1, 5).Draw(t, "frames"))...)
		s := p.Sequence
		var at uint64
		for i := range s.Frames {
			s.Frames[i].Due = at
			at += rapid.OneOf(rapid.Just(uint64(0)), rapid.Uint64Range(0, 50_000), rapid.Uint64Range(0, 3_000_000)).Draw(t, "gap")
		}
		s.Period, s.Rounds = at, 0
		signSome(p, packet.FormFull, rapid.IntRange(1, 3).Draw(t, "every"))
		n, queues := uint64(len(s.Frames)), rapid.IntRange(1, 20).Draw(t, "queues")
		queue := rapid.IntRange(0, queues-1).Draw(t, "queue")
		skip := rapid.Bool().Draw(t, "skip")
		bind := program.Binding{Queue: queue, Queues: queues, TimeKind: packet.TimeFrame}
		u, done := compiledReplay(t, p, bind, true, options{timeKind: packet.TimeFrame, skip: skip, catchUp: 1e6})
		defer done()
		want, buf := p.Bind(bind), []program.Frame{{Buf: make([]byte, 64)}}
		start := uint64(host.Monotonic()) - rapid.Uint64Range(0, 20e6).Draw(t, "late")
		const limit = 100_000
		u.reset(limit, start, 0)
		due := func(frame uint64) uint64 { // of the queue
			i := uint64(queue) + frame*uint64(queues)
			return start + i/n*s.Period + s.Frames[i%n].Due
		}
		var sent, before, shifted, left uint64
		for range 60 {
			earliest := u.due()
			got := step(t, u, false, 0)
			skipped := u.state.load(offSkipped)
			if got == nil {
				continue
			}
			frame := sent + skipped
			now := u.state.load(offLeft)
			want.Skip(skipped - before)
			if want.Fill(buf, now); !bytes.Equal(got, buf[0].Buf[:buf[0].Len]) {
				t.Fatalf("%d sent, %d dropped\ngot  %x\nwant %x", sent, skipped, got, buf[0].Buf[:buf[0].Len])
			}
			if frame == sent+before && now < earliest || now < due(frame)+shifted {
				t.Fatalf("frame %d left at +%d, due at +%d, not before +%d", frame, now-start, due(frame)-start, earliest-start)
			}
			if skip && now > due(frame)+1e6 {
				t.Fatalf("frame %d left %d ns late", frame, now-due(frame))
			}
			if sent > 0 && frame == sent+before && now-left < (due(frame)-due(frame-1))/2 {
				t.Fatalf("frame %d left %d ns behind the one before, whose gap is %d", frame, now-left, due(frame)-due(frame-1))
			}
			sent++
			shifted, left, before = u.state.load(offShiftedNs), now, skipped
			if got, want := u.state.load(offBase)+s.Frames[u.state.load(offPos)].Due, due(sent+skipped)+shifted; got != want {
				t.Fatalf("after %d frames, %d dropped, the next is due at +%d, want +%d", sent, skipped, got-start, want-start)
			}
		}
		skipped := u.state.load(offSkipped)
		if u.state.load(offSent) != sent || u.state.load(offLimit) != limit-skipped {
			t.Fatalf("%d sent, limit %d of %d, %d dropped", sent, u.state.load(offLimit), limit, skipped)
		}
		if skip && shifted != 0 || !skip && skipped != 0 {
			t.Fatalf("skip %v: %d dropped, shifted by %d", skip, skipped, shifted)
		}
	})
}

// A duration ends a replay with recorded gaps by what is due within it, the smaller of count and rounds by that.
func TestSequenceEnding(t *testing.T) {
	three := func(rounds, period uint64) *program.Program {
		return &program.Program{Sequence: &program.Sequence{Rounds: rounds, Period: period, Frames: []program.SequenceFrame{{}, {Due: 10}, {Due: 50}}}}
	}
	rate := wire.FPS{Num: 1e9, Den: 10}
	for _, c := range []struct {
		plan engine.Plan
		want ending
	}{
		{engine.Plan{Program: three(1, 100)}, ending{total: 3}},
		{engine.Plan{Program: three(4, 100)}, ending{total: 12}},
		{engine.Plan{Program: three(4, 100), Count: 5}, ending{total: 5}},
		{engine.Plan{Program: three(1, 100), Count: 5}, ending{total: 3}},
		{engine.Plan{Program: three(0, 100)}, ending{}},
		{engine.Plan{Program: three(0, 100), Duration: time.Second}, ending{}},
		{engine.Plan{Program: three(0, 100), Recorded: true, Duration: 10}, ending{1, true}},
		{engine.Plan{Program: three(0, 100), Recorded: true, Duration: 11}, ending{2, true}},
		{engine.Plan{Program: three(0, 100), Recorded: true, Duration: 100}, ending{3, true}},
		{engine.Plan{Program: three(0, 100), Recorded: true, Duration: 250}, ending{8, true}},
		{engine.Plan{Program: three(0, 100), Recorded: true, Duration: 251}, ending{9, true}},
		{engine.Plan{Program: three(2, 100), Recorded: true, Duration: 1000}, ending{6, true}},
		{engine.Plan{Program: three(2, 100), Recorded: true, Duration: 1000, Count: 4}, ending{4, false}},
		{engine.Plan{Program: three(1, 0), Recorded: true, Duration: 20}, ending{2, true}},
		{engine.Plan{Program: three(0, 0), Recorded: true, Duration: 20}, ending{}},
		{engine.Plan{Program: three(0, 100), Rate: rate, Duration: 70}, ending{7, true}},
	} {
		if got := endingOf(&c.plan); got != c.want {
			t.Errorf("%+v, rounds %d: %+v, want %+v", c.plan, c.plan.Program.Sequence.Rounds, got, c.want)
		}
	}
}

// capture opens a packet socket that holds all that a test sends to the pair's far end, and returns what reads n frames.
func capture(t *testing.T, pair *labtest.Pair) func(n int) [][]byte {
	t.Helper()
	link, err := pair.NSB.Link(pair.DevB)
	if err != nil {
		t.Fatal(err)
	}
	var fd int
	if err := pair.NSB.Do(func() (err error) {
		if fd, err = unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC, 0); err != nil {
			return err
		}
		if err = unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVBUFFORCE, 256<<20); err != nil {
			return err
		}
		return unix.Bind(fd, &unix.SockaddrLinklayer{Protocol: 0x0300, Ifindex: link.Index}) // ETH_P_ALL in network order
	}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Close(fd) })
	if err := unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &unix.Timeval{Sec: 1}); err != nil {
		t.Fatal(err)
	}
	return func(n int) (all [][]byte) {
		buf := make([]byte, 4096)
		for range n {
			k, err := unix.Read(fd, buf)
			if err != nil {
				break
			}
			all = append(all, bytes.Clone(buf[:k]))
		}
		return all
	}
}

// mtu sets the MTU of both ends.
func mtu(t *testing.T, pair *labtest.Pair, mtu string) {
	t.Helper()
	need.Tool(t, "ip")
	for netns, device := range map[string]string{pair.A: pair.DevA, pair.B: pair.DevB} {
		if out, err := exec.Command("ip", "-n", netns, "link", "set", device, "mtu", mtu).CombinedOutput(); err != nil {
			t.Fatalf("%s", out)
		}
	}
}

const actionPass = 2 // on to the kernel

// What arrives is what the sequence holds, byte for byte and in order: on one queue in the whole, on two on each, in several
// rounds, at full speed, paced and with recorded gaps, up to the longest frame.
func TestReplayArrivesByteForByte(t *testing.T) {
	pair := labtest.TestPair(t, "t-xdptx", 2)
	mtu(t, pair, "3400")
	attach(t, pair, actionPass)
	read := capture(t, pair)
	port := openPort(t, pair, engine.Config{})
	var lens []int
	for n := 14; n <= maxLive; n += 7 {
		lens = append(lens, n)
	}
	lens = append(lens, maxLive)
	mixed, short := replayOf(3, lens...), replayOf(4, slices.Repeat([]int{60}, 77)...)
	for _, c := range []struct {
		name string
		plan engine.Plan
	}{
		{"mixed", engine.Plan{Program: mixed}},
		{"mixed on two queues", engine.Plan{Program: mixed, Queues: 2}},
		{"short", engine.Plan{Program: short}},
		{"short, an odd number on two queues, cut in a round", engine.Plan{Program: short, Queues: 2, Count: 600}},
		{"paced", engine.Plan{Program: short, Rate: wire.FPS{Num: 100_000, Den: 1}, Queues: 2}},
		{"recorded", engine.Plan{Program: mixed, Recorded: true}},
		{"recorded on two queues", engine.Plan{Program: mixed, Recorded: true, Queues: 2}},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := c.plan
			s := *p.Program.Sequence
			s.Rounds = 3
			if p.Count > 0 {
				s.Rounds = 0
			}
			p.Program = &program.Program{Sequence: &s, Streams: p.Program.Streams}
			want := uint64(3 * len(s.Frames))
			if p.Count > 0 {
				want = p.Count
			}
			counted, device := run(t, t.Context(), port, p)
			if sum := counted.Total(); sum.Sent != want || sum.Streams[0] != want || device.TxFrames != want {
				t.Errorf("%+v, device %+v, want %d", sum, device, want)
			}
			got := read(int(want))
			if uint64(len(got)) != want {
				t.Fatalf("%d arrived of %d", len(got), want)
			}
			next := make([]uint64, max(1, p.Queues)) // frame of the port that is next on each queue
			for q := range next {
				next[q] = uint64(q)
			}
			var bytesWanted uint64
			for i, b := range got {
				q := slices.IndexFunc(next, func(n uint64) bool {
					f := &s.Frames[n%uint64(len(s.Frames))]
					return bytes.Equal(b, s.Bytes[f.At:][:f.Len])
				})
				if q < 0 {
					t.Fatalf("frame %d that arrived is none of %v: %x", i, next, b)
				}
				next[q] += uint64(len(next))
				bytesWanted += uint64(len(b)) + 4
			}
			if sum := counted.Total(); sum.Bytes != bytesWanted {
				t.Errorf("%d bytes counted, %d arrived", sum.Bytes, bytesWanted)
			}
		})
	}
}

// A signed replay is counted by stream, and each has a first and a last frame: however the run ends, on one queue and on two.
func TestSignedReplay(t *testing.T) {
	pair := labtest.TestPair(t, "t-xdptx", 2)
	rx := newSink(t, pair, udpSig)
	port := openPort(t, pair, engine.Config{})
	id := uint16(0)
	for _, c := range []struct {
		name string
		plan engine.Plan
	}{
		{"count", engine.Plan{Count: 100_001}},
		{"count on two queues", engine.Plan{Count: 100_001, Queues: 2}},
		{"duration", engine.Plan{Duration: 50 * time.Millisecond, Queues: 2}},
		{"paced", engine.Plan{Duration: 50 * time.Millisecond, Rate: wire.FPS{Num: 200_000, Den: 1}}},
		{"recorded, counted", engine.Plan{Count: 5000, Recorded: true, Queues: 2}},
		{"recorded", engine.Plan{Duration: 50 * time.Millisecond, Recorded: true}},
		{"late", engine.Plan{Duration: 50 * time.Millisecond, Recorded: true, StartAt: 1}},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := replayOf(2, 60, 70, 80, 60, 1000, 60, 61)
			signSome(p, packet.FormFull, 2)
			p.Sequence.Period, p.Sequence.Rounds = 7000, 0
			plan := c.plan
			plan.Program, plan.IDBase = p, id
			if plan.StartAt == 1 {
				plan.StartAt = host.Monotonic() - 30e6
			}
			plan.Queues = max(1, plan.Queues)
			end := endingOf(&plan)
			counted, device := run(t, t.Context(), port, plan)
			sum := counted.Total()
			if sum.Sent != device.TxFrames || sum.Sent != sum.Streams[0]+sum.Streams[1] || sum.Sent == 0 || counted.Reason != "" {
				t.Errorf("%+v, device %+v, reason %q", sum, device, counted.Reason)
			}
			if plan.Count > 0 && sum.Sent != plan.Count || end.skip && (sum.Sent+sum.Skipped != end.total) {
				t.Errorf("%d sent, %d dropped, want %+v", sum.Sent, sum.Skipped, end)
			}
			for q := range plan.Queues {
				n := counted.Queues[q].Streams[0]
				if e := rx.at(int(id) + q); e != (sinkEntry{Frames: n, Lasts: 1, LastSeq: n - 1, Firsts: 1}) {
					t.Errorf("queue %d: receiver %+v, %d sent", q, e, n)
				}
				if plan.Count > 0 && !slices.Equal(counted.Queues[q].Streams, p.Shares(plan.Count, q, plan.Queues)) {
					t.Errorf("queue %d: %v", q, counted.Queues[q].Streams)
				}
			}
		})
		id += 4
	}
}

// With gaps of all lengths the frames leave when they are due, and the run takes as long as they say.
func TestRecordedGapsTakeTheirTime(t *testing.T) {
	pair := labtest.TestPair(t, "t-xdptx", 1)
	newSink(t, pair, udpSig)
	port := openPort(t, pair, engine.Config{})
	p := replayOf(1, slices.Repeat([]int{60}, 10)...)
	s := p.Sequence
	for i := range s.Frames {
		s.Frames[i].Due = uint64(i) * uint64(i) * 1_000_000
	}
	s.Period, s.Rounds = 100e6, 2
	c, d := run(t, t.Context(), port, engine.Plan{Program: p, Recorded: true})
	q := c.Queues[0]
	want := s.Period + s.Frames[9].Due + q.ShiftedNs
	took, slack := uint64(q.EndNs-q.BeginNs), q.BehindNsMax+want/100
	if d.TxFrames != 20 || c.Batch != 1 || took+slack < want || took > want+slack {
		t.Errorf("took %d ns, want %d: %+v, batch %d, device %+v", took, want, q, c.Batch, d)
	}
	if q.Doorbells < 5 { // most gaps are long enough to sleep; a stall takes some together
		t.Errorf("%d calls", q.Doorbells)
	}
}

// Nothing is allocated while a replay is sent.
func TestReplayDoesNotAllocate(t *testing.T) {
	pair := labtest.TestPair(t, "t-xdptx", 1)
	newSink(t, pair, udpSig)
	p := openPort(t, pair, engine.Config{}).(*port)
	replay := replayOf(1, 60, 100, 1000)
	signSome(replay, packet.FormFull, 2)
	replay.Sequence.Rounds = 0
	for _, recorded := range []bool{false, true} {
		if err := p.Load(engine.Plan{Program: replay, Queues: 1, Recorded: recorded}); err != nil {
			t.Fatal(err)
		}
		w := p.workers[0]
		if err := p.ns.Do(func() error {
			w.unit.reset(0, uint64(host.Monotonic()), 0)
			var err error
			if n := testing.AllocsPerRun(20, func() {
				w.unit.state.set(offLimit, w.unit.state.load(offSent)+10)
				err = w.loop()
			}); n != 0 {
				t.Errorf("recorded %v: %v allocations", recorded, n)
			}
			return err
		}); err != nil {
			t.Fatal(err)
		}
	}
}

// What cannot be replayed right is refused with the reason, and the port still works.
func TestReplayRefuses(t *testing.T) {
	pair := labtest.TestPair(t, "t-xdptx", 1)
	mtu(t, pair, "3480")
	newSink(t, pair, udpSig)
	port := openPort(t, pair, engine.Config{})
	with := func(change func(*program.Program)) *program.Program {
		p := replayOf(1, 60, 60, 60)
		signSome(p, packet.FormFull, 1)
		change(p)
		return p
	}
	for want, p := range map[string]*program.Program{
		"more than the 3412":      with(func(p *program.Program) { *p = *replayOf(1, 60, maxLive+1) }),
		"has no frames":           with(func(p *program.Program) { p.Sequence.Frames = nil }),
		"frame 2 of the replay":   with(func(p *program.Program) { p.Sequence.Frames[1] = program.SequenceFrame{Len: 13} }),
		"no room":                 with(func(p *program.Program) { p.Sequence.Frames[0].Sig = 43 }),
		"out of step":             with(func(p *program.Program) { p.Sequence.Frames[1].Sum = 41 }),
		"signatures of several":   with(func(p *program.Program) { p.Streams[1].Form = packet.FormShort }),
		"due before the one":      with(func(p *program.Program) { p.Sequence.Frames[1].Due = 5000 }),
		"the next round after":    with(func(p *program.Program) { p.Sequence.Period, p.Sequence.Rounds = 1999, 2 }),
		"give --preload":          {Streams: []program.Stream{{Lens: []int{60}}}, Source: noSource{}},
		"those of a replay":       simple(t),
		"need 512 MiB in the ker": with(func(p *program.Program) { p.Sequence.Bytes = make([]byte, maxSequence) }),
	} {
		if err := port.Load(engine.Plan{Program: p, Queues: 1, Recorded: true}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
		if port.Run(t.Context()) == nil {
			t.Error("ran what it refused")
		}
	}
	if c, _ := run(t, t.Context(), port, engine.Plan{Program: replayOf(1, 60, maxLive), Recorded: true}); c.Total().Sent != 2 {
		t.Errorf("%+v", c)
	}
}

type noSource struct{}

func (noSource) Next() (*program.Sequence, program.SourceState) { return nil, program.SourceEnd }
func (noSource) Err() error                                     { return nil }

// At a constant rate the frames of the slots that a stall ate are left out, as Image.Skip leaves them out.
func TestPacedReplayLeavesOutFrames(t *testing.T) {
	need.Root(t)
	for queues := 1; queues <= 8; queues++ {
		p := replayOf(5, 60, 64, 68, 72, 76)
		p.Sequence.Rounds = 0
		pc, err := newPace(wire.FPS{Num: 1_000_000, Den: 1}, queues-1, queues)
		if err != nil {
			t.Fatal(err)
		}
		bind := program.Binding{Queue: queues - 1, Queues: queues}
		u, done := compiledReplay(t, p, bind, false, options{pace: pc, skip: true, catchUp: 1e6})
		u.reset(never, uint64(host.Monotonic())-3e6+pc.offset, pc.offsetRest)
		want, buf := p.Bind(bind), []program.Frame{{Buf: make([]byte, 100)}}
		var skipped uint64
		for range 30 {
			got := step(t, u, false, 0)
			want.Skip(u.state.load(offSkipped) - skipped)
			if skipped = u.state.load(offSkipped); got == nil {
				continue
			}
			if want.Fill(buf, 0); !bytes.Equal(got, buf[0].Buf[:buf[0].Len]) {
				t.Fatalf("%d queues, %d dropped\ngot  %x\nwant %x", queues, skipped, got, buf[0].Buf[:buf[0].Len])
			}
		}
		if skipped == 0 {
			t.Error("nothing was dropped: not tested")
		}
		done()
	}
}

// A closing frame is due when the next frame would have been, wherever in the sequence it comes from.
func TestClosingFrameIsDueInItsTurn(t *testing.T) {
	need.Root(t)
	p := replayOf(1, 60, 20, 20, 20)
	signSome(p, packet.FormFull, 1)
	u, done := compiledReplay(t, p, program.Binding{Queues: 1}, true, options{catchUp: 1e9})
	defer done()
	u.reset(3, uint64(host.Monotonic())-1e6, 0)
	for range 2 {
		step(t, u, false, 0)
	}
	next := u.due()
	if !u.force(0, u.place()) || u.due() != next {
		t.Errorf("due at %d, want %d", u.due(), next)
	}
	if got := step(t, u, false, 0); len(got) != 60 || got[42+packet.SigFlags]&packet.FlagLast == 0 {
		t.Errorf("got %x", got)
	}
}
