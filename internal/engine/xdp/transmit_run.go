package xdp

import (
	"context"
	"errors"
	"fmt"
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
	watchEvery = 20 * time.Millisecond
	// Draining is over after quiet without a change, and after drainLimit in any case.
	quiet      = 200 * time.Millisecond
	drainLimit = 2 * time.Second
	// signalEvery is how often a stop is repeated: a signal that arrives just before the call begins is lost.
	signalEvery = 200 * time.Microsecond
)

var errNotLoaded = errors.New("xdp: nothing is loaded; call Load first")

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
	finished, err := p.start(workers)
	if err != nil {
		return err
	}
	watch := &watch{port: p, workers: workers, before: before}
	stop, reason := watch.until(ctx, finished)
	if stop != haltNone {
		p.stop(workers, stop)
	}
	<-finished
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
	p.reason, p.allUnsent, p.undrained = "", false, 0
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

// start brings the workers up and opens the gate. finished is closed when all have ended.
func (p *port) start(workers []*worker) (finished <-chan struct{}, err error) {
	ready := make(chan error, len(workers))
	gate := make(chan int64, len(workers))
	ended := make(chan struct{}, len(workers))
	for _, w := range workers {
		go func() {
			defer func() { ended <- struct{}{} }()
			w.run(p.ns.Fd(), ready, gate)
		}()
	}
	for range workers {
		err = errors.Join(err, <-ready)
	}
	all := make(chan struct{})
	go func() {
		defer close(all)
		for range workers {
			<-ended
		}
	}()
	if err != nil {
		close(gate)
		<-all
		return nil, fmt.Errorf("xdp: %s: %w", p.target, err)
	}
	at := p.plan.StartAt
	if at == 0 {
		at = host.Monotonic()
		if !p.plan.Rate.IsZero() {
			at += firstDue
		}
	}
	for range workers {
		gate <- at
	}
	return all, nil
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
func (w *watch) until(ctx context.Context, finished <-chan struct{}) (halt int32, reason string) {
	plan := &w.port.plan
	var over <-chan time.Time
	if d := plan.Duration; d > 0 && !w.port.end.skip {
		if plan.StartAt != 0 {
			d += time.Duration(max(0, plan.StartAt-host.Monotonic()))
		}
		timer := time.NewTimer(d)
		defer timer.Stop()
		over = timer.C
	}
	look := time.NewTicker(watchEvery)
	defer look.Stop()
	for {
		select {
		case <-finished:
			return haltNone, ""
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
	given := w.sum()
	seen, _, err := w.device()
	began, last := time.Now(), time.Now()
	for err == nil && seen < given && time.Since(last) < quiet && time.Since(began) < drainLimit {
		time.Sleep(quiet / 40)
		n, _, e := w.device()
		if n != seen {
			seen, last = n, time.Now()
		}
		err = e
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.reason = reason
	if err != nil { // the device is gone: nobody confirms anything
		if p.reason == "" {
			p.reason = fmt.Sprintf("%s cannot be asked any more: %v", p.target, err)
		}
		return
	}
	if seen >= given {
		return
	}
	p.undrained = given - seen
	if seen == 0 {
		p.allUnsent = true
		if p.reason == "" {
			p.reason = w.silence(seen)
		}
	}
}

var _ engine.Port = (*port)(nil)
