package packetsock

import (
	"bytes"
	"encoding/binary"
	"net"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/wirespeed/wirespeed/internal/capture"
	"github.com/wirespeed/wirespeed/internal/host"
	"github.com/wirespeed/wirespeed/internal/lab/labtest"
	"github.com/wirespeed/wirespeed/internal/packet"
)

const (
	udpPort = 4000
	tcpPort = 4001
)

// talkingPair is a pair whose kernels can talk: addresses and neighbours are set, so that nothing is asked.
func talkingPair(t *testing.T) *labtest.Pair {
	t.Helper()
	p := labtest.TestPair(t, "t-packet", 1)
	for i, end := range []struct {
		ns  *host.NS
		dev string
	}{{p.NSA, p.DevA}, {p.NSB, p.DevB}} {
		for name, value := range map[string]string{"conf/all/disable_ipv6": "0", "conf/" + end.dev + "/disable_ipv6": "0", "auto_flowlabels": "0"} {
			if err := end.ns.Do(func() error { return os.WriteFile("/proc/sys/net/ipv6/"+name, []byte(value), 0) }); err != nil {
				t.Fatal(err)
			}
		}
		change(t, end.ns, end.dev, func(l netlink.Link) error {
			mac := net.HardwareAddr{2, 0, 0, 0, 0, byte(i + 1)}
			if err := netlink.LinkSetHardwareAddr(l, mac); err != nil {
				return err
			}
			for _, ip := range []net.IP{v4(i), v6(i)} {
				bits := 24
				if ip.To4() == nil {
					bits = 64
				}
				a := &netlink.Addr{IPNet: &net.IPNet{IP: ip, Mask: net.CIDRMask(bits, len(ip)*8)}, Flags: unix.IFA_F_NODAD}
				if err := netlink.AddrAdd(l, a); err != nil {
					return err
				}
			}
			for _, ip := range []net.IP{v4(1 - i), v6(1 - i)} {
				n := &netlink.Neigh{LinkIndex: l.Attrs().Index, IP: ip, HardwareAddr: net.HardwareAddr{2, 0, 0, 0, 0, byte(2 - i)}, State: netlink.NUD_PERMANENT}
				if err := netlink.NeighSet(n); err != nil {
					return err
				}
			}
			return nil
		})
	}
	return p
}

func v4(i int) net.IP { return net.IPv4(198, 18, 0, byte(i+1)).To4() }

func v6(i int) net.IP {
	ip := net.ParseIP("2001:2::")
	ip[15] = byte(i + 1)
	return ip
}

func sockaddr(ip net.IP, port int) unix.Sockaddr {
	if len(ip) == 4 {
		return &unix.SockaddrInet4{Port: port, Addr: [4]byte(ip)}
	}
	return &unix.SockaddrInet6{Port: port, Addr: [16]byte(ip)}
}

// inetSocket is bound in the namespace.
func inetSocket(t *testing.T, ns *host.NS, ip net.IP, kind, port int) (fd int) {
	t.Helper()
	family := unix.AF_INET
	if len(ip) == 16 {
		family = unix.AF_INET6
	}
	err := ns.Do(func() (err error) {
		if fd, err = unix.Socket(family, kind|unix.SOCK_CLOEXEC, 0); err != nil {
			return err
		}
		if err = unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_REUSEADDR, 1); err != nil {
			return err
		}
		return unix.Bind(fd, sockaddr(ip, port))
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Close(fd) })
	return fd
}

// datagrams sends UDP from A to B, the same bytes every time: without fragments an unconnected socket has IP identifier 0.
// The last one is made so that its checksum comes out as 0.
func datagrams(t *testing.T, p *labtest.Pair) {
	t.Helper()
	for _, at := range []func(int) net.IP{v4, v6} {
		_ = inetSocket(t, p.NSB, at(1), unix.SOCK_DGRAM, udpPort) // or there would be ICMP in answer
		fd := inetSocket(t, p.NSA, at(0), unix.SOCK_DGRAM, udpPort)
		level, option := unix.IPPROTO_IP, unix.IP_MTU_DISCOVER
		if len(at(0)) == 16 {
			level, option = unix.IPPROTO_IPV6, unix.IPV6_MTU_DISCOVER
		}
		if err := unix.SetsockoptInt(fd, level, option, unix.IP_PMTUDISC_DO); err != nil {
			t.Fatal(err)
		}
		acc := packet.PseudoSum(append(bytes.Clone(at(0)), at(1)...), packet.ProtoUDP, 10)
		zero := ^packet.Fold(packet.Sum(acc, []byte{udpPort >> 8, udpPort & 255, udpPort >> 8, udpPort & 255, 0, 10, 0, 0}))
		payloads := [][]byte{{}, {1}, {1, 2}, bytes.Repeat([]byte{0xff}, 18), bytes.Repeat([]byte("odd"), 111), bytes.Repeat([]byte("full"), 363), binary.BigEndian.AppendUint16(nil, zero)}
		for _, b := range payloads {
			if err := unix.Sendto(fd, b, 0, sockaddr(at(1), udpPort)); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// conversation sends n bytes by TCP from A to B, and waits for the end.
func conversation(t *testing.T, p *labtest.Pair, at func(int) net.IP, n int) {
	t.Helper()
	listener := inetSocket(t, p.NSB, at(1), unix.SOCK_STREAM, tcpPort)
	if err := unix.Listen(listener, 1); err != nil {
		t.Fatal(err)
	}
	done := make(chan int)
	go func() {
		got := 0
		defer func() { done <- got }()
		fd, _, err := unix.Accept(listener)
		for b := make([]byte, 1<<16); err == nil; {
			var k int
			if k, err = unix.Read(fd, b); k <= 0 && err != unix.EINTR {
				break
			} else if k > 0 {
				got += k
			} else {
				err = nil
			}
		}
		_ = unix.Close(fd)
	}()
	fd := inetSocket(t, p.NSA, at(0), unix.SOCK_STREAM, tcpPort)
	if err := unix.Connect(fd, sockaddr(at(1), tcpPort)); err != nil {
		t.Fatal(err)
	}
	f := os.NewFile(uintptr(fd), "tcp")
	if _, err := f.Write(bytes.Repeat([]byte("wirespeed"), n/9+1)[:n]); err != nil {
		t.Fatal(err)
	}
	if err := unix.Shutdown(fd, unix.SHUT_WR); err != nil {
		t.Fatal(err)
	}
	if got := <-done; got != n {
		t.Errorf("%d of %d bytes arrived", got, n)
	}
}

// ours are the frames of UDP and TCP, whose checksums must all be right.
func ours(t *testing.T, frames []recorded) (udp, tcp []recorded) {
	t.Helper()
	for i, f := range frames {
		l, ok := packet.Walk(f.data)
		if !ok || l.BadLength || !packet.VerifyL4(f.data, &l) || f.orig != len(f.data) {
			t.Errorf("frame %d of %d bytes, orig %d: %+v\n% x", i, len(f.data), f.orig, l, f.data[:min(len(f.data), 80)])
		}
		switch l.Proto {
		case packet.ProtoUDP:
			udp = append(udp, f)
		case packet.ProtoTCP:
			tcp = append(tcp, f)
		}
	}
	return udp, tcp
}

// TestRecordCompletesChecksums: what the kernel left to the hardware is in the file as if it had done it itself.
func TestRecordCompletesChecksums(t *testing.T) {
	var want [][]byte
	for _, features := range [][]string{
		{"tx", "off", "rx", "off", "tso", "off", "gso", "off", "gro", "off", "txvlan", "off", "rxvlan", "off"},
		{"tx", "on", "rx", "on", "tso", "off", "gso", "off", "gro", "off", "txvlan", "on", "rxvlan", "on"},
		{"tx", "on", "rx", "on", "tso", "on", "gso", "on", "gro", "on"},
	} {
		for _, d := range []capture.Direction{capture.In, capture.Out} {
			p := talkingPair(t)
			offload(t, p, features...)
			device, netns := p.DevB, p.B
			if d == capture.Out {
				device, netns = p.DevA, p.A
			}
			r := startRecording(t, p, device, netns, capture.Spec{Direction: d})
			datagrams(t, p)
			conversation(t, p, v4, 3000)
			time.Sleep(10 * time.Millisecond)
			frames, got := r.stop(t)
			udp, tcp := ours(t, frames)
			var bytesOf [][]byte
			for _, f := range udp {
				bytesOf = append(bytesOf, f.data)
			}
			if want == nil {
				want = bytesOf
			}
			if len(udp) != 14 || len(tcp) < 4 || !slices.EqualFunc(bytesOf, want, bytes.Equal) {
				t.Errorf("%v %v: %d datagrams, %d segments, %+v", features, d, len(udp), len(tcp), got)
				for i := range min(len(want), len(bytesOf)) {
					if !bytes.Equal(want[i], bytesOf[i]) {
						t.Errorf("% x\n% x", want[i], bytesOf[i])
					}
				}
			}
			if sum := udp[6].data[34+6 : 34+8]; sum[0] != 0xff || sum[1] != 0xff {
				t.Errorf("a sum of 0 is written as % x", sum)
			}
		}
	}
}

// TestRecordMerged: frames that the kernel put together are written whole, counted and marked.
func TestRecordMerged(t *testing.T) {
	for _, at := range []func(int) net.IP{v4, v6} {
		p := talkingPair(t)
		offload(t, p, "tx", "on", "tso", "on", "gso", "on", "gro", "on")
		r := startRecording(t, p, p.DevB, p.B, capture.Spec{})
		const n = 400_000
		conversation(t, p, at, n)
		time.Sleep(10 * time.Millisecond)
		frames, got := r.stop(t)
		_, tcp := ours(t, frames)
		var merged uint64
		payload := 0
		for _, f := range tcp {
			l, _ := packet.Walk(f.data)
			payload += l.End - l.Payload
			if f.merged {
				merged++
			}
			if f.merged != (len(f.data) > 1514) || (f.reason != 0) != f.merged {
				t.Errorf("a frame of %d bytes is merged: %t, and cannot be sent because %v", len(f.data), f.merged, f.reason)
			}
		}
		if merged == 0 || merged != got.Merged || payload != n {
			t.Errorf("%d of %d segments are merged, %d bytes: %+v", merged, len(tcp), payload, got)
		}
	}
}
