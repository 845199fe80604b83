package neighbour

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	socket "github.com/mdlayher/packet"
	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"

	"github.com/wirespeed/wirespeed/internal/host"
)

// Resolving: a question is repeated after defaultRetry, tries times in all. RFC 4861 10 has three, a second apart; a lab's
// answer comes in a millisecond, a router's that has to wake its control plane takes longer.
const (
	defaultRetry = 500 * time.Millisecond
	tries        = 6
)

// ErrSilent: nobody answers for the address.
var ErrSilent = errors.New("nobody answers")

// A Node is one address at one port.
type Node struct {
	addr  netip.Addr
	mac   net.HardwareAddr
	conn  *socket.Conn
	done  chan struct{}
	over  atomic.Bool // Close was called
	retry time.Duration

	mu    sync.Mutex // guards what follows
	known map[netip.Addr][6]byte
	news  chan struct{} // closed when known grows
}

// Start makes the address answer at a device of the namespace, with the device's own MAC address. It needs root, or
// CAP_NET_RAW.
func Start(ns *host.NS, device string, addr netip.Addr) (*Node, error) {
	n := &Node{addr: addr, retry: defaultRetry, done: make(chan struct{}), known: map[netip.Addr][6]byte{}, news: make(chan struct{})}
	err := ns.Do(func() error {
		ifi, err := net.InterfaceByName(device)
		if err != nil {
			return fmt.Errorf("device %s: %w", device, err)
		}
		if len(ifi.HardwareAddr) != 6 {
			return fmt.Errorf("device %s has no Ethernet address: %s cannot answer there", device, addr)
		}
		n.mac = ifi.HardwareAddr
		protocol, filter := unix.ETH_P_ARP, onlyOurs
		if addr.Is6() {
			protocol, filter = unix.ETH_P_IPV6, onlyDiscovery
		}
		raw, err := bpf.Assemble(filter)
		if err != nil {
			return err
		}
		if n.conn, err = socket.Listen(ifi, socket.Raw, protocol, &socket.Config{Filter: raw}); err != nil {
			return fmt.Errorf("packet socket for %s at %s: %w", addr, device, err)
		}
		if addr.Is6() { // the kernel forgets the group with the socket
			return n.conn.JoinGroup(multicastMAC(solicitedNode(addr)))
		}
		return nil
	})
	if err != nil {
		if n.conn != nil {
			_ = n.conn.Close()
		}
		return nil, err
	}
	go n.serve()
	return n, nil
}

// onlyOurs passes what the kernel would take for itself: neither frames for other stations, which a port in promiscuous mode
// gets too, nor those with a VLAN tag, whose tag this socket does not see.
var onlyOurs = []bpf.Instruction{
	bpf.LoadExtension{Num: bpf.ExtType},
	bpf.JumpIf{Cond: bpf.JumpEqual, Val: unix.PACKET_OTHERHOST, SkipTrue: 1},
	bpf.RetConstant{Val: 1 << 16},
	bpf.RetConstant{Val: 0},
}

// onlyDiscovery passes of those the neighbour solicitations and advertisements directly behind IPv6: what else a port gets
// in a run would only be copied to be thrown away.
var onlyDiscovery = []bpf.Instruction{
	bpf.LoadExtension{Num: bpf.ExtType},
	bpf.JumpIf{Cond: bpf.JumpEqual, Val: unix.PACKET_OTHERHOST, SkipTrue: 6},
	bpf.LoadAbsolute{Off: 14 + 6, Size: 1},
	bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: unix.IPPROTO_ICMPV6, SkipTrue: 4},
	bpf.LoadAbsolute{Off: 14 + 40, Size: 1},
	bpf.JumpIf{Cond: bpf.JumpEqual, Val: 135, SkipTrue: 1},
	bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: 136, SkipTrue: 1},
	bpf.RetConstant{Val: 1 << 16},
	bpf.RetConstant{Val: 0},
}

// serve answers and learns until the socket is closed.
func (n *Node) serve() {
	defer close(n.done)
	buf := make([]byte, 2048)
	for {
		size, _, err := n.conn.ReadFrom(buf)
		if n.over.Load() {
			return
		}
		if err != nil { // the device went down: it may come up again
			time.Sleep(10 * time.Millisecond)
			continue
		}
		m, ok := parse(buf[:size])
		switch {
		case !ok:
		case !m.request:
			n.learn(m.target, m.mac)
		case m.target == n.addr && m.sender != n.addr:
			n.reply(&m)
		}
	}
}

func (n *Node) reply(m *message) {
	if n.addr.Is4() && len(m.mac) != 6 {
		return
	}
	b, err := answer(n.mac, n.addr, m)
	if err != nil {
		return
	}
	n.write(b)
}

// write sends one frame. What is lost is asked for again.
func (n *Node) write(b []byte) {
	_, _ = n.conn.WriteTo(b, &socket.Addr{HardwareAddr: b[:6]})
}

func (n *Node) learn(a netip.Addr, mac net.HardwareAddr) {
	if len(mac) != 6 {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.known[a] = [6]byte(mac)
	close(n.news)
	n.news = make(chan struct{})
}

// Resolve asks for the MAC address of target until it is answered. An error is ErrSilent after 3 s, or ctx's.
func (n *Node) Resolve(ctx context.Context, target netip.Addr) (mac [6]byte, err error) {
	b, err := question(n.mac, n.addr, target)
	if err != nil {
		return mac, err
	}
	for range tries {
		n.write(b)
		again := time.NewTimer(n.retry)
		for waiting := true; waiting; {
			n.mu.Lock()
			mac, ok := n.known[target]
			news := n.news
			n.mu.Unlock()
			if ok {
				again.Stop()
				return mac, nil
			}
			select {
			case <-ctx.Done():
				again.Stop()
				return mac, ctx.Err()
			case <-again.C:
				waiting = false
			case <-news:
			}
		}
	}
	return mac, fmt.Errorf("%w for %s", ErrSilent, target)
}

// Close stops answering. It may be called more than once.
func (n *Node) Close() error {
	if n.over.Swap(true) {
		return nil
	}
	err := n.conn.Close()
	<-n.done
	return err
}
