package txloop

import (
	"context"
	"fmt"
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/wirespeed/wirespeed/internal/engine"
	"github.com/wirespeed/wirespeed/internal/host"
	"github.com/wirespeed/wirespeed/internal/packet"
	"github.com/wirespeed/wirespeed/internal/program"
)

// DrainLimit bounds how long a worker waits for a full ring, and for completions, once the run is over.
const DrainLimit = 2 * time.Second

// Config is what a Loop drives.
type Config struct {
	Plan     engine.Plan
	MaxBatch int // frames that a ring reserves at most
	// Ring makes the ring of one queue, with room for frames of the plan's program. It is called by New.
	Ring func(queue int) (engine.Ring, error)
	// Virtual is the clock of a plan with one queue whose time passes as fast as it can; nil: the machine's.
	Virtual *Virtual
}

// A Checker is a Ring that can say why nothing is taken for so long: an error ends the run, nil means patience.
type Checker interface{ Check() error }

// A Flusher is a Ring that holds frames back. Flush is called when no more come; an error is why those that have not
// completed never will.
type Flusher interface{ Flush() error }

// A Loop is one run of all queues of a port.
type Loop struct {
	plan    engine.Plan
	clock   Clock
	workers []*worker
	ran     bool

	stop   atomic.Bool
	reason atomic.Pointer[string]
}

// New makes everything that a run needs. Cores are those of the plan, else those that the process may use, in turn.
func New(c Config) (*Loop, error) {
	p := c.Plan
	if err := check(&p, c.MaxBatch); err != nil {
		return nil, err
	}
	cores, err := coresOf(&p)
	if err != nil {
		return nil, err
	}
	l := &Loop{plan: p, clock: NewClock()}
	if l.clock.virtual = c.Virtual; c.Virtual != nil && p.Queues > 1 {
		return nil, fmt.Errorf("%d queues: a virtual clock has one", p.Queues)
	}
	for q := range p.Queues {
		w, err := l.newWorker(q, cores[q], c.MaxBatch)
		if err != nil {
			return nil, err
		}
		if w.ring, err = c.Ring(q); err != nil {
			return nil, err
		}
		w.checker, _ = w.ring.(Checker)
		w.flusher, _ = w.ring.(Flusher)
		l.workers = append(l.workers, w)
	}
	return l, nil
}

// check refuses what no loop can run.
func check(p *engine.Plan, maxBatch int) error {
	if p.Program == nil || len(p.Program.Streams) == 0 {
		return fmt.Errorf("the plan has no program")
	}
	if p.Queues < 1 {
		return fmt.Errorf("%d queues: at least 1 is needed", p.Queues)
	}
	if err := p.Program.CheckSequence(p.Queues); err != nil {
		return err
	}
	if p.Batch < 0 || p.Batch > maxBatch {
		return fmt.Errorf("a batch of %d frames: this engine hands over 1 to %d at once", p.Batch, maxBatch)
	}
	if p.Cores != nil && len(p.Cores) != p.Queues {
		return fmt.Errorf("%d cores for %d queues: give one core for each queue", len(p.Cores), p.Queues)
	}
	if p.Duration < 0 || p.CatchUp < 0 {
		return fmt.Errorf("a negative time: duration %v, catch-up %v", p.Duration, p.CatchUp)
	}
	if p.Recorded && (p.Program.Sequence == nil && p.Program.Source == nil || !p.Rate.IsZero()) {
		return fmt.Errorf("frames as recorded, but nothing is recorded or there is a rate of %s", p.Rate)
	}
	if !p.Rate.IsZero() && p.Rate.Due(1) > math.MaxInt64 {
		return fmt.Errorf("a rate of %s: the gap between two frames is too long to be kept", p.Rate)
	}
	return nil
}

func coresOf(p *engine.Plan) ([]int, error) {
	allowed, err := host.CPUs()
	if err != nil {
		return nil, err
	}
	cores := make([]int, p.Queues)
	for q := range cores {
		if p.Cores == nil {
			cores[q] = allowed[q%len(allowed)]
			continue
		}
		if cores[q] = p.Cores[q]; !slices.Contains(allowed, cores[q]) {
			return nil, fmt.Errorf("core %d: this process may run on cores %v", cores[q], allowed)
		}
	}
	return cores, nil
}

// newWorker binds the program to a queue and finds the end of its schedule.
func (l *Loop) newWorker(q, core, maxBatch int) (*worker, error) {
	p := &l.plan
	b := program.Binding{Run: p.Run, IDBase: p.IDBase, Queue: q, Queues: p.Queues}
	w := &worker{loop: l, queue: q, core: core, paced: p.Paced(), recorded: p.Recorded, source: p.Program.Source, stalled: int64(stalledAfter)}
	if p.Program.Sequence != nil {
		w.source = nil
	}
	w.plays = p.Program.Sequence != nil || w.source != nil
	switch p.Stamp {
	case engine.StampNone:
		b.TimeKind = packet.TimeNone
	case engine.StampFrame:
		b.TimeKind = packet.TimeFrame
	case engine.StampShared:
		b.TimeKind = packet.TimeShared
	default:
		b.TimeKind = packet.TimeShared
		if w.paced {
			b.TimeKind = packet.TimeFrame
		}
	}
	w.stampEach = b.TimeKind == packet.TimeFrame
	total, known := p.Frames()
	w.sched = schedule{rate: p.Rate, queue: uint64(q), queues: uint64(p.Queues), end: math.MaxUint64,
		catchUp: int64(p.CatchUp), drop: p.Duration > 0 && p.Count == 0}
	if known {
		w.sched.end = slots(total, uint64(q), uint64(p.Queues))
		b.Total = total
	}
	if known && w.source == nil {
		w.share = p.Program.Shares(total, q, p.Queues)
		for _, n := range w.share {
			b.LastSeq = append(b.LastSeq, n-1) // no frames: a number that never comes
		}
	}
	if err := p.Program.CheckBinding(b); err != nil {
		return nil, err
	}
	w.image = p.Program.Bind(b)
	w.batch, w.growTo = firstBatch(p, maxBatch)
	w.counts.streams = make([]uint64, len(p.Program.Streams))
	w.pub.streams = make([]atomic.Uint64, len(p.Program.Streams))
	w.pub.batch.Store(int64(w.batch))
	return w, nil
}

// Batches of a paced run. A larger batch costs less per frame and leaves in a bunch.
const (
	smallBatch = 4
	largeBatch = 64
)

// firstBatch is the batch to begin with, and the largest that the worker may grow it to when it cannot hold the rate:
// a paced run takes the smallest of 1, 4, 16 and 64 that does.
func firstBatch(p *engine.Plan, maxBatch int) (first, growTo int) {
	most := min(largeBatch, maxBatch)
	switch {
	case p.Recorded && p.Batch > 0:
		return 1, p.Batch
	case p.Recorded:
		return 1, most
	case p.Batch > 0:
		return p.Batch, p.Batch
	case p.Rate.IsZero():
		return most, most
	}
	// What one system call with few frames costs on current machines, and what comes between; a wrong guess is mended within
	// 256 batches.
	switch gap := p.Rate.Due(uint64(p.Queues)); {
	case gap > 5000: // below 200,000 frames/s
		return 1, most
	case gap > 2500:
		return min(smallBatch, most), most
	case gap > 1250:
		return min(smallBatch*smallBatch, most), most
	default:
		return most, most
	}
}

// Run sends until the schedule ends or ctx is done, and returns when every frame completed or the drain limit is over. It
// runs once. An error means that nothing was sent; what ended a run early is the Reason in Counters.
func (l *Loop) Run(ctx context.Context) error {
	if l.ran {
		return fmt.Errorf("the plan has run: load it again")
	}
	l.ran = true
	l.stop.Store(ctx.Err() != nil)
	defer context.AfterFunc(ctx, func() { l.stop.Store(true) })()
	errs := make([]error, len(l.workers))
	var ready, done sync.WaitGroup
	gate := make(chan struct{})
	for i, w := range l.workers {
		ready.Add(1)
		done.Go(func() {
			errs[i] = enterThread(w.core)
			ready.Done()
			<-gate
			if errs[i] == nil {
				w.run()
			}
		})
	}
	ready.Wait()
	for _, err := range errs {
		if err != nil {
			l.stop.Store(true)
		}
	}
	origin := l.plan.StartAt
	if origin == 0 {
		origin = l.clock.Now()
	}
	for _, w := range l.workers {
		w.start(origin)
	}
	close(gate)
	done.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// fail ends the run of all queues for a reason.
func (l *Loop) fail(err error) {
	why := err.Error()
	l.reason.CompareAndSwap(nil, &why)
	l.stop.Store(true)
}

// Counters may be called at any time, from any goroutine. SentSource is for the engine to fill in.
func (l *Loop) Counters() engine.Counters {
	c := engine.Counters{Queues: make([]engine.QueueCounters, len(l.workers))}
	for i, w := range l.workers {
		q := w.pub.read(w.queue, w.core)
		c.Queues[i] = q
		c.Batch = max(c.Batch, int(w.pub.batch.Load()))
		if q.EndNs != 0 {
			c.Undrained += q.Submitted - q.Sent
		}
	}
	if why := l.reason.Load(); why != nil {
		c.Reason = *why
	}
	return c
}
