package txloop

import (
	"time"

	"github.com/wirespeed/wirespeed/internal/host"
)

// A Clock reads CLOCK_MONOTONIC, the clock of schedules, signatures and bpf_ktime_get_ns, without a system call: Go's own
// monotonic time is the same clock from another origin, read through the vDSO. It is a value; Now may be called from any
// goroutine.
type Clock struct {
	base   time.Time
	offset int64 // CLOCK_MONOTONIC ns at base
	err    int64 // bounds the constant error: half the narrowest bracket, on the order of 100 ns
}

// brackets is how often NewClock asks both clocks: the interruptions of a machine hit some of them, not all.
const brackets = 64

// NewClock measures the distance of the two origins. It is constant, so every pair of readings around one of the other
// clock bounds it, and the narrowest bounds of all hold.
func NewClock() Clock {
	c := Clock{base: time.Now()}
	low, high := int64(-1<<62), int64(1<<62)
	for range brackets {
		before := int64(time.Since(c.base))
		now := host.Monotonic()
		after := int64(time.Since(c.base))
		low, high = max(low, now-after), min(high, now-before)
	}
	c.offset, c.err = low+(high-low)/2, (high-low+1)/2
	return c
}

// Now is CLOCK_MONOTONIC in ns, wrong by some 100 ns at most, always by the same.
func (c *Clock) Now() int64 { return c.offset + int64(time.Since(c.base)) }

// At is CLOCK_MONOTONIC in ns at a time that time.Now returned.
func (c *Clock) At(t time.Time) int64 { return c.offset + int64(t.Sub(c.base)) }
