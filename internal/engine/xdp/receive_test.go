package xdp

import (
	"context"
	"encoding/binary"
	"net"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/cilium/ebpf/link"
	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/wirespeed/wirespeed/internal/engine"
	"github.com/wirespeed/wirespeed/internal/host"
	"github.com/wirespeed/wirespeed/internal/lab/labtest"
	"github.com/wirespeed/wirespeed/internal/packet"
)

// changes is a journal that only counts what is not undone.
type changes struct{ open int }

func (c *changes) config() engine.Config {
	return engine.Config{Note: func(string) {}, Change: func(engine.Change) (func() error, error) {
		c.open++
		return func() error { c.open--; return nil }, nil
	}}
}

func target(netns, device string, options ...string) engine.Target {
	v, _ := url.ParseQuery(strings.Join(options, "&"))
	return engine.Target{Engine: "xdp", Device: device, Netns: netns, Options: v, Text: "xdp:" + device + "@" + netns}
}

// testFrame is Ethernet with a signature directly behind it, which needs no checksum.
func testFrame(form packet.Form, run byte, id uint16, seq uint32, flags byte) []byte {
	b := make([]byte, 60)
	copy(b, []byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2, 0, 0, 0, 0, 1, 0x88, 0xb5})
	s := b[14:]
	s[packet.SigRun] = run
	if form == packet.FormShort {
		binary.BigEndian.PutUint16(s, packet.MagicShort)
		s[packet.SigShortStream] = byte(id)
		binary.BigEndian.PutUint32(s[packet.SigShortSeq:], seq)
		return b
	}
	binary.BigEndian.PutUint16(s, packet.MagicFull)
	s[packet.SigFlags] = packet.FlagVersion | flags
	binary.BigEndian.PutUint16(s[packet.SigStream:], id)
	binary.BigEndian.PutUint32(s[packet.SigSeq:], seq)
	if flags&packet.TimeMask != 0 {
		binary.BigEndian.PutUint64(s[packet.SigTime:], uint64(host.Monotonic()))
	}
	return b
}

// inject sends frames from the device by an AF_PACKET socket.
func inject(t *testing.T, ns *host.NS, device string, frames ...[]byte) {
	t.Helper()
	err := ns.Do(func() error {
		i, err := net.InterfaceByName(device)
		if err != nil {
			return err
		}
		fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC, 0)
		if err != nil {
			return err
		}
		defer unix.Close(fd)
		for _, b := range frames {
			if err := unix.Sendto(fd, b, 0, &unix.SockaddrLinklayer{Ifindex: i.Index}); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// settled waits until the receiver has seen n frames of any kind.
func settled(t *testing.T, r engine.Receiver, n uint64) engine.Received {
	t.Helper()
	for deadline := time.Now().Add(5 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		got, err := r.Snapshot()
		if err != nil {
			t.Fatal(err)
		}
		if got.Frames+got.Foreign+got.Stale+got.BadStream >= n {
			return got
		}
		if time.Now().After(deadline) {
			t.Fatalf("%d frames expected, seen: %+v", n, got)
		}
	}
}

func open(t *testing.T, target engine.Target, c *changes) engine.Receiver {
	t.Helper()
	r, err := New().OpenReceiver(context.Background(), target, c.config())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Close() })
	return r
}

func loadAndStart(t *testing.T, r engine.Receiver, e engine.Expect) {
	t.Helper()
	if err := r.Load(e); err != nil {
		t.Fatal(err)
	}
	if err := r.Start(); err != nil {
		t.Fatal(err)
	}
}

func attachedTo(t *testing.T, ns *host.NS, device string) uint32 {
	t.Helper()
	l, err := ns.Link(device)
	if err != nil {
		t.Fatal(err)
	}
	return l.XDPProgID
}

func TestReceive(t *testing.T) {
	for name, option := range map[string]string{"native": "clock=1", "generic": "mode=generic", "shared clock": "clock=4"} {
		t.Run(name, func(t *testing.T) {
			p := labtest.TestPair(t, "t-xdprx", 1)
			var c changes
			r := open(t, target(p.B, p.DevB, option), &c)
			expect := engine.Expect{Run: 7, GapNs: 1e6, Streams: []engine.ExpectStream{
				{ID: 10, Form: packet.FormFull}, {ID: 12, Form: packet.FormShort},
			}}
			loadAndStart(t, r, expect)
			if attachedTo(t, p.NSB, p.DevB) == 0 || c.open != 1 {
				t.Errorf("nothing attached, or not in the journal: %d", c.open)
			}
			foreign := make([]byte, 60)
			copy(foreign, []byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2, 0, 0, 0, 0, 1, 0x88, 0xb6})
			full := func(seq uint32, flags byte) []byte {
				return testFrame(packet.FormFull, 7, 10, seq, packet.TimeFrame|flags)
			}
			inject(t, p.NSA, p.DevA, full(0, 0), full(3, 0), full(1, 0), full(1, 0), full(4, packet.FlagLast),
				testFrame(packet.FormShort, 7, 12, 5, 0), testFrame(packet.FormShort, 6, 12, 0, 0), testFrame(packet.FormShort, 7, 11, 0, 0), foreign)
			settled(t, r, 9)
			if err := r.Stop(); err != nil {
				t.Fatal(err)
			}
			got, err := r.Snapshot()
			if err != nil {
				t.Fatal(err)
			}
			if got.Frames != 6 || got.Bytes != 6*64 || got.Foreign != 1 || got.Stale != 1 || got.BadStream != 1 || got.TesterDrops != 0 || len(got.Streams) != 2 {
				t.Fatalf("%+v", got)
			}
			if got.Run != 7 || !got.RunKnown || got.Queues < 1 || got.Window != 65504 || !strings.Contains(got.Clock, "MONOTONIC") {
				t.Errorf("%+v", got)
			}
			s := got.Streams[0]
			if s.ID != 10 || s.Frames != 4 || s.Duplicate != 1 || s.Reordered != 1 || s.Next != 5 || !s.LastSeen || s.LastSeq != 4 {
				t.Errorf("%+v", s)
			}
			if s.Latency == nil || s.Latency.Count != 4 || s.Latency.Max > 5e9 {
				t.Errorf("latency %+v", s.Latency)
			}
			if wanted := option != "clock=4"; (s.Gap != nil) != wanted || wanted && (s.Gap.Count != 3 || s.Gap.Ref != 1e6) {
				t.Errorf("gaps %v", s.Gap != nil)
			}
			if s := got.Streams[1]; s.ID != 12 || s.Frames != 1 || s.Next != 6 || s.Latency != nil {
				t.Errorf("%+v", s)
			}
			// The foreign frame was passed to the kernel; the device counts what arrived.
			if d, ok, err := r.Device(); err != nil || !ok || d.RxFrames < 9 {
				t.Errorf("device %+v, %v, %v", d, ok, err)
			}
			if err := r.Close(); err != nil {
				t.Error(err)
			}
			if id := attachedTo(t, p.NSB, p.DevB); id != 0 || c.open != 0 {
				t.Errorf("program %d is left, %d changes open", id, c.open)
			}
			if err := r.Close(); err != nil {
				t.Errorf("second close: %v", err)
			}
		})
	}
}

// A second run on the same receiver begins at 0 and knows the first one's frames as stale; the device is never without
// a program in between.
func TestReceiveTwice(t *testing.T) {
	p := labtest.TestPair(t, "t-xdprx", 2)
	var c changes
	r := open(t, target(p.B, p.DevB), &c)
	if err := r.Start(); err == nil {
		t.Error("started without a load")
	}
	for run := byte(1); run <= 2; run++ {
		loadAndStart(t, r, engine.Expect{Run: run, Streams: []engine.ExpectStream{{ID: 0, Form: packet.FormFull}}})
		if err := r.Load(engine.Expect{}); err == nil {
			t.Error("loaded while it runs")
		}
		inject(t, p.NSA, p.DevA, testFrame(packet.FormFull, 1, 0, 0, 0), testFrame(packet.FormFull, 2, 0, 0, 0))
		settled(t, r, 2)
		if err := r.Stop(); err != nil {
			t.Fatal(err)
		}
		inject(t, p.NSA, p.DevA, testFrame(packet.FormFull, run, 0, 1, 0)) // after the end: not counted
		got, err := r.Snapshot()
		if err != nil || got.Frames != 1 || got.Stale != 1 || len(got.Streams) != 1 || got.Streams[0].Frames != 1 {
			t.Errorf("run %d: %+v, %v", run, got, err)
		}
		if attachedTo(t, p.NSB, p.DevB) == 0 {
			t.Error("no program between the runs")
		}
	}
	if c.open != 1 {
		t.Errorf("%d changes open, want 1", c.open)
	}
}

func TestReceiveLearns(t *testing.T) {
	p := labtest.TestPair(t, "t-xdprx", 1)
	var c changes
	r := open(t, target(p.B, p.DevB), &c)
	loadAndStart(t, r, engine.Expect{Learn: true})
	inject(t, p.NSA, p.DevA, testFrame(packet.FormFull, 200, 99, 0, 0), testFrame(packet.FormFull, 201, 99, 1, 0))
	if got := settled(t, r, 2); !got.RunKnown || got.Run != 200 || got.Stale != 1 || len(got.Streams) != 1 || got.Streams[0].ID != 99 {
		t.Errorf("%+v", got)
	}
}

// Each of these is refused before anything is attached, with what to do.
func TestReceiveRefuses(t *testing.T) {
	p := labtest.TestPair(t, "t-xdprx", 1)
	set := func(t *testing.T, ns *host.NS, f func() error) {
		t.Helper()
		if err := ns.Do(f); err != nil {
			t.Fatal(err)
		}
	}
	on := func(dev string, f func(netlink.Link) error) func() error {
		return func() error {
			l, err := netlink.LinkByName(dev)
			if err != nil {
				return err
			}
			return f(l)
		}
	}
	wants := func(t *testing.T, target engine.Target, words ...string) {
		t.Helper()
		caps, err := New().ProbeReceive(context.Background(), target)
		if err == nil {
			err = caps.CarriesReceive(engine.Expect{})
		}
		if err == nil {
			t.Fatal("the probe finds nothing wrong")
		}
		for _, w := range words {
			if !strings.Contains(err.Error(), w) {
				t.Errorf("%q says nothing of %q", err, w)
			}
		}
		var c changes
		if r, err := New().OpenReceiver(context.Background(), target, c.config()); err == nil {
			_ = r.Close()
			t.Error("opened all the same")
		}
	}
	t.Run("no device", func(t *testing.T) { wants(t, target(p.B, "nosuch"), "nosuch") })
	t.Run("clock", func(t *testing.T) { wants(t, target(p.B, p.DevB, "clock=3"), "clock=3", "1", "4") })
	t.Run("mode", func(t *testing.T) { wants(t, target(p.B, p.DevB, "mode=fast"), "mode=fast") })
	t.Run("loopback has no native XDP", func(t *testing.T) {
		set(t, p.NSB, on("lo", netlink.LinkSetUp))
		wants(t, target(p.B, "lo"), "no XDP of its own", "mode=generic")
	})
	t.Run("peer's MTU", func(t *testing.T) {
		set(t, p.NSA, on(p.DevA, func(l netlink.Link) error { return netlink.LinkSetMTU(l, vethMaxMTU()+1) }))
		wants(t, target(p.B, p.DevB), "MTU", "mtu 3506")
		set(t, p.NSA, on(p.DevA, func(l netlink.Link) error { return netlink.LinkSetMTU(l, vethMaxMTU()) }))
		var c changes
		r := open(t, target(p.B, p.DevB), &c)
		loadAndStart(t, r, engine.Expect{Learn: true})
		_ = r.Close()
	})
	t.Run("another program", func(t *testing.T) {
		prog, err := ebpf.NewProgram(&ebpf.ProgramSpec{Name: "somebody", Type: ebpf.XDP, License: "GPL", Instructions: asm.Instructions{asm.Mov.Imm(asm.R0, 2), asm.Return()}})
		if err != nil {
			t.Fatal(err)
		}
		defer prog.Close()
		var l link.Link
		set(t, p.NSB, on(p.DevB, func(d netlink.Link) (err error) {
			l, err = link.AttachXDP(link.XDPOptions{Program: prog, Interface: d.Attrs().Index, Flags: link.XDPDriverMode})
			return err
		}))
		defer l.Close()
		wants(t, target(p.B, p.DevB), "somebody", "xdpdrv off")
	})
	t.Run("down", func(t *testing.T) {
		set(t, p.NSB, on(p.DevB, netlink.LinkSetDown))
		wants(t, target(p.B, p.DevB), "down", "up")
	})
}

// The kernel wants a receive queue for each transmit queue of a veth's peer.
func TestReceiveTooFewQueues(t *testing.T) {
	p := labtest.TestPair(t, "t-xdprx", 1)
	err := p.NSA.Do(func() error {
		two := &netlink.Veth{LinkAttrs: netlink.LinkAttrs{Name: "two", NumTxQueues: 2, NumRxQueues: 2}, PeerName: "one", PeerNumTxQueues: 1, PeerNumRxQueues: 1}
		if err := netlink.LinkAdd(two); err != nil {
			return err
		}
		for _, name := range []string{"one", "two"} {
			l, err := netlink.LinkByName(name)
			if err != nil {
				return err
			}
			if err := netlink.LinkSetUp(l); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	caps, err := New().ProbeReceive(context.Background(), target(p.A, "one"))
	if err != nil {
		t.Fatal(err)
	}
	if err := caps.CarriesReceive(engine.Expect{}); err != nil {
		if !strings.Contains(err.Error(), "fewer than its peer's transmit queues") {
			t.Error(err)
		}
	}
	// A kernel that does not tell what a device can do refuses at the start.
	var c changes
	l, err := p.NSA.Link("one")
	if err != nil {
		t.Fatal(err)
	}
	ns, err := host.OpenNS(p.A)
	if err != nil {
		t.Fatal(err)
	}
	r := &receiver{receiveProbe: receiveProbe{ns: ns, link: l, options: receiveOptions{clockGroup: 1}}, config: c.config()}
	defer r.Close()
	if err := r.Load(engine.Expect{Learn: true}); err != nil {
		t.Fatal(err)
	}
	if err := r.Start(); err == nil || !strings.Contains(err.Error(), "fewer than its peer's transmit queues") || c.open != 0 {
		t.Errorf("%v; %d changes open", err, c.open)
	}
}
