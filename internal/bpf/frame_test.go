package bpf

import (
	"encoding/binary"
	"net"
	"testing"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"

	"github.com/wirespeed/wirespeed/internal/packet"
)

const testRun = 7

// sig is a signature to be sent.
type sig struct {
	form   packet.Form
	run    byte
	stream uint16
	seq    uint32
	flags  byte
	time   uint64
}

func (s sig) bytes() []byte {
	if s.form == packet.FormShort {
		b := binary.BigEndian.AppendUint16(nil, packet.MagicShort)
		b = append(b, s.run, byte(s.stream))
		return binary.BigEndian.AppendUint32(b, s.seq)
	}
	b := binary.BigEndian.AppendUint16(nil, packet.MagicFull)
	b = append(b, s.run, packet.FlagVersion|s.flags)
	b = binary.BigEndian.AppendUint16(b, s.stream)
	b = binary.BigEndian.AppendUint32(b, s.seq)
	return binary.BigEndian.AppendUint64(b, s.time)
}

// shape is what stands before the signature.
type shape struct {
	tags    []uint16 // TPIDs, outermost first
	ip      int      // 4, 6, or 0
	options int      // bytes of IPv4 options
	l4      byte     // 17, 6, or another protocol that has no header here
	tcpOpts int      // bytes of TCP options
	size    int      // without FCS; longer payload or padding fills it
	pad     int      // bytes behind the IP datagram
}

var (
	srcMAC  = net.HardwareAddr{2, 0, 0, 0, 0, 1}
	udp4    = shape{ip: 4, l4: 17, size: 60}
	testIP4 = [2]net.IP{net.IPv4(198, 18, 0, 1), net.IPv4(198, 19, 0, 1)}
	testIP6 = [2]net.IP{net.ParseIP("2001:2::1"), net.ParseIP("2001:2:0:1::1")}
)

// frame builds with gopacket, which knows nothing of how the program parses.
func frame(t testing.TB, sh shape, s sig) []byte {
	t.Helper()
	types := map[int]layers.EthernetType{0: 0x88b5, 4: layers.EthernetTypeIPv4, 6: layers.EthernetTypeIPv6}
	eth := &layers.Ethernet{SrcMAC: srcMAC, DstMAC: net.HardwareAddr{2, 0, 0, 0, 0, 2}, EthernetType: types[sh.ip]}
	all := []gopacket.SerializableLayer{eth}
	for i, tpid := range sh.tags {
		tag := &layers.Dot1Q{VLANIdentifier: uint16(5 + i), Type: types[sh.ip]}
		if i == 0 {
			eth.EthernetType = layers.EthernetType(tpid)
		} else {
			all[i].(*layers.Dot1Q).Type = layers.EthernetType(tpid)
		}
		all = append(all, tag)
	}
	head := 14 + 4*len(sh.tags)
	var network gopacket.NetworkLayer
	switch sh.ip {
	case 4:
		ip := &layers.IPv4{Version: 4, TTL: 64, Protocol: layers.IPProtocol(sh.l4), SrcIP: testIP4[0], DstIP: testIP4[1]}
		for range sh.options {
			ip.Options = append(ip.Options, layers.IPv4Option{OptionType: 1, OptionLength: 1})
		}
		network, all, head = ip, append(all, ip), head+20+sh.options
	case 6:
		ip := &layers.IPv6{Version: 6, HopLimit: 64, NextHeader: layers.IPProtocol(sh.l4), SrcIP: testIP6[0], DstIP: testIP6[1]}
		network, all, head = ip, append(all, ip), head+40
	}
	if sh.ip != 0 && sh.l4 == 17 {
		udp := &layers.UDP{SrcPort: 9, DstPort: 9}
		_ = udp.SetNetworkLayerForChecksum(network)
		all, head = append(all, udp), head+8
	}
	if sh.ip != 0 && sh.l4 == 6 {
		tcp := &layers.TCP{SrcPort: 9, DstPort: 9, Window: 100, SYN: true}
		for range sh.tcpOpts {
			tcp.Options = append(tcp.Options, layers.TCPOption{OptionType: layers.TCPOptionKindNop, OptionLength: 1})
		}
		_ = tcp.SetNetworkLayerForChecksum(network)
		all, head = append(all, tcp), head+20+sh.tcpOpts
	}
	payload := s.bytes()
	for n := len(payload); head+n < sh.size-sh.pad; n++ {
		payload = append(payload, byte(n*7))
	}
	buf := gopacket.NewSerializeBuffer()
	opts := gopacket.SerializeOptions{FixLengths: true, ComputeChecksums: true}
	if err := gopacket.SerializeLayers(buf, opts, append(all, gopacket.Payload(payload))...); err != nil {
		t.Fatal(err)
	}
	b := append([]byte(nil), buf.Bytes()[:head+len(payload)]...) // gopacket pads to 60; what it pads is taken away
	for range sh.pad {
		b = append(b, 0xa5)
	}
	return b
}
