package lab

import (
	"slices"
	"time"
)

// Action is what a forwarder does to one frame. The zero value lets it pass.
type Action struct {
	Drop      bool
	Duplicate int           // further copies, right behind it
	Behind    int           // let this many of the following frames go first
	Delay     time.Duration // let frames overtake it meanwhile
	Corrupt   bool          // turn over all bits of one byte
	At        int           // that byte's offset; below zero from the end, -1 is the last
}

// Path is one direction of a forwarder.
type Path struct {
	// Impair decides what is done to frame i, counted from 0 in the order of arrival. It may read the frame during the
	// call. nil: all pass. It is called on the forwarder's thread, so the same frames always meet the same fate.
	Impair func(i uint64, frame []byte) Action
	// RateFPS is the most that is let through, in frames per second; 0: no limit. What is above waits.
	RateFPS uint64
	// Queue is how many frames may wait for the rate; more are dropped. 0 stands for 1000.
	Queue int
}

// PathCounts count the frames of one direction.
type PathCounts struct {
	Received   uint64 // by the forwarder
	Forwarded  uint64 // handed to the kernel, copies too
	Dropped    uint64 // as Impair said
	Duplicated uint64 // copies made
	Displaced  uint64 // let behind others
	Delayed    uint64
	Corrupted  uint64
	QueueFull  uint64 // dropped since too many waited for the rate
	Unsent     uint64 // refused by the kernel
	// SocketDrops were never seen: the forwarder was too slow.
	SocketDrops uint64
}

// line decides when frames of one direction leave. It does no input or output; times are CLOCK_MONOTONIC ns.
type line struct {
	path    Path
	gap     int64 // ns between departures; 0: no limit
	index   uint64
	lastDue int64
	held    []heldFrame
	waiting []waitingFrame // by due, first come first
	counts  PathCounts
	// out are the frames to send now, in order. They lie in the caller's buffers or in copies.
	out [][]byte
}

type heldFrame struct {
	behind int   // frames still to go first
	until  int64 // when it leaves in any case: there may be no further frames
	frame  []byte
	copies int
	delay  int64
}

type waitingFrame struct {
	due   int64
	frame []byte
}

// heldAtMost is how long a frame is held for followers that do not come.
const heldAtMost = int64(50 * time.Millisecond)

func newLine(p Path) *line {
	l := &line{path: p}
	if p.RateFPS > 0 {
		l.gap = int64(uint64(time.Second) / p.RateFPS)
	}
	if l.path.Queue == 0 {
		l.path.Queue = 1000
	}
	return l
}

// arrive takes one frame, which the line may change, and which must stay until out has been sent.
func (l *line) arrive(now int64, frame []byte) {
	l.counts.Received++
	var a Action
	if l.path.Impair != nil {
		a = l.path.Impair(l.index, frame)
	}
	l.index++
	if a.Drop {
		l.counts.Dropped++
		return
	}
	if a.Corrupt {
		at := a.At
		if at < 0 {
			at += len(frame)
		}
		if at >= 0 && at < len(frame) {
			frame[at] ^= 0xff
			l.counts.Corrupted++
		}
	}
	l.counts.Duplicated += uint64(max(0, a.Duplicate))
	if a.Delay > 0 {
		l.counts.Delayed++
	}
	if a.Behind > 0 {
		l.counts.Displaced++
		l.held = append(l.held, heldFrame{a.Behind, now + heldAtMost, slices.Clone(frame), 1 + a.Duplicate, int64(a.Delay)})
		return
	}
	for range 1 + a.Duplicate {
		l.depart(now, frame, int64(a.Delay))
	}
	l.letGo(now, 1)
}

// letGo lets held frames leave whose followers have passed, or whose time is over.
func (l *line) letGo(now int64, passed int) {
	for i := 0; i < len(l.held); {
		h := &l.held[i]
		h.behind -= passed
		if h.behind > 0 && now < h.until {
			i++
			continue
		}
		for range h.copies {
			l.depart(now, h.frame, h.delay)
		}
		l.held = slices.Delete(l.held, i, i+1)
	}
}

// depart sends a frame now or lets it wait.
func (l *line) depart(now int64, frame []byte, delay int64) {
	due := now + delay
	if l.gap > 0 {
		due = max(due, l.lastDue+l.gap)
	}
	if due <= now {
		l.lastDue = due
		l.out = append(l.out, frame)
		return
	}
	if l.gap > 0 {
		if len(l.waiting) >= l.path.Queue {
			l.counts.QueueFull++
			return
		}
		l.lastDue = due
	}
	i, _ := slices.BinarySearchFunc(l.waiting, due+1, func(w waitingFrame, t int64) int { return int(min(1, max(-1, w.due-t))) })
	l.waiting = slices.Insert(l.waiting, i, waitingFrame{due, slices.Clone(frame)})
}

// release puts into out what is due.
func (l *line) release(now int64) {
	l.letGo(now, 0)
	n := 0
	for n < len(l.waiting) && l.waiting[n].due <= now {
		l.out = append(l.out, l.waiting[n].frame)
		n++
	}
	l.waiting = slices.Delete(l.waiting, 0, n)
}

// next is when release has something to do, or -1.
func (l *line) next() int64 {
	t := int64(-1)
	if len(l.waiting) > 0 {
		t = l.waiting[0].due
	}
	for _, h := range l.held {
		if t < 0 || h.until < t {
			t = h.until
		}
	}
	return t
}
