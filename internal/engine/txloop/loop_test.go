package txloop

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/wirespeed/wirespeed/internal/engine"
	"github.com/wirespeed/wirespeed/internal/host"
	"github.com/wirespeed/wirespeed/internal/packet"
	"github.com/wirespeed/wirespeed/internal/program"
	"github.com/wirespeed/wirespeed/internal/wire"
	"github.com/wirespeed/wirespeed/stream"
)

// memory is a ring that keeps what it took. Only its worker uses it, until the run is over.
type memory struct {
	frames   []program.Frame
	next     int
	done     int // completed, not reclaimed
	got      [][]byte
	keep     bool
	calls    int
	take     func(call, n int) (int, error) // nil: all
	complete func(taken int) int            // nil: all at once
}

func newMemory() *memory {
	m := &memory{frames: make([]program.Frame, 64), keep: true}
	for i := range m.frames {
		m.frames[i].Buf = make([]byte, 128)
	}
	return m
}

func (m *memory) Reserve(n int) []program.Frame { m.next = 0; return m.frames[:min(n, len(m.frames))] }

func (m *memory) Commit(n int) (taken int, err error) {
	taken = n
	if m.take != nil {
		taken, err = m.take(m.calls, n)
	}
	m.calls++
	for _, f := range m.frames[m.next : m.next+taken] {
		if m.keep {
			m.got = append(m.got, slices.Clone(f.Buf[:f.Len]))
		}
	}
	m.next += taken
	if m.complete == nil {
		m.done += taken
	} else {
		m.done += m.complete(taken)
	}
	return taken, err
}

func (m *memory) Reclaim() int { n := m.done; m.done = 0; return n }

func testPlan(t testing.TB, weights ...int) engine.Plan {
	t.Helper()
	set := &stream.Set{}
	for i, w := range weights {
		s := stream.Default().Streams[0]
		s.Name, s.Weight = fmt.Sprint("s", i), w
		set.Streams = append(set.Streams, s)
	}
	set.SetMACs([6]byte{2, 0, 0, 0, 0, 1}, [6]byte{2, 0, 0, 0, 0, 2})
	p, err := program.Compile(set)
	if err != nil {
		t.Fatal(err)
	}
	return engine.Plan{Program: p, Run: 5, Queues: 1, Stamp: engine.StampNone, CatchUp: 10 * time.Millisecond}
}

func run(t *testing.T, ctx context.Context, p engine.Plan, rings ...*memory) (*Loop, engine.Counters) {
	t.Helper()
	l, err := New(Config{Plan: p, MaxBatch: 64, Ring: func(q int) (engine.Ring, error) { return rings[q], nil }})
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Run(ctx); err != nil {
		t.Fatal(err)
	}
	return l, l.Counters()
}

// signatures are those of all frames that a ring took.
func signatures(t *testing.T, m *memory) (all []packet.Signature) {
	t.Helper()
	for i, f := range m.got {
		s, ok := packet.ParseSignature(f[42:])
		if !ok {
			t.Fatalf("frame %d has no signature: %x", i, f)
		}
		all = append(all, s)
	}
	return all
}

// inOrder checks numbers without a hole and the last flag on the last of each stream, and only there.
func checkFrames(t *testing.T, m *memory, c engine.QueueCounters) {
	t.Helper()
	next, last := map[uint16]uint64{}, map[uint16]bool{}
	for _, s := range signatures(t, m) {
		if uint64(s.Seq) != next[s.Stream] || last[s.Stream] {
			t.Fatalf("stream id %d: number %d where %d was to come, last flag seen %v", s.Stream, s.Seq, next[s.Stream], last[s.Stream])
		}
		next[s.Stream]++
		last[s.Stream] = s.Flags&packet.FlagLast != 0
	}
	for id := range next {
		if !last[id] {
			t.Errorf("stream id %d has no frame with the last flag", id)
		}
	}
	if n := uint64(len(m.got)); c.Submitted != n || c.Bytes != 64*n {
		t.Errorf("%d frames were taken, counted %d with %d bytes", n, c.Submitted, c.Bytes)
	}
	var sum uint64
	for _, n := range c.Streams {
		sum += n
	}
	if sum != c.Submitted {
		t.Errorf("the streams add up to %d of %d", sum, c.Submitted)
	}
}

func TestCountIsExact(t *testing.T) {
	for _, queues := range []int{1, 2, 3} {
		for _, n := range []uint64{1, 2, 5, 64, 1001} {
			for _, rate := range []wire.FPS{{}, {Num: 10_000_000, Den: 1}} {
				p := testPlan(t, 2, 3)
				p.Queues, p.Count, p.Rate = queues, n, rate
				rings := []*memory{newMemory(), newMemory(), newMemory()}
				_, c := run(t, context.Background(), p, rings...)
				var sum uint64
				for q, qc := range c.Queues {
					checkFrames(t, rings[q], qc)
					if want := p.Program.Shares(n, q, queues); !slices.Equal(qc.Streams, want) {
						t.Errorf("%d frames, queue %d of %d: streams %v, want %v", n, q, queues, qc.Streams, want)
					}
					sum += qc.Sent
				}
				if sum != n {
					t.Errorf("asked for %d frames on %d queues, sent %d", n, queues, sum)
				}
			}
		}
	}
}

func TestManyStreamsAreCountedEach(t *testing.T) {
	weights := make([]int, 200)
	for i := range weights {
		weights[i] = 1 + i%3
	}
	for _, batch := range []int{1, 64} {
		m := newMemory()
		p := testPlan(t, weights...)
		p.Count, p.Batch = 2000, batch
		_, c := run(t, context.Background(), p, m)
		checkFrames(t, m, c.Queues[0])
		if want := p.Program.Shares(2000, 0, 1); !slices.Equal(c.Queues[0].Streams, want) {
			t.Errorf("streams %v, want %v", c.Queues[0].Streams, want)
		}
	}
}

func TestAFullRingLosesNothing(t *testing.T) {
	free, tight := newMemory(), newMemory()
	tight.take = func(call, n int) (int, error) { return min(n, call%7), nil }
	p := testPlan(t, 1, 2)
	p.Count = 5000
	run(t, context.Background(), p, free)
	_, c := run(t, context.Background(), p, tight)
	checkFrames(t, tight, c.Queues[0])
	if !slices.EqualFunc(free.got, tight.got, slices.Equal) {
		t.Error("a full ring changes what is sent")
	}
	q := c.Queues[0]
	if q.Backpressure == 0 || q.Doorbells < 5000/6 || q.Sent != 5000 {
		t.Errorf("back-pressure %d, doorbells %d, sent %d", q.Backpressure, q.Doorbells, q.Sent)
	}
}

func TestAnErrorEndsTheRunWithItsReason(t *testing.T) {
	m := newMemory()
	m.take = func(call, n int) (int, error) {
		if call == 3 {
			return 10, errors.New("the device is on fire")
		}
		return n, nil
	}
	p := testPlan(t, 1)
	p.Count = 5000
	_, c := run(t, context.Background(), p, m)
	if q := c.Queues[0]; c.Reason != "the device is on fire" || q.Submitted != 3*64+10 || q.Sent != q.Submitted || q.EndNs == 0 {
		t.Errorf("%+v", c)
	}
}

// stuck is a ring that takes nothing after the first batch.
type stuck struct {
	*memory
	asked atomic.Int64
}

func (s *stuck) Check() error {
	s.asked.Add(1)
	return errors.New("no carrier")
}

func TestARingThatTakesNothingIsAskedWhy(t *testing.T) {
	s := &stuck{memory: newMemory()}
	s.take = func(call, n int) (int, error) { return min(n, max(0, 64-64*call)), nil }
	p := testPlan(t, 1)
	p.Count = 5000
	l, err := New(Config{Plan: p, MaxBatch: 64, Ring: func(int) (engine.Ring, error) { return s, nil }})
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Run(context.Background()); err != nil {
		t.Fatal(err)
	}
	if c := l.Counters(); c.Reason != "no carrier" || c.Queues[0].Submitted != 64 || s.asked.Load() != 1 {
		t.Errorf("asked %d times: %+v", s.asked.Load(), c)
	}
}

func TestARingThatTakesNothingEndsTheRun(t *testing.T) {
	m := newMemory()
	m.take = func(call, n int) (int, error) { return min(n, max(0, 64-64*call)), nil }
	p := testPlan(t, 1)
	p.Count = 5000
	l, err := New(Config{Plan: p, MaxBatch: 64, Ring: func(int) (engine.Ring, error) { return m, nil }})
	if err != nil {
		t.Fatal(err)
	}
	l.workers[0].stalled = int64(20 * time.Millisecond)
	if err := l.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if c := l.Counters(); !strings.Contains(c.Reason, "no frame was taken for 20ms") || c.Queues[0].Submitted != 64 {
		t.Errorf("%+v", c)
	}
}

func TestCancel(t *testing.T) {
	m := newMemory()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	m.take = func(call, n int) (int, error) {
		if call == 20 {
			cancel()
		}
		time.Sleep(time.Millisecond) // not to fill the memory
		return n, nil
	}
	_, c := run(t, ctx, testPlan(t, 1, 1), m)
	checkFrames(t, m, c.Queues[0])
	if c.Reason != "" || c.Queues[0].Sent < 20 {
		t.Errorf("%+v", c)
	}
}

func TestCancelBeforeTheStartSendsNothing(t *testing.T) {
	m := newMemory()
	p := testPlan(t, 1)
	p.StartAt = host.Monotonic() + int64(time.Hour)
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
	defer cancel()
	if _, c := run(t, ctx, p, m); len(m.got) != 0 || c.Queues[0].Submitted != 0 {
		t.Errorf("%+v", c)
	}
	p.StartAt = 0
	if _, c := run(t, ctx, p, m); len(m.got) != 0 || c.Queues[0].Submitted != 0 {
		t.Errorf("cancelled before the run: %+v", c)
	}
}

func TestDurationDropsWhatAStallLost(t *testing.T) {
	m := newMemory()
	m.take = func(call, n int) (int, error) {
		if call == 50 {
			time.Sleep(60 * time.Millisecond)
		}
		return n, nil
	}
	p := testPlan(t, 1, 1)
	p.Duration, p.Rate = 200*time.Millisecond, wire.FPS{Num: 10_000, Den: 1}
	_, c := run(t, context.Background(), p, m)
	q := c.Queues[0]
	checkFrames(t, m, q)
	// 60 ms of stall, 10 ms of it made up for. A busy machine adds stalls of its own.
	if q.Skipped < 450 || q.Sent > 2000-450 || q.Sent+q.Skipped > 2002 || q.ShiftedNs != 0 {
		t.Errorf("sent %d, skipped %d, shifted %d", q.Sent, q.Skipped, q.ShiftedNs)
	}
}

func TestTheBatchGrowsUntilTheRateHolds(t *testing.T) {
	m := newMemory()
	m.keep = false
	m.take = func(call, n int) (int, error) {
		for end := time.Now().Add(20 * time.Microsecond); time.Now().Before(end); {
		}
		return n, nil
	}
	p := testPlan(t, 1)
	p.Count, p.Rate = 100_000, wire.FPS{Num: 400_000, Den: 1}
	_, c := run(t, context.Background(), p, m)
	if c.Batch < 16 {
		t.Errorf("batch %d, a system call costs eight gaps", c.Batch)
	}
	p.Batch = 4
	p.Count = 5000
	if _, c = run(t, context.Background(), p, m); c.Batch != 4 {
		t.Errorf("batch %d, 4 was asked for", c.Batch)
	}
}

func TestWhatDoesNotCompleteIsUndrained(t *testing.T) {
	m := newMemory()
	m.complete = func(taken int) int { return taken / 2 }
	p := testPlan(t, 1)
	p.Count = 128
	began := time.Now()
	_, c := run(t, context.Background(), p, m)
	if c.Undrained != 64 || c.Queues[0].Sent != 64 || c.Queues[0].Submitted != 128 {
		t.Errorf("%+v", c)
	}
	if time.Since(began) < DrainLimit {
		t.Error("it did not wait for them")
	}
}

func TestStamps(t *testing.T) {
	for _, c := range []struct {
		stamp engine.Stamp
		rate  wire.FPS
		kind  uint8
	}{
		{engine.StampNone, wire.FPS{}, packet.TimeNone},
		{engine.StampFrame, wire.FPS{}, packet.TimeFrame},
		{engine.StampShared, wire.FPS{Num: 1e6, Den: 1}, packet.TimeShared},
		{engine.StampAuto, wire.FPS{}, packet.TimeShared},
		{engine.StampAuto, wire.FPS{Num: 1e6, Den: 1}, packet.TimeFrame},
	} {
		m := newMemory()
		p := testPlan(t, 1)
		p.Stamp, p.Rate, p.Count, p.Batch = c.stamp, c.rate, 200, 16
		from := host.Monotonic()
		run(t, context.Background(), p, m)
		to := host.Monotonic()
		var before uint64
		for i, s := range signatures(t, m) {
			if s.Flags&packet.TimeMask != c.kind {
				t.Fatalf("stamp %d: flags %#x", c.stamp, s.Flags)
			}
			if c.kind == packet.TimeNone {
				continue
			}
			if s.Time < before || int64(s.Time) < from-1000 || int64(s.Time) > to+1000 {
				t.Fatalf("stamp %d: frame %d says %d, the run was from %d to %d", c.stamp, i, s.Time, from, to)
			}
			before = s.Time
		}
	}
}

func TestNewRefuses(t *testing.T) {
	good := testPlan(t, 1)
	for name, change := range map[string]func(*engine.Plan){
		"no program":        func(p *engine.Plan) { p.Program = nil },
		"no queue":          func(p *engine.Plan) { p.Queues = 0 },
		"batch":             func(p *engine.Plan) { p.Batch = 65 },
		"negative batch":    func(p *engine.Plan) { p.Batch = -1 },
		"cores":             func(p *engine.Plan) { p.Cores = []int{0, 1} },
		"core":              func(p *engine.Plan) { p.Cores = []int{4096} },
		"negative duration": func(p *engine.Plan) { p.Duration = -1 },
		"negative catch-up": func(p *engine.Plan) { p.CatchUp = -1 },
		"a gap of ages":     func(p *engine.Plan) { p.Rate = wire.FPS{Num: 1, Den: 1 << 40} },
		"ids":               func(p *engine.Plan) { p.IDBase = 65535; p.Queues = 2 },
	} {
		p := good
		change(&p)
		if _, err := New(Config{Plan: p, MaxBatch: 64, Ring: func(int) (engine.Ring, error) { return newMemory(), nil }}); err == nil {
			t.Errorf("%s: taken", name)
		}
	}
	if _, err := New(Config{Plan: good, MaxBatch: 64, Ring: func(int) (engine.Ring, error) { return nil, errors.New("no ring") }}); err == nil {
		t.Error("took a loop without a ring")
	}
}

func TestRunsOnce(t *testing.T) {
	p := testPlan(t, 1)
	p.Count = 1
	l, _ := run(t, context.Background(), p, newMemory())
	if l.Run(context.Background()) == nil {
		t.Error("it ran twice")
	}
}

func TestClockIsCLOCK_MONOTONIC(t *testing.T) {
	c := NewClock()
	for range 100 {
		before := host.Monotonic()
		now := c.Now()
		after := host.Monotonic()
		if now < before-c.err || now > after+c.err {
			t.Fatalf("%d is not between %d and %d, error %d", now, before, after, c.err)
		}
	}
}

// BenchmarkLoop is the cost of a frame without a device: fill, count, publish. One operation is one frame.
func BenchmarkLoop(b *testing.B) {
	for _, batch := range []int{1, 64} {
		b.Run(fmt.Sprint("batch ", batch), func(b *testing.B) {
			m := newMemory()
			m.keep = false
			p := testPlan(b, 1)
			p.Count, p.Batch, p.Stamp = uint64(b.N), batch, engine.StampShared
			l, err := New(Config{Plan: p, MaxBatch: 64, Ring: func(int) (engine.Ring, error) { return m, nil }})
			if err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			b.ResetTimer()
			if err := l.Run(context.Background()); err != nil {
				b.Fatal(err)
			}
		})
	}
}
