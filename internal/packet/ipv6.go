package packet

import "encoding/binary"

// onIPv6 are IPv6 and its extension headers, on which the same may stand.
func onIPv6() []string { return []string{"ipv6", "hopopts", "routing", "fraghdr", "dstopts"} }

// ipv6 is IPv6 (RFC 8200). Its extension headers are kinds of their own.
func ipv6() *Kind {
	return &Kind{
		Name: "ipv6", Header: HeaderIPv6, Len: 40,
		Follows: inside(), EtherType: EtherIPv6, Proto: ProtoIPv6,
		Fields: []Field{
			{Name: "version", Bit: 0, Bits: 4, Default: Num{Lo: 6}, Doc: "version, 6"},
			{Name: "tclass", Bit: 4, Bits: 8, Doc: "traffic class: DSCP and ECN"},
			{Name: "tclass.dscp", Bit: 4, Bits: 6, Doc: "differentiated services code point"},
			{Name: "tclass.ecn", Bit: 10, Bits: 2, Doc: "explicit congestion notification"},
			{Name: "flow", Bit: 12, Bits: 20, Doc: "flow label"},
			{Name: "plen", Bit: 32, Bits: 16, Auto: true, Doc: "payload length in bytes"},
			{Name: "nxt", Bit: 48, Bits: 8, Auto: true, Values: protoValues(), Doc: "protocol of what follows"},
			{Name: "hlim", Bit: 56, Bits: 8, Default: Num{Lo: 1}, Doc: "hop limit"},
			{Name: "src", Bit: 64, Bits: 128, Type: IPv6, Default: Num{Hi: 0x2001_0002_0000_0000, Lo: 1}, Doc: "source address"},
			{Name: "dst", Bit: 192, Bits: 128, Type: IPv6, Default: Num{Hi: 0x2001_0002_0000_0001, Lo: 1}, Doc: "destination address"},
		},
		Finish: func(h []byte, next *Kind, after int) {
			binary.BigEndian.PutUint16(h[4:], uint16(after))
			h[6] = protoOf(next)
		},
	}
}
