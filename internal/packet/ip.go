package packet

import "encoding/binary"

// Protocol numbers of IP.
const (
	ProtoTCP = 6
	ProtoUDP = 17
	// ProtoTest marks a payload that stands directly behind an IP header: "use for experimentation and testing" (RFC 3692).
	ProtoTest = 253
	// ProtoFragment is IPv6's fragment header.
	ProtoFragment = 44
)

func protoValues() map[string]uint64 {
	return map[string]uint64{"icmp": 1, "tcp": ProtoTCP, "udp": ProtoUDP, "icmpv6": 58, "test": ProtoTest}
}

// protoOf is the protocol number that announces a kind; nil is the payload.
func protoOf(next *Kind) uint8 {
	if next == nil || next.Proto == 0 {
		return ProtoTest
	}
	return next.Proto
}

// ip is IPv4 without options (RFC 791).
func ip() *Kind {
	return &Kind{
		Name: "ip", Len: 20,
		Follows: []string{"eth", "vlan"}, EtherType: EtherIPv4,
		Fields: []Field{
			{Name: "version", Bit: 0, Bits: 4, Default: Num{Lo: 4}, Doc: "version, 4"},
			{Name: "hdr_len", Bit: 4, Bits: 4, Type: Words, Default: Num{Lo: 5}, Doc: "header length in bytes, a multiple of 4"},
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
		Finish: func(h []byte, next *Kind, after int) {
			binary.BigEndian.PutUint16(h[2:], uint16(20+after))
			h[9] = protoOf(next)
		},
		Checksum: &Checksum{Field: "checksum", Off: 10, HeaderOnly: true},
	}
}
