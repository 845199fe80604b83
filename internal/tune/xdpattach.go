package tune

import (
	"fmt"

	"github.com/cilium/ebpf"

	"github.com/wirespeed/wirespeed/internal/host"
)

// XDPAttach notes a program that its owner attaches to a device by a BPF link. The link goes with the process, so a crash
// usually leaves nothing; undoing detaches the program where it is still there, and only it: known by its name.
type XDPAttach struct {
	Device
	Program string `json:"program"` // the program's name in the kernel, up to 15 bytes
}

// Describe is for the journal and the user.
func (c XDPAttach) Describe() string {
	return fmt.Sprintf("XDP program %s at %s", c.Program, c.where())
}
func (XDPAttach) kind() string { return "xdp_attach" }
func (XDPAttach) key() string  { return "" }

func (c XDPAttach) prepare() (change, error) {
	d, _, err := c.identify()
	c.Device = d
	return c, err
}

func (c XDPAttach) apply() (change, error) { return c, nil }

func (c XDPAttach) revert() error {
	return c.same(func(ns *host.NS, l host.Link) error {
		if l.XDPProgID == 0 || !named(l.XDPProgID, c.Program) {
			return nil
		}
		if err := ns.Do(func() error { return detachXDP(l.Index) }); err != nil {
			return fmt.Errorf("detach XDP program %s from %s: %w", c.Program, c.where(), needRoot(err))
		}
		return nil
	})
}

func (c XDPAttach) over(change) change { return c }

// named says whether the loaded program with this id has the name. One that ended meanwhile has none.
func named(id uint32, name string) bool {
	p, err := ebpf.NewProgramFromID(ebpf.ProgramID(id))
	if err != nil {
		return false
	}
	defer p.Close()
	info, err := p.Info()
	return err == nil && name != "" && info.Name == name
}
