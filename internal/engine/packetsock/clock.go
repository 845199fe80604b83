package packetsock

import (
	"time"

	"github.com/wirespeed/wirespeed/internal/engine/txloop"
)

// stampClock turns the ring's time stamps (CLOCK_REALTIME) into CLOCK_MONOTONIC. Both clocks run at the same speed, also
// while NTP corrects it; only setting the time moves one against the other.
type stampClock struct {
	mono   txloop.Clock
	offset int64 // CLOCK_MONOTONIC - CLOCK_REALTIME
	steps  int   // times that the time was set
}

const (
	stampSamples = 64
	// aStep is more than an interruption between the two readings of one sample is likely to be.
	aStep = 100 * time.Microsecond
)

func newStampClock() stampClock {
	s := stampClock{mono: txloop.NewClock()}
	s.offset = s.measure()
	return s
}

// sample reads both clocks. The runtime reads CLOCK_MONOTONIC last, so that the distance is never too small, and is too
// large by the time between the two readings.
func (s *stampClock) sample() int64 {
	now := time.Now()
	return s.mono.At(now) - now.UnixNano()
}

// measure is the distance of the clocks, some 20 ns too large.
func (s *stampClock) measure() int64 {
	least := s.sample()
	for range stampSamples {
		least = min(least, s.sample())
	}
	return least
}

// follow is called once a block: it notices that the time was set.
func (s *stampClock) follow() {
	if d := s.sample() - s.offset; d < int64(aStep) && d > -int64(aStep) {
		return
	}
	if d := s.measure(); d-s.offset > int64(aStep) || s.offset-d > int64(aStep) {
		s.offset = d
		s.steps++
	}
}
