package packet

// icmpv6 is the header that all ICMPv6 messages share (RFC 4443), an echo request by default. Data is what a message has
// behind its first 8 bytes: target address and options of neighbour discovery (RFC 4861).
func icmpv6() *Kind {
	return shapedByData(&Kind{
		Name: "icmpv6", Header: HeaderICMPv6, Len: 8,
		Follows: onIPv6(), Proto: ProtoICMPv6,
		Fields: []Field{
			{Name: "type", Bit: 0, Bits: 8, Default: Num{Lo: 128}, Doc: "type: 128 is an echo request, 129 its reply, 135 a neighbour solicitation",
				Values: map[string]uint64{"unreachable": 1, "too-big": 2, "time-exceeded": 3, "echo": 128, "echo-reply": 129,
					"router-solicitation": 133, "router-advertisement": 134, "neighbour-solicitation": 135, "neighbour-advertisement": 136}},
			{Name: "code", Bit: 8, Bits: 8, Doc: "code, a part of the type"},
			{Name: "checksum", Bit: 16, Bits: 16, Auto: true, Doc: "checksum"},
			{Name: "reserved", Bit: 32, Bits: 32, Doc: "the four bytes behind the checksum, whatever the type makes of them"},
			{Name: "echo.identifier", Bit: 32, Bits: 16, Doc: "identifier of an echo"},
			{Name: "echo.sequence_number", Bit: 48, Bits: 16, Doc: "sequence number of an echo"},
		},
		Data:     &Data{Name: "data", Max: 2048, Doc: "the rest of the message: the target address and options of a neighbour solicitation"},
		Checksum: &Checksum{Field: "checksum", Off: 2, Pseudo: ProtoICMPv6},
	}, asGiven)
}
