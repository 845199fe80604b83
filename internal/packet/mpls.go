package packet

// mpls is one entry of a label stack (RFC 3032). The first 16 labels have meanings of their own, so the default is the one
// behind them.
func mpls() *Kind {
	return &Kind{
		Name: "mpls", Header: HeaderMPLS, Len: 4,
		Follows: append([]string{"eth", "vlan", "snap", "mpls", "gre"}, onIP()...), EtherType: EtherMPLS, Proto: ProtoMPLS,
		Fields: []Field{
			{Name: "label", Bit: 0, Bits: 20, Default: Num{Lo: 16}, Doc: "label"},
			{Name: "exp", Bit: 20, Bits: 3, Doc: "traffic class (experimental bits)"},
			{Name: "bottom", Bit: 23, Bits: 1, Auto: true, Doc: "bottom of stack: 1 where no other label follows"},
			{Name: "ttl", Bit: 24, Bits: 8, Default: Num{Lo: 1}, Doc: "time to live"},
		},
		Finish: func(h []byte, next *Kind, _ int) {
			if h[2] &^= 1; next == nil || next.Header != HeaderMPLS {
				h[2] |= 1
			}
		},
	}
}
