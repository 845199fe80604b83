// Package null makes frames and sends them nowhere: what it takes is what the generator alone costs. Its ports need no
// device, no permission and no lock.
//
// Frames are made by package txloop, as for every engine that takes them from user space, and are gone when the next are.
package null

import (
	"context"
	"errors"
	"sync/atomic"

	"github.com/wirespeed/wirespeed/internal/engine"
	"github.com/wirespeed/wirespeed/internal/engine/txloop"
	"github.com/wirespeed/wirespeed/internal/host"
	"github.com/wirespeed/wirespeed/internal/program"
	"github.com/wirespeed/wirespeed/internal/wire"
)

// maxBatch bounds the frames that are made at once.
const maxBatch = 256

// Engine keeps no state.
type Engine struct{}

// New is the engine.
func New() *Engine { return &Engine{} }

// Name is what stands before the colon in a port's address.
func (*Engine) Name() string { return "null" }

// Portless says what a port of the engine is.
func (*Engine) Portless() string {
	return "null: makes frames and sends nothing: what the generator alone can do"
}

// Options are none.
func (*Engine) Options() (tx, rx []string) { return nil, nil }

// Probe says that it works anywhere.
func (*Engine) Probe(context.Context, engine.Target) (engine.Caps, error) {
	queues := 1
	if cpus, err := host.CPUs(); err == nil {
		queues = len(cpus)
	}
	return engine.Caps{
		Engine: "null", Link: engine.Link{Name: "null", Kind: "null", Up: true, Carrier: true, MAC: [6]byte{2, 0, 0, 0, 0, 1}, TxQueues: queues},
		Paces: true, Stamps: true, MaxFrame: wire.MaxFrame, MaxQueues: queues,
	}, nil
}

// Open opens a port.
func (e *Engine) Open(ctx context.Context, t engine.Target, _ engine.Config) (engine.Port, error) {
	caps, err := e.Probe(ctx, t)
	return &port{caps: caps}, err
}

// port is a place where frames end.
type port struct {
	caps engine.Caps
	loop atomic.Pointer[txloop.Loop] // nil: nothing is loaded
}

// Load makes the frames' buffers.
func (p *port) Load(plan engine.Plan) error {
	p.loop.Store(nil)
	if err := p.caps.Carries(plan); err != nil {
		return err
	}
	loop, err := txloop.New(txloop.Config{Plan: plan, MaxBatch: maxBatch, Ring: func(int) (engine.Ring, error) { return newRing(plan.Program), nil }})
	if err != nil {
		return err
	}
	p.loop.Store(loop)
	return nil
}

// Run makes the plan's frames.
func (p *port) Run(ctx context.Context) error {
	loop := p.loop.Load()
	if loop == nil {
		return errors.New("null: nothing is loaded")
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
	c.SentSource = "frames made and thrown away: nothing left this machine"
	return c
}

// Device has none.
func (*port) Device() (engine.DeviceCounters, bool, error) {
	return engine.DeviceCounters{}, false, nil
}

// Close has nothing to put back.
func (*port) Close() error { return nil }

// ring is the frames of one queue: they complete when they are handed over.
type ring struct {
	frames []program.Frame
	taken  int // since the last Reclaim
}

func newRing(prog *program.Program) *ring {
	r := &ring{frames: make([]program.Frame, maxBatch)}
	size := (prog.MaxLen() + 63) &^ 63 // a frame begins on a cache line of its own
	buf := make([]byte, maxBatch*size)
	for i := range r.frames {
		r.frames[i].Buf = buf[i*size : (i+1)*size : (i+1)*size]
	}
	return r
}

func (r *ring) Reserve(n int) []program.Frame { return r.frames[:min(n, len(r.frames))] }

func (r *ring) Commit(n int) (taken int, err error) {
	r.taken += n
	return n, nil
}

func (r *ring) Reclaim() int {
	n := r.taken
	r.taken = 0
	return n
}
