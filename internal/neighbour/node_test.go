package neighbour

import (
	"bytes"
	"context"
	"errors"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"
	"time"

	socket "github.com/mdlayher/packet"
	"golang.org/x/sys/unix"

	"github.com/wirespeed/wirespeed/internal/host"
	"github.com/wirespeed/wirespeed/internal/lab/labtest"
	"github.com/wirespeed/wirespeed/internal/lab/need"
)

const patience = 20 * time.Second

func start(t *testing.T, ns *host.NS, device string, a netip.Addr) *Node {
	t.Helper()
	n, err := Start(ns, device, a)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := n.Close(); err != nil {
			t.Error(err)
		}
	})
	return n
}

// inside runs a program in a namespace; its status is the program's business.
func inside(t *testing.T, ns *host.NS, argv ...string) string {
	t.Helper()
	cmd := exec.Command(need.Tool(t, argv[0]), argv[1:]...)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := ns.Do(cmd.Start); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	return out.String()
}

func eventually(t *testing.T, what string, f func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !f(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("not after %v: %s", patience, what)
		}
	}
}

func macOf(t *testing.T, ns *host.NS, device string) [6]byte {
	t.Helper()
	l, err := ns.Link(device)
	if err != nil {
		t.Fatal(err)
	}
	return l.MAC
}

// kernel gives vb the address, so that the kernel is the peer.
func kernel(t *testing.T, p *labtest.Pair, a netip.Addr, more ...string) {
	t.Helper()
	bits := "/24"
	if a.Is6() {
		inside(t, p.NSB, "sh", "-c", "echo 0 > /proc/sys/net/ipv6/conf/vb/disable_ipv6")
		bits = "/64"
	}
	if out := inside(t, p.NSB, append([]string{"ip", "addr", "add", a.String() + bits, "dev", p.DevB}, more...)...); out != "" {
		t.Fatal(out)
	}
}

func TestTwoNodesResolveEachOther(t *testing.T) {
	p := labtest.TestPair(t, "t-neigh", 1)
	for _, f := range []struct{ a, b netip.Addr }{{a4, b4}, {a6, b6}} {
		a, b := start(t, p.NSA, p.DevA, f.a), start(t, p.NSB, p.DevB, f.b)
		for _, c := range []struct {
			from *Node
			to   netip.Addr
			want [6]byte
		}{{a, f.b, macOf(t, p.NSB, "vb")}, {b, f.a, macOf(t, p.NSA, "va")}, {a, f.b, macOf(t, p.NSB, "vb")}} {
			if got, err := c.from.Resolve(t.Context(), c.to); err != nil || got != c.want {
				t.Errorf("%s: % x, %v; want % x", c.to, got, err, c.want)
			}
		}
	}
}

// The kernel has an address and answers; the kernel asks, once to all and later to us alone, and is answered.
func TestTheKernelAsPeer(t *testing.T) {
	for _, f := range []struct{ a, b netip.Addr }{{a4, b4}, {a6, b6}} {
		t.Run(f.a.String(), func(t *testing.T) {
			p := labtest.TestPair(t, "t-neigh", 1)
			var more []string
			if f.b.Is6() {
				more = []string{"nodad"}
				// Without a link-local address the kernel sends no probes (net/ipv6/ndisc.c, ndisc_send_ns).
				inside(t, p.NSB, "sh", "-c", "echo 0 > /proc/sys/net/ipv6/conf/vb/disable_ipv6; ip addr add fe80::b/64 dev vb nodad")
			}
			kernel(t, p, f.b, more...)
			a := start(t, p.NSA, p.DevA, f.a)
			if got, err := a.Resolve(t.Context(), f.b); err != nil || got != macOf(t, p.NSB, "vb") {
				t.Errorf("% x, %v", got, err)
			}
			entry := func() string { return inside(t, p.NSB, "ip", "neigh", "show", f.a.String(), "dev", "vb") }
			known := func() bool {
				return strings.Contains(entry(), macText(a.mac)) && strings.Contains(entry(), "REACHABLE")
			}
			inside(t, p.NSB, "ip", "neigh", "flush", "all")
			ask := exec.Command(need.Tool(t, "ping"), "-c", "1", "-W", "1", f.a.String()) // nobody answers the echo
			if err := p.NSB.Do(ask.Start); err != nil {
				t.Fatal(err)
			}
			eventually(t, "the kernel knows the address", known)
			_ = ask.Process.Kill()
			_ = ask.Wait()
			inside(t, p.NSB, "ip", "neigh", "change", f.a.String(), "dev", "vb", "lladdr", macText(a.mac), "nud", "probe")
			eventually(t, "the kernel's unicast probe is answered", known)
			if err := a.Close(); err != nil {
				t.Fatal(err)
			}
			inside(t, p.NSB, "ip", "neigh", "change", f.a.String(), "dev", "vb", "lladdr", macText(a.mac), "nud", "probe")
			eventually(t, "nobody answers any more", func() bool { return strings.Contains(entry(), "FAILED") || entry() == "" })
		})
	}
}

func macText(m net.HardwareAddr) string { return m.String() }

// The kernel wants to take the address: it learns that somebody has it.
func TestDuplicateAddressDetection(t *testing.T) {
	p := labtest.TestPair(t, "t-neigh", 1)
	start(t, p.NSA, p.DevA, a6)
	kernel(t, p, a6)
	eventually(t, "the address is found to be a duplicate", func() bool {
		return strings.Contains(inside(t, p.NSB, "ip", "addr", "show", "dev", "vb"), "dadfailed")
	})
}

// wire is a packet socket at vb: what va's Node sends is read there.
type wire struct {
	conn *socket.Conn
	from net.HardwareAddr
}

func listen(t *testing.T, p *labtest.Pair) *wire {
	t.Helper()
	mac := macOf(t, p.NSA, "va")
	w := &wire{from: mac[:]}
	err := p.NSB.Do(func() error {
		ifi, err := net.InterfaceByName(p.DevB)
		if err != nil {
			return err
		}
		w.conn, err = socket.Listen(ifi, socket.Raw, unix.ETH_P_ALL, nil)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = w.conn.Close() })
	return w
}

func (w *wire) send(t *testing.T, b []byte) {
	t.Helper()
	if _, err := w.conn.WriteTo(b, &socket.Addr{HardwareAddr: b[:6]}); err != nil {
		t.Fatal(err)
	}
}

// next is the next frame from va.
func (w *wire) next(t *testing.T) []byte {
	t.Helper()
	if err := w.conn.SetReadDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	for b := make([]byte, 2048); ; {
		n, _, err := w.conn.ReadFrom(b)
		if err != nil {
			t.Fatal(err)
		}
		if n >= 14 && bytes.Equal(b[6:12], w.from) {
			return b[:n]
		}
	}
}

// For other addresses, for other stations, in other VLANs and to one's own questions there is no answer: of all that is
// asked here the first answer is that to the last question.
func TestOnlyTheOwnAddressIsAnswered(t *testing.T) {
	for _, f := range []struct{ own, peer, other netip.Addr }{
		{a4, b4, netip.MustParseAddr("198.18.0.9")},
		{a6, b6, netip.MustParseAddr("2001:2::2:0:0:1")}, // of the same multicast group
	} {
		p := labtest.TestPair(t, "t-neigh", 1)
		start(t, p.NSA, p.DevA, f.own)
		inside(t, p.NSA, "ip", "link", "set", "va", "promisc", "on")
		w := listen(t, p)
		ask := func(from, target netip.Addr) []byte {
			b, err := question(macB, from, target)
			if err != nil {
				t.Fatal(err)
			}
			return b
		}
		w.send(t, ask(f.peer, f.other))
		w.send(t, ask(f.own, f.own)) // somebody says that he has it
		whole := ask(f.peer, f.own)
		w.send(t, append(append(bytes.Clone(whole[:12]), 0x81, 0, 0, 5), whole[12:]...))
		elsewhere := bytes.Clone(whole)
		copy(elsewhere, []byte{2, 0, 0, 0, 0, 0x77})
		w.send(t, elsewhere)
		other := netip.MustParseAddr("198.18.0.3")
		if f.own.Is6() {
			other = netip.MustParseAddr("2001:2::3")
		}
		w.send(t, ask(other, f.own))
		got := w.next(t)
		if m, ok := parse(got); !ok || m.request || m.target != f.own || !bytes.Equal(got[:6], macB) {
			t.Errorf("%+v, % x", m, got)
		}
		to := got[38:42]
		if f.own.Is6() {
			to = got[38:54]
		}
		if a, _ := netip.AddrFromSlice(to); a != other {
			t.Errorf("answered %s first, want only %s", a, other)
		}
	}
}

// Nobody answers: the question is repeated a fixed number of times, and then that is said.
func TestSilentPeer(t *testing.T) {
	p := labtest.TestPair(t, "t-neigh", 1)
	for _, f := range []struct{ a, b netip.Addr }{{a4, b4}, {a6, b6}} {
		w := listen(t, p)
		n := start(t, p.NSA, p.DevA, f.a)
		n.retry = time.Millisecond
		if _, err := n.Resolve(t.Context(), f.b); !errors.Is(err, ErrSilent) || !strings.Contains(err.Error(), f.b.String()) {
			t.Errorf("%v", err)
		}
		for range tries {
			if m, ok := parse(w.next(t)); !ok || !m.request || m.target != f.b || m.sender != f.a {
				t.Errorf("%+v", m)
			}
		}
		n.retry = time.Hour
		ctx, stop := context.WithCancel(t.Context())
		time.AfterFunc(10*time.Millisecond, stop)
		if _, err := n.Resolve(ctx, f.b); !errors.Is(err, context.Canceled) {
			t.Errorf("%v", err)
		}
	}
}

// An answer that comes late, after the link was down, is still taken.
func TestLinkComesBack(t *testing.T) {
	p := labtest.TestPair(t, "t-neigh", 1)
	a, b := start(t, p.NSA, p.DevA, a4), start(t, p.NSB, p.DevB, b4)
	inside(t, p.NSB, "ip", "link", "set", "vb", "down")
	go func() {
		time.Sleep(20 * time.Millisecond)
		_ = p.NSB.Do(func() error { return exec.Command("ip", "link", "set", "vb", "up").Run() })
	}()
	if got, err := a.Resolve(t.Context(), b4); err != nil || got != [6]byte(b.mac) {
		t.Errorf("% x, %v", got, err)
	}
}

// Close leaves no goroutine, no socket and no group, and may be called again.
func TestCloseLeavesNothing(t *testing.T) {
	p := labtest.TestPair(t, "t-neigh", 1)
	state := func() string {
		var out []byte
		err := p.NSA.Do(func() error {
			for _, f := range []string{"dev_mcast", "packet"} {
				b, err := os.ReadFile("/proc/thread-self/net/" + f)
				if err != nil {
					return err
				}
				out = append(out, b...)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		return string(out)
	}
	before, goroutines := state(), runtime.NumGoroutine()
	for _, a := range []netip.Addr{a4, a6} {
		n, err := Start(p.NSA, p.DevA, a)
		if err != nil {
			t.Fatal(err)
		}
		if a.Is6() && !strings.Contains(state(), "3333ff000001") || state() == before {
			t.Errorf("no socket or no group of %s:\n%s", a, state())
		}
		for range 2 {
			if err := n.Close(); err != nil {
				t.Error(err)
			}
		}
		if now := state(); now != before {
			t.Errorf("%s leaves something:\n%s", a, now)
		}
	}
	eventually(t, "no goroutine is left", func() bool { return runtime.NumGoroutine() <= goroutines })
}

func TestNoSuchPort(t *testing.T) {
	p := labtest.TestPair(t, "t-neigh", 1)
	if n, err := Start(p.NSA, "nosuch", a4); err == nil || !strings.Contains(err.Error(), "nosuch") {
		t.Errorf("%v, %v", n, err)
	}
	if n, err := Start(p.NSA, "lo", a4); err == nil || !strings.Contains(err.Error(), "no Ethernet address") {
		t.Errorf("%v, %v", n, err)
	}
}
