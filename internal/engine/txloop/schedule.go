package txloop

import (
	"math"
	"math/bits"

	"github.com/wirespeed/wirespeed/internal/wire"
)

const nsPerSecond = 1_000_000_000

// A schedule says when the frames of one queue are due: frame n of queue q is frame q + n*queues of the port, and frame i
// of the port is due exactly i/rate after the origin, or with a rate of zero when a recorded sequence says. It is pure
// arithmetic; all times are CLOCK_MONOTONIC ns.
type schedule struct {
	rate          wire.FPS
	queue, queues uint64
	origin        int64  // when the port's frame 0 is due; moves where a stall shifts the schedule
	next          uint64 // the queue's next slot
	at            int64  // when that is due
	end           uint64 // slots of the queue; math.MaxUint64: no end
	catchUp       int64  // how far behind may be made up for
	drop          bool   // what is beyond is dropped; else the schedule shifts

	leftAt, gap int64 // when the batch before left, and how long its frames were to take
	leftDue     int64 // when that was due, of a recorded schedule
	earliest    int64 // the next frame leaves no earlier: half a gap after the one before

	behindMax, skipped, shifted uint64
}

// due is when a slot of the queue is due.
func (s *schedule) due(slot uint64) int64 {
	hi, i := bits.Mul64(slot, s.queues)
	i, carry := bits.Add64(i, s.queue, 0)
	if hi+carry != 0 {
		return math.MaxInt64
	}
	d := s.rate.Due(i)
	if d > math.MaxInt64-uint64(max(s.origin, 0)) {
		return math.MaxInt64
	}
	return s.origin + int64(d)
}

// start sets the origin.
func (s *schedule) start(origin int64) {
	s.origin = origin
	s.at = s.due(s.next)
}

// follow takes from a recorded sequence when the next frame is due, in ns behind the origin.
func (s *schedule) follow(due uint64) {
	if s.at = math.MaxInt64; due < math.MaxInt64-uint64(max(s.origin, 0)) {
		s.at = s.origin + int64(due)
	}
	if s.leftAt != 0 {
		s.gap = max(0, s.at-s.leftDue)
		s.earliest = s.leftAt + s.gap/2
	}
}

// release is when the next frame may leave.
func (s *schedule) release() int64 { return max(s.at, s.earliest) }

// late looks at how late the next frame is at now, and gives up what is beyond catchUp: it returns how many slots are
// dropped. With a schedule that shifts that is always 0.
func (s *schedule) late(now int64) (dropped uint64) {
	behind := now - s.at
	if behind <= 0 {
		return 0
	}
	s.behindMax = max(s.behindMax, uint64(behind))
	beyond := behind - s.catchUp
	if beyond <= 0 {
		return 0
	}
	if !s.drop {
		s.origin += beyond
		s.at += beyond
		s.shifted += uint64(beyond)
		return 0
	}
	if s.rate.IsZero() { // what is dropped is the sequence's to say
		return 0
	}
	dropped = min(s.slotsIn(beyond), s.end-s.next)
	s.next += dropped
	s.at = s.due(s.next)
	s.skipped += dropped
	return dropped
}

// slotsIn is how many slots of the queue a time covers, rounded up.
func (s *schedule) slotsIn(ns int64) uint64 {
	// ns * num / (den * 1e9 * queues)
	hi, lo := bits.Mul64(uint64(ns), s.rate.Num)
	over, d := bits.Mul64(s.rate.Den, nsPerSecond)
	over2, d := bits.Mul64(d, s.queues)
	if over|over2 != 0 { // a gap of centuries
		return 1
	}
	if hi >= d {
		return math.MaxUint64
	}
	q, rest := bits.Div64(hi, lo, d)
	if rest > 0 {
		q++
	}
	return q
}

// left notes that n frames left together at now.
func (s *schedule) left(now int64, n uint64) {
	before := s.at
	s.next += n
	if s.rate.IsZero() { // follow goes on
		s.leftAt, s.leftDue = now, before
		return
	}
	s.at = s.due(s.next)
	s.leftAt, s.gap = now, s.at-before
	s.earliest = now + s.gap/2
}

// pressed is whether so much is to be made up for at now that soon some of it will be given up.
func (s *schedule) pressed(now int64) bool { return now-s.at > s.catchUp-s.catchUp/4 }

// slow is whether the batch before took longer to hand over than its frames were to take on the wire.
func (s *schedule) slow(now int64) bool { return now-s.leftAt > s.gap }

// slots is how many of the port's first count frames go to a queue.
func slots(count, queue, queues uint64) uint64 {
	if count <= queue {
		return 0
	}
	return (count-queue-1)/queues + 1
}
