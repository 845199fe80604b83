package enginetest

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/wirespeed/wirespeed/internal/engine"
	"github.com/wirespeed/wirespeed/internal/host"
	"github.com/wirespeed/wirespeed/internal/wire"
	"github.com/wirespeed/wirespeed/stream"
)

// patience is far more than anything here takes.
const patience = 20 * time.Second

// Run is the contract of ports.
func Run(t *testing.T, f Factory) {
	for _, c := range []struct {
		name string
		test func(*testing.T, Factory)
	}{
		{"exact count", exactCount},
		{"streams by weight", streamsByWeight},
		{"two queues", twoQueues},
		{"twice in a row", twice},
		{"refuses", refuses},
		{"order of calls", orderOfCalls},
		{"cancel", cancel},
		{"duration", duration},
		{"counters while running", countersWhileRunning},
		{"start gate", startGate},
		{"paced", paced},
		{"leaves the host as it was", unchanged},
		{"no allocations", noAllocations},
		{"replay", replayWhole},
		{"replay with signatures", replaySigned},
		{"replay on two queues", replayTwoQueues},
		{"replay with recorded gaps", replayRecorded},
		{"replay for a time", replayFor},
		{"replay at a rate", replayAtRate},
		{"replay without an end", replayForever},
		{"replay from a source", replaySource},
		{"replay refuses", replayRefuses},
	} {
		t.Run(c.name, func(t *testing.T) { c.test(t, f) })
	}
}

// run loads and runs the plan and returns what the port and the receiver say of it.
func (l *Loop) run(t *testing.T, p engine.Plan) (engine.Counters, engine.Received) {
	t.Helper()
	r := l.receive(t, expect(p))
	port := l.open(t)
	before := device(t, port)
	load(t, port, p)
	ctx, stop := context.WithTimeout(context.Background(), patience)
	defer stop()
	if err := port.Run(ctx); err != nil {
		t.Fatal(err)
	}
	if ctx.Err() != nil {
		t.Fatalf("the run did not end by itself: %+v", port.Counters())
	}
	c, got := port.Counters(), settle(t, r, port)
	agree(t, c, before, device(t, port), got)
	return c, got
}

func load(t *testing.T, port engine.Port, p engine.Plan) {
	t.Helper()
	if err := port.Load(p); err != nil {
		t.Fatal(err)
	}
}

func device(t *testing.T, port interface {
	Device() (engine.DeviceCounters, bool, error)
}) *engine.DeviceCounters {
	t.Helper()
	d, ok, err := port.Device()
	if err != nil {
		t.Fatal(err)
	}
	if !ok {
		return nil
	}
	return &d
}

// settle lets the last frames arrive, stops the receiver and returns its final counts.
func settle(t *testing.T, r engine.Receiver, port engine.Port) engine.Received {
	t.Helper()
	sent := port.Counters().Total().Sent
	if r == nil { // all that was sent is what a receiver that sees nothing has dropped
		return engine.Received{TesterDrops: sent}
	}
	for end := time.Now().Add(time.Second); time.Now().Before(end); time.Sleep(time.Millisecond) {
		got, err := r.Snapshot()
		if err != nil {
			t.Fatal(err)
		}
		if got.Frames+got.TesterDrops >= sent {
			break
		}
	}
	if err := r.Stop(); err != nil {
		t.Fatal(err)
	}
	got, err := r.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// agree checks what must hold after every run on a quiet loop: own count, device and receiver say the same.
func agree(t *testing.T, c engine.Counters, before, after *engine.DeviceCounters, got engine.Received) {
	t.Helper()
	sum := c.Total()
	if before != nil {
		if n := after.TxFrames - before.TxFrames; n != sum.Sent {
			t.Errorf("the port counts %d sent, its device %d", sum.Sent, n)
		}
	}
	if got.Frames+got.TesterDrops != sum.Sent {
		t.Errorf("sent %d, received %d and dropped %d", sum.Sent, got.Frames, got.TesterDrops)
	}
	if got.Foreign+got.Stale+got.BadStream != 0 {
		t.Errorf("on a quiet loop: foreign %d, stale %d, bad stream %d", got.Foreign, got.Stale, got.BadStream)
	}
	for _, s := range got.Streams {
		if s.Corrupt+s.Duplicate+s.Reordered+s.Late+s.BadSeq != 0 {
			t.Errorf("stream id %d: corrupt %d, duplicate %d, reordered %d, late %d, bad number %d", s.ID, s.Corrupt, s.Duplicate, s.Reordered, s.Late, s.BadSeq)
		}
		if got.TesterDrops == 0 && (!s.LastSeen || s.LastSeq+1 != s.Frames || s.Next != s.Frames) {
			t.Errorf("stream id %d: %d frames, next %d, last flag seen %v at %d", s.ID, s.Frames, s.Next, s.LastSeen, s.LastSeq)
		}
	}
	if sum.BeginNs == 0 || sum.EndNs < sum.BeginNs {
		t.Errorf("began at %d, ended at %d", sum.BeginNs, sum.EndNs)
	}
	if c.SentSource == "" || c.Batch < 1 {
		t.Errorf("source of the count %q, batch %d", c.SentSource, c.Batch)
	}
}

func exactCount(t *testing.T, f Factory) {
	for _, n := range []uint64{1, 2, 63, 64, 65, 10000} {
		l := f(t, 1)
		p := plan(t, 1, 1)
		p.Count = n
		c, got := l.run(t, p)
		sum := c.Total()
		if sum.Submitted != n || sum.Sent != n || sum.Bytes != 64*n || sum.Streams[0] != n || c.Undrained != 0 || c.Reason != "" {
			t.Errorf("asked for %d frames: %+v, undrained %d, reason %q", n, sum, c.Undrained, c.Reason)
		}
		if got.TesterDrops == 0 && (len(got.Streams) != 1 || got.Streams[0].Frames != n || got.Bytes != 64*n) {
			t.Errorf("asked for %d frames, received %+v", n, got)
		}
	}
}

func streamsByWeight(t *testing.T, f Factory) {
	l := f(t, 1)
	p := plan(t, 1, 1, 3)
	p.Count = 4001 // of 1 and 3, and one more
	c, got := l.run(t, p)
	want := p.Program.Shares(p.Count, 0, 1)
	if s := c.Total().Streams; !slices.Equal(s, want) {
		t.Errorf("sent %v of the streams, want %v", s, want)
	}
	if got.TesterDrops == 0 && (len(got.Streams) != 2 || got.Streams[0].Frames != want[0] || got.Streams[1].Frames != want[1]) {
		t.Errorf("received %+v of the streams, want %v", got.Streams, want)
	}
}

func twoQueues(t *testing.T, f Factory) {
	l := f(t, 2)
	p := plan(t, 2, 1)
	p.Count = 20001
	if queues(t, &l) < 2 {
		oneQueueOnly(t, &l, p)
		return
	}
	c, got := l.run(t, p)
	if len(c.Queues) != 2 || c.Queues[0].Sent != 10001 || c.Queues[1].Sent != 10000 {
		t.Fatalf("20001 frames on two queues: %+v", c.Queues)
	}
	if got.TesterDrops == 0 && (len(got.Streams) != 2 || got.Streams[0].ID != idBase || got.Streams[0].Frames != 10001 || got.Streams[1].Frames != 10000) {
		t.Errorf("received %+v", got.Streams)
	}
}

func queues(t *testing.T, l *Loop) int {
	t.Helper()
	c, err := l.Tx.Probe(context.Background(), l.TxTarget)
	if err != nil {
		t.Fatal(err)
	}
	return c.MaxQueues
}

func twice(t *testing.T, f Factory) {
	l := f(t, 1)
	_ = l.receive(t, expect(plan(t, 1, 1)))
	for range 2 {
		t.Run("open", func(t *testing.T) {
			port := l.open(t)
			for range 2 {
				p := plan(t, 1, 1)
				p.Count = 100
				load(t, port, p)
				if err := port.Run(context.Background()); err != nil {
					t.Fatal(err)
				}
				if sum := port.Counters().Total(); sum.Sent != 100 {
					t.Errorf("sent %d, want 100", sum.Sent)
				}
			}
		})
	}
}

func refuses(t *testing.T, f Factory) {
	l := f(t, 1)
	caps, err := l.Tx.Probe(context.Background(), l.TxTarget)
	if err != nil {
		t.Fatal(err)
	}
	large := stream.Default()
	large.SetMACs([6]byte{2}, [6]byte{2, 1})
	large.Streams[0].Size = stream.Sizes{Cycle: []int{caps.MaxFrame + 1}}
	tooLarge, tooMany, unsupported, noQueue, cores := plan(t, 1, 1), plan(t, caps.MaxQueues+1, 1), plan(t, 1, 1), plan(t, 1, 1), plan(t, 1, 1)
	if caps.MaxFrame < wire.MaxFrame {
		tooLarge.Program = compile(t, large)
	}
	unsupported.Unsupported = []string{"stream \"s0\": burst"}
	noQueue.Queues = 0
	cores.Cores = []int{1 << 20}
	_ = l.receive(t, expect(plan(t, 1, 1)))
	port := l.open(t)
	for name, p := range map[string]engine.Plan{"a frame too large": tooLarge, "too many queues": tooMany, "what is not supported": unsupported, "no queue": noQueue, "a core that does not exist": cores} {
		if name == "a frame too large" && caps.MaxFrame >= wire.MaxFrame {
			t.Log("no stream has frames larger than this engine takes; a replay may, see there")
			continue
		}
		p.Count = 10
		if err := port.Load(p); err == nil {
			t.Errorf("%s was taken", name)
		} else {
			t.Logf("%s: %v", name, err)
		}
		if port.Run(context.Background()) == nil {
			t.Errorf("after refusing %s it ran", name)
		}
	}
	if sum := port.Counters().Total(); sum.Submitted != 0 {
		t.Errorf("after refusing all it sent %d", sum.Submitted)
	}
	p := plan(t, 1, 1)
	p.Count = 10
	load(t, port, p)
	if err := port.Run(context.Background()); err != nil || port.Counters().Total().Sent != 10 {
		t.Errorf("after refusing it does not run: %v, %+v", err, port.Counters())
	}
	l.cannotOpen(t)
}

func orderOfCalls(t *testing.T, f Factory) {
	l := f(t, 1)
	_ = l.receive(t, expect(plan(t, 1, 1))) // some ports open only where somebody receives
	port, err := l.Tx.Open(context.Background(), l.TxTarget, l.config(t))
	if err != nil {
		t.Fatal(err)
	}
	if port.Run(context.Background()) == nil {
		t.Error("ran before anything was loaded")
	}
	if c := port.Counters(); c.Total().Submitted != 0 {
		t.Errorf("counts before anything was loaded: %+v", c)
	}
	if err := port.Close(); err != nil {
		t.Errorf("close without a run: %v", err)
	}
	if port, err = l.Tx.Open(context.Background(), l.TxTarget, l.config(t)); err != nil {
		t.Fatal(err)
	}
	if port.Load(engine.Plan{Program: plan(t, 1, 1).Program}) == nil {
		t.Error("took a plan without queues")
	}
	if err := port.Close(); err != nil {
		t.Errorf("close after a failed load: %v", err)
	}
}

// while runs the plan and calls do meanwhile, with a function that stops the run.
func while(t *testing.T, port engine.Port, do func(stop func())) {
	t.Helper()
	ctx, stop := context.WithTimeout(context.Background(), patience)
	defer stop()
	var wg sync.WaitGroup
	wg.Go(func() { do(stop) })
	if err := port.Run(ctx); err != nil {
		t.Error(err)
	}
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		t.Errorf("the run did not end: %+v", port.Counters())
	}
	stop()
	wg.Wait()
}

// untilSent waits until the port has handed over n frames.
func untilSent(port engine.Port, n uint64) {
	for end := time.Now().Add(patience); port.Counters().Total().Submitted < n && time.Now().Before(end); {
		time.Sleep(time.Millisecond)
	}
}

func cancel(t *testing.T, f Factory) {
	for _, rate := range []wire.FPS{{}, {Num: 1000, Den: 1}} {
		l := f(t, 1)
		p := plan(t, 1, 1)
		p.Rate, p.CatchUp = rate, 10*time.Millisecond
		r := l.receive(t, expect(p))
		port := l.open(t)
		before := device(t, port)
		load(t, port, p)
		while(t, port, func(stop func()) {
			untilSent(port, 20)
			stop()
		})
		c := port.Counters()
		got := settle(t, r, port)
		after := device(t, port)
		agree(t, c, before, after, got)
		if again := port.Counters(); again.Total().Sent != c.Total().Sent {
			t.Errorf("after the run the count went from %d to %d", c.Total().Sent, again.Total().Sent)
		}
		if sum := c.Total(); sum.Sent < 20 || sum.Sent != sum.Submitted {
			t.Errorf("handed over %d, sent %d", sum.Submitted, sum.Sent)
		}
	}
}

// duration ends by time: frames with the last flag come after it, or in its last slots.
func duration(t *testing.T, f Factory) {
	for _, rate := range []wire.FPS{{}, {Num: 20000, Den: 1}} {
		l := f(t, 1)
		p := plan(t, 1, 2, 1)
		p.Rate, p.Duration, p.CatchUp = rate, 100*time.Millisecond, 10*time.Millisecond
		c, _ := l.run(t, p)
		sum := c.Total()
		// Where a stall dropped the very last slots, the frames with the last flag come on top.
		if !rate.IsZero() && (sum.Sent > 2000 && sum.Skipped == 0 || sum.Sent > 2002 || sum.Sent+sum.Skipped < 1990) {
			t.Errorf("sent %d and skipped %d of 2000", sum.Sent, sum.Skipped)
		}
		if sum.EndNs-sum.BeginNs < int64(90*time.Millisecond) {
			t.Errorf("a run of 100 ms took %d ns", sum.EndNs-sum.BeginNs)
		}
	}
}

func countersWhileRunning(t *testing.T, f Factory) {
	l := f(t, 1)
	p := plan(t, 1, 1)
	p.Count = 200000
	_ = l.receive(t, expect(p))
	port := l.open(t)
	load(t, port, p)
	while(t, port, func(func()) {
		var last engine.QueueCounters
		for end := time.Now().Add(patience); last.Submitted < p.Count && !t.Failed() && time.Now().Before(end); {
			sum := port.Counters().Total()
			if sum.Submitted < last.Submitted || sum.Sent < last.Sent || sum.Sent > sum.Submitted || sum.Submitted > p.Count {
				t.Errorf("the counts go from %+v to %+v", last, sum)
			}
			last = sum
			if _, _, err := port.Device(); err != nil {
				t.Error(err)
			}
			time.Sleep(100 * time.Microsecond)
		}
	})
}

func startGate(t *testing.T, f Factory) {
	for _, rate := range []wire.FPS{{}, {Num: 100000, Den: 1}} {
		l := f(t, 1)
		p := plan(t, 1, 1)
		p.Count, p.Rate, p.CatchUp = 1000, rate, 10*time.Millisecond
		p.StartAt = host.Monotonic() + int64(150*time.Millisecond)
		c, got := l.run(t, p)
		if host.Monotonic() < p.StartAt && !l.Virtual {
			t.Error("it ended before it was to start")
		}
		slack := int64(10 * time.Microsecond) // of the clocks
		if sum := c.Total(); sum.BeginNs < p.StartAt-slack {
			t.Errorf("began %d ns too early", p.StartAt-sum.BeginNs)
		}
		if got.FirstNs != 0 && got.FirstNs < p.StartAt-slack {
			t.Errorf("the first frame arrived %d ns too early", p.StartAt-got.FirstNs)
		}
	}
}

// paced compares the mean rate with the asked one. A machine that is busy shows as behind and as a shifted schedule.
func paced(t *testing.T, f Factory) {
	l := f(t, 1)
	p := plan(t, 1, 1)
	p.Count, p.Rate, p.CatchUp = 6001, wire.FPS{Num: 20000, Den: 1}, 10*time.Millisecond
	c, _ := l.run(t, p)
	sum := c.Total()
	want := int64(300*time.Millisecond) + int64(sum.ShiftedNs)
	took, slack := sum.EndNs-sum.BeginNs, int64(sum.BehindNsMax)+want/100
	if took < want-slack || took > want+slack {
		t.Errorf("6001 frames at 20,000 a second took %d ns, want %d within %d (behind by at most %d, shifted by %d)", took, want, slack, sum.BehindNsMax, sum.ShiftedNs)
	}
}

func unchanged(t *testing.T, f Factory) {
	l := f(t, 1)
	factsNow := func() string {
		if l.Facts == nil {
			return ""
		}
		s, err := l.Facts()
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	// What is opened once and kept (the poller, namespaces' sockets) is open after a first round.
	once := func() {
		t.Run("round", func(t *testing.T) {
			p := plan(t, 1, 1)
			p.Count = 100
			r := l.receive(t, expect(p))
			port := l.open(t)
			load(t, port, p)
			if err := port.Run(context.Background()); err != nil {
				t.Fatal(err)
			}
			if r == nil {
				return
			}
			if err := r.Stop(); err != nil {
				t.Error(err)
			}
		})
	}
	before := factsNow()
	once()
	files := openFiles(t)
	once()
	if now := factsNow(); now != before {
		t.Errorf("before: %s\nafter:  %s", before, now)
	}
	if n := openFiles(t); n > files {
		t.Errorf("%d files open before a round, %d after it", files, n)
	}
}

// noAllocations compares a long run with a short one: what both do once cancels out.
func noAllocations(t *testing.T, f Factory) {
	l := f(t, 1)
	_ = l.receive(t, expect(plan(t, 1, 1)))
	port := l.open(t)
	mallocs := func(count uint64) uint64 {
		p := plan(t, 1, 1)
		p.Count = count
		load(t, port, p)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		if err := port.Run(context.Background()); err != nil {
			t.Fatal(err)
		}
		runtime.ReadMemStats(&after)
		return after.Mallocs - before.Mallocs
	}
	const short, long = 1000, 101000
	least := ^uint64(0)
	for range 5 { // other goroutines of the test allocate, too
		s := mallocs(short)
		least = min(least, max(mallocs(long), s)-s)
	}
	if least > 20 {
		t.Errorf("%d allocations for %d frames", least, long-short)
	}
}
