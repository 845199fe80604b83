package packetsock

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/wirespeed/wirespeed/internal/engine"
	"github.com/wirespeed/wirespeed/internal/engine/txloop"
)

// maxBatch bounds one sendmmsg.
const maxBatch = 256

// port is an opened device that sends.
type port struct {
	*probed
	qdisc bool                        // through it
	loop  atomic.Pointer[txloop.Loop] // nil: nothing is loaded
	rings []*ring

	// With a qdisc the socket only says what was queued: what left is the device's count.
	before    atomic.Uint64 // what the device will have counted when the first frame of the run leaves
	ran       atomic.Bool   // before is known
	confirmed atomic.Uint64 // frames of the run that left, when last looked
}

// Load makes sockets and frames. The port's last plan is forgotten, also when it fails.
func (p *port) Load(plan engine.Plan) error {
	p.unload()
	if err := p.caps.Carries(plan); err != nil {
		return err
	}
	loop, err := txloop.New(txloop.Config{Plan: plan, MaxBatch: maxBatch, Ring: func(int) (engine.Ring, error) {
		r, err := p.newRing(plan.Program)
		if err != nil {
			return nil, err
		}
		p.rings = append(p.rings, r)
		return r, nil
	}})
	if err != nil {
		p.unload()
		return fmt.Errorf("packet: %w", err)
	}
	p.loop.Store(loop)
	return nil
}

func (p *port) unload() {
	for _, r := range p.rings {
		r.close()
	}
	p.rings = nil
	p.loop.Store(nil)
	p.ran.Store(false)
	p.confirmed.Store(0)
}

// Run sends the plan.
func (p *port) Run(ctx context.Context) error {
	loop := p.loop.Load()
	if loop == nil {
		return errors.New("packet: nothing is loaded")
	}
	if !p.qdisc {
		return loop.Run(ctx)
	}
	before, err := p.ahead()
	if err != nil {
		return err
	}
	p.before.Store(before)
	p.ran.Store(true)
	if err := loop.Run(ctx); err != nil {
		return err
	}
	p.drain(sum(loop.Counters().Queues))
	return nil
}

// ahead is what the device will have counted once all has left that waits in the qdisc now: frames of a run before this
// one, perhaps.
func (p *port) ahead() (uint64, error) {
	d, _, err := p.Device()
	for range 100 {
		if err != nil {
			return 0, err
		}
		var waiting uint64
		if waiting, err = p.ns.Backlog(p.link.Index); err != nil {
			return 0, err
		}
		was := d.TxFrames
		d, _, err = p.Device()
		if err == nil && d.TxFrames == was { // none went from the one count to the other in between
			return was + waiting, nil
		}
	}
	return 0, fmt.Errorf("packet: %s sends so much through its qdisc that what is this run's cannot be told; stop the other traffic, or leave out qdisc=use", p.link.Name)
}

// drainQuiet: after so long without a frame leaving, none is to come.
const drainQuiet = 200 * time.Millisecond

// drain waits until all that was queued has left, or the qdisc is empty, or the limit is over.
func (p *port) drain(submitted uint64) {
	end := time.Now().Add(txloop.DrainLimit)
	seen := uint64(0)
	for quiet := time.Now(); ; time.Sleep(time.Millisecond) {
		d, _, err := p.Device()
		if err != nil {
			return // the device is gone: what left last is known
		}
		if d.TxFrames != seen {
			seen, quiet = d.TxFrames, time.Now()
		}
		if p.left() >= submitted || time.Now().After(end) {
			return
		}
		if n, err := p.ns.Backlog(p.link.Index); (err != nil || n == 0) && time.Since(quiet) > drainQuiet {
			return
		}
	}
}

// left is how many frames of the run the device has counted. What waited before the run left before it.
func (p *port) left() uint64 {
	if d, ok, err := p.Device(); p.ran.Load() && ok && err == nil && d.TxFrames > p.before.Load() {
		p.confirmed.Store(d.TxFrames - p.before.Load())
	}
	return p.confirmed.Load()
}

func sum(queues []engine.QueueCounters) (submitted uint64) {
	for i := range queues {
		submitted += queues[i].Submitted
	}
	return submitted
}

// Counters may be called at any time.
func (p *port) Counters() engine.Counters {
	loop := p.loop.Load()
	if loop == nil {
		return engine.Counters{}
	}
	c := loop.Counters()
	c.SentSource = "sendmmsg past the qdisc: frames that the driver took"
	if !p.qdisc {
		return c
	}
	c.SentSource = "the device's counter behind the qdisc"
	left := p.left() // also after the run: what was not drained then may leave later
	c.Undrained = 0
	for i := range c.Queues {
		q := &c.Queues[i]
		q.Sent = min(q.Submitted, left)
		left -= q.Sent
		c.Undrained += q.Submitted - q.Sent
	}
	if c.Undrained > 0 && c.Reason == "" {
		c.Reason = "not drained: frames were still in the qdisc, or dropped there, when the drain limit was reached"
	}
	return c
}

// Close puts the host back.
func (p *port) Close() error {
	p.unload()
	return p.ns.Close()
}
