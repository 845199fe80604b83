package main

import (
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/cilium/ebpf/link"

	"github.com/wirespeed/wirespeed/internal/host"
	"github.com/wirespeed/wirespeed/internal/lab"
	"github.com/wirespeed/wirespeed/internal/tune"
)

// A testbed is two namespaces joined by a veth pair, va in A and vb in B.
type testbed struct {
	window   time.Duration // that a turn is measured
	a, b     string        // names of the namespaces
	nsA, nsB *host.NS
	peer     host.Link // vb
	undo     []func() error
}

// newTestbed makes one with the given queues. close removes it, also after a failure here.
func newTestbed(queues int) (w *testbed, err error) {
	w = &testbed{a: fmt.Sprintf("bench-%d-A", os.Getpid()), b: fmt.Sprintf("bench-%d-B", os.Getpid())}
	defer func() {
		if err != nil {
			err = errors.Join(err, w.close())
		}
	}()
	if w.nsA, err = w.namespace(w.a); err != nil {
		return w, err
	}
	if w.nsB, err = w.namespace(w.b); err != nil {
		return w, err
	}
	if err := lab.Wire(w.nsA, w.nsB, "va", "vb", queues); err != nil {
		return w, err
	}
	w.peer, err = w.nsB.Link("vb")
	return w, err
}

func (w *testbed) namespace(name string) (*host.NS, error) {
	if err := tune.CreateNetns(name); err != nil {
		return nil, err
	}
	w.undo = append(w.undo, func() error { return tune.DeleteNetns(name) })
	ns, err := host.OpenNS(name)
	if err == nil {
		w.undo = append(w.undo, ns.Close)
	}
	return ns, err
}

func (w *testbed) close() (err error) {
	for len(w.undo) > 0 {
		last := len(w.undo) - 1
		err = errors.Join(err, w.undo[last]())
		w.undo = w.undo[:last]
	}
	return err
}

// drop makes vb drop every frame in its driver, before the kernel has made anything of it.
func (w *testbed) drop() (undo func() error, err error) {
	prog, err := ebpf.NewProgram(&ebpf.ProgramSpec{
		Name: "bench_drop", Type: ebpf.XDP, License: "MIT",
		Instructions: asm.Instructions{asm.Mov.Imm(asm.R0, 1), asm.Return()}, // XDP_DROP
	})
	if err != nil {
		return nil, err
	}
	defer prog.Close()
	var l link.Link
	err = w.nsB.Do(func() error {
		l, err = link.AttachXDP(link.XDPOptions{Program: prog, Interface: w.peer.Index, Flags: link.XDPDriverMode})
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("drop at vb: %w", err)
	}
	return l.Close, nil
}

// counters are those of the receiving device. What a veth calls its transmit count is this number too.
func (w *testbed) counters() (host.Counters, error) { return w.nsB.Counters(w.peer.Index) }
