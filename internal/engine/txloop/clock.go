package txloop

import (
	"time"

	"github.com/wirespeed/wirespeed/internal/host"
)

// A Clock reads CLOCK_MONOTONIC, the clock of schedules, signatures and bpf_ktime_get_ns, without a system call: Go's own
// monotonic time is the same clock from another origin, read through the vDSO. It is a value; Now may be called from any
// goroutine.
type Clock struct {
	base    time.Time
	offset  int64 // CLOCK_MONOTONIC ns at base
	virtual *Virtual
	err     int64 // bounds the constant error: half the narrowest bracket, on the order of 100 ns
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
func (c *Clock) Now() int64 {
	if c.virtual != nil {
		return c.virtual.now
	}
	return c.offset + int64(time.Since(c.base))
}

// A Virtual clock stands still until it is told that time has passed: a loop that has one waits for nothing but its source.
// It belongs to the one worker of its loop.
type Virtual struct{ now int64 }

// NewVirtual is a clock that shows a time.
func NewVirtual(now int64) *Virtual { return &Virtual{now} }

// Now is what the clock shows, in ns.
func (v *Virtual) Now() int64 { return v.now }

// Until lets time pass until the clock shows ns; it never goes back.
func (v *Virtual) Until(ns int64) { v.now = max(v.now, ns) }

// At is CLOCK_MONOTONIC in ns at a time that time.Now returned.
func (c *Clock) At(t time.Time) int64 { return c.offset + int64(t.Sub(c.base)) }
