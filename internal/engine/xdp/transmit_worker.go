package xdp

import (
	"errors"
	"fmt"
	"runtime"
	"sync/atomic"

	"golang.org/x/sys/unix"

	"github.com/wirespeed/wirespeed/internal/engine"
	"github.com/wirespeed/wirespeed/internal/host"
	"github.com/wirespeed/wirespeed/internal/packet"
	"github.com/wirespeed/wirespeed/internal/program"
)

const (
	// A call ends by itself after about this time, so that a worker never stays in the kernel for long.
	callNs = 100_000_000
	// maxRepeat is what fits into one call without pace: some 30 to 150 ms. A multiple of sharedStamp, so that no stamp is
	// shared across calls.
	maxRepeat = 1 << 20
	// With more than sleepFrom to wait a worker sleeps, until wakeBefore is left.
	sleepFrom  = 400_000
	wakeBefore = 150_000
	// firstDue is how far ahead a paced run begins: the first call's own setting up must not count as being behind.
	firstDue = 1_000_000
)

// What Run asks of its workers.
const (
	haltNone = iota
	haltLast // stop, with the closing frames
	haltNow  // stop: nothing arrives anyway
)

// worker sends one queue. Between Run's start and end it belongs to its own goroutine, except for the atomics.
type worker struct {
	queue, core int
	unit        *unit
	release     func() error // of the anchor
	attr        *progRun
	limit       uint64 // frames before the closing ones
	closing     []int  // streams with a frame of their own at the end, in case their last frame is not known before
	slots       uint64 // passes of the program in one gap, at most
	gap         uint64 // ns, or what a frame takes at least

	tid       atomic.Int64
	halt      *atomic.Int32 // of the port
	done      atomic.Bool
	begin     atomic.Int64
	end       atomic.Int64
	doorbells atomic.Uint64
	err       error // read after the goroutine has ended
}

// newWorker compiles the program of a queue. The caller holds p.mu.
func (p *port) newWorker(queue, core int) (w *worker, err error) {
	plan := &p.plan
	opt := options{timeKind: timeKind(plan), skip: p.end.skip, catchUp: uint64(plan.CatchUp)}
	if !plan.Rate.IsZero() {
		if opt.pace, err = newPace(plan.Rate, queue, plan.Queues); err != nil {
			return nil, err
		}
	}
	bind := program.Binding{Run: plan.Run, IDBase: plan.IDBase, Queue: queue, Queues: plan.Queues, TimeKind: opt.timeKind}
	w = &worker{queue: queue, core: core, halt: &p.halt}
	w.shares(plan.Program, p.end, &bind)
	if err := plan.Program.CheckBinding(bind); err != nil {
		return nil, err
	}
	if p.replay != nil {
		w.unit, err = compileSequence(p.replay, plan.Program.Bind(bind), opt)
	} else {
		w.unit, err = compile(plan.Program.Bind(bind), opt)
	}
	if err != nil {
		return nil, err
	}
	if p.batch = plan.Batch; p.batch == 0 {
		p.batch = batchFor(w.unit.meanGap())
	}
	w.attr = newProgRun(w.unit.prog.FD(), w.unit.template, p.link.Index, p.batch)
	if opt.pace != nil {
		w.slots, w.gap = 1+opt.pace.whole/slotNs, min(opt.pace.whole, slotNs)
	}
	if w.release, err = anchor(w.unit.prog); err != nil {
		return nil, errors.Join(err, w.unit.close())
	}
	w.unit.reset(0, 0, 0)
	return w, nil
}

// shares sets how many frames the queue sends and which of them carry the last flag.
func (w *worker) shares(prog *program.Program, e ending, bind *program.Binding) {
	w.limit = never
	var shares []uint64
	if e.total > 0 {
		shares = prog.Shares(e.total, bind.Queue, bind.Queues)
		w.limit = 0
		for _, n := range shares {
			w.limit += n
		}
	} else { // one period of the order, or of the replay, says which streams the queue has
		period := len(prog.Order)
		if s := prog.Sequence; s != nil {
			period = len(s.Frames)
		}
		shares = prog.Shares(uint64(period*bind.Queues), bind.Queue, bind.Queues)
	}
	for i, n := range shares {
		if n > 0 && prog.Streams[i].Form == packet.FormFull {
			w.closing = append(w.closing, i)
		}
		bind.LastSeq = append(bind.LastSeq, never)
		if e.total > 0 && n > 0 && !e.skip {
			bind.LastSeq[i] = bind.FirstSeq + n - 1
		}
	}
	if e.skip { // how many slots a stall will eat is not known: the last frames come when the loop has ended
		w.limit -= uint64(len(w.closing))
	}
}

func (w *worker) close() error { return errors.Join(w.release(), w.unit.close()) }

// run is the worker's goroutine. It ends locked to its thread, so that the thread, with its namespace, affinity and timer
// slack, ends with it. ready is told when the set-up is over; start delivers CLOCK_MONOTONIC ns at which frame 0 of the port
// is due, or is closed where the run does not happen.
func (w *worker) run(netns int, ready chan<- error, start <-chan int64) {
	runtime.LockOSThread()
	defer w.done.Store(true)
	w.tid.Store(int64(unix.Gettid()))
	err := w.enter(netns)
	ready <- err
	at, ok := <-start
	if err != nil || !ok {
		return
	}
	if err := w.send(at); err != nil {
		w.err = fmt.Errorf("queue %d: %w", w.queue, err)
	}
}

func (w *worker) enter(netns int) error {
	if err := unix.Setns(netns, unix.CLONE_NEWNET); err != nil {
		return fmt.Errorf("enter the device's network namespace: %w", err)
	}
	var set unix.CPUSet
	set.Set(w.core)
	if err := unix.SchedSetaffinity(0, &set); err != nil {
		return fmt.Errorf("pin queue %d to CPU %d: %w; mend: another --cores list", w.queue, w.core, err)
	}
	// Sleeps between frames end on time; without it they are up to 50 us late.
	_ = unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0)
	return nil
}

// send runs the program until its limit or stop, then sends the closing frames.
func (w *worker) send(at int64) error {
	u := w.unit
	first := uint64(at)
	var rest uint64
	if p := u.opt.pace; p != nil {
		first, rest = first+p.offset, p.offsetRest
	}
	u.reset(w.limit, first, rest)
	if u.recorded() {
		first = u.due()
	}
	w.waitUntil(at)
	w.begin.Store(max(host.Monotonic(), int64(first)))
	err := w.loop()
	if err == nil {
		err = w.last()
	}
	w.done.Store(true) // before the clock is read: no signal disturbs what follows
	end := host.Monotonic()
	if left := u.state.load(offLeft); left != 0 {
		end = int64(left)
	}
	if u.state.load(offSent) == 0 {
		w.begin.Store(0)
		return err
	}
	w.end.Store(end)
	return err
}

// waitUntil waits for the start gate: asleep, and the last bit awake. A paced program waits for the rest itself.
func (w *worker) waitUntil(at int64) {
	for w.halt.Load() == haltNone {
		left := at - host.Monotonic()
		switch {
		case left > sleepFrom:
			sleepUntil(at - wakeBefore)
		case left <= 0 || w.unit.paced():
			return
		}
	}
}

// sleepUntil sleeps until a CLOCK_MONOTONIC time, or a signal.
func sleepUntil(ns int64) {
	ts := unix.NsecToTimespec(ns)
	_ = unix.ClockNanosleep(unix.CLOCK_MONOTONIC, unix.TIMER_ABSTIME, &ts, nil)
}

// loop is the hot path as far as user space has one: some calls a second.
func (w *worker) loop() error {
	for w.halt.Load() == haltNone {
		sent, limit := w.unit.state.load(offSent), w.unit.state.load(offLimit)
		if sent >= limit {
			return nil
		}
		repeat := w.repeat(limit - sent)
		if repeat == 0 {
			continue
		}
		if err := w.call(repeat); err != nil {
			return err
		}
	}
	return nil
}

// repeat is how often the program is to run in the next call; 0 after a sleep.
func (w *worker) repeat(left uint64) uint32 {
	u := w.unit
	if !u.paced() {
		return uint32(min(left, maxRepeat))
	}
	due := int64(u.due())
	now := host.Monotonic()
	wait := due - now
	if wait > sleepFrom {
		sleepUntil(due - wakeBefore)
		return 0
	}
	p := u.opt.pace
	switch {
	case p == nil:
		return u.passes(left, now)
	case p.whole > sleepFrom: // only as long as this frame takes, or the program would wait for the next one
		return uint32(1 + max(0, wait)/slotNs)
	}
	passes := max(1, min(maxRepeat, callNs/w.gap)) // at a rate beyond any device a frame still takes its time
	return uint32(min(min(left, passes)*w.slots, passes))
}

func (w *worker) call(repeat uint32) error {
	w.doorbells.Add(1)
	switch e := w.attr.call(repeat); e {
	case 0, unix.EINTR: // the stop, or a signal of the Go runtime
		return nil
	case unix.ENODEV:
		return fmt.Errorf("the device is gone: %w", e)
	default:
		return fmt.Errorf("run the transmit program (BPF_PROG_RUN): %w", e)
	}
}

// last sends the closing frames: one more numbered frame with the last flag for each stream of which that frame has not been
// sent yet. A loop that was stopped sends them at once, one that came to its end when they are due.
func (w *worker) last() error {
	u := w.unit
	from := u.place()
	for _, s := range w.closing {
		if halt := w.halt.Load(); halt == haltNow {
			return nil
		} else if u.lastSent(s) || u.seq(s) == u.layout.first && (halt == haltLast || !u.opt.skip) || !u.force(s, from) {
			continue
		}
		if err := w.one(s); err != nil {
			return err
		}
	}
	return nil
}

// one sends a single frame; force has made it one of stream s.
func (w *worker) one(s int) error {
	u, st := w.unit, w.unit.state
	next := u.seq(s) + 1
	st.set(offLimit, st.load(offSent)+1)
	pos := st.load(offPos)
	at := false // it has to leave now
	for u.seq(s) < next {
		halt := w.halt.Load()
		if halt == haltNow {
			return nil
		}
		if at || halt == haltLast {
			u.dueAt(uint64(host.Monotonic()))
		}
		n := w.repeat(1)
		if n == 0 {
			continue
		}
		if err := w.call(n); err != nil {
			return err
		}
		if u.seq(s) < next && st.load(offLimit) == st.load(offSent) { // a stall ate its slot, but this frame is sent
			st.set(offLimit, st.load(offSent)+1)
			st.set(offSkipped, st.load(offSkipped)-1)
			st.set(offPos, pos)
			at = true
		}
	}
	return nil
}

// counters reads the program's counts; at any time.
func (w *worker) counters() engine.QueueCounters {
	u := w.unit
	sent := u.state.load(offSent)
	q := engine.QueueCounters{
		Queue: w.queue, Core: w.core, Submitted: sent, Sent: sent, Bytes: u.bytes(), Doorbells: w.doorbells.Load(),
		BehindNsMax: u.state.load(offBehindMax), Skipped: u.state.load(offSkipped), ShiftedNs: u.state.load(offShiftedNs),
		BeginNs: w.begin.Load(), EndNs: w.end.Load(), Streams: make([]uint64, len(u.img.Streams)),
	}
	for i := range q.Streams {
		q.Streams[i] = u.seq(i) - u.layout.first
	}
	return q
}
