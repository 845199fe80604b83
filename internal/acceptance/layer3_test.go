package acceptance

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/wirespeed/wirespeed/internal/host"
	"github.com/wirespeed/wirespeed/internal/neighbour"
)

// Addresses that do not go together are wrong use: one sentence, its mend, and no device is touched.
func TestAddressesThatDoNotGoTogether(t *testing.T) {
	const two = "--tx-ip 198.18.0.1/16 --rx-ip 198.19.0.1/16"
	for _, c := range []struct{ args, message, mend string }{
		{"va --tx-ip 198.18.0.1", "--tx-ip \"198.18.0.1\"", "198.18.0.1/16"},
		{"va --tx-ip 224.0.0.1/4", "--tx-ip", "length of its network"},
		{"va --tx-ip 0.0.0.0/0", "--tx-ip", "length of its network"},
		{"va --tx-ip ::1/128", "--tx-ip", "length of its network"},
		{"va --rx vb --rx-ip ::ffff:198.18.0.1/112", "--rx-ip", "length of its network"},
		{"va --tx-ip 198.18.0.1/16 --gateway 198.18.0.2/16", "--gateway", "such as 198.18.255.254"},
		{"va --tx-ip fe80::1/64 --gateway fe80::2%va", "--gateway", "such as"},
		{"va --gateway 198.18.255.254", "needs an address to ask from", "add --tx-ip with an address beside it, such as 198.18.255.253/24"},
		{"va --gateway 2001:2::fffe", "needs an address to ask from", "2001:2::fffd/64"},
		{"va --rx vb --rx-gateway 198.19.255.254", "needs an address to ask from", "add --rx-ip"},
		{"va --rx-ip 198.19.0.1/16", "there is none", "add --rx PORT"},
		{"va vc --tx-ip 198.18.0.1/16", "2 ports to send from", "one port to send from"},
		{"va --rx vb --rx vc " + two + " --gateway 198.18.255.254", "2 to receive at", "at most one --rx"},
		{"va --rx vb --tx-ip 198.18.0.1/16 --rx-ip 2001:2::1/64", "IPv4 and IPv6", "two of one family"},
		{"va --tx-ip 198.18.0.1/16 --dst-ip inc(2001:2::2,1,4)", "--tx-ip 198.18.0.1/16 and --dst-ip inc(2001:2::2,1,4): IPv4 and IPv6", "two of one family"},
		{"va --tx-ip 2001:2::1/64 --src-ip 198.18.0.1", "--src-ip 198.18.0.1: IPv4 and IPv6", "two of one family"},
		{"va --tx-ip 198.18.0.1/16 --gateway 198.19.255.254", "lies outside of 198.18.0.0/16", "address of that network"},
		{"va --tx-ip 198.18.0.1/16 --gateway 2001:2::fffe", "lies outside of 198.18.0.0/16", "address of that network"},
		{"va --tx-ip 198.18.0.1/16 --gateway 198.18.0.1", "the same address", "the router's"},
		{"va --rx vb " + two + " --gateway 198.18.255.254 --rx-gateway 198.18.255.254", "--rx-gateway 198.18.255.254 lies outside of 198.19.0.0/16", "address of that network"},
		{"va --rx vb " + two, "lies outside of 198.18.0.0/16, the network of --tx-ip", "give --gateway"},
		{"va --tx-ip 198.18.0.1/16 --gateway 198.18.255.254 --vlan 7", "VLAN tags", "--dst-mac"},
	} {
		args := append(strings.Fields("send "+c.args), "--count", "1", "--json")
		r := run(t, args...)
		if r.wantExit(t, 1); r.doc == nil || r.doc.Error == nil || !strings.Contains(r.doc.Error.Message, c.message) || !strings.Contains(r.doc.Error.Mend, c.mend) {
			t.Errorf("send %s: %+v, want %q and the mend %q", c.args, r.doc.Error, c.message, c.mend)
		}
	}
	file := filepath.Join(t.TempDir(), "x.pcap")
	for _, port := range []string{"null:", "pcap:" + file} {
		r := run(t, "send", port, "--tx-ip", "198.18.0.1/16", "--count", "1", "--json")
		r.wantExit(t, 1, "reaches no network", "send from a device")
	}
}

// peerNode makes vb another station.
func peerNode(t *testing.T, ns *host.NS, a string) *neighbour.Node {
	t.Helper()
	n, err := neighbour.Start(ns, "vb", netip.MustParseAddr(a))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = n.Close() })
	return n
}

// answers is whether somebody answers for an address.
func answers(t *testing.T, from *neighbour.Node, a string, patience time.Duration) bool {
	t.Helper()
	ctx, stop := context.WithTimeout(t.Context(), patience)
	defer stop()
	_, err := from.Resolve(ctx, netip.MustParseAddr(a))
	if err != nil && !errors.Is(err, context.DeadlineExceeded) {
		t.Fatal(err)
	}
	return err == nil
}

// During the run the port answers for its own address and for no other one, and no longer after. What it answers is no frame
// of the run: other traffic at the sender, foreign at the receiver, and the verdict is valid.
func TestAnswersDuringTheRunOnly(t *testing.T) {
	for _, f := range []struct{ own, bits, peer, late, other string }{
		{"198.18.0.1", "/16", "198.18.0.2", "198.18.0.3", "198.18.0.4"}, {"2001:2::1", "/64", "2001:2::2", "2001:2::3", "2001:2::4"},
	} {
		for _, rx := range engines {
			t.Run(f.own+" "+rx, func(t *testing.T) {
				p := pair(t, 1)
				before := procNetDev(t, p.NSA, "va")
				s := start(t, "send", "packet:"+p.PortA, "--rx", rx+p.PortB, "--tx-ip", f.own+f.bits, "--rate", "200pps", "--duration", "25s", "--json")
				moving(t, s, p.NSA, "va", before, 10)
				during := peerNode(t, p.NSB, f.peer)
				if !answers(t, during, f.own, patience) {
					t.Error("no answer during the run")
				}
				if answers(t, during, f.other, 100*time.Millisecond) {
					t.Error("an answer for an address that the port does not have")
				}
				s.stop()
				r := s.wait(t)
				r.wantExit(t, 5)
				r.wantVerdict(t, "valid")
				if other := *r.tx(t).OtherTraffic; other == 0 || r.rx(t).Foreign != other || *r.stream(t, 0).Lost != 0 {
					t.Errorf("other traffic %d, foreign %d, %s; want the answers", other, r.rx(t).Foreign, show(r.stream(t, 0)))
				}
				if answers(t, peerNode(t, p.NSB, f.late), f.own, 100*time.Millisecond) {
					t.Error("an answer after the run")
				}
			})
		}
	}
}

// A gateway that says nothing: the environment lacks it, and only questions left.
func TestGatewayIsSilent(t *testing.T) {
	p := pair(t, 1)
	before := procNetDev(t, p.NSA, "va")
	r := run(t, "send", p.PortA, "--tx-ip", "198.18.0.1/16", "--gateway", "198.18.255.254", "--count", "1000", "--json")
	r.wantExit(t, 2, "--gateway: 198.18.255.254 does not answer at "+p.PortA, "--dst-mac")
	asked := procNetDev(t, p.NSA, "va").txFrames - before.txFrames
	if asked == 0 || asked > 6 {
		t.Errorf("%d frames left, want the questions", asked)
	}
	// Nobody has to wait for that.
	s := startProgram(t, 0, "send", p.PortA, "--rx", p.PortB, "--tx-ip", "198.18.0.1/16", "--rx-ip", "198.19.0.1/16", "--gateway", "198.18.255.254", "--rx-gateway", "198.19.255.254", "--count", "1000", "--json")
	eventually(t, "it asks", func() bool { return procNetDev(t, p.NSB, "vb").txFrames > 0 || s.ended() })
	s.signal(t, syscall.SIGINT)
	s.wait(t).wantExit(t, 5, "interrupted before anything was sent")
	if sent := procNetDev(t, p.NSA, "va").txFrames - before.txFrames; sent != asked {
		t.Errorf("%d more frames left", sent-asked)
	}
}

// What the flags give is a default: a stream's own addresses and time to live stay.
func TestAddressesAreDefaults(t *testing.T) {
	p := pair(t, 1)
	gateway := peerNode(t, p.NSB, "198.18.255.254")
	defer gateway.Close()
	far := listenAt(t, p.NSB, "vb")
	layer3 := []string{"--tx-ip", "198.18.0.1/16", "--gateway", "198.18.255.254", "--count", "3"}
	for _, c := range []struct {
		own      string
		ttl      byte
		src, dst string
	}{
		{"", 64, "198.18.0.1", "198.19.0.1"},
		{"--ttl 7 --src-ip 198.18.7.7 --dst-ip 198.19.7.7", 7, "198.18.7.7", "198.19.7.7"},
	} {
		run(t, append(append([]string{"send", "packet:" + p.PortA}, layer3...), strings.Fields(c.own)...)...).wantExit(t, 0)
		for _, f := range far.take(t, 0x0800, 3) {
			src, _ := netip.AddrFromSlice(f[26:30])
			dst, _ := netip.AddrFromSlice(f[30:34])
			if f[22] != c.ttl || src.String() != c.src || dst.String() != c.dst {
				t.Errorf("%q: TTL %d, %s to %s", c.own, f[22], src, dst)
			}
		}
	}
	// A definition of both families takes what fits.
	file := filepath.Join(t.TempDir(), "two.yaml")
	const two = "streams:\n  - {name: four, layers: [eth, ip, udp]}\n  - {name: six, size: 100, layers: [eth, ipv6, udp]}\n  - {name: far, layers: [eth, {ip: {src: 192.0.2.9, ttl: 3}}, udp]}\n"
	if err := os.WriteFile(file, []byte(two), 0o600); err != nil {
		t.Fatal(err)
	}
	run(t, append([]string{"send", "packet:" + p.PortA, "-f", file}, layer3...)...).wantExit(t, 0)
	got := ""
	for _, f := range far.take(t, 0x0800, 2) {
		src, _ := netip.AddrFromSlice(f[26:30])
		got += fmt.Sprintf("%s %d, ", src, f[22])
	}
	if want := "198.18.0.1 64, 192.0.2.9 3, "; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}
