package packet

import "encoding/binary"

// vlan is an IEEE 802.1Q tag as it is usually cut: the EtherType before it, which is the tag's TPID, belongs to the header
// below, and the tag's own four bytes end with the EtherType of what follows. The field tpid therefore lies before the
// header's first bit.
func vlan() *Kind {
	return &Kind{
		Name: "vlan", Header: HeaderVLAN, Len: 4,
		Follows: []string{"eth", "vlan"}, EtherType: TPIDCustomer,
		Fields: []Field{
			{Name: "tpid", Bit: -16, Bits: 16, Auto: true,
				Values: map[string]uint64{"0x8100": TPIDCustomer, "0x88a8": TPIDService, "0x9100": TPIDOld},
				Doc:    "tag protocol identifier: 0x8100 (default), 0x88a8 or 0x9100; the EtherType of the header below"},
			{Name: "priority", Bit: 0, Bits: 3, Doc: "priority code point"},
			{Name: "dei", Bit: 3, Bits: 1, Doc: "drop eligible indicator"},
			{Name: "id", Bit: 4, Bits: 12, Default: Num{Lo: 1}, Doc: "VLAN identifier"},
			{Name: "etype", Bit: 16, Bits: 16, Auto: true, Values: etherValues(), Doc: "EtherType of what follows; the number of bytes of what follows where that is llc"},
		},
		Finish: func(h []byte, next *Kind, after int) {
			binary.BigEndian.PutUint16(h[2:], etherTypeOr802(next, after))
		},
	}
}
