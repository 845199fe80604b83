package packet

import "encoding/binary"

// snap is the SNAP header behind LLC (IEEE 802, RFC 1042): with organization 0 it ends with an EtherType.
func snap() *Kind {
	return &Kind{
		Name: "snap", Prefix: "llc", Header: HeaderSNAP, Len: 5,
		Follows: []string{"llc"},
		Fields: []Field{
			{Name: "oui", Bit: 0, Bits: 24, Doc: "organization; 0 means that an EtherType follows"},
			{Name: "type", Bit: 24, Bits: 16, Auto: true, Values: etherValues(), Doc: "EtherType of what follows"},
			{Name: "pid", Bit: 24, Bits: 16, Auto: true, Doc: "protocol of the organization: the same two bytes as type"},
		},
		Finish: func(h []byte, next *Kind, _ int) { binary.BigEndian.PutUint16(h[3:], etherTypeOf(next)) },
	}
}
