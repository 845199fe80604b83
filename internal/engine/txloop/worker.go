package txloop

import (
	"errors"
	"fmt"
	"math"
	"runtime"
	"time"

	"golang.org/x/sys/unix"

	"github.com/wirespeed/wirespeed/internal/engine"
	"github.com/wirespeed/wirespeed/internal/packet"
	"github.com/wirespeed/wirespeed/internal/program"
)

// A worker sends the frames of one queue. All but pub belongs to its goroutine.
type worker struct {
	loop        *Loop
	ring        engine.Ring
	checker     Checker // nil: the ring cannot be asked
	flusher     Flusher // nil: the ring holds nothing back
	image       *program.Image
	queue, core int

	paced, stampEach bool
	recorded         bool           // frames are due as the image's sequence says
	plays            bool           // a sequence
	source           program.Source // that gives it piece by piece; nil: it is complete
	sched            schedule
	share            []uint64 // frames of each stream in all; nil: the end is not known before
	deadline         int64    // no batch begins later; math.MaxInt64: none
	stalled          int64    // a ring that takes nothing for this long ends the run; ns
	giveUp           int64    // a full ring is not waited for longer; set when the run is over

	batch, growTo int
	hurried, slow int // batches in a row that had no time to wait, and those of them that were too slow
	shortened     bool

	frames []program.Frame // those of the ring that are filled
	counts counts
	pub    published
	sleep  unix.Timespec
}

// growAfter batches without a pause in between, of which most took longer than their gap, and with most of what may be
// made up for used up, the rate is not held: a larger batch is tried. A stall is one slow batch, and what is caught up
// afterwards are quick ones.
const growAfter = 256

// Waiting. A sleeping thread wakes up to 60 us late on virtual machines, timer slack set aside: the rest is spun.
const (
	sleepAbove = 150 * time.Microsecond
	wakeBefore = 100 * time.Microsecond
	sleepMost  = 10 * time.Millisecond // then the stop flag is looked at
)

// Back-pressure: how long a full ring is asked again at once, and how often it is asked why.
const (
	spinFull   = 20 * time.Microsecond
	pauseFull  = 20 * time.Microsecond
	checkEvery = 100 * time.Millisecond
	// stalledAfter ends a run without an end of its own whose frames nothing takes: with a count it would wait for ever. The
	// slowest shaper that somebody measures with takes a frame more often.
	stalledAfter = 10 * time.Second
)

// enterThread makes the goroutine's thread its own, on one core, with exact timers. The thread ends with the goroutine, so
// that neither leaks.
func enterThread(core int) error {
	runtime.LockOSThread()
	var set unix.CPUSet
	set.Set(core)
	if err := unix.SchedSetaffinity(0, &set); err != nil {
		return fmt.Errorf("pin the sending thread to core %d: %w", core, err)
	}
	// Without it sleeps end up to 50 us later. It cannot fail for a value above 0 (prctl(2)).
	_ = unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0)
	return nil
}

// start is called before the worker runs, by the goroutine that opens the gate.
func (w *worker) start(origin int64) {
	w.sched.start(origin)
	w.deadline, w.giveUp = math.MaxInt64, math.MaxInt64
	p := &w.loop.plan
	if p.Duration > 0 {
		w.deadline = origin + int64(p.Duration)
		if w.paced { // what was due before the end may leave this much later
			w.deadline += int64(p.CatchUp)
		}
	}
}

func (w *worker) stopped() bool { return w.loop.stop.Load() }

// run is the busy loop.
func (w *worker) run() {
	clock := &w.loop.clock
	w.await(w.sched.origin)
	for !w.stopped() {
		n := w.size()
		if n == 0 || w.plays && !w.supplied() {
			break
		}
		var now int64
		if w.paced {
			now = w.pace()
			if w.stopped() {
				break
			}
			if dropped := w.late(now); dropped > 0 {
				w.drop(dropped)
				// The next frame goes at once where it is due: by another look at the clock, more would have to be dropped.
				if n = w.size(); n == 0 || w.sched.at > now || w.plays && w.image.Ready() != program.SourceReady {
					continue
				}
			}
			if w.recorded {
				n = w.together(n, now)
			}
		} else {
			now = clock.Now()
		}
		if now >= w.deadline {
			break
		}
		if !w.transmit(n, now) {
			break
		}
	}
	w.finish()
}

// size is how many frames go into the next batch; 0: the schedule is at its end. The last of a paced run go one by one, so
// that they, too, leave when they are due.
func (w *worker) size() int {
	left := w.sched.end - w.sched.next
	if w.recorded {
		return int(min(left, uint64(w.growTo)))
	}
	if w.paced && left <= uint64(w.batch) {
		return int(min(left, 1))
	}
	return int(min(left, uint64(w.batch)))
}

// pace waits until the next batch is due, and grows the batch where there is never anything to wait for.
func (w *worker) pace() (now int64) {
	at := w.sched.release()
	now = w.loop.clock.Now()
	if now < at {
		w.hurried, w.slow = 0, 0
		return w.await(at)
	}
	if w.recorded || w.loop.clock.virtual != nil {
		return now
	}
	if w.sched.slow(now) {
		w.slow++
	}
	if w.hurried++; w.hurried >= growAfter {
		if w.slow > growAfter/2 && w.sched.pressed(now) {
			w.batch = min(w.batch*smallBatch, max(w.batch, w.growTo))
		}
		w.hurried, w.slow = 0, 0
	}
	return now
}

// await returns at a time, or when the run is stopped: it sleeps while there is time, then spins.
func (w *worker) await(at int64) (now int64) {
	clock := &w.loop.clock
	if clock.virtual != nil {
		clock.virtual.Until(at)
	}
	for now = clock.Now(); now < at && !w.stopped(); now = clock.Now() {
		if left := at - now; left > int64(sleepAbove) {
			w.pause(min(left-int64(wakeBefore), int64(sleepMost)))
		}
	}
	return now
}

// pause sleeps; a signal (Go's own) ends it early.
func (w *worker) pause(ns int64) {
	w.sleep = unix.NsecToTimespec(ns)
	_ = unix.ClockNanosleep(unix.CLOCK_MONOTONIC, 0, &w.sleep, nil)
}

// drop leaves out slots of the schedule. Places for the frames with the last flag are kept from then on: the numbers that
// were to carry it will not come.
func (w *worker) drop(n uint64) {
	if !w.recorded { // SkipDue has left them out
		w.image.Skip(n)
	}
	if !w.shortened {
		w.shortened = true
		w.sched.end -= min(w.sched.end-w.sched.next, uint64(len(w.counts.streams)))
	}
	w.pub.publish(w)
}

// transmit fills and hands over one batch. It is false when the run is over.
func (w *worker) transmit(n int, now int64) bool {
	if !w.reserve(n) {
		return false
	}
	if m := w.fill(now); m < len(w.frames) {
		w.frames = w.frames[:m]
		if w.source == nil || w.image.Here() { // else the next piece had not come, which it may have by now
			w.loop.fail(errShortBuffer)
		}
	}
	if w.paced {
		w.sched.left(now, uint64(len(w.frames)))
	} else {
		w.sched.next += uint64(len(w.frames))
	}
	return w.handOver(now)
}

// errShortBuffer cannot happen: engines make their buffers as long as the program's longest frame.
var errShortBuffer = errors.New("a frame is longer than its buffer")

// fill writes the reserved frames and returns how many.
func (w *worker) fill(now int64) int {
	if !w.stampEach || len(w.frames) == 1 {
		return w.image.Fill(w.frames, uint64(now))
	}
	for i := range w.frames {
		if w.image.Fill(w.frames[i:i+1], uint64(w.loop.clock.Now())) == 0 {
			return i
		}
	}
	return len(w.frames)
}

// reserve gets up to n frames from the ring, waiting while it is full.
func (w *worker) reserve(n int) bool {
	var full patience
	for {
		if w.frames = w.ring.Reserve(n); len(w.frames) > 0 {
			return true
		}
		w.counts.completed += uint64(w.ring.Reclaim())
		if !w.wait(&full) {
			return false
		}
	}
}

// handOver commits the filled frames: all of them, each counted when it was taken.
func (w *worker) handOver(now int64) bool {
	if w.pub.begin.Load() == 0 {
		w.pub.begin.Store(now)
	}
	var full patience
	for done := 0; done < len(w.frames); {
		taken, err := w.ring.Commit(len(w.frames) - done)
		if taken > 0 {
			w.counts.doorbells++
			w.counts.took(w, done, done+taken)
			done += taken
			full = patience{}
		}
		if err != nil {
			w.loop.fail(err)
			w.pub.publish(w)
			return false
		}
		if done < len(w.frames) {
			w.counts.backpressure++
			if !w.wait(&full) {
				w.pub.publish(w)
				return false
			}
		}
	}
	w.counts.completed += uint64(w.ring.Reclaim())
	w.pub.publish(w)
	return true
}

// patience is how long a full ring has been waited for.
type patience struct{ since, checked int64 }

// wait gives a full ring time. It is false when that is over: the run ended DrainLimit ago, or the ring takes nothing any more.
func (w *worker) wait(p *patience) bool {
	now := w.loop.clock.Now()
	if p.since == 0 {
		p.since, p.checked = now, now
		w.pub.publish(w)
	}
	if w.giveUp == math.MaxInt64 && (w.stopped() || now >= w.deadline) {
		w.giveUp = now + int64(DrainLimit)
	}
	if now >= w.giveUp {
		return false
	}
	if now-p.since >= w.stalled {
		w.loop.fail(fmt.Errorf("no frame was taken for %v: the device, its queue or what is behind it holds or refuses every one; look at its drop counters, and at the MTU of the other end",
			time.Duration(w.stalled)))
		return false
	}
	if now-p.checked >= int64(checkEvery) {
		p.checked = now
		if w.checker != nil {
			if err := w.checker.Check(); err != nil {
				w.loop.fail(err)
				return false
			}
		}
	}
	if now-p.since > int64(spinFull) {
		w.pause(int64(pauseFull))
	}
	return true
}

// finish sends the frames with the last flag that are still to come, and waits for the completions.
func (w *worker) finish() {
	clock := &w.loop.clock
	if w.loop.reason.Load() == nil && w.counts.submitted > 0 {
		for i := range w.counts.streams {
			if !w.sendLast(i) {
				break
			}
		}
	}
	limit := clock.Now() + int64(DrainLimit)
	if w.flusher != nil {
		if err := w.flusher.Flush(); err != nil {
			w.loop.fail(err)
		}
	}
	for {
		w.counts.completed += uint64(w.ring.Reclaim())
		if w.counts.completed >= w.counts.submitted || clock.virtual != nil || clock.Now() >= limit {
			break
		}
		w.pause(int64(pauseFull))
	}
	w.pub.publish(w)
	end := clock.Now()
	if w.paced && clock.virtual != nil {
		end = w.sched.leftAt // the schedule counts from start to start of frames
	}
	w.pub.end.Store(end)
}

// sendLast sends one more frame of a stream with the last flag, unless that was sent or cannot be: the short signature has
// no flags.
func (w *worker) sendLast(stream int) bool {
	if w.image.Streams[stream].Form != packet.FormFull || w.share != nil && w.counts.streams[stream] >= w.share[stream] {
		return true
	}
	if w.source != nil && !w.shortened && w.sched.next >= w.sched.end {
		return true // all of the count has left
	}
	now := w.loop.clock.Now()
	if w.recorded && w.image.Ready() == program.SourceReady {
		w.sched.follow(w.image.Due())
	}
	if w.paced && !w.stopped() && now < w.deadline {
		now = w.await(min(w.sched.release(), w.deadline))
	}
	if !w.reserve(1) {
		return false
	}
	if !w.image.FillLast(&w.frames[0], stream, uint64(now)) {
		return true // this queue never sends the stream
	}
	if w.paced {
		w.sched.left(now, 1)
	}
	return w.handOver(now)
}
