package xdp

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/wirespeed/wirespeed/internal/engine"
	"github.com/wirespeed/wirespeed/internal/host"
)

const (
	// A device that has not counted anything this long after the program's first frame loses what it gets. Hardware is
	// given longer: many drivers read its counters once in two seconds only.
	deafAfter         = 100 * time.Millisecond
	deafAfterHardware = 2500 * time.Millisecond
	// watchEvery is how often the counters are looked at.
	watchEvery = 50 * time.Millisecond
	// Draining is over after quiet without a change, and after drainLimit in any case.
	quiet      = 200 * time.Millisecond
	drainLimit = 2 * time.Second
	// overdue is how long beyond duration and catch-up a run may last.
	overdue = 100 * time.Millisecond
	// signalEvery is how often a stop is repeated: a signal that arrives just before the call begins is lost.
	signalEvery = 200 * time.Microsecond
)

var (
	errNotLoaded = errors.New("xdp: nothing is loaded; call Load first")
	errClosed    = errors.New("xdp: the port is closed; open it again")
)

// Run sends the plan. See engine.Port.
func (p *port) Run(ctx context.Context) error {
	workers := p.begin()
	if len(workers) == 0 {
		return errNotLoaded
	}
	before, err := p.ns.Counters(p.link.Index)
	if err != nil {
		return fmt.Errorf("xdp: %w", err)
	}
	crew, err := p.start(workers)
	if err != nil {
		return err
	}
	watch := &watch{port: p, workers: workers, before: before}
	stop, reason := watch.until(ctx, crew)
	if stop != haltNone {
		p.stop(workers, stop)
	}
	<-crew.finished
	for _, w := range workers {
		err = errors.Join(err, w.err)
	}
	p.settle(watch, reason)
	if err != nil {
		return fmt.Errorf("xdp: %s: %w", p.target, err)
	}
	return nil
}

// begin forgets the run before.
func (p *port) begin() []*worker {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.reason, p.undrained = "", 0
	p.halt.Store(haltNone)
	for _, w := range p.workers {
		w.err = nil
		w.done.Store(false)
		w.begin.Store(0)
		w.end.Store(0)
		w.doorbells.Store(0)
		w.unit.reset(0, 0, 0)
	}
	return p.workers
}

// crew tells when workers end.
type crew struct {
	finished chan struct{} // closed when all have ended
	failed   chan struct{} // one could not go on
}

// start brings the workers up and opens the gate.
func (p *port) start(workers []*worker) (c crew, err error) {
	c = crew{finished: make(chan struct{}), failed: make(chan struct{}, len(workers))}
	ready := make(chan error, len(workers))
	gate := make(chan int64, len(workers))
	var all sync.WaitGroup
	for _, w := range workers {
		all.Go(func() {
			w.run(p.ns.Fd(), ready, gate)
			if w.err != nil {
				c.failed <- struct{}{}
			}
		})
	}
	for range workers {
		err = errors.Join(err, <-ready)
	}
	go func() {
		all.Wait()
		close(c.finished)
	}()
	if err != nil {
		close(gate)
		<-c.finished
		return c, fmt.Errorf("xdp: %s: %w", p.target, err)
	}
	at := p.plan.StartAt
	if at == 0 {
		at = host.Monotonic()
		if p.plan.Paced() {
			at += firstDue
		}
	}
	for range workers {
		gate <- at
	}
	return c, nil
}

// stop ends the workers' calls. It returns when all are done, or waiting for their closing frame's call to end.
func (p *port) stop(workers []*worker, how int32) {
	p.halt.Store(how)
	for {
		left := false
		for _, w := range workers {
			if !w.done.Load() {
				left = true
				interrupt(int(w.tid.Load()))
			}
		}
		if !left {
			return
		}
		time.Sleep(signalEvery)
	}
}

// watch follows a run: it compares what the programs gave to the kernel with what the device counted, because a loop that
// goes round is not a frame that was sent.
type watch struct {
	port    *port
	workers []*worker
	before  host.Counters

	seen  uint64    // by the device, at the last look
	mark  uint64    // what had been given when that last changed
	since time.Time // since when more than mark was given; zero: it was not
}

// sum is what the programs gave to the kernel.
func (w *watch) sum() (n uint64) {
	for _, k := range w.workers {
		n += k.unit.state.load(offSent)
	}
	return n
}

// device is what the device counted since the run began: sent or dropped.
func (w *watch) device() (uint64, host.Counters, error) {
	c, err := w.port.ns.Counters(w.port.link.Index)
	return c.TxFrames - w.before.TxFrames + c.TxDropped - w.before.TxDropped, c, err
}

// until returns when the run has ended (haltNone) or has to be stopped: ctx is done, the duration is over, or nothing leaves.
func (w *watch) until(ctx context.Context, c crew) (halt int32, reason string) {
	over := w.port.timer()
	look := time.NewTicker(watchEvery)
	defer look.Stop()
	for {
		select {
		case <-c.finished:
			return haltNone, ""
		case <-c.failed:
			return haltNow, ""
		case <-ctx.Done():
			return haltLast, ""
		case <-over:
			return haltLast, ""
		case <-look.C:
			if reason := w.look(time.Now()); reason != "" {
				return haltNow, reason
			}
		}
	}
}

// timer fires when the duration is over; nil without one. Where the number of slots ends the run, it is for a device that
// takes so long that they do not.
func (p *port) timer() <-chan time.Time {
	d := p.plan.Duration
	if d <= 0 {
		return nil
	}
	if p.end.skip {
		d += p.plan.CatchUp + overdue
	}
	switch now := host.Monotonic(); {
	case p.plan.StartAt > now:
		d += time.Duration(p.plan.StartAt - now)
	case p.plan.StartAt == 0 && p.plan.Paced():
		d += firstDue
	}
	return time.After(d)
}

// look says why the run cannot go on; empty: it can.
func (w *watch) look(now time.Time) (reason string) {
	given := w.sum() // read first: the device has counted at least what was given before, but for the batches under way
	seen, c, err := w.device()
	switch {
	case err != nil:
		return fmt.Sprintf("%s cannot be asked any more: %v", w.port.target, err)
	case !c.Up:
		return w.port.target.String() + " was taken down during the run"
	case !c.Carrier:
		return w.port.target.String() + " lost its carrier during the run"
	}
	if seen != w.seen {
		w.seen, w.mark, w.since = seen, w.sum(), time.Time{}
		return ""
	}
	switch {
	case given <= w.mark: // a slow run between two frames
	case w.since.IsZero():
		w.since = now
	case now.Sub(w.since) >= w.patience():
		return w.silence(seen)
	}
	return ""
}

func (w *watch) patience() time.Duration {
	if w.port.link.Bus != "" || w.port.link.SpeedBps != 0 {
		return deafAfterHardware
	}
	return deafAfter
}

// silence explains a device that counts nothing.
func (w *watch) silence(seen uint64) string {
	p := w.port
	what := "sent none of them"
	if seen > 0 {
		what = "stopped sending them during the run"
	}
	s := fmt.Sprintf("%s took frames and %s by its own counters", p.target, what)
	if p.link.Kind == "veth" {
		return s + ": " + p.deaf() + "; mend: " + p.mend()
	}
	return s + ": its driver " + p.link.Driver + " drops what XDP gives it; mend: the packet: engine"
}

// settle waits until the device has counted all that was given to it, and writes down what it has not.
func (p *port) settle(w *watch, reason string) {
	given, calm := w.sum(), quiet
	if w.patience() > deafAfter {
		calm = drainLimit
	}
	seen, _, err := w.device()
	began, last := time.Now(), time.Now()
	for err == nil && seen < given && time.Since(last) < calm && time.Since(began) < drainLimit {
		time.Sleep(quiet / 40)
		var n uint64
		if n, _, err = w.device(); n != seen {
			seen, last = n, time.Now()
		}
	}
	if err != nil { // the device is gone: only what it said before is confirmed
		seen = w.seen
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.undrained = given - min(given, seen)
	switch p.reason = reason; {
	case reason != "" || p.undrained == 0:
	case err != nil:
		p.reason = fmt.Sprintf("%s cannot be asked any more: %v", p.target, err)
	case seen == 0:
		p.reason = w.silence(seen)
	default:
		p.reason = fmt.Sprintf("%s took %d frames that it neither sent nor dropped by its own counters", p.target, p.undrained)
	}
}

var _ engine.Port = (*port)(nil)
