package lab

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/netip"
	"os"
	"strings"
	"time"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/wirespeed/wirespeed/internal/host"
	"github.com/wirespeed/wirespeed/internal/tune"
)

// The device's own ends of the two links, in the namespace nameD.
const (
	DevDA  = "da" // towards va
	DevDB  = "db" // towards vb
	bridge = "br0"
)

// MTUs that the kernel takes for a veth (drivers/net/veth.c: ETH_MIN_MTU to ETH_MAX_MTU), and the least that carries IPv6
// (RFC 8200 5).
const (
	minMTU  = 68
	minMTU6 = 1280
	maxMTU  = 65535
)

// A Side is one of a router's two networks: those of RFC 2544 and RFC 5180 in which the default addresses of streams lie.
type Side struct {
	Port, Router   netip.Prefix // IPv4: what the port may take, and the router's own
	Port6, Router6 netip.Prefix
}

// RouterSides are the networks of va and of vb.
func RouterSides() (a, b Side) {
	p := netip.MustParsePrefix
	return Side{p("198.18.0.1/16"), p("198.18.255.254/16"), p("2001:2::1/64"), p("2001:2::fffe/64")},
		Side{p("198.19.0.1/16"), p("198.19.255.254/16"), p("2001:2:0:1::1/64"), p("2001:2:0:1::fffe/64")}
}

// linkLocal is the address that a router asks for its neighbours from: without one it asks for none (net/ipv6/ndisc.c,
// ndisc_send_ns). Each of its links has its own.
var linkLocal = netip.MustParsePrefix("fe80::1/64")

// between makes the three namespaces and the two links.
func between(j *tune.Journal, name string, o Options) ([]*host.NS, error) {
	ns, err := namespaces(j, name, "A", "B", "D")
	if err != nil {
		return nil, err
	}
	if err := errors.Join(wire(ns[0], ns[2], DevA, DevDA, o), wire(ns[1], ns[2], DevB, DevDB, o)); err != nil {
		closeAll(ns)
		return nil, err
	}
	return ns, nil
}

// makeRouter lets the kernel of the namespace nameD forward between the two networks.
func makeRouter(j *tune.Journal, name string, o Options) error {
	ns, err := between(j, name, o)
	if err != nil {
		return err
	}
	defer closeAll(ns)
	return ns[2].Do(route)
}

// route makes the calling thread's namespace a router between da and db.
func route() error {
	// What came in on one device leaves by the other: a redirect or a filter for "impossible" sources would be the kernel's
	// own traffic, or a loss. Of both it takes the stricter of a device's setting and that of all.
	if err := setAll(map[string]string{
		"ipv4/conf/all/send_redirects": "0", "ipv4/conf/all/rp_filter": "0",
		"ipv4/ip_forward": "1", "ipv6/conf/all/forwarding": "1", // before there are addresses: it makes the kernel join groups
	}); err != nil {
		return err
	}
	a, b := RouterSides()
	for _, s := range []struct {
		dev string
		Side
	}{{DevDA, a}, {DevDB, b}} {
		if err := setAll(map[string]string{
			"ipv4/conf/" + s.dev + "/send_redirects": "0", "ipv4/conf/" + s.dev + "/rp_filter": "0",
			"ipv6/conf/" + s.dev + "/accept_ra": "0", "ipv6/conf/" + s.dev + "/accept_dad": "0", "ipv6/conf/" + s.dev + "/router_solicitations": "0",
			"ipv6/conf/" + s.dev + "/mldv2_unsolicited_report_interval": "1", // ms; see quiet
		}); err != nil {
			return err
		}
		if err := setAll(map[string]string{"ipv6/conf/" + s.dev + "/disable_ipv6": "0"}); err != nil {
			return err
		}
		for _, p := range []netip.Prefix{s.Router, s.Router6, linkLocal} {
			if err := address(s.dev, p); err != nil {
				return err
			}
		}
	}
	return quiet(DevDA, DevDB)
}

// quiet waits until the calling thread's devices send nothing any more. With an IPv6 address the kernel joins groups and
// reports that twice (RFC 3810 6.1), by default up to a second apart: in the middle of the first test.
func quiet(devices ...string) error {
	const still, most = 100 * time.Millisecond, 3 * time.Second
	var last uint64
	since := time.Now()
	for end := since.Add(most); time.Since(since) < still && time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		var sent uint64
		for _, d := range devices {
			l, err := netlink.LinkByName(d)
			if err != nil {
				return fmt.Errorf("device %s: %w", d, err)
			}
			if s := l.Attrs().Statistics; s != nil {
				sent += s.TxPackets
			}
		}
		if sent != last {
			last, since = sent, time.Now()
		}
	}
	return nil
}

// makeBridge joins the two links by a bridge that learns addresses and sends nothing of its own.
func makeBridge(j *tune.Journal, name string, o Options) error {
	ns, err := between(j, name, o)
	if err != nil {
		return err
	}
	defer closeAll(ns)
	return ns[2].Do(func() error {
		attrs := netlink.NewLinkAttrs()
		attrs.Name = bridge
		snooping := false // with it the bridge would ask for multicast members
		if err := netlink.LinkAdd(&netlink.Bridge{LinkAttrs: attrs, MulticastSnooping: &snooping}); err != nil {
			return fmt.Errorf("bridge: %w", err)
		}
		br, err := netlink.LinkByName(bridge)
		if err != nil {
			return fmt.Errorf("bridge: %w", err)
		}
		for _, dev := range []string{DevDA, DevDB} {
			l, err := netlink.LinkByName(dev)
			if err != nil {
				return fmt.Errorf("device %s: %w", dev, err)
			}
			if err := netlink.LinkSetMaster(l, br); err != nil {
				return fmt.Errorf("device %s: join the bridge: %w", dev, err)
			}
		}
		if err := silentUp(bridge); err != nil {
			return err
		}
		return running(bridge)
	})
}

// address gives a device an address, without asking the network whether it is free.
func address(dev string, p netip.Prefix) error {
	l, err := netlink.LinkByName(dev)
	if err != nil {
		return fmt.Errorf("device %s: %w", dev, err)
	}
	a := &netlink.Addr{IPNet: &net.IPNet{IP: p.Addr().AsSlice(), Mask: net.CIDRMask(p.Bits(), p.Addr().BitLen())}}
	if p.Addr().Is6() {
		a.Flags = unix.IFA_F_NODAD
	}
	if err := netlink.AddrAdd(l, a); err != nil {
		if p.Addr().Is6() && errors.Is(err, unix.EOPNOTSUPP) { // a kernel without IPv6
			return nil
		}
		return fmt.Errorf("device %s: address %s: %w", dev, p, err)
	}
	return nil
}

// setAll writes settings of the calling thread's namespace. A kernel without IPv6 has none for it.
func setAll(settings map[string]string) error {
	for name, value := range settings {
		err := os.WriteFile("/proc/sys/net/"+name, []byte(value), 0)
		if err != nil && !(strings.HasPrefix(name, "ipv6/") && errors.Is(err, fs.ErrNotExist)) {
			return fmt.Errorf("setting net.%s: %w", strings.ReplaceAll(name, "/", "."), err)
		}
	}
	return nil
}

func setMTU(dev string, mtu int) error {
	l, err := netlink.LinkByName(dev)
	if err == nil {
		err = netlink.LinkSetMTU(l, mtu)
	}
	if err != nil {
		return fmt.Errorf("device %s: MTU %d: %w", dev, mtu, err)
	}
	return nil
}
