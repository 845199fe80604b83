package packetsock

import (
	"time"

	"github.com/wirespeed/wirespeed/internal/engine/txloop"
)

// stampClock turns the ring's time stamps (CLOCK_REALTIME) into CLOCK_MONOTONIC. Both clocks run at the same speed, also
// while NTP corrects it; only setting the time moves one against the other. Some hosts set it many times a second, so a
// stamp is turned by the distance of the time when it was made. A stamp from between two looks at the clocks, of which the
// second found the time set, belongs to neither side for certain: its time is unknown.
type stampClock struct {
	mono    txloop.Clock
	offset  int64 // CLOCK_MONOTONIC - CLOCK_REALTIME
	from    int64 // CLOCK_REALTIME when it was first seen to hold
	checked int64 // and last
	clear   int64 // from here on no stamp can be of an earlier era
	eras    [64]era
	steps   int // times that the time was set
}

// era is a time between two settings: from and until as CLOCK_REALTIME showed them.
type era struct{ from, until, offset int64 }

const (
	stampSamples = 64
	// aStep is more than the error of a measurement. A single look may be interrupted and err by more.
	aStep = 5 * time.Microsecond
)

func newStampClock() stampClock {
	s := stampClock{mono: txloop.NewClock()}
	s.from = time.Now().UnixNano()
	s.checked, s.clear = s.from, s.from
	s.offset = s.measure()
	return s
}

// sample reads both clocks. The runtime reads CLOCK_MONOTONIC last, so that the distance is never too small, and is too
// large by the time between the two readings.
func (s *stampClock) sample() (offset, real int64) {
	now := time.Now()
	return s.mono.At(now) - now.UnixNano(), now.UnixNano()
}

// measure is the distance of the clocks, some 20 ns too large.
func (s *stampClock) measure() int64 {
	least, _ := s.sample()
	for range stampSamples {
		d, _ := s.sample()
		least = min(least, d)
	}
	return least
}

// follow is called once a block: it notices that the time was set.
func (s *stampClock) follow() {
	d, real := s.sample()
	if d -= s.offset; d < int64(aStep) && d > -int64(aStep) {
		s.checked = real
		return
	}
	d = s.measure()
	if by := d - s.offset; by < int64(aStep) && by > -int64(aStep) {
		s.checked = real // it was an interruption
		return
	}
	s.eras[s.steps%len(s.eras)] = era{s.from, s.checked, s.offset}
	s.steps++
	s.offset, s.from, s.checked = d, real, real
	s.clear = real
	for _, e := range s.eras[:min(s.steps, len(s.eras))] {
		s.clear = max(s.clear, e.until+1) // later than now where the time was set back
	}
}

// at is CLOCK_MONOTONIC at a stamp that is older than the last follow; 0: unknown.
func (s *stampClock) at(stamp int64) int64 {
	if stamp >= s.clear && stamp <= s.checked {
		return stamp + s.offset
	}
	return s.earlier(stamp)
}

func (s *stampClock) earlier(stamp int64) (ns int64) {
	found := 0
	if stamp >= s.from && stamp <= s.checked {
		ns, found = stamp+s.offset, 1
	}
	for _, e := range s.eras[:min(s.steps, len(s.eras))] {
		if stamp >= e.from && stamp <= e.until {
			ns = stamp + e.offset
			found++
		}
	}
	if found != 1 {
		return 0
	}
	return ns
}
