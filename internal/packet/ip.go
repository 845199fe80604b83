package packet

import "encoding/binary"

// Protocol numbers of IP.
const (
	ProtoHopOpts = 0 // IPv6's hop-by-hop options; nothing in IPv4
	ProtoICMP    = 1
	ProtoIPv4    = 4
	ProtoTCP     = 6
	ProtoUDP     = 17
	ProtoIPv6    = 41
	ProtoRouting = 43
	ProtoGRE     = 47
	ProtoICMPv6  = 58
	ProtoDstOpts = 60
	ProtoMPLS    = 137 // RFC 4023
	// ProtoTest marks a payload that stands directly behind an IP header: "use for experimentation and testing" (RFC 3692).
	ProtoTest = 253
	// ProtoFragment is IPv6's fragment header.
	ProtoFragment = 44
)

func protoValues() map[string]uint64 {
	return map[string]uint64{
		"icmp": ProtoICMP, "ip": ProtoIPv4, "tcp": ProtoTCP, "udp": ProtoUDP, "ipv6": ProtoIPv6, "gre": ProtoGRE, "icmpv6": ProtoICMPv6,
		"mpls": ProtoMPLS, "test": ProtoTest, "hopopts": ProtoHopOpts, "routing": ProtoRouting, "fraghdr": ProtoFragment, "dstopts": ProtoDstOpts,
	}
}

// protoOf is the protocol number that announces a kind; nil is the payload.
func protoOf(next *Kind) uint8 {
	switch {
	case next != nil && next.Header == HeaderHopOpts:
		return ProtoHopOpts
	case next == nil || next.Proto == 0:
		return ProtoTest
	default:
		return next.Proto
	}
}

// onIP are the headers that announce the next one by a protocol number.
func onIP() []string { return append([]string{"ip"}, onIPv6()...) }

// inside are the headers that may carry IP.
func inside() []string { return append([]string{"eth", "vlan", "snap", "mpls", "gre"}, onIP()...) }

// ip is IPv4 (RFC 791). Its options are padded with zeros, which end the list of options.
func ip() *Kind {
	return shapedByData(&Kind{
		Name: "ip", Header: HeaderIPv4, Len: 20,
		Follows: inside(), EtherType: EtherIPv4, Proto: ProtoIPv4,
		Fields: []Field{
			{Name: "version", Bit: 0, Bits: 4, Default: Num{Lo: 4}, Doc: "version, 4"},
			{Name: "hdr_len", Bit: 4, Bits: 4, Type: Words, Auto: true, Doc: "header length in bytes, a multiple of 4"},
			{Name: "dsfield", Bit: 8, Bits: 8, Doc: "differentiated services field: DSCP and ECN"},
			{Name: "dsfield.dscp", Bit: 8, Bits: 6, Doc: "differentiated services code point"},
			{Name: "dsfield.ecn", Bit: 14, Bits: 2, Doc: "explicit congestion notification"},
			{Name: "len", Bit: 16, Bits: 16, Auto: true, Doc: "total length in bytes"},
			{Name: "id", Bit: 32, Bits: 16, Doc: "identification"},
			{Name: "flags.rb", Bit: 48, Bits: 1, Doc: "reserved bit"},
			{Name: "flags.df", Bit: 49, Bits: 1, Doc: "do not fragment"},
			{Name: "flags.mf", Bit: 50, Bits: 1, Doc: "more fragments"},
			{Name: "frag_offset", Bit: 51, Bits: 13, Doc: "fragment offset in units of 8 bytes"},
			{Name: "ttl", Bit: 64, Bits: 8, Default: Num{Lo: 1}, Doc: "time to live"},
			{Name: "proto", Bit: 72, Bits: 8, Auto: true, Values: protoValues(), Doc: "protocol of what follows"},
			{Name: "checksum", Bit: 80, Bits: 16, Auto: true, Doc: "header checksum"},
			{Name: "src", Bit: 96, Bits: 32, Type: IPv4, Default: Num{Lo: 0xc6120001}, Doc: "source address"},
			{Name: "dst", Bit: 128, Bits: 32, Type: IPv4, Default: Num{Lo: 0xc6130001}, Doc: "destination address"},
		},
		Data: &Data{Name: "options", Max: 40, Doc: "options, type and length included; padded with zeros to a multiple of 4"},
		Finish: func(h []byte, next *Kind, after int) {
			h[0] = h[0]&0xf0 | uint8(len(h)/4)
			binary.BigEndian.PutUint16(h[2:], uint16(len(h)+after))
			h[9] = protoOf(next)
		},
		Checksum: &Checksum{Field: "checksum", Off: 10, HeaderOnly: true},
	}, zerosTo(4))
}
