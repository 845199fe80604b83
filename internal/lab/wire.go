package lab

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"

	"github.com/wirespeed/wirespeed/internal/host"
)

// Wire joins two namespaces by a veth pair with the given devices and queues (1 to 64 each way), silences both ends so
// that the kernel sends nothing of its own, and brings them up. It returns when both are running. GRO stays as the kernel
// makes it: off.
func Wire(a, b *host.NS, devA, devB string, queues int) error {
	if err := checkQueues(queues); err != nil {
		return err
	}
	err := a.Do(func() error {
		v := &netlink.Veth{
			LinkAttrs: netlink.NewLinkAttrs(), PeerName: devB, PeerNamespace: netlink.NsFd(b.Fd()), PeerTxQLen: -1,
			PeerNumTxQueues: uint32(queues), PeerNumRxQueues: uint32(queues),
		}
		v.Name, v.NumTxQueues, v.NumRxQueues = devA, queues, queues
		v.Index = apart()
		if err := netlink.LinkAdd(v); err != nil {
			return fmt.Errorf("veth pair %s and %s: %w", devA, devB, err)
		}
		return silentUp(devA)
	})
	if err != nil {
		return err
	}
	if err := b.Do(func() error { return silentUp(devB) }); err != nil {
		return err
	}
	return errors.Join(a.Do(func() error { return running(devA) }), b.Do(func() error { return running(devB) }))
}

// apart is an index that the other end, with the next free one of its namespace, will hardly have. Where both are the
// same, the kernel takes the device for no veth and makes it wait up to a second for its carrier (net/core/link_watch.c,
// linkwatch_urgent_event compares ifindex and iflink).
func apart() int {
	all, err := netlink.LinkList()
	if err != nil {
		return 0 // the kernel chooses
	}
	highest := 0
	for _, l := range all {
		highest = max(highest, l.Attrs().Index)
	}
	return highest + 100
}

// running waits until the calling thread's device is: before, its qdisc drops what is sent.
func running(name string) error {
	for deadline := time.Now().Add(3 * time.Second); ; time.Sleep(time.Millisecond) {
		l, err := netlink.LinkByName(name)
		if err != nil {
			return fmt.Errorf("device %s: %w", name, err)
		}
		if l.Attrs().OperState == netlink.OperUp {
			return nil
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("device %s has no carrier after 3 s", name)
		}
	}
}

// silentUp switches off what the kernel would send on the calling thread's device, then brings it up.
func silentUp(name string) error {
	l, err := netlink.LinkByName(name)
	if err != nil {
		return fmt.Errorf("device %s: %w", name, err)
	}
	if err := noAddresses(l.Attrs().Index); err != nil {
		return fmt.Errorf("device %s: addrgenmode none: %w", name, err)
	}
	// A read-only /proc/sys (containers) or a kernel without IPv6 leaves addrgenmode, which is enough for silence.
	err = os.WriteFile("/proc/sys/net/ipv6/conf/"+name+"/disable_ipv6", []byte("1"), 0)
	if err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, unix.EROFS) && !errors.Is(err, fs.ErrPermission) {
		return fmt.Errorf("device %s: disable_ipv6: %w", name, err)
	}
	if err := netlink.LinkSetUp(l); err != nil {
		return fmt.Errorf("device %s: up: %w", name, err)
	}
	return nil
}

// noAddresses sets addrgenmode none: no link-local address, so no neighbour discovery or multicast reports.
func noAddresses(ifindex int) error {
	req := nl.NewNetlinkRequest(unix.RTM_SETLINK, unix.NLM_F_ACK)
	msg := nl.NewIfInfomsg(unix.AF_UNSPEC)
	msg.Index = int32(ifindex)
	req.AddData(msg)
	spec := nl.NewRtAttr(unix.IFLA_AF_SPEC, nil)
	spec.AddRtAttr(unix.AF_INET6, nil).AddRtAttr(unix.IFLA_INET6_ADDR_GEN_MODE, []byte{nl.IN6_ADDR_GEN_MODE_NONE})
	req.AddData(spec)
	_, err := req.Execute(unix.NETLINK_ROUTE, 0)
	if errors.Is(err, unix.EAFNOSUPPORT) { // a kernel without IPv6 has nothing to switch off
		return nil
	}
	return err
}
