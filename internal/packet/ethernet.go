package packet

import "encoding/binary"

// EtherTypes.
const (
	EtherIPv4 = 0x0800
	EtherIPv6 = 0x86dd
	// EtherTest is the EtherType of frames whose payload stands directly behind Ethernet or a VLAN tag: "Local
	// Experimental 1" of IEEE 802, which nobody answers.
	EtherTest = 0x88b5

	TPIDCustomer = 0x8100 // IEEE 802.1Q C-tag
	TPIDService  = 0x88a8 // IEEE 802.1Q S-tag (802.1ad)
	TPIDOld      = 0x9100 // stacked tags from before 802.1ad
)

// IsTPID reports whether an EtherType announces a VLAN tag.
func IsTPID(t uint16) bool { return t == TPIDCustomer || t == TPIDService || t == TPIDOld }

func etherValues() map[string]uint64 {
	return map[string]uint64{"ip": EtherIPv4, "arp": 0x0806, "ipv6": EtherIPv6, "test": EtherTest}
}

// etherTypeOf is the EtherType that announces a kind; nil is the payload.
func etherTypeOf(next *Kind) uint16 {
	if next == nil || next.EtherType == 0 {
		return EtherTest
	}
	return next.EtherType
}

func ethernet() *Kind {
	return &Kind{
		Name: "eth", Len: 14, Outermost: true,
		Fields: []Field{
			{Name: "dst", Bit: 0, Bits: 48, Type: MAC, Default: Num{Lo: 0x020000000002}, Doc: "destination address"},
			{Name: "src", Bit: 48, Bits: 48, Type: MAC, Default: Num{Lo: 0x020000000001}, Doc: "source address"},
			{Name: "type", Bit: 96, Bits: 16, Auto: true, Values: etherValues(), Doc: "EtherType of what follows"},
		},
		Finish: func(h []byte, next *Kind, _ int) { binary.BigEndian.PutUint16(h[12:], etherTypeOf(next)) },
	}
}
