package cli

import (
	"net/netip"
	"strings"

	"github.com/wirespeed/wirespeed/internal/trial"
)

// Layer3Flags give the ports addresses for the time of a run.
type Layer3Flags struct {
	TxIP      text `name:"tx-ip" help:"Address of the sending port, with the length of its network: it answers ARP or neighbour discovery there, and is the source address where none is given." placeholder:"IP/LEN" group:"Layer 3:"`
	RxIP      text `name:"rx-ip" help:"Address of the receiving port; the destination address where none is given." placeholder:"IP/LEN" group:"Layer 3:"`
	Gateway   text `name:"gateway" help:"Router that the frames are sent to: its MAC address is asked for, and the TTL is 64 where none is given." placeholder:"IP" group:"Layer 3:"`
	RxGateway text `name:"rx-gateway" help:"Router's address at the receiving port, which it asks for before the first frame: so the router knows where the frames go." placeholder:"IP" group:"Layer 3:"`
}

// layer3 reads the flags.
func (f *Layer3Flags) layer3() (l trial.Layer3, err error) {
	for _, p := range []struct {
		flag string
		text text
		to   *netip.Prefix
	}{{"--tx-ip", f.TxIP, &l.Tx}, {"--rx-ip", f.RxIP, &l.Rx}} {
		if p.text == "" {
			continue
		}
		if *p.to, err = netip.ParsePrefix(string(p.text)); err != nil || !usable(p.to.Addr()) {
			return l, trial.Usage("write an address and the length of its network, such as 198.18.0.1/16 or 2001:2::1/64", "%s %q", p.flag, string(p.text))
		}
	}
	for _, a := range []struct {
		flag string
		text text
		to   *netip.Addr
	}{{"--gateway", f.Gateway, &l.Gateway}, {"--rx-gateway", f.RxGateway, &l.RxGateway}} {
		if a.text == "" {
			continue
		}
		if *a.to, err = netip.ParseAddr(string(a.text)); err != nil || !usable(*a.to) {
			return l, trial.Usage("write an address such as 198.18.255.254 or 2001:2::fffe", "%s %q", a.flag, string(a.text))
		}
	}
	return l, nil
}

// usable is whether a host may have the address.
func usable(a netip.Addr) bool {
	return !a.IsUnspecified() && !a.IsMulticast() && !a.IsLoopback() && a.Zone() == "" && !a.Is4In6()
}

// fill gives the flags of a stream the ports' addresses, so that a stream is of their family. Definitions in files and
// captures have addresses of their own. Of two ports that do not go together the run says so.
func (f *Layer3Flags) fill(l *trial.Layer3, s *StreamFlags) error {
	if s.File != "" || s.PCAP != "" {
		return nil
	}
	for _, port := range []struct {
		flag string
		netip.Prefix
	}{{"--tx-ip", l.Tx}, {"--rx-ip", l.Rx}} {
		for _, given := range []struct {
			flag  string
			value text
		}{{"--src-ip", s.SrcIP}, {"--dst-ip", s.DstIP}} {
			if port.IsValid() && given.value != "" && port.Addr().Is6() != strings.Contains(string(given.value), ":") {
				return trial.Usage("give two of one family", "%s %s and %s %s: IPv4 and IPv6", port.flag, port, given.flag, given.value)
			}
		}
	}
	if s.SrcIP == "" && l.Tx.IsValid() {
		s.SrcIP = text(l.Tx.Addr().String())
	}
	if s.DstIP == "" && l.Rx.IsValid() && (!l.Tx.IsValid() || l.Tx.Addr().Is4() == l.Rx.Addr().Is4()) {
		s.DstIP = text(l.Rx.Addr().String())
	}
	return nil
}
