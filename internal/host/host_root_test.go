package host_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/wirespeed/wirespeed/internal/host"
	"github.com/wirespeed/wirespeed/internal/lab/labtest"
	"github.com/wirespeed/wirespeed/internal/lab/need"
)

func mustLink(t *testing.T, ns *host.NS, name string) host.Link {
	t.Helper()
	l, err := ns.Link(name)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func TestVethFacts(t *testing.T) {
	p := labtest.TestPair(t, "t-host", 2)
	l := mustLink(t, p.NSA, "va")
	if l.Kind != "veth" || l.Driver != "veth" || l.Bus != "" || l.SpeedBps != 0 {
		t.Errorf("kind %q driver %q bus %q speed %d; want veth, veth, none, 0", l.Kind, l.Driver, l.Bus, l.SpeedBps)
	}
	if !l.Up || !l.Carrier || l.MTU != 1500 || l.TxQueues != 2 || l.RxQueues != 2 || l.Netns != p.A || l.MAC == [6]byte{} {
		t.Errorf("wrong facts: %+v", l)
	}
	if l.DefaultRoute || l.SSH || l.AddrCount != 0 || l.GRO || l.XDPProgID != 0 || l.XDPMode != "" {
		t.Errorf("a fresh veth carries nothing: %+v", l)
	}
	if l.XDPFeatures == nil || *l.XDPFeatures&host.XDPBasic == 0 {
		t.Errorf("XDP features %v, want at least basic", l.XDPFeatures)
	}
	again, err := p.NSA.LinkByIndex(l.Index)
	if err != nil || again.Name != "va" {
		t.Errorf("by index: %+v, %v", again, err)
	}
	if _, err := p.NSA.Link("nosuch"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("missing device: %v", err)
	}
	all, err := p.NSA.Links()
	if err != nil || len(all) < 2 {
		t.Errorf("links: %v, %v; want lo and va", all, err)
	}
}

func TestGROAndFeaturesFollowTheDevice(t *testing.T) {
	p := labtest.TestPair(t, "t-host", 1)
	if out, err := exec.Command(need.Tool(t, "ip"), "netns", "exec", p.B, need.Tool(t, "ethtool"), "-K", "vb", "gro", "on").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if !mustLink(t, p.NSB, "vb").GRO {
		t.Error("GRO off, want on")
	}
	l := mustLink(t, p.NSA, "va")
	if l.XDPFeatures == nil {
		t.Fatal("the kernel does not say which XDP features there are")
	}
	// It is the other end that can transmit now: its frames find a NAPI at the peer.
	if *l.XDPFeatures&host.XDPNdoXmit == 0 {
		t.Errorf("features %#x, want ndo_xmit", *l.XDPFeatures)
	}
}

func TestDefaultRouteAnyTable(t *testing.T) {
	for _, table := range []int{unix.RT_TABLE_MAIN, 1234} {
		t.Run(fmt.Sprint(table), func(t *testing.T) {
			p := labtest.TestPair(t, "t-host", 1)
			index := mustLink(t, p.NSA, "va").Index
			err := p.NSA.Do(func() error {
				l, err := netlink.LinkByIndex(index)
				if err != nil {
					return err
				}
				a, _ := netlink.ParseAddr("198.18.0.1/24")
				if err := netlink.AddrAdd(l, a); err != nil {
					return err
				}
				_, all, _ := net.ParseCIDR("0.0.0.0/0")
				return netlink.RouteAdd(&netlink.Route{LinkIndex: index, Table: table, Dst: all, Gw: net.IPv4(198, 18, 0, 2)})
			})
			if err != nil {
				t.Fatal(err)
			}
			t.Setenv("SSH_CONNECTION", "192.0.2.1 4000 198.18.0.1 22")
			l := mustLink(t, p.NSA, "va")
			if !l.DefaultRoute || !l.SSH || l.AddrCount != 1 {
				t.Errorf("default route %v, ssh %v, addresses %d; want true, true, 1", l.DefaultRoute, l.SSH, l.AddrCount)
			}
		})
	}
}

func TestBridgePortCarriesWhatTheBridgeCarries(t *testing.T) {
	p := labtest.TestPair(t, "t-host", 1)
	err := p.NSA.Do(func() error {
		br := &netlink.Bridge{LinkAttrs: netlink.NewLinkAttrs()}
		br.Name = "br"
		if err := netlink.LinkAdd(br); err != nil {
			return err
		}
		va, err := netlink.LinkByName("va")
		if err != nil {
			return err
		}
		if err := netlink.LinkSetMaster(va, br); err != nil {
			return err
		}
		a, _ := netlink.ParseAddr("198.18.0.1/24")
		if err := netlink.AddrAdd(br, a); err != nil {
			return err
		}
		if err := netlink.LinkSetUp(br); err != nil {
			return err
		}
		_, all, _ := net.ParseCIDR("0.0.0.0/0")
		return netlink.RouteAdd(&netlink.Route{LinkIndex: br.Index, Dst: all, Gw: net.IPv4(198, 18, 0, 2)})
	})
	if err != nil {
		t.Fatal(err)
	}
	if !mustLink(t, p.NSA, "va").DefaultRoute {
		t.Error("a port of the bridge with the default route is not marked")
	}
	if mustLink(t, p.NSA, "lo").DefaultRoute {
		t.Error("lo is marked")
	}
}

func TestCountersCountFramesAndState(t *testing.T) {
	p := labtest.TestPair(t, "t-host", 1)
	va, vb := mustLink(t, p.NSA, "va"), mustLink(t, p.NSB, "vb")
	before, err := p.NSA.Counters(va.Index)
	if err != nil {
		t.Fatal(err)
	}
	sendFrames(t, p.NSA, va.Index, 7)
	after, err := p.NSA.Counters(va.Index)
	if err != nil {
		t.Fatal(err)
	}
	if d := after.TxFrames - before.TxFrames; d != 7 || after.TxBytes-before.TxBytes != 7*60 {
		t.Errorf("%d frames, %d bytes; want 7, 420", d, after.TxBytes-before.TxBytes)
	}
	rx, err := p.NSB.Counters(vb.Index)
	if err != nil || rx.RxFrames != 7 || !rx.Up || !rx.Carrier {
		t.Errorf("peer: %+v, %v; want 7 frames, up", rx, err)
	}
	err = p.NSB.Do(func() error {
		l, err := netlink.LinkByIndex(vb.Index)
		if err != nil {
			return err
		}
		return netlink.LinkSetDown(l)
	})
	if err != nil {
		t.Fatal(err)
	}
	down, err := p.NSA.Counters(va.Index)
	if err != nil || !down.Up || down.Carrier || down.CarrierChanges <= after.CarrierChanges {
		t.Errorf("peer down: %+v, %v; want up without carrier, one change more", down, err)
	}
	if _, err := p.NSA.Counters(9999); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("missing device: %v", err)
	}
	if n, err := p.NSA.Backlog(va.Index); n != 0 || err != nil {
		t.Errorf("backlog %d, %v", n, err)
	}
}

func TestBacklogOfAShapingQdisc(t *testing.T) {
	p := labtest.TestPair(t, "t-host", 1)
	tc := need.Tool(t, "tc")
	out, err := exec.Command(need.Tool(t, "ip"), "netns", "exec", p.A, tc, "qdisc", "add", "dev", "va", "root", "tbf", "rate", "8kbit", "burst", "200", "limit", "100000").CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	va := mustLink(t, p.NSA, "va")
	if va.Qdisc != "tbf" {
		t.Errorf("qdisc %q", va.Qdisc)
	}
	sendFrames(t, p.NSA, va.Index, 50)
	n, err := p.NSA.Backlog(va.Index)
	if err != nil || n < 30 || n > 50 {
		t.Errorf("backlog %d, %v; want 30 to 50 of the 50", n, err)
	}
}

// sendFrames sends frames of 60 bytes to nobody.
func sendFrames(t *testing.T, ns *host.NS, index, count int) {
	t.Helper()
	err := ns.Do(func() error {
		fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC, 0)
		if err != nil {
			return err
		}
		defer unix.Close(fd)
		frame := make([]byte, 60)
		copy(frame, []byte{2, 0, 0, 0, 0, 9, 2, 0, 0, 0, 0, 8, 0x88, 0xb5})
		for range count {
			if err := unix.Sendto(fd, frame, 0, &unix.SockaddrLinklayer{Ifindex: index, Protocol: 0xb588}); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestFindPeer(t *testing.T) {
	p := labtest.TestPair(t, "t-host", 1)
	va, vb := mustLink(t, p.NSA, "va"), mustLink(t, p.NSB, "vb")
	peer, err := host.FindPeer(context.Background(), p.NSA, va)
	if err != nil {
		t.Fatal(err)
	}
	defer peer.NS.Close()
	if peer.Link.Index != vb.Index || peer.Link.MAC != vb.MAC || peer.NS.Name != p.B {
		t.Errorf("peer %+v in %q, want %+v in %q", peer.Link, peer.NS.Name, vb, p.B)
	}
	if _, err := host.FindPeer(context.Background(), p.NSA, mustLink(t, p.NSA, "lo")); !errors.Is(err, host.ErrNoPeer) {
		t.Errorf("peer of lo: %v", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := host.FindPeer(ctx, p.NSA, va); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

func TestFindPeerInTheSameNamespaceAndInAProcess(t *testing.T) {
	p := labtest.TestPair(t, "t-host", 1)
	sleep := exec.Command(need.Tool(t, "unshare"), "-n", "sleep", "60")
	if err := sleep.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = sleep.Process.Kill(); _ = sleep.Wait() })
	own, err := os.Readlink("/proc/thread-self/ns/net") // the main thread may have been lent to another namespace
	if err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(5 * time.Second); ; time.Sleep(time.Millisecond) {
		if to, err := os.Readlink(fmt.Sprintf("/proc/%d/ns/net", sleep.Process.Pid)); err == nil && to != own {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("unshare has not made its namespace")
		}
	}
	err = p.NSA.Do(func() error {
		for peer, ns := range map[string]any{"h2": nil, "h4": netlink.NsPid(sleep.Process.Pid)} {
			v := &netlink.Veth{LinkAttrs: netlink.NewLinkAttrs(), PeerName: peer, PeerNamespace: ns}
			v.Name = map[string]string{"h2": "h1", "h4": "h3"}[peer]
			if err := netlink.LinkAdd(v); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for dev, want := range map[string]string{"h1": p.A, "h3": fmt.Sprintf("/proc/%d/ns/net", sleep.Process.Pid)} {
		peer, err := host.FindPeer(context.Background(), p.NSA, mustLink(t, p.NSA, dev))
		if err != nil {
			t.Errorf("%s: %v", dev, err)
			continue
		}
		if peer.NS.Name != want {
			t.Errorf("%s: peer in %q, want %q", dev, peer.NS.Name, want)
		}
		_ = peer.NS.Close()
	}
}

func TestOpenNSByPath(t *testing.T) {
	p := labtest.TestPair(t, "t-host", 1)
	byFd, err := host.OpenNS(fmt.Sprintf("/proc/self/fd/%d", p.NSB.Fd()))
	if err != nil {
		t.Fatal(err)
	}
	defer byFd.Close()
	a, _ := p.NSB.Inode()
	if b, _ := byFd.Inode(); a != b || a == 0 {
		t.Errorf("inode %d, want %d", b, a)
	}
	mustLink(t, byFd, "vb")
}
