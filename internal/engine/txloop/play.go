package txloop

import (
	"time"

	"github.com/wirespeed/wirespeed/internal/program"
)

// Playing a sequence.
const (
	// pauseSource is how long a source is given before it is asked again.
	pauseSource = 50 * time.Microsecond
	// togetherNs: recorded frames that are due within so long of each other, and late, share a system call, which takes about
	// as long. No frame leaves before it is due.
	togetherNs = 5000
)

// supplied waits until the next frame of the sequence is there, and takes from it when it is due. It is false where there is
// none any more, or the run is over.
func (w *worker) supplied() bool {
	for {
		switch w.image.Ready() {
		case program.SourceReady:
			if !w.recorded {
				return true
			}
			due := w.image.Due()
			w.sched.follow(due)
			return w.loop.plan.Duration == 0 || due < uint64(w.loop.plan.Duration)
		case program.SourceEnd:
			if w.source != nil && w.source.Err() != nil {
				w.loop.fail(w.source.Err())
			}
			return false
		}
		if w.stopped() || w.loop.clock.Now() >= w.deadline {
			return false
		}
		w.pause(int64(pauseSource))
	}
}

// late is what the next frame is behind its schedule at now. It gives up what is beyond what may be made up for, and returns
// how many frames are dropped.
func (w *worker) late(now int64) (dropped uint64) {
	s := &w.sched
	if dropped = s.late(now); !w.recorded || !s.drop || now-s.at <= s.catchUp {
		return dropped
	}
	dropped = w.image.SkipDue(uint64(now-s.catchUp-s.origin), s.end-s.next)
	s.next += dropped
	s.skipped += dropped
	if w.image.Ready() == program.SourceReady {
		s.follow(w.image.Due())
	}
	return dropped
}

// together is how many recorded frames leave now, most at most: the next, and those that are due as well and so close to it
// that one system call for each would hold them up. Where the schedule is about to be given up it is all that are due.
func (w *worker) together(most int, now int64) int {
	s := &w.sched
	by := now
	if !s.pressed(now) {
		by = min(now, s.at+togetherNs)
	}
	n := max(1, w.image.DueBy(uint64(by-s.origin), most))
	w.batch = max(w.batch, n)
	return n
}
