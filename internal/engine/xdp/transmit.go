package xdp

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/wirespeed/wirespeed/internal/engine"
	"github.com/wirespeed/wirespeed/internal/host"
	"github.com/wirespeed/wirespeed/internal/packet"
	"github.com/wirespeed/wirespeed/internal/tune"
)

// Open opens a device for sending. Where a veth's peer would lose the frames and Config.MayMend permits it, GRO is switched
// on there until Close.
func (*Engine) Open(ctx context.Context, t engine.Target, c engine.Config) (engine.Port, error) {
	f, err := probe(ctx, t)
	if err != nil {
		return nil, err
	}
	p := &port{found: f, target: t}
	if err := p.mendPeer(c); err != nil {
		return nil, errors.Join(err, p.Close())
	}
	return p, nil
}

func (p *port) mendPeer(c engine.Config) error {
	var left []engine.Problem
	for _, problem := range p.caps.Problems {
		if !problem.Mendable || !c.MayMend {
			left = append(left, problem)
			continue
		}
		undo, err := c.Change(tune.GRO{Device: tune.Device{Netns: p.peerNetns, Device: p.peer}, On: true})
		if err != nil {
			return fmt.Errorf("xdp: %s: %s: %w", p.target, problem.Reason, err)
		}
		p.undo = append(p.undo, undo)
		c.Note(fmt.Sprintf("switched GRO on at %s, the peer of %s, for this run: without it live frames are lost", p.peer, p.target))
	}
	p.caps.Problems = left
	if len(left) > 0 {
		return fmt.Errorf("xdp: %s: %s", p.target, left[0])
	}
	return nil
}

// port is an opened device. mu guards what Counters reads while Load, Run and Close replace it.
type port struct {
	found
	target engine.Target
	undo   []func() error

	mu      sync.Mutex
	plan    engine.Plan
	end     ending
	batch   int
	replay  *sequence // of the plan; the workers' programs read it
	halt    atomic.Int32
	workers []*worker
	// The outcome of a run.
	reason    string
	undrained uint64 // given to the kernel, counted by nobody
}

// defaultCatchUp is used where the plan names none: a program that makes up for nothing would shift its schedule by the
// length of a clock read with every frame.
const defaultCatchUp = 10 * time.Millisecond

// ending says what ends a run.
type ending struct {
	total uint64 // frames of the port; 0: no limit
	// skip: total comes from the duration, so slots that a stall ate are dropped. Else the schedule shifts.
	skip bool
}

func endingOf(plan *engine.Plan) ending {
	n, known := plan.Frames()
	if !known {
		return ending{}
	}
	e := ending{total: max(1, n)}
	if d := plan.Duration; d > 0 && plan.Paced() {
		due := uint64(0)
		if plan.Recorded {
			due = plan.Program.Sequence.FramesIn(d)
		} else {
			due = max(1, plan.Rate.FramesIn(d))
		}
		e.skip = due > 0 && due <= e.total
	}
	return e
}

// Load compiles and loads a program for each queue and anchors it.
func (p *port) Load(plan engine.Plan) (err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ns == nil {
		return errClosed
	}
	if err := p.unload(); err != nil {
		return err
	}
	if err := p.check(&plan); err != nil {
		return err
	}
	cores, err := p.cores(&plan)
	if err != nil {
		return fmt.Errorf("xdp: %s: %w", p.target, err)
	}
	if plan.CatchUp <= 0 {
		plan.CatchUp = defaultCatchUp
	}
	p.plan, p.end = plan, endingOf(&plan)
	p.reason, p.undrained = "", 0
	if plan.Program.Sequence != nil {
		if p.replay, err = newSequence(plan.Program, plan.Recorded); err != nil {
			return fmt.Errorf("xdp: %s: %w", p.target, err)
		}
	}
	for q := range plan.Queues {
		w, err := p.newWorker(q, cores[q])
		if err != nil {
			return errors.Join(fmt.Errorf("xdp: %s: %w", p.target, err), p.unload())
		}
		p.workers = append(p.workers, w)
	}
	return nil
}

func (p *port) check(plan *engine.Plan) error {
	switch {
	case plan.Queues < 1:
		return fmt.Errorf("xdp: %d queues asked for; at least 1 is needed", plan.Queues)
	case plan.Cores != nil && len(plan.Cores) != plan.Queues:
		return fmt.Errorf("xdp: %d cores for %d queues; give one core for each queue", len(plan.Cores), plan.Queues)
	case plan.Batch < 0 || plan.Batch > maxBatch:
		return fmt.Errorf("xdp: a batch of %d; the kernel takes 1 to %d live frames at once", plan.Batch, maxBatch)
	case plan.Recorded && plan.Program.Source == nil && (plan.Program.Sequence == nil || !plan.Rate.IsZero()):
		return errors.New("xdp: recorded gaps are those of a replay without a rate")
	case plan.Stamp > engine.StampShared:
		return fmt.Errorf("xdp: stamp %d is not known", plan.Stamp)
	}
	return p.caps.Carries(*plan)
}

// timeKind is how frames are stamped. A paced program has read the clock for every frame anyway.
func timeKind(plan *engine.Plan) byte {
	switch {
	case plan.Stamp == engine.StampNone:
		return packet.TimeNone
	case plan.Stamp == engine.StampFrame || plan.Paced():
		return packet.TimeFrame
	default:
		return packet.TimeShared
	}
}

// unload frees what Load made. The caller holds mu.
func (p *port) unload() (err error) {
	for _, w := range p.workers {
		err = errors.Join(err, w.close())
	}
	p.workers = nil
	if p.replay != nil {
		err = errors.Join(err, p.replay.close())
		p.replay = nil
	}
	return err
}

// Counters reads the programs' own counts. After the run, sent is without what the device did not confirm; which queue that
// was is not known, so the last ones bear it.
func (p *port) Counters() engine.Counters {
	p.mu.Lock()
	defer p.mu.Unlock()
	c := engine.Counters{Undrained: p.undrained, Reason: p.reason, Batch: p.batch, SentSource: "the transmit program in the kernel, less what the device's counters lack"}
	for _, w := range p.workers {
		c.Queues = append(c.Queues, w.counters())
	}
	unsent := p.undrained
	for i := len(c.Queues) - 1; i >= 0; i-- {
		n := min(unsent, c.Queues[i].Sent)
		c.Queues[i].Sent -= n
		unsent -= n
	}
	return c
}

// Device reads the kernel's counters of the device.
func (p *port) Device() (engine.DeviceCounters, bool, error) {
	p.mu.Lock()
	ns := p.ns
	p.mu.Unlock()
	if ns == nil {
		return engine.DeviceCounters{}, false, errClosed
	}
	c, err := ns.Counters(p.link.Index)
	if err != nil {
		return engine.DeviceCounters{}, false, err
	}
	return engine.DeviceCounters(c), true, nil
}

// Close frees everything and puts the peer back.
func (p *port) Close() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	err := p.unload()
	for i := len(p.undo) - 1; i >= 0; i-- {
		err = errors.Join(err, p.undo[i]())
	}
	p.undo = nil
	if p.ns != nil {
		err = errors.Join(err, p.ns.Close())
		p.ns = nil
	}
	return err
}

// cores are the plan's, or for queue q a CPU c with c mod queues = q where there is one: a veth chooses the peer's receive
// queue by the CPU (drivers/net/veth.c, veth_select_rxq), and two workers on one of them would drop each other's frames.
func (p *port) cores(plan *engine.Plan) ([]int, error) {
	cpus, err := host.CPUs()
	if err != nil {
		return nil, err
	}
	if plan.Cores == nil {
		rings := p.peerRx
		if rings == 0 { // not found
			rings = max(1, p.link.TxQueues)
		}
		return spread(cpus, plan.Queues, rings)
	}
	for i, c := range plan.Cores {
		if !slices.Contains(cpus, c) {
			return nil, fmt.Errorf("core %d is none of those that this process may use: %v", c, cpus)
		}
		if slices.Contains(plan.Cores[:i], c) {
			return nil, fmt.Errorf("core %d is given twice; each queue needs a core of its own", c)
		}
	}
	return plan.Cores, nil
}

// spread assigns CPUs to queues, each CPU once.
func spread(cpus []int, queues, rings int) ([]int, error) {
	if queues > len(cpus) {
		return nil, fmt.Errorf("%d queues need as many CPUs, this process may use %d; mend: fewer queues", queues, len(cpus))
	}
	used := map[int]bool{}
	cores := make([]int, queues)
	for q := range cores {
		cores[q] = -1
		for _, exact := range []bool{true, false} {
			for _, c := range cpus {
				if cores[q] < 0 && !used[c] && (!exact || c%rings == q%rings) {
					cores[q] = c
				}
			}
		}
		used[cores[q]] = true
	}
	return cores, nil
}
