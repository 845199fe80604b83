package neighbour

import (
	"net"
	"net/netip"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"
)

// ndHops is the hop limit of neighbour discovery: what has crossed a router is not valid (RFC 4861 7.1).
const ndHops = 255

// A message is an ARP or neighbour discovery message, as far as a Node looks at it.
type message struct {
	request bool             // a question; else an answer
	target  netip.Addr       // who is asked for, or who answers
	sender  netip.Addr       // who asks; unspecified in duplicate address detection
	mac     net.HardwareAddr // of who asks or answers; nil in duplicate address detection
}

// parse reads a frame; false where it is none of these or not valid.
func parse(frame []byte) (m message, ok bool) {
	p := gopacket.NewPacket(frame, layers.LayerTypeEthernet, gopacket.DecodeOptions{NoCopy: true})
	if a, is := p.Layer(layers.LayerTypeARP).(*layers.ARP); is {
		return parseARP(a)
	}
	ip, is := p.Layer(layers.LayerTypeIPv6).(*layers.IPv6)
	eth, wired := p.Layer(layers.LayerTypeEthernet).(*layers.Ethernet)
	if !is || !wired || ip.HopLimit != ndHops {
		return m, false
	}
	sender, _ := netip.AddrFromSlice(ip.SrcIP)
	if s, is := p.Layer(layers.LayerTypeICMPv6NeighborSolicitation).(*layers.ICMPv6NeighborSolicitation); is {
		target, ok := netip.AddrFromSlice(s.TargetAddress)
		mac := option(s.Options, layers.ICMPv6OptSourceAddress)
		switch {
		case sender.IsUnspecified() && mac != nil: // not valid (RFC 4861 7.1.1)
			return m, false
		case !sender.IsUnspecified() && mac == nil: // it may be left out where the answer goes to one (RFC 4861 4.3)
			mac = eth.SrcMAC
		}
		return message{request: true, target: target, sender: sender, mac: mac}, ok
	}
	if a, is := p.Layer(layers.LayerTypeICMPv6NeighborAdvertisement).(*layers.ICMPv6NeighborAdvertisement); is {
		target, ok := netip.AddrFromSlice(a.TargetAddress)
		mac := option(a.Options, layers.ICMPv6OptTargetAddress)
		if mac == nil { // it may be left out in an answer to one (RFC 4861 4.4)
			mac = eth.SrcMAC
		}
		return message{target: target, sender: sender, mac: mac}, ok
	}
	return m, false
}

func parseARP(a *layers.ARP) (m message, ok bool) {
	if a.AddrType != layers.LinkTypeEthernet || a.Protocol != layers.EthernetTypeIPv4 || a.HwAddressSize != 6 || a.ProtAddressSize != 4 {
		return m, false
	}
	sender, _ := netip.AddrFromSlice(a.SourceProtAddress)
	target, _ := netip.AddrFromSlice(a.DstProtAddress)
	switch a.Operation {
	case layers.ARPRequest:
		return message{request: true, target: target, sender: sender, mac: a.SourceHwAddress}, true
	case layers.ARPReply:
		return message{target: sender, sender: sender, mac: a.SourceHwAddress}, true
	}
	return m, false
}

func option(all layers.ICMPv6Options, kind layers.ICMPv6Opt) net.HardwareAddr {
	for _, o := range all {
		if o.Type == kind && len(o.Data) >= 6 {
			return net.HardwareAddr(o.Data[:6])
		}
	}
	return nil
}

// question asks who has target.
func question(mac net.HardwareAddr, own, target netip.Addr) ([]byte, error) {
	if own.Is4() {
		return arp(layers.ARPRequest, mac, own, broadcast, make(net.HardwareAddr, 6), target)
	}
	to := solicitedNode(target)
	return discovery(mac, own, multicastMAC(to), to, layers.ICMPv6TypeNeighborSolicitation, &layers.ICMPv6NeighborSolicitation{
		TargetAddress: target.AsSlice(),
		Options:       layers.ICMPv6Options{{Type: layers.ICMPv6OptSourceAddress, Data: mac}},
	})
}

// Flags of a neighbour advertisement (RFC 4861 4.4).
const (
	solicited = 0x40
	override  = 0x20
)

// answer says to who asked that own is at mac.
func answer(mac net.HardwareAddr, own netip.Addr, m *message) ([]byte, error) {
	if own.Is4() {
		return arp(layers.ARPReply, mac, own, m.mac, m.mac, m.sender)
	}
	to, toMAC, flags := m.sender, m.mac, uint8(solicited|override)
	if to.IsUnspecified() { // whoever wants to take the address learns that it is taken (RFC 4861 7.2.4)
		to, flags = netip.IPv6LinkLocalAllNodes(), override
		toMAC = multicastMAC(to)
	}
	return discovery(mac, own, toMAC, to, layers.ICMPv6TypeNeighborAdvertisement, &layers.ICMPv6NeighborAdvertisement{
		Flags: flags, TargetAddress: own.AsSlice(),
		Options: layers.ICMPv6Options{{Type: layers.ICMPv6OptTargetAddress, Data: mac}},
	})
}

var broadcast = net.HardwareAddr{0xff, 0xff, 0xff, 0xff, 0xff, 0xff}

func arp(operation uint16, mac net.HardwareAddr, own netip.Addr, to, toMAC net.HardwareAddr, target netip.Addr) ([]byte, error) {
	return serialize(
		&layers.Ethernet{SrcMAC: mac, DstMAC: to, EthernetType: layers.EthernetTypeARP},
		&layers.ARP{
			AddrType: layers.LinkTypeEthernet, Protocol: layers.EthernetTypeIPv4, HwAddressSize: 6, ProtAddressSize: 4, Operation: operation,
			SourceHwAddress: mac, SourceProtAddress: own.AsSlice(), DstHwAddress: toMAC, DstProtAddress: target.AsSlice(),
		})
}

func discovery(mac net.HardwareAddr, own netip.Addr, toMAC net.HardwareAddr, to netip.Addr, kind uint8, body gopacket.SerializableLayer) ([]byte, error) {
	ip := &layers.IPv6{Version: 6, HopLimit: ndHops, NextHeader: layers.IPProtocolICMPv6, SrcIP: own.AsSlice(), DstIP: to.AsSlice()}
	icmp := &layers.ICMPv6{TypeCode: layers.CreateICMPv6TypeCode(kind, 0)}
	if err := icmp.SetNetworkLayerForChecksum(ip); err != nil {
		return nil, err
	}
	return serialize(&layers.Ethernet{SrcMAC: mac, DstMAC: toMAC, EthernetType: layers.EthernetTypeIPv6}, ip, icmp, body)
}

func serialize(all ...gopacket.SerializableLayer) ([]byte, error) {
	b := gopacket.NewSerializeBuffer()
	err := gopacket.SerializeLayers(b, gopacket.SerializeOptions{FixLengths: true, ComputeChecksums: true}, all...)
	return b.Bytes(), err
}

// solicitedNode is the multicast group of an address (RFC 4291 2.7.1).
func solicitedNode(a netip.Addr) netip.Addr {
	b := a.As16()
	return netip.AddrFrom16([16]byte{0xff, 2, 11: 1, 12: 0xff, 13: b[13], 14: b[14], 15: b[15]})
}

// multicastMAC is the Ethernet address of an IPv6 group (RFC 2464 7).
func multicastMAC(group netip.Addr) net.HardwareAddr {
	b := group.As16()
	return net.HardwareAddr{0x33, 0x33, b[12], b[13], b[14], b[15]}
}
