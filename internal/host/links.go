package host

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"
)

// Links lists the devices of the namespace in the order of their index.
func (n *NS) Links() ([]Link, error) {
	c, err := n.connect()
	if err != nil {
		return nil, err
	}
	raw, err := c.links()
	if err != nil {
		return nil, fmt.Errorf("list devices: %w", err)
	}
	used, err := n.usage(c, raw)
	if err != nil {
		return nil, err
	}
	all := make([]Link, len(raw))
	for i := range raw {
		all[i] = n.complete(c, raw, i, used)
	}
	return all, nil
}

// Link finds a device by its name, or one of its alternative names. An error that is fs.ErrNotExist: there is none.
func (n *NS) Link(name string) (Link, error) {
	l, err := n.find(func(r *rawLink) bool {
		for _, a := range r.altNames {
			if a == name {
				return true
			}
		}
		return r.Name == name
	})
	if errors.Is(err, fs.ErrNotExist) {
		return l, &Absent{What: fmt.Sprintf("no device %q%s", name, n.where()), Mend: "`wirespeed ports` lists those there are"}
	}
	return l, err
}

// LinkByIndex finds a device by its index. An error that is fs.ErrNotExist: there is none.
func (n *NS) LinkByIndex(index int) (Link, error) {
	l, err := n.find(func(r *rawLink) bool { return r.Index == index })
	if errors.Is(err, fs.ErrNotExist) {
		return l, fmt.Errorf("no device with index %d%s: %w", index, n.where(), err)
	}
	return l, err
}

func (n *NS) where() string {
	if n.Name == "" {
		return ""
	}
	return " in network namespace " + n.Name
}

// find asks for all devices: what a device carries is known only from those above it.
func (n *NS) find(match func(*rawLink) bool) (Link, error) {
	c, err := n.connect()
	if err != nil {
		return Link{}, err
	}
	raw, err := c.links()
	if err != nil {
		return Link{}, fmt.Errorf("list devices: %w", err)
	}
	for i := range raw {
		if match(&raw[i]) {
			used, err := n.usage(c, raw)
			if err != nil {
				return Link{}, err
			}
			return n.complete(c, raw, i, used), nil
		}
	}
	return Link{}, fs.ErrNotExist
}

// Counters reads the kernel's counters of a device and its state, in one request.
func (n *NS) Counters(ifindex int) (Counters, error) {
	c, err := n.connect()
	if err != nil {
		return Counters{}, err
	}
	r, err := c.link(ifindex)
	if err != nil {
		return Counters{}, fmt.Errorf("counters of device %d%s: %w", ifindex, n.where(), err)
	}
	return r.stats, nil
}

// complete adds to one device what needs further questions. What cannot be found out is left empty.
func (n *NS) complete(c *conn, raw []rawLink, i int, used usage) Link {
	l := raw[i].Link
	l.Netns = n.Name
	l.lower, l.lowerNSID = raw[i].lower, raw[i].lowerNSID
	l.Driver, l.Bus = c.driver(l.Name)
	if raw[i].parent == "" {
		l.Bus = "" // tun and veth fill in a word that is no address
	} else if l.Bus == "" {
		l.Bus = raw[i].parent
	}
	if hardwareBelow(raw, i, 0) {
		l.SpeedBps = c.speed(l.Name)
	}
	l.GRO = c.gro(l.Name)
	l.DefaultRoute, l.SSH = used.defaultRoute[l.Index], used.ssh[l.Index]
	l.AddrCount = used.addresses[l.Index]
	l.XDPFeatures = c.xdpFeatures(l.Index)
	return l
}

// hardwareBelow says whether a device has a speed of its own: hardware, or a VLAN or bond above it.
func hardwareBelow(raw []rawLink, i, depth int) bool {
	r := &raw[i]
	if r.parent != "" {
		return true
	}
	if depth > 8 { // the kernel's own limit of stacked devices
		return false
	}
	for j := range raw {
		below := r.Kind == "vlan" && r.lowerNSID < 0 && raw[j].Index == r.lower || r.Kind == "bond" && raw[j].master == r.Index
		if j != i && below && hardwareBelow(raw, j, depth+1) {
			return true
		}
	}
	return false
}

func (c *conn) links() (all []rawLink, err error) {
	err = again(func() error {
		all = all[:0]
		return c.ask(unix.NETLINK_ROUTE, unix.RTM_GETLINK, unix.NLM_F_DUMP, func(m []byte) error {
			r, err := decodeLink(m)
			all = append(all, r)
			return err
		}, nl.NewIfInfomsg(unix.AF_UNSPEC))
	})
	return all, err
}

func (c *conn) link(ifindex int) (r rawLink, err error) {
	msg := nl.NewIfInfomsg(unix.AF_UNSPEC)
	msg.Index = int32(ifindex)
	err = c.ask(unix.NETLINK_ROUTE, unix.RTM_GETLINK, 0, func(m []byte) (err error) {
		r, err = decodeLink(m)
		return err
	}, msg)
	if errors.Is(err, unix.ENODEV) {
		err = fmt.Errorf("it is gone: %w", fs.ErrNotExist)
	}
	return r, err
}

// again repeats a dump that was interrupted by a change of the table.
func again(dump func() error) error {
	var err error
	for range 5 {
		if err = dump(); !errors.Is(err, nl.ErrDumpInterrupted) {
			return err
		}
	}
	return err
}

// Commands and attributes of the generic netlink family netdev (include/uapi/linux/netdev.h).
const (
	netdevCmdDevGet      = 1
	netdevADevIfindex    = 1
	netdevADevXDPFeature = 3
)

// xdpFeatures are NETDEV_XDP_ACT_* of one device; nil where the kernel does not say (before 6.3). One at a time: replies
// of the family's dump lack NLM_F_MULTI, so that the library takes the first for the only one.
func (c *conn) xdpFeatures(ifindex int) *uint64 {
	if c.netdevFamily == 0 {
		return nil
	}
	var features *uint64
	head := &nl.Genlmsg{Command: netdevCmdDevGet, Version: 1}
	err := c.ask(unix.NETLINK_GENERIC, c.netdevFamily, 0, func(m []byte) error {
		return attributes(m, nl.SizeofGenlmsg, func(typ uint16, v []byte) {
			if typ == netdevADevXDPFeature && len(v) >= 8 {
				f := native.Uint64(v)
				features = &f
			}
		})
	}, head, nl.NewRtAttr(netdevADevIfindex, nl.Uint32Attr(uint32(ifindex))))
	if err != nil {
		return nil
	}
	return features
}

// contextDone is ctx.Err, wrapped with what was being done.
func contextDone(ctx context.Context, doing string) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("%s: %w", doing, err)
	}
	return nil
}
