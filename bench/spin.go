package main

import (
	"runtime"
	"time"

	"golang.org/x/sys/unix"

	"github.com/wirespeed/wirespeed/internal/host"
)

// interruption is a time in which something took the core from a thread that only looks at the clock.
type interruption struct{ from, to int64 } // ns

// spun is what one thread saw.
type spun struct {
	all []interruption
	ns  int64
}

// interrupted: two looks at the clock are this far apart, in ns; undisturbed they take 20 to 100.
const interrupted = 1000

// spin watches core 0, on which the sender of a single queue runs, for d.
func spin(d time.Duration) (s spun) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread() // never unlocked: the thread ends with its affinity
		var set unix.CPUSet
		set.Set(0)
		_ = unix.SchedSetaffinity(0, &set) // where it is not allowed, any core tells the same
		s.all = make([]interruption, 0, 1<<16)
		begin := host.Monotonic()
		last := begin
		for last-begin < int64(d) {
			now := host.Monotonic()
			if now-last > interrupted && len(s.all) < cap(s.all) {
				s.all = append(s.all, interruption{last - begin, now - begin})
			}
			last = now
		}
		s.ns = last - begin
	}()
	<-done
	return s
}

func (s spun) perSecond() float64 { return float64(len(s.all)) / (float64(s.ns) / 1e9) }

// share of the time that was taken.
func (s spun) share() float64 {
	var sum int64
	for _, i := range s.all {
		sum += i.to - i.from
	}
	return float64(sum) / float64(s.ns)
}

// within is the share of gaps no more than tolerance off, for a sender that is perfect but for these interruptions: it
// sends what is due, after an interruption catches up at half the gap, and needs no time of its own.
func (s spun) within(gap, tolerance float64) float64 {
	good, frames, next := 0, 0, 0
	last := 0.0
	for due := gap; due < float64(s.ns); due += gap {
		at := due
		if frames > 0 {
			at = max(at, last+gap/2)
		}
		for next < len(s.all) && float64(s.all[next].to) <= at {
			next++
		}
		if next < len(s.all) && float64(s.all[next].from) <= at {
			at = float64(s.all[next].to)
		}
		if frames > 0 && at-last >= gap*(1-tolerance) && at-last <= gap*(1+tolerance) {
			good++
		}
		last = at
		frames++
	}
	if frames < 2 {
		return 0
	}
	return float64(good) / float64(frames-1)
}
