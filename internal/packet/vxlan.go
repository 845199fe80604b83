package packet

// PortVXLAN is VXLAN's UDP port.
const PortVXLAN = 4789

// vxlan is RFC 7348, with the group policy extension's fields where the RFC has reserved bits.
func vxlan() *Kind {
	return &Kind{
		Name: "vxlan", Header: HeaderVXLAN, Len: 8,
		Follows: []string{"udp"}, Port: PortVXLAN,
		Fields: []Field{
			{Name: "flags", Bit: 0, Bits: 16, Default: Num{Lo: 0x0800}, Doc: "flags: 0x0800 says that there is a VNI, 0x8000 that there is a group policy"},
			{Name: "gbp", Bit: 16, Bits: 16, Doc: "group policy identifier"},
			{Name: "vni", Bit: 32, Bits: 24, Default: Num{Lo: 1}, Doc: "network identifier"},
			{Name: "reserved8", Bit: 56, Bits: 8, Doc: "reserved"},
		},
	}
}
