package xdp

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/cilium/ebpf/link"

	"github.com/wirespeed/wirespeed/internal/bpf"
	"github.com/wirespeed/wirespeed/internal/engine"
	"github.com/wirespeed/wirespeed/internal/tune"
)

// receiver is an opened device that receives: the analysis runs in the kernel, and this reads its maps.
//
// The program is attached by a BPF link: a file descriptor, which the kernel takes back with the process however that
// ends, so a crash leaves nothing attached. It stays attached from the first Start to Close, also between runs: a veth
// loses live frames while its peer has no program, and many drivers reset the link when one comes or goes.
type receiver struct {
	receiveProbe
	config engine.Config

	mu       sync.Mutex // guards what follows against Snapshot from another goroutine
	analyser *bpf.Analyser
	attached link.Link // nil: not yet
	undo     func() error
	before   drops // at Start
	running  bool
	final    *engine.Received // set by Stop
}

var errNoAnalyser = errors.New("xdp: nothing is loaded to receive with")

// OpenReceiver opens a device for receiving. It refuses with all reasons where ProbeReceive finds any.
func (*Engine) OpenReceiver(ctx context.Context, t engine.Target, c engine.Config) (engine.Receiver, error) {
	p, err := probeReceive(ctx, t)
	if err != nil {
		return nil, err
	}
	if err := p.caps.CarriesReceive(engine.Expect{}); err != nil {
		_ = p.ns.Close()
		return nil, fmt.Errorf("receive on %s: %w", t, err)
	}
	return &receiver{receiveProbe: p, config: c}, nil
}

// Load makes the program for what is expected. While an earlier one is attached it goes on until Start.
func (r *receiver) Load(e engine.Expect) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.running {
		return errors.New("xdp: the receiver runs: stop it first")
	}
	a, err := bpf.NewAnalyser(bpf.Options{
		Expect: e, ClockGroup: r.options.clockGroup,
		// The poll of one queue runs on one CPU at a time. Behind the driver (generic) that does not hold.
		Locked: r.link.RxQueues > 1 || r.options.generic,
	})
	if err != nil {
		return fmt.Errorf("xdp: %w", err)
	}
	if r.analyser != nil {
		_ = r.analyser.Close() // the link keeps what is attached
	}
	r.analyser, r.final = a, nil
	return nil
}

// Start attaches the program, or puts the loaded one in the place of the one before.
func (r *receiver) Start() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.analyser == nil || r.running || r.final != nil {
		return errors.New("xdp: the receiver is not loaded, or runs already")
	}
	var err error
	if r.before, err = r.readDrops(); err != nil {
		return err
	}
	if r.attached != nil {
		if err := r.attached.Update(r.analyser.Program()); err != nil {
			return fmt.Errorf("exchange the XDP program of %s: %w", r.link.Name, err)
		}
	} else if err := r.attach(); err != nil {
		return err
	}
	r.running = true
	return nil
}

// attach notes the attachment in the journal and makes it.
func (r *receiver) attach() error {
	info, err := r.analyser.Program().Info()
	if err != nil {
		return fmt.Errorf("xdp: ask for the loaded program: %w", err)
	}
	undo, err := r.config.Change(tune.XDPAttach{
		Device: tune.Device{Netns: r.ns.Name, Device: r.link.Name}, Program: info.Name,
	})
	if err != nil {
		return fmt.Errorf("attach to %s: %w", r.link.Name, err)
	}
	flags := link.XDPDriverMode
	if r.options.generic {
		flags = link.XDPGenericMode
	}
	err = r.ns.Do(func() (err error) { // the kernel looks for the device in the namespace of the calling thread
		r.attached, err = link.AttachXDP(link.XDPOptions{Program: r.analyser.Program(), Interface: r.link.Index, Flags: flags})
		return err
	})
	if err != nil {
		return errors.Join(r.attachError(err), undo())
	}
	r.undo = undo
	return nil
}

// Snapshot is what has arrived since Start.
func (r *receiver) Snapshot() (engine.Received, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.final != nil:
		return *r.final, nil
	case r.analyser == nil:
		return engine.Received{}, errNoAnalyser
	}
	return r.read()
}

func (r *receiver) read() (engine.Received, error) {
	got, err := r.analyser.Read()
	if err != nil {
		return got, fmt.Errorf("xdp: %w", err)
	}
	if r.attached == nil {
		return got, nil
	}
	now, err := r.readDrops()
	if err != nil {
		return got, err
	}
	got.TesterDrops += now.since(r.before, got.Foreign)
	return got, nil
}

// Stop takes the last snapshot. The program stays attached until Close.
func (r *receiver) Stop() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.running {
		return nil
	}
	got, err := r.read()
	if err != nil {
		return err
	}
	r.running, r.final = false, &got
	return nil
}

// Device reads the device's counters.
func (r *receiver) Device() (engine.DeviceCounters, bool, error) {
	c, err := r.ns.Counters(r.link.Index)
	return engine.DeviceCounters(c), true, err
}

// Close detaches the program.
func (r *receiver) Close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	var errs []error
	if r.attached != nil {
		if err := r.attached.Close(); err != nil {
			errs = append(errs, fmt.Errorf("detach from %s: %w", r.link.Name, err))
		}
		errs = append(errs, r.undo())
		r.attached = nil
	}
	if r.analyser != nil {
		errs = append(errs, r.analyser.Close())
		r.analyser = nil
	}
	r.running = false
	if r.ns != nil {
		errs = append(errs, r.ns.Close())
		r.ns = nil
	}
	return errors.Join(errs...)
}

var (
	_ engine.ReceiverEngine = (*Engine)(nil)
	_ engine.OptionLister   = (*Engine)(nil)
)
