package packetsock

import (
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"github.com/wirespeed/wirespeed/internal/analyse"
	"github.com/wirespeed/wirespeed/internal/engine"
	"github.com/wirespeed/wirespeed/internal/host"
)

// receiver is an opened device that receives. One goroutine, walk, fills the analyser; mu is held for a block at a time.
type receiver struct {
	*probed
	core int

	mu       sync.Mutex
	analyser *analyse.Analyser
	drops    uint64 // of the ring, so far
	clock    stampClock
	failed   error
	rec      *recording // nil: nothing is written

	ring     *rxRing // nil: not started, or stopped
	stopping atomic.Bool
	done     chan struct{}
}

// Load makes the analysis; nothing is attached yet.
func (r *receiver) Load(e engine.Expect) error {
	if r.ring != nil {
		return errors.New("packet: the receiver runs: stop it first")
	}
	allowed, err := host.CPUs()
	if err != nil {
		return err
	}
	core := allowed[len(allowed)-1] // senders begin with the first
	if len(e.Cores) > 0 {
		core = e.Cores[0]
	}
	a, err := analyse.New(e)
	if err != nil {
		return fmt.Errorf("packet: %w", err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.core, r.analyser, r.drops, r.failed, r.rec = core, a, 0, nil, nil
	return nil
}

// Start returns when frames are received.
func (r *receiver) Start() error {
	if r.analyser == nil || r.ring != nil {
		return errors.New("packet: the receiver is not loaded, or runs already")
	}
	r.clock = newStampClock()
	err := r.ns.Do(func() (err error) {
		r.ring, err = newRxRing(r.ringConfig())
		return err
	})
	if err == nil && r.rec != nil {
		if err = r.beginRecord(); err != nil {
			r.ring.close()
		}
	}
	if err != nil {
		r.ring = nil
		return fmt.Errorf("receive on %s: %w", r.link.Name, err)
	}
	r.stopping.Store(false)
	r.done = make(chan struct{})
	pinned := make(chan error)
	go r.walk(r.ring, r.core, pinned)
	if err := <-pinned; err != nil {
		<-r.done
		r.ring.close()
		r.ring = nil
		return fmt.Errorf("receive on %s: pin the thread to core %d: %w", r.link.Name, r.core, err)
	}
	return nil
}

// After the end of a run the tail is still in a block that is not full: the kernel hands it over after its retire time.
const (
	tailQuiet = 5           // times the retire time without a block: all is in
	tailMost  = time.Second // with other traffic there is always a block
)

// walk takes blocks until the receiver is stopped and the tail is in. Its thread ends with it.
func (r *receiver) walk(ring *rxRing, core int, pinned chan<- error) {
	defer close(r.done)
	runtime.LockOSThread()
	err := r.pin(core)
	pinned <- err
	if err != nil {
		return
	}
	var stopped time.Time
	for {
		if stopped.IsZero() && r.stopping.Load() {
			stopped = time.Now()
		}
		if !stopped.IsZero() && time.Since(stopped) > tailMost {
			return
		}
		if ring.ready() {
			if !stopped.IsZero() && r.rec != nil && ring.begun().After(stopped) {
				return // a capture has its end, whatever else arrives
			}
			r.take(ring)
			continue
		}
		if !stopped.IsZero() && time.Since(stopped) > tailQuiet*ring.retire {
			return
		}
		r.idle()
		if err := ring.wait(); err != nil {
			r.mu.Lock()
			r.failed = fmt.Errorf("receive on %s: %w", r.link.Name, err)
			r.mu.Unlock()
			return
		}
	}
}

// pin keeps the thread on its core. One that writes files goes where there is room: it waits for disks, and what else runs
// here is not known.
func (r *receiver) pin(core int) error {
	if r.rec != nil {
		return nil
	}
	var set unix.CPUSet
	set.Set(core)
	return unix.SchedSetaffinity(0, &set)
}

// take analyses the next block, which is ready.
func (r *receiver) take(ring *rxRing) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.clock.follow()
	if r.rec == nil {
		ring.block(r.analyser, &r.clock)
		return
	}
	ring.record(r.analyser, &r.clock, r.rec)
	r.rec.flushOften(time.Now())
}

// Snapshot may be called at any time.
func (r *receiver) Snapshot() (engine.Received, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.analyser == nil {
		return engine.Received{}, errors.New("packet: the receiver is not loaded")
	}
	r.countDrops()
	s := r.analyser.Snapshot()
	s.TesterDrops = r.drops
	s.Queues = 1
	s.Clock = "packet socket, time stamp of the kernel for every frame, CLOCK_REALTIME turned into CLOCK_MONOTONIC"
	if r.clock.steps > 0 {
		s.Clock += fmt.Sprintf(" (the time was set %d times: frames whose stamp may be of before or after have no time)", r.clock.steps)
	}
	return s, r.failed
}

// countDrops adds what the ring dropped since it was asked last. mu is held.
func (r *receiver) countDrops() {
	if r.ring == nil {
		return
	}
	if n, err := r.ring.dropped(); err == nil {
		r.drops += n
	} else if r.failed == nil {
		r.failed = err
	}
}

// Stop waits for the tail and detaches. The counts are final then.
func (r *receiver) Stop() error {
	if r.ring == nil {
		return nil
	}
	r.stopping.Store(true)
	<-r.done
	r.mu.Lock()
	defer r.mu.Unlock()
	r.countDrops()
	if r.rec != nil {
		_ = r.rec.Close() // Recorded says what failed
	}
	r.ring.close()
	r.ring = nil
	return r.failed
}

// Close puts the host back.
func (r *receiver) Close() error {
	return errors.Join(r.Stop(), r.ns.Close())
}
