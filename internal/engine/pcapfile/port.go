package pcapfile

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync/atomic"
	"time"

	"github.com/wirespeed/wirespeed/internal/engine"
	"github.com/wirespeed/wirespeed/internal/engine/txloop"
	"github.com/wirespeed/wirespeed/internal/host"
)

// port is a file that is written.
type port struct {
	caps    engine.Caps
	address address
	loop    atomic.Pointer[txloop.Loop] // nil: nothing is loaded
	ring    *ring
}

// Load opens the file, and changes nothing of one that is there. The port's last plan is forgotten, also when it fails.
func (p *port) Load(plan engine.Plan) error {
	if err := p.unload(); err != nil {
		return err
	}
	if err := p.caps.Carries(plan); err != nil {
		return err
	}
	if plan.Batch > 1 {
		return engine.InputError(fmt.Sprintf("pcap: a batch of %d frames: a file takes them one by one, each with its own time; leave --batch out", plan.Batch))
	}
	if n, known := plan.Frames(); !plan.Paced() && p.address.speed == 0 && (!known || n == 0) {
		return engine.InputError("pcap: without a rate no time passes in a file, so nothing ends the run: give --rate, a line rate with ?speed=1G, or --count")
	}
	clock := txloop.NewVirtual(host.Monotonic())
	loop, err := txloop.New(txloop.Config{Plan: plan, MaxBatch: 1, Virtual: clock, Ring: func(int) (engine.Ring, error) {
		r, err := p.address.newRing(clock, plan.Program.MaxLen())
		p.ring = r
		return r, err
	}})
	if err != nil {
		return errors.Join(err, p.unload())
	}
	p.loop.Store(loop)
	return nil
}

// unload closes the file, and removes one that was made for nothing.
func (p *port) unload() (err error) {
	if p.ring != nil {
		err = p.ring.close()
	}
	p.ring = nil
	p.loop.Store(nil)
	return err
}

// Run writes the plan's frames.
func (p *port) Run(ctx context.Context) error {
	loop := p.loop.Load()
	if loop == nil {
		return errors.New("pcap: nothing is loaded")
	}
	if err := p.ring.begin(); err != nil {
		return err
	}
	return loop.Run(ctx)
}

// Counters may be called at any time.
func (p *port) Counters() engine.Counters {
	loop := p.loop.Load()
	if loop == nil {
		return engine.Counters{}
	}
	c := loop.Counters()
	c.SentSource = "frames that the file has taken"
	c.Undrained = 0 // what the file did not take never leaves
	return c
}

// Device has none.
func (*port) Device() (engine.DeviceCounters, bool, error) {
	return engine.DeviceCounters{}, false, nil
}

// Close closes the file.
func (p *port) Close() error { return p.unload() }

// openFile opens the file for writing. made: it was not there.
func (a *address) openFile() (f *os.File, made bool, err error) {
	f, err = os.OpenFile(a.path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err == nil || !errors.Is(err, os.ErrExist) {
		return f, err == nil, err
	}
	at, err := os.Stat(a.path)
	if err == nil && at.Mode().IsRegular() && !a.overwrite {
		return nil, false, a.exists()
	}
	f, err = os.OpenFile(a.path, os.O_WRONLY, 0)
	return f, false, err
}

// sinceEpoch is what is added to CLOCK_MONOTONIC to get the time of day.
func sinceEpoch() int64 { return time.Now().UnixNano() - host.Monotonic() }
