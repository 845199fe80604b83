package tune

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/wirespeed/wirespeed/internal/engine"
	"github.com/wirespeed/wirespeed/internal/host"
)

// change is a reversible change of the host: plain data that can be written down.
type change interface {
	engine.Change
	kind() string
	// key names what is changed; two entries with the same key are about the same thing. Empty: nobody shares it.
	key() string
	// prepare adds what is needed for undoing. It has no effect.
	prepare() (change, error)
	// apply makes the change and adds what became known by it.
	apply() (change, error)
	// revert is idempotent; what is gone meanwhile is no error.
	revert() error
	// over takes the state before an older change of the same key that is no longer to be undone.
	over(older change) change
}

// Device is a network device, identified beyond its name once a change was prepared: another one may get the name.
type Device struct {
	Netns  string `json:"netns"` // as host.OpenNS takes it
	Device string `json:"device"`

	Index int    `json:"index"` // filled in by the journal, as is Inode
	Inode uint64 `json:"inode"` // of the namespace
}

func (d Device) where() string {
	if d.Netns == "" {
		return d.Device
	}
	return d.Device + "@" + d.Netns
}

func (d Device) key() string { return fmt.Sprintf("%d/%d", d.Inode, d.Index) }

// look opens the device's namespace and reads the device. The caller closes ns.
func (d Device) look() (ns *host.NS, l host.Link, err error) {
	if ns, err = host.OpenNS(d.Netns); err != nil {
		return nil, l, err
	}
	if l, err = ns.Link(d.Device); err != nil {
		return nil, l, errors.Join(err, ns.Close())
	}
	return ns, l, nil
}

func (d Device) identify() (Device, host.Link, error) {
	ns, l, err := d.look()
	if err != nil {
		return d, l, err
	}
	defer ns.Close()
	d.Index = l.Index
	d.Inode, err = ns.Inode()
	return d, l, err
}

// same runs f in the device's namespace where the device is still the one that was changed.
func (d Device) same(f func(ns *host.NS, l host.Link) error) error {
	ns, l, err := d.look()
	// A namespace addressed by a path ends with that process, whose number and descriptor may be another's by now.
	if errors.Is(err, fs.ErrNotExist) || err != nil && ns == nil && strings.Contains(d.Netns, "/") {
		return nil
	}
	if err != nil {
		return err
	}
	defer ns.Close()
	if inode, err := ns.Inode(); err != nil || inode != d.Inode || l.Index != d.Index {
		return err
	}
	return f(ns, l)
}

// GRO switches generic receive offload of a device. On a veth it makes redirected frames arrive from the peer
// (drivers/net/veth.c: GRO gives the device its NAPI).
type GRO struct {
	Device
	On     bool `json:"on"`
	Before bool `json:"before"`
}

// Describe is for the journal and the user.
func (c GRO) Describe() string { return fmt.Sprintf("GRO %s at %s", onOff(c.On), c.where()) }
func (GRO) kind() string       { return "gro" }
func (c GRO) key() string      { return "gro/" + c.Device.key() }

func (c GRO) prepare() (change, error) {
	d, l, err := c.identify()
	c.Device, c.Before = d, l.GRO
	return c, err
}

func (c GRO) apply() (change, error) { return c, c.set(c.On) }
func (c GRO) revert() error          { return c.set(c.Before) }

func (c GRO) set(on bool) error {
	return c.same(func(ns *host.NS, l host.Link) error {
		if l.GRO == on {
			return nil
		}
		if err := ns.Do(func() error { return setGRO(l.Name, on) }); err != nil {
			return fmt.Errorf("GRO %s at %s: %w", onOff(on), c.where(), needRoot(err))
		}
		return nil
	})
}

func (c GRO) over(older change) change {
	if o, ok := older.(GRO); ok {
		c.Before = o.Before
	}
	return c
}

func onOff(on bool) string {
	if on {
		return "on"
	}
	return "off"
}

// MTU sets a device's largest packet, 68 to 65535 bytes of layer 3.
type MTU struct {
	Device
	MTU    int `json:"mtu"`
	Before int `json:"before"`
}

// Describe is for the journal and the user.
func (c MTU) Describe() string { return fmt.Sprintf("MTU %d at %s", c.MTU, c.where()) }
func (MTU) kind() string       { return "mtu" }
func (c MTU) key() string      { return "mtu/" + c.Device.key() }

func (c MTU) prepare() (change, error) {
	d, l, err := c.identify()
	c.Device, c.Before = d, l.MTU
	return c, err
}

func (c MTU) apply() (change, error) { return c, c.set(c.MTU) }
func (c MTU) revert() error          { return c.set(c.Before) }

func (c MTU) set(mtu int) error {
	return c.same(func(ns *host.NS, l host.Link) error {
		if l.MTU == mtu {
			return nil
		}
		if err := ns.Do(func() error { return setMTU(l.Index, mtu) }); err != nil {
			return fmt.Errorf("MTU %d at %s: %w", mtu, c.where(), needRoot(err))
		}
		return nil
	})
}

func (c MTU) over(older change) change {
	if o, ok := older.(MTU); ok {
		c.Before = o.Before
	}
	return c
}

// LinkUp brings a device up.
type LinkUp struct {
	Device
	Before bool `json:"before"`
}

// Describe is for the journal and the user.
func (c LinkUp) Describe() string { return "bring up " + c.where() }
func (LinkUp) kind() string       { return "link_up" }
func (c LinkUp) key() string      { return "link_up/" + c.Device.key() }

func (c LinkUp) prepare() (change, error) {
	d, l, err := c.identify()
	c.Device, c.Before = d, l.Up
	return c, err
}

func (c LinkUp) apply() (change, error) { return c, c.set(true) }
func (c LinkUp) revert() error          { return c.set(c.Before) }

func (c LinkUp) set(up bool) error {
	return c.same(func(ns *host.NS, l host.Link) error {
		if l.Up == up {
			return nil
		}
		if err := ns.Do(func() error { return setUp(l.Index, up) }); err != nil {
			return fmt.Errorf("bring %s up or down: %w", c.where(), needRoot(err))
		}
		return nil
	})
}

func (c LinkUp) over(older change) change {
	if o, ok := older.(LinkUp); ok {
		c.Before = o.Before
	}
	return c
}
