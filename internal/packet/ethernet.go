package packet

import "encoding/binary"

// EtherTypes.
const (
	EtherIPv4   = 0x0800
	EtherARP    = 0x0806
	EtherBridge = 0x6558 // transparent Ethernet bridging: Ethernet in GRE (RFC 1701)
	EtherIPv6   = 0x86dd
	EtherMPLS   = 0x8847
	EtherMPLSUp = 0x8848 // labels assigned upstream (RFC 5332)
	EtherFirst  = 0x0600 // what is below is not a type but a length (IEEE 802.3 3.2.6)
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
	return map[string]uint64{
		"ip": EtherIPv4, "arp": EtherARP, "ipv6": EtherIPv6, "mpls": EtherMPLS, "eth": EtherBridge, "test": EtherTest,
	}
}

// etherTypeOf is the EtherType that announces a kind; nil is the payload.
func etherTypeOf(next *Kind) uint16 {
	if next == nil || next.EtherType == 0 {
		return EtherTest
	}
	return next.EtherType
}

// etherTypeOr802 is etherTypeOf for the headers of which the field is the length of what follows where that is LLC.
func etherTypeOr802(next *Kind, after int) uint16 {
	if next != nil && next.Header == HeaderLLC {
		return uint16(after)
	}
	return etherTypeOf(next)
}

func ethernet() *Kind {
	return &Kind{
		Name: "eth", Header: HeaderEth, Len: 14, Outermost: true,
		Follows: []string{"vxlan", "gre", "mpls"}, EtherType: EtherBridge,
		Fields: []Field{
			{Name: "dst", Bit: 0, Bits: 48, Type: MAC, Default: Num{Lo: 0x020000000002}, Doc: "destination address"},
			{Name: "src", Bit: 48, Bits: 48, Type: MAC, Default: Num{Lo: 0x020000000001}, Doc: "source address"},
			{Name: "type", Bit: 96, Bits: 16, Auto: true, Values: etherValues(), Doc: "EtherType of what follows; the number of bytes of what follows where that is llc"},
		},
		Finish: func(h []byte, next *Kind, after int) {
			binary.BigEndian.PutUint16(h[12:], etherTypeOr802(next, after))
		},
	}
}
