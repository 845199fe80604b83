package packet

// arp is ARP for IPv4 on Ethernet (RFC 826): a request for the default destination address by default.
func arp() *Kind {
	return &Kind{
		Name: "arp", Header: HeaderARP, Len: 28,
		Follows: []string{"eth", "vlan", "snap"}, EtherType: EtherARP,
		Fields: []Field{
			{Name: "hw.type", Bit: 0, Bits: 16, Default: Num{Lo: 1}, Doc: "hardware type, 1 is Ethernet"},
			{Name: "proto.type", Bit: 16, Bits: 16, Default: Num{Lo: EtherIPv4}, Doc: "protocol type, an EtherType"},
			{Name: "hw.size", Bit: 32, Bits: 8, Default: Num{Lo: 6}, Doc: "bytes of a hardware address"},
			{Name: "proto.size", Bit: 40, Bits: 8, Default: Num{Lo: 4}, Doc: "bytes of a protocol address"},
			{Name: "opcode", Bit: 48, Bits: 16, Default: Num{Lo: 1}, Values: map[string]uint64{"request": 1, "reply": 2}, Doc: "operation: request or reply"},
			{Name: "src.hw_mac", Bit: 64, Bits: 48, Type: MAC, Default: Num{Lo: 0x020000000001}, Doc: "sender's MAC address"},
			{Name: "src.proto_ipv4", Bit: 112, Bits: 32, Type: IPv4, Default: Num{Lo: 0xc6120001}, Doc: "sender's IP address"},
			{Name: "dst.hw_mac", Bit: 144, Bits: 48, Type: MAC, Doc: "target's MAC address"},
			{Name: "dst.proto_ipv4", Bit: 192, Bits: 32, Type: IPv4, Default: Num{Lo: 0xc6130001}, Doc: "target's IP address"},
		},
	}
}
