package packet

// icmp is the header that all ICMP messages share (RFC 792), an echo request by default. What a message has behind its
// first 8 bytes is a raw layer's or the payload.
func icmp() *Kind {
	return &Kind{
		Name: "icmp", Header: HeaderICMP, Len: 8,
		Follows: []string{"ip"}, Proto: ProtoICMP,
		Fields: []Field{
			{Name: "type", Bit: 0, Bits: 8, Default: Num{Lo: 8}, Doc: "type: 8 is an echo request, 0 its reply",
				Values: map[string]uint64{"echo-reply": 0, "unreachable": 3, "redirect": 5, "echo": 8, "time-exceeded": 11}},
			{Name: "code", Bit: 8, Bits: 8, Doc: "code, a part of the type"},
			{Name: "checksum", Bit: 16, Bits: 16, Auto: true, Doc: "checksum"},
			{Name: "ident", Bit: 32, Bits: 16, Doc: "identifier of an echo"},
			{Name: "seq", Bit: 48, Bits: 16, Doc: "sequence number of an echo"},
		},
		Checksum: &Checksum{Field: "checksum", Off: 2},
	}
}
