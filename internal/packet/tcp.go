package packet

// tcp is RFC 9293. Its options are padded with zeros, which end the list of options. The flags are the twelve bits behind the header length, as in Wireshark.
func tcp() *Kind {
	return shapedByData(&Kind{
		Name: "tcp", Header: HeaderTCP, Len: 20,
		Follows: onIP(), Proto: ProtoTCP,
		Fields: []Field{
			{Name: "srcport", Bit: 0, Bits: 16, Default: Num{Lo: 9}, Doc: "source port"},
			{Name: "dstport", Bit: 16, Bits: 16, Default: Num{Lo: 9}, Doc: "destination port (9 is discard)"},
			{Name: "seq", Bit: 32, Bits: 32, Doc: "sequence number"},
			{Name: "ack", Bit: 64, Bits: 32, Doc: "acknowledgment number"},
			{Name: "hdr_len", Bit: 96, Bits: 4, Type: Words, Auto: true, Doc: "header length in bytes, a multiple of 4"},
			{Name: "flags", Bit: 100, Bits: 12, Default: Num{Lo: 0x010},
				Values: map[string]uint64{"fin": 0x001, "syn": 0x002, "rst": 0x004, "psh": 0x008, "ack": 0x010, "urg": 0x020, "ece": 0x040, "cwr": 0x080, "ae": 0x100},
				Doc:    "flags: a number, or names joined by |, as in syn|ack"},
			{Name: "window_size_value", Bit: 112, Bits: 16, Default: Num{Lo: 8192}, Doc: "window, before scaling"},
			{Name: "checksum", Bit: 128, Bits: 16, Auto: true, Doc: "checksum"},
			{Name: "urgent_pointer", Bit: 144, Bits: 16, Doc: "urgent pointer"},
		},
		Data:     &Data{Name: "options", Max: 40, Doc: "options, kind and length included; padded with zeros to a multiple of 4"},
		Finish:   func(h []byte, _ *Kind, _ int) { h[12] = h[12]&0x0f | uint8(len(h)/4)<<4 },
		Checksum: &Checksum{Field: "checksum", Off: 16, Pseudo: ProtoTCP},
	}, zerosTo(4))
}
