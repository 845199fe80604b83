package host

import (
	"fmt"
	"net/netip"
	"os"
	"strings"

	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"
)

// usage is what the devices of a namespace carry, by index.
type usage struct {
	defaultRoute, ssh map[int]bool
	addresses         map[int]int
}

// usage asks for routes and addresses. A device below one that carries something (a bridge's port, a bond's or VLAN's
// lower device) carries it too.
func (n *NS) usage(c *conn, raw []rawLink) (usage, error) {
	u := usage{defaultRoute: map[int]bool{}, ssh: map[int]bool{}, addresses: map[int]int{}}
	client, server := sshEnds(os.Getenv("SSH_CONNECTION"))
	for _, family := range []int{unix.AF_INET, unix.AF_INET6} {
		err := again(func() error { return c.defaultRoutes(family, u.defaultRoute) })
		if err != nil {
			return u, fmt.Errorf("list routes: %w", err)
		}
	}
	err := again(func() error {
		clear(u.addresses)
		return c.addresses(func(index int, a netip.Addr) {
			u.addresses[index]++
			if server.IsValid() && a == server {
				u.ssh[index] = true
			}
		})
	})
	if err != nil {
		return u, fmt.Errorf("list addresses: %w", err)
	}
	// The answers to the client leave by its route, which need not be the device with the server's address. In another
	// namespace the client's address means nothing.
	if client.IsValid() && n.current() {
		if index := c.routeTo(client); index > 0 {
			u.ssh[index] = true
		}
	}
	spreadDown(raw, u.defaultRoute)
	spreadDown(raw, u.ssh)
	return u, nil
}

// spreadDown marks the devices below marked ones, until nothing changes.
func spreadDown(raw []rawLink, marked map[int]bool) {
	index := map[int]*rawLink{}
	for i := range raw {
		index[raw[i].Index] = &raw[i]
	}
	for changed := true; changed; {
		changed = false
		for i := range raw {
			r := &raw[i]
			if r.master != 0 && marked[r.master] && !marked[r.Index] {
				marked[r.Index], changed = true, true
			}
			// A veth's IFLA_LINK is its peer, not a device below.
			if marked[r.Index] && r.Kind != "veth" && r.lowerNSID < 0 && index[r.lower] != nil && !marked[r.lower] {
				marked[r.lower], changed = true, true
			}
		}
	}
}

// sshEnds reads $SSH_CONNECTION: client address, its port, server address, its port (sshd(8)).
func sshEnds(s string) (client, server netip.Addr) {
	f := strings.Fields(s)
	if len(f) != 4 {
		return client, server
	}
	client, _ = netip.ParseAddr(f[0])
	server, _ = netip.ParseAddr(f[2])
	return client.Unmap().WithZone(""), server.Unmap().WithZone("")
}

// defaultRoutes marks the devices of default routes, in every table. Halves of the address space (0.0.0.0/1), as tunnels
// set them, count as default routes.
func (c *conn) defaultRoutes(family int, marked map[int]bool) error {
	msg := &nl.RtMsg{}
	msg.Family = uint8(family)
	return c.ask(unix.NETLINK_ROUTE, unix.RTM_GETROUTE, unix.NLM_F_DUMP, func(m []byte) error {
		if len(m) < unix.SizeofRtMsg {
			return fmt.Errorf("route message of %d bytes", len(m))
		}
		dstLen, kind := m[1], m[7]
		if dstLen > 1 || kind != unix.RTN_UNICAST {
			return nil
		}
		return attributes(m, unix.SizeofRtMsg, func(typ uint16, v []byte) {
			switch typ {
			case unix.RTA_OIF:
				marked[int(u32(v))] = true
			case unix.RTA_MULTIPATH:
				for len(v) >= unix.SizeofRtNexthop {
					n := int(native.Uint16(v))
					if n < unix.SizeofRtNexthop || n > len(v) {
						return
					}
					marked[int(u32(v[4:]))] = true
					v = v[min(len(v), (n+3)&^3):]
				}
			}
		})
	}, msg)
}

// addresses calls each for every IP address.
func (c *conn) addresses(each func(index int, a netip.Addr)) error {
	return c.ask(unix.NETLINK_ROUTE, unix.RTM_GETADDR, unix.NLM_F_DUMP, func(m []byte) error {
		if len(m) < unix.SizeofIfAddrmsg {
			return fmt.Errorf("address message of %d bytes", len(m))
		}
		index := int(native.Uint32(m[4:]))
		var local, address netip.Addr
		err := attributes(m, unix.SizeofIfAddrmsg, func(typ uint16, v []byte) {
			switch typ {
			case unix.IFA_LOCAL: // of a point-to-point link IFA_ADDRESS is the other end
				local, _ = netip.AddrFromSlice(v)
			case unix.IFA_ADDRESS:
				address, _ = netip.AddrFromSlice(v)
			}
		})
		if !local.IsValid() {
			local = address
		}
		each(index, local)
		return err
	}, nl.NewIfInfomsg(unix.AF_UNSPEC))
}

// routeTo is the index of the device that frames to an address leave by; 0: none.
func (c *conn) routeTo(a netip.Addr) (index int) {
	msg := &nl.RtMsg{}
	msg.Family, msg.Dst_len = unix.AF_INET, uint8(a.BitLen())
	if a.Is6() {
		msg.Family = unix.AF_INET6
	}
	_ = c.ask(unix.NETLINK_ROUTE, unix.RTM_GETROUTE, 0, func(m []byte) error {
		return attributes(m, unix.SizeofRtMsg, func(typ uint16, v []byte) {
			if typ == unix.RTA_OIF {
				index = int(u32(v))
			}
		})
	}, msg, nl.NewRtAttr(unix.RTA_DST, a.AsSlice()))
	return index
}
