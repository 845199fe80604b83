package acceptance

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"net/netip"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/wirespeed/wirespeed/internal/host"
	"github.com/wirespeed/wirespeed/internal/lab"
	"github.com/wirespeed/wirespeed/internal/lab/need"
	"github.com/wirespeed/wirespeed/internal/packet"
)

// middle is a lab with a device between its ports.
type middle struct {
	portA, portB  string
	nsA, nsD, nsB *host.NS
}

func upMiddle(t testing.TB, kind, name string) *middle {
	t.Helper()
	need.Root(t)
	run(t, "lab", "up", kind, "--name", name).wantExit(t, 0, name)
	t.Cleanup(func() { run(t, "lab", "down", name).wantExit(t, 0) })
	m := &middle{portA: "va@" + name + "A", portB: "vb@" + name + "B"}
	for suffix, ns := range map[string]**host.NS{"A": &m.nsA, "D": &m.nsD, "B": &m.nsB} {
		var err error
		if *ns, err = host.OpenNS(name + suffix); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = (*ns).Close() })
	}
	return m
}

// addresses are the flags that give the ports those of the router's networks.
func addresses(v6 bool) (flags []string, a, b netip.Addr) {
	sa, sb := lab.RouterSides()
	tx, rx, gateway, rxGateway := sa.Port, sb.Port, sa.Router, sb.Router
	if v6 {
		tx, rx, gateway, rxGateway = sa.Port6, sb.Port6, sa.Router6, sb.Router6
	}
	return []string{"--tx-ip", tx.String(), "--rx-ip", rx.String(), "--gateway", gateway.Addr().String(), "--rx-gateway", rxGateway.Addr().String()}, tx.Addr(), rx.Addr()
}

// A tap reads what arrives at a device, beside whoever else does.
type tap struct {
	fd     int
	mu     sync.Mutex
	frames [][]byte
	done   chan struct{}
}

func listenAt(t testing.TB, ns *host.NS, device string) *tap {
	t.Helper()
	p := &tap{done: make(chan struct{})}
	err := ns.Do(func() error {
		l, err := ns.Link(device)
		if err != nil {
			return err
		}
		if p.fd, err = unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC, 0); err != nil {
			return err
		}
		_ = unix.SetsockoptInt(p.fd, unix.SOL_SOCKET, unix.SO_RCVBUFFORCE, 64<<20)
		if err := unix.SetsockoptTimeval(p.fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &unix.Timeval{Usec: 20_000}); err != nil {
			return err
		}
		network := binary.NativeEndian.Uint16([]byte{unix.ETH_P_ALL >> 8, unix.ETH_P_ALL & 0xff})
		return unix.Bind(p.fd, &unix.SockaddrLinklayer{Protocol: network, Ifindex: l.Index})
	})
	if err != nil {
		t.Fatal(err)
	}
	stop := make(chan struct{})
	go func() {
		defer close(p.done)
		b := make([]byte, 1<<16)
		for {
			n, from, err := unix.Recvfrom(p.fd, b, 0)
			if l, ok := from.(*unix.SockaddrLinklayer); err == nil && ok && l.Pkttype != unix.PACKET_OUTGOING {
				p.mu.Lock()
				p.frames = append(p.frames, bytes.Clone(b[:n]))
				p.mu.Unlock()
			}
			if err != nil && closed(stop) {
				return
			}
		}
	}()
	t.Cleanup(func() { close(stop); <-p.done; _ = unix.Close(p.fd) })
	return p
}

// take returns the frames of an EtherType so far, of which there must come to be n, and begins anew.
func (p *tap) take(t testing.TB, etherType uint16, n int) (frames [][]byte) {
	t.Helper()
	eventually(t, fmt.Sprintf("%d frames of type %#x arrive", n, etherType), func() bool {
		p.mu.Lock()
		defer p.mu.Unlock()
		frames = frames[:0]
		for _, f := range p.frames {
			if len(f) > 14 && binary.BigEndian.Uint16(f[12:]) == etherType && !discovery(f) {
				frames = append(frames, f)
			}
		}
		return len(frames) >= n
	})
	p.mu.Lock()
	p.frames = nil
	p.mu.Unlock()
	if len(frames) != n {
		t.Errorf("%d frames of type %#x, want %d", len(frames), etherType, n)
	}
	return frames
}

// discovery is whether a frame is ICMPv6, as neighbours talk.
func discovery(f []byte) bool {
	return binary.BigEndian.Uint16(f[12:]) == unix.ETH_P_IPV6 && len(f) > 20 && f[20] == unix.IPPROTO_ICMPV6
}

func macAt(t testing.TB, ns *host.NS, device string) []byte {
	t.Helper()
	l, err := ns.Link(device)
	if err != nil {
		t.Fatal(err)
	}
	return l.MAC[:]
}

// routed checks frames behind the router: its MAC and the receiver's, one hop less, the asked addresses, checksums right.
func routed(t *testing.T, m *middle, frames [][]byte, hops byte, a, b netip.Addr) {
	t.Helper()
	db, vb := macAt(t, m.nsD, "db"), macAt(t, m.nsB, "vb")
	for i, f := range frames {
		l, ok := packet.Walk(f)
		if !ok || l.L3 != 14 || !bytes.Equal(f[:6], vb) || !bytes.Equal(f[6:12], db) {
			t.Fatalf("frame %d: from % x to % x, want % x and % x", i, f[6:12], f[:6], db, vb)
		}
		hop, src, dst := f[22], f[26:30], f[30:34]
		if l.Version == 6 {
			hop, src, dst = f[21], f[22:38], f[38:54]
		}
		if hop != hops || !bytes.Equal(src, a.AsSlice()) || !bytes.Equal(dst, b.AsSlice()) {
			t.Fatalf("frame %d: %d hops left, from % x to % x; want %d, %s and %s", i, hop, src, dst, hops, a, b)
		}
		if wrong := packet.VerifySums(f, &l); wrong >= 0 || l.BadLength {
			t.Fatalf("frame %d: the checksum of header %d is wrong, lengths bad: %v: %x", i, wrong, l.BadLength, f)
		}
	}
}

// wantCounts is wantWhole of a paced run, which a busy machine may end late.
func (r *result) wantCounts(t testing.TB, n uint64) {
	t.Helper()
	if r.exit != 3 || !strings.Contains(r.all(), "rate not achieved") {
		r.wantExit(t, 0)
	}
	r.wantVerdict(t, "valid")
	if tx, rx := r.tx(t), r.rx(t); tx.Sent != n || tx.Unsent != 0 || rx.Frames != n || *rx.TesterDrops != 0 || rx.Stale != 0 {
		t.Errorf("sent %d, unsent %d, arrived %s; want %d", tx.Sent, tx.Unsent, show(rx), n)
	}
}

func etherTypeOf(v6 bool) uint16 {
	if v6 {
		return unix.ETH_P_IPV6
	}
	return unix.ETH_P_IP
}

// Through a router every engine counts what every other sends, IPv4 and IPv6; the router is seen at the far end.
func TestThroughTheRouter(t *testing.T) {
	m := upMiddle(t, "router", "taccl")
	far := listenAt(t, m.nsB, "vb")
	for _, v6 := range []bool{false, true} {
		flags, a, b := addresses(v6)
		for _, tx := range engines {
			for _, rx := range engines {
				t.Run(fmt.Sprintf("%sto-%s v6 %v", tx, rx, v6), func(t *testing.T) {
					const n = 1000
					args := append([]string{"send", tx + m.portA, "--rx", rx + m.portB, "--size", "128", "--src-port", "inc(1000,1,5)", "--count", fmt.Sprint(n), "--rate", "5kpps", "--catch-up", "10s", "--json"}, flags...)
					r := run(t, args...)
					r.wantCounts(t, n)
					if s := r.stream(t, 0); *s.Frames != n || *s.Lost != 0 || *s.Reordered != 0 || *s.Corrupt != 0 || *s.Duplicate != 0 {
						t.Errorf("%s", show(s))
					}
					if !strings.Contains(strings.Join(r.doc.Notes, "\n"), "the gateway ") {
						t.Errorf("notes %q do not name the gateway", r.doc.Notes)
					}
					if rx == "packet:" {
						routed(t, m, far.take(t, etherTypeOf(v6), n), 63, a, b)
					}
				})
			}
		}
	}
	if gro(t, m.nsD, "da") {
		t.Error("GRO stays on at the router")
	}
}

// TCP segments pass the router one by one as long as nothing merges them: a receiver's checksums are those of each.
func TestTCPThroughTheRouter(t *testing.T) {
	m := upMiddle(t, "router", "tacct")
	far := listenAt(t, m.nsB, "vb")
	flags, a, b := addresses(false)
	r := run(t, append([]string{"send", "packet:" + m.portA, "--rx", "packet:" + m.portB, "--proto", "tcp", "--size", "300", "--count", "200", "--rate", "2kpps", "--catch-up", "10s", "--json"}, flags...)...)
	r.wantCounts(t, 200)
	routed(t, m, far.take(t, unix.ETH_P_IP, 200), 63, a, b)
}

// Frames without a signature are known by the router's address, where that was asked for; else it is refused.
func TestUnsignedThroughTheRouter(t *testing.T) {
	m := upMiddle(t, "router", "taccu")
	for _, rx := range engines {
		flags, _, _ := addresses(false)
		r := run(t, append([]string{"send", "packet:" + m.portA, "--rx", rx + m.portB, "--signature", "none", "--count", "500", "--rate", "5kpps", "--catch-up", "10s", "--json"}, flags...)...)
		r.wantCounts(t, 500)
		if r.stream(t, 0).Lost != nil {
			t.Error("loss is known without a signature")
		}
		before := procNetDev(t, m.nsA, "va")
		r = run(t, append([]string{"send", "packet:" + m.portA, "--rx", rx + m.portB, "--signature", "none", "--count", "5", "--json"}, flags[:6]...)...)
		r.wantExit(t, 1, "--rx-gateway", `"mend"`)
		v6, _, _ := addresses(true)
		r = run(t, append([]string{"send", "packet:" + m.portA, "--rx", rx + m.portB, "--signature", "none", "--count", "5", "--json"}, v6...)...)
		r.wantExit(t, 1, "give a signature")
		if sent := procNetDev(t, m.nsA, "va").txFrames - before.txFrames; sent > 10 { // it asked, and no frame left
			t.Errorf("%d frames left", sent)
		}
	}
}

// The kernel of the router asks who the receiver is when the first frame comes, and holds the frames meanwhile.
func TestRouterAsksForTheReceiver(t *testing.T) {
	m := upMiddle(t, "router", "tacca")
	for _, v6 := range []bool{false, true} {
		flags, a, b := addresses(v6)
		far := listenAt(t, m.nsB, "vb")
		r := run(t, append([]string{"send", "packet:" + m.portA, "--rx", "packet:" + m.portB, "--count", "40", "--rate", "200pps", "--catch-up", "10s", "--json"}, flags[:6]...)...)
		r.wantCounts(t, 40)
		if lost := *r.stream(t, 0).Lost; lost != 0 || r.rx(t).Foreign == 0 {
			t.Errorf("lost %d, foreign %d: the router's question is no frame of the run", lost, r.rx(t).Foreign)
		}
		routed(t, m, far.take(t, etherTypeOf(v6), 40), 63, a, b)
	}
}

// A capture goes through the router with the ports' addresses.
func TestReplayThroughTheRouter(t *testing.T) {
	m := upMiddle(t, "router", "taccp")
	file := filepath.Join(t.TempDir(), "other.pcap")
	run(t, "send", "pcap:"+file, "--src-ip", "192.0.2.1", "--dst-ip", "192.0.2.2", "--ttl", "9", "--size", "64-70", "--rate", "1kpps", "--count", "70").wantExit(t, 0)
	flags, a, b := addresses(false)
	for _, tx := range engines {
		far := listenAt(t, m.nsB, "vb")
		r := run(t, append([]string{"send", tx + m.portA, "--rx", "packet:" + m.portB, "--pcap", file, "--src-ip", a.String(), "--dst-ip", b.String(), "--catch-up", "10s", "--json"}, flags...)...)
		r.wantCounts(t, 70)
		routed(t, m, far.take(t, unix.ETH_P_IP, 70), 8, a, b)
	}
}

// A bridge changes nothing.
func TestThroughTheBridge(t *testing.T) {
	m := upMiddle(t, "bridge", "taccb")
	file := filepath.Join(t.TempDir(), "sent.pcap")
	common := []string{"--src-mac", "02:00:00:00:00:0a", "--dst-mac", "02:00:00:00:00:0b", "--size", "64-1518/97", "--src-port", "inc(1,1,60000)", "--signature", "none", "--count", "200", "--rate", "2kpps"}
	run(t, append([]string{"send", "pcap:" + file}, common...)...).wantExit(t, 0)
	want := framesOf(t, file)
	for _, tx := range engines {
		far := listenAt(t, m.nsB, "vb")
		r := run(t, append([]string{"send", tx + m.portA, "--rx", "packet:" + m.portB, "--catch-up", "10s", "--json"}, common...)...)
		r.wantCounts(t, 200)
		if got := far.take(t, unix.ETH_P_IP, 200); !slices.EqualFunc(got, want, bytes.Equal) {
			t.Errorf("%s the frames are not those that were sent", tx)
		}
	}
	for _, tx := range engines {
		for _, rx := range engines {
			r := run(t, "send", tx+m.portA, "--rx", rx+m.portB, "--tx-ip", "198.18.0.1/15", "--rx-ip", "198.19.0.1/15", "--count", "500", "--rate", "5kpps", "--catch-up", "10s", "--json")
			r.wantCounts(t, 500)
			if s := r.stream(t, 0); *s.Frames != 500 || *s.Lost != 0 {
				t.Errorf("%s to %s: %s", tx, rx, show(s))
			}
		}
	}
}
