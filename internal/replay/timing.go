package replay

import (
	"fmt"
	"math"
	"time"

	"github.com/wirespeed/wirespeed/stream"
)

// setBack is how far a time may go back before it is the clock that was set back, and not the order of frames that is
// disturbed: then what follows is counted from the new time. ns.
const setBack = 1e9

// longest is the last time behind the first frame that is kept: larger ones are cut, far beyond any run. ns, 146 years.
const longest = math.MaxInt64 / 2

// timing turns the times of a capture into when frames are due.
type timing struct {
	speed float64
	max   uint64 // 0: none

	last  int64 // time of the frame that came last, of disturbed ones the highest
	begun bool
	due   uint64
	rest  float64 // part of a ns that a gap divided by speed has left over
	facts *Facts
}

func newTiming(r *stream.Replay, f *Facts) timing {
	return timing{speed: r.Speed, max: uint64(r.MaxGap), facts: f}
}

// next is when a frame is due, ns behind the first, and counts what is strange about its time. number is the packet's.
func (t *timing) next(ns int64, has bool, number uint64) uint64 {
	switch {
	case !has:
		t.facts.Untimed++
		return t.due
	case !t.begun:
		t.begun, t.last = true, ns
		return t.due
	case ns < t.last:
		t.facts.Backwards++
		if uint64(t.last)-uint64(ns) > setBack {
			t.last = ns
		}
		return t.due
	}
	recorded := uint64(ns) - uint64(t.last)
	t.last = ns
	gap := recorded
	if t.speed != 1 {
		exact := min(float64(recorded)/t.speed, longest) + t.rest
		gap = uint64(exact)
		t.rest = exact - float64(gap)
	}
	if gap = min(gap, longest); gap > t.facts.RecordedGap {
		t.facts.RecordedGap, t.facts.RecordedGapAt = gap, number
	}
	if t.max > 0 && gap > t.max {
		gap = t.max
		t.facts.Shortened++
	}
	t.due = min(t.due+gap, longest)
	return t.due
}

// duration writes a time in ns, of long ones the days or years.
func duration(ns uint64) string {
	const day = 24 * 3600 * 1e9
	switch d := float64(ns) / day; {
	case d >= 730:
		return fmt.Sprintf("%.1f years", d/365.25)
	case d >= 2:
		return fmt.Sprintf("%.1f days", d)
	default:
		return time.Duration(ns).String()
	}
}
