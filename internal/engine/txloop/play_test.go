package txloop

import (
	"context"
	"encoding/binary"
	"errors"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/wirespeed/wirespeed/internal/engine"
	"github.com/wirespeed/wirespeed/internal/host"
	"github.com/wirespeed/wirespeed/internal/packet"
	"github.com/wirespeed/wirespeed/internal/program"
	"github.com/wirespeed/wirespeed/internal/wire"
	"github.com/wirespeed/wirespeed/stream"
)

// sequenceOf makes frames of 64 bytes, each with a full signature and its number in the destination address.
func sequenceOf(due ...uint64) *program.Sequence {
	s := &program.Sequence{Rounds: 1}
	for i, d := range due {
		b := make([]byte, 64)
		b[5], b[12] = byte(i), 8
		binary.BigEndian.PutUint16(b[42:], packet.MagicFull)
		s.Frames = append(s.Frames, program.SequenceFrame{At: len(s.Bytes), Due: d, Len: 60, Sig: 42})
		s.Bytes = append(s.Bytes, b...)
		s.Period = d + 1000
	}
	return s
}

func playPlan(s *program.Sequence) engine.Plan {
	p := &program.Program{Sequence: s, Streams: []program.Stream{{Name: "signed", Set: &stream.Stream{}, Form: packet.FormFull, Lens: []int{60}, HasTime: true}}}
	return engine.Plan{Program: p, Run: 5, Queues: 1, Stamp: engine.StampFrame, CatchUp: 10 * time.Millisecond}
}

// numbers are those in the destination addresses of what a ring took.
func numbers(m *memory) (n []int) {
	for _, f := range m.got {
		n = append(n, int(f[5]))
	}
	return n
}

func TestASequenceIsPlayedRoundForRound(t *testing.T) {
	for _, rate := range []wire.FPS{{}, {Num: 1e6, Den: 1}} {
		for _, count := range []uint64{0, 1, 8} {
			s := sequenceOf(0, 0, 0)
			s.Rounds = 3
			p := playPlan(s)
			p.Queues, p.Rate, p.Count = 2, rate, count
			rings := []*memory{newMemory(), newMemory()}
			_, c := run(t, t.Context(), p, rings...)
			want := [][]int{{0, 2, 1, 0, 2}, {1, 0, 2, 1}}
			switch count {
			case 1:
				want = [][]int{{0}, nil}
			case 8:
				want[0] = want[0][:4]
			}
			for q := range want {
				if got := numbers(rings[q]); !slices.Equal(got, want[q]) || c.Reason != "" {
					t.Errorf("count %d, queue %d: frames %v, want %v; reason %q", count, q, got, want[q], c.Reason)
				}
				checkFrames(t, rings[q], c.Queues[q])
			}
		}
	}
}

// timed is a ring that notes when it took each frame.
type timed struct {
	*memory
	at []int64
}

func (m *timed) Commit(n int) (int, error) {
	for range n {
		m.at = append(m.at, host.Monotonic())
	}
	return m.memory.Commit(n)
}

func runRing(t *testing.T, p engine.Plan, r engine.Ring, v *Virtual) engine.Counters {
	t.Helper()
	l, err := New(Config{Plan: p, MaxBatch: 64, Virtual: v, Ring: func(int) (engine.Ring, error) { return r, nil }})
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	return l.Counters()
}

// No frame leaves before it is due, and none is held back to make a batch.
func TestRecordedGapsAreKept(t *testing.T) {
	due := []uint64{0, 1_000_000, 1_000_000, 1_000_500, 4_000_000, 4_200_000}
	s := sequenceOf(due...)
	s.Rounds, s.Period = 2, 5_000_000
	p := playPlan(s)
	p.Recorded, p.StartAt = true, host.Monotonic()+int64(20*time.Millisecond)
	m := &timed{memory: newMemory()}
	c := runRing(t, p, m, nil)
	checkFrames(t, m.memory, c.Queues[0])
	if len(m.at) != 12 {
		t.Fatalf("%d frames", len(m.at))
	}
	const slack = 20_000 // of the two clocks
	for i, at := range m.at {
		is := p.StartAt + int64(uint64(i/6)*s.Period+due[i%6])
		if at < is-slack || at > is+slack+int64(c.Queues[0].BehindNsMax+c.Queues[0].ShiftedNs)+int64(time.Millisecond) {
			t.Errorf("frame %d left %d ns after it was due", i, at-is)
		}
	}
}

// With a virtual clock every frame has exactly its time, and nothing waits.
func TestAVirtualClockShowsTheSchedule(t *testing.T) {
	s := sequenceOf(0, 10, 10, 3_600_000_000_000, 3_600_000_000_001)
	for name, c := range map[string]struct {
		change func(*engine.Plan)
		want   []uint64
	}{
		"recorded":     {func(p *engine.Plan) { p.Recorded = true }, []uint64{0, 10, 10, 3_600_000_000_000, 3_600_000_000_001}},
		"for a second": {func(p *engine.Plan) { p.Recorded, p.Duration = true, time.Second }, []uint64{0, 10, 10}},
		"at a rate":    {func(p *engine.Plan) { p.Rate = wire.FPS{Num: 3, Den: 1} }, []uint64{0, 333333333, 666666666, 1000000000, 1333333333}},
	} {
		p := playPlan(s)
		c.change(&p)
		m := newMemory()
		began := time.Now()
		got := runRing(t, p, m, NewVirtual(5000))
		var times []uint64
		for _, s := range signatures(t, m) {
			times = append(times, s.Time-5000)
		}
		if !slices.Equal(times, c.want) {
			t.Errorf("%s: times %v, want %v", name, times, c.want)
		}
		checkFrames(t, m, got.Queues[0])
		if q := got.Queues[0]; q.BeginNs != 5000 || q.EndNs != 5000+int64(c.want[len(c.want)-1]) || q.BehindNsMax != 0 {
			t.Errorf("%s: %+v", name, q)
		}
		if time.Since(began) > time.Minute {
			t.Error("it waited")
		}
	}
}

// A stall with a duration drops recorded frames; without, the schedule shifts.
func TestRecordedStall(t *testing.T) {
	var due []uint64
	for i := range uint64(200) {
		due = append(due, i*500_000)
	}
	for _, d := range []time.Duration{0, 95 * time.Millisecond} {
		p := playPlan(sequenceOf(due...))
		p.Recorded, p.Duration = true, d
		m := newMemory()
		m.take = func(call, n int) (int, error) {
			if call == 20 {
				time.Sleep(40 * time.Millisecond)
			}
			return n, nil
		}
		_, c := run(t, t.Context(), p, m)
		q := c.Queues[0]
		checkFrames(t, m, q)
		switch {
		case d == 0 && (q.Sent != 200 || q.ShiftedNs < 25e6 || q.Skipped != 0):
			t.Errorf("%+v", q)
		case d > 0 && (q.Skipped < 50 || q.Sent+q.Skipped < 188 || q.Sent+q.Skipped > 192 || q.ShiftedNs != 0):
			t.Errorf("of 190: %+v", q)
		}
	}
}

// What one call for each frame could not hold shares calls.
func TestRecordedFramesShareCallsWhereTheyMust(t *testing.T) {
	for gap, batch := range map[uint64][2]int{1000: {7, 64}, 100_000: {1, 1}} {
		s := sequenceOf(0)
		s.Rounds, s.Period = 0, gap
		p := playPlan(s)
		p.Recorded, p.Count, p.Stamp = true, 200_000*1000/gap, engine.StampNone
		m := newMemory()
		m.keep = false
		m.take = func(call, n int) (int, error) {
			for end := time.Now().Add(20 * time.Microsecond); time.Now().Before(end); {
			}
			return n, nil
		}
		_, c := run(t, t.Context(), p, m)
		// A busy machine makes frames late that would not be.
		if c.Batch < batch[0] || c.Batch > batch[1] && c.Queues[0].BehindNsMax < uint64(p.CatchUp)/2 {
			t.Errorf("a gap of %d ns: %d frames in a call, want %v; behind %d ns", gap, c.Batch, batch, c.Queues[0].BehindNsMax)
		}
		if c.Queues[0].Sent != p.Count {
			t.Errorf("sent %d", c.Queues[0].Sent)
		}
	}
}

// late is a source whose pieces come when they are asked for often enough.
type late struct {
	pieces []*program.Sequence
	every  int // each comes when it has been asked for so many times
	asked  int
	err    error
}

func (s *late) Next() (*program.Sequence, program.SourceState) {
	if len(s.pieces) == 0 {
		return nil, program.SourceEnd
	}
	if s.asked++; s.asked%s.every != 0 {
		return nil, program.SourceLater
	}
	p := s.pieces[0]
	s.pieces = s.pieces[1:]
	return p, program.SourceReady
}

func (s *late) Err() error { return s.err }

func sourcePlan(src program.Source) engine.Plan {
	p := playPlan(nil)
	p.Program.Source = src
	return p
}

func TestASourceIsWaitedFor(t *testing.T) {
	for _, change := range []func(*engine.Plan){
		func(*engine.Plan) {},
		func(p *engine.Plan) { p.Rate = wire.FPS{Num: 1e6, Den: 1} },
		func(p *engine.Plan) { p.Recorded = true },
		func(p *engine.Plan) { p.Count = 5 },
	} {
		for every := 1; every <= 5; every++ {
			a, b := sequenceOf(0, 100, 200), sequenceOf(300, 400, 500)
			b.Final = true
			p := sourcePlan(&late{pieces: []*program.Sequence{a, b}, every: every})
			change(&p)
			want := []int{0, 1, 2, 0, 1, 2}
			if p.Count > 0 {
				want = want[:p.Count]
			}
			m := newMemory()
			_, c := run(t, t.Context(), p, m)
			checkFrames(t, m, c.Queues[0])
			if got := numbers(m); !slices.Equal(got, want) || c.Reason != "" {
				t.Errorf("asked %d times: frames %v, want %v; reason %q", every, got, want, c.Reason)
			}
		}
	}
}

func TestASourceThatBreaksEndsTheRun(t *testing.T) {
	p := sourcePlan(&late{pieces: []*program.Sequence{sequenceOf(0, 100, 200)}, every: 5, err: errors.New("the file is cut")})
	_, c := run(t, t.Context(), p, newMemory())
	if c.Reason != "the file is cut" || c.Queues[0].Sent != 3 {
		t.Errorf("%+v", c)
	}
}

// never is a source of which nothing comes.
type never struct{}

func (never) Next() (*program.Sequence, program.SourceState) { return nil, program.SourceLater }
func (never) Err() error                                     { return nil }

func TestASourceThatNeverComesCanBeStopped(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if _, c := run(t, ctx, sourcePlan(never{}), newMemory()); c.Queues[0].Sent != 0 {
		t.Errorf("%+v", c)
	}
	p := sourcePlan(never{})
	p.Duration = 20 * time.Millisecond
	if _, c := run(t, t.Context(), p, newMemory()); c.Queues[0].Sent != 0 {
		t.Errorf("%+v", c)
	}
}

func TestPlayingDoesNotAllocate(t *testing.T) {
	mallocs := func(rounds uint64) uint64 {
		s := sequenceOf(0, 100, 200)
		s.Rounds, s.Period = rounds, 300
		p := playPlan(s)
		p.Recorded = true
		m := newMemory()
		m.keep = false
		l, err := New(Config{Plan: p, MaxBatch: 64, Ring: func(int) (engine.Ring, error) { return m, nil }})
		if err != nil {
			t.Fatal(err)
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		if err := l.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		runtime.ReadMemStats(&after)
		return after.Mallocs - before.Mallocs
	}
	mallocs(100)
	if short, long := mallocs(100), mallocs(30_000); long > short+50 {
		t.Errorf("90,000 frames allocate %d times, 300 frames %d times", long, short)
	}
}

func TestRecordedNeedsASequence(t *testing.T) {
	p := testPlan(t, 1)
	p.Recorded = true
	q := playPlan(sequenceOf(0))
	q.Recorded, q.Rate = true, wire.FPS{Num: 1, Den: 1}
	r := sourcePlan(never{})
	r.Queues = 2
	for _, p := range []engine.Plan{p, q, r} {
		if _, err := New(Config{Plan: p, MaxBatch: 64, Ring: func(int) (engine.Ring, error) { return newMemory(), nil }}); err == nil {
			t.Error("taken")
		}
	}
}
