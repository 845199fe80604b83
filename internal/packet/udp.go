package packet

import "encoding/binary"

// udp is RFC 768. Its destination port announces what follows where that has a port of its own.
func udp() *Kind {
	return &Kind{
		Name: "udp", Header: HeaderUDP, Len: 8,
		Follows: onIP(), Proto: ProtoUDP,
		Fields: []Field{
			{Name: "srcport", Bit: 0, Bits: 16, Default: Num{Lo: 9}, Doc: "source port"},
			{Name: "dstport", Bit: 16, Bits: 16, Default: Num{Lo: 9}, Doc: "destination port (9 is discard); 4789 where vxlan follows"},
			{Name: "length", Bit: 32, Bits: 16, Auto: true, Doc: "length of header and payload in bytes"},
			{Name: "checksum", Bit: 48, Bits: 16, Auto: true, Doc: "checksum; 0 means none"},
		},
		Finish: func(h []byte, next *Kind, after int) {
			if next != nil && next.Port != 0 {
				binary.BigEndian.PutUint16(h[2:], next.Port)
			}
			binary.BigEndian.PutUint16(h[4:], uint16(8+after))
		},
		Checksum: &Checksum{Field: "checksum", Off: 6, Pseudo: ProtoUDP, ZeroIsNone: true},
	}
}
