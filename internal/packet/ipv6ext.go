package packet

// extensionUnit is what IPv6's extension headers count their length in, bytes.
const extensionUnit = 8

// hopOpts are IPv6's hop-by-hop options (RFC 8200 4.3), which stand right behind the IPv6 header.
func hopOpts() *Kind {
	return optionsHeader("hopopts", HeaderHopOpts, ProtoHopOpts, []string{"ipv6"})
}

// dstOpts are IPv6's destination options (RFC 8200 4.6).
func dstOpts() *Kind {
	return optionsHeader("dstopts", HeaderDstOpts, ProtoDstOpts, onIPv6())
}

func optionsHeader(name string, header HeaderKind, proto uint8, follows []string) *Kind {
	k := &Kind{
		Name: name, Prefix: "ipv6." + name, Header: header, Len: 2, Follows: follows, Proto: proto,
		Fields: []Field{
			{Name: "nxt", Bit: 0, Bits: 8, Auto: true, Values: protoValues(), Doc: "protocol of what follows"},
			{Name: "len", Bit: 8, Bits: 8, Auto: true, Doc: "length of the header in units of 8 bytes, the first not counted"},
		},
		Data:   &Data{Name: "options", Max: 256*extensionUnit - 2, Doc: "options, type and length included; padded with PadN to a multiple of 8 with the two bytes before them"},
		Finish: finishExtension,
	}
	return shapedByData(k, padOptions)
}

// padOptions adds Pad1 or PadN (RFC 8200 4.2), so that two bytes and the options make a multiple of 8.
func padOptions(data []byte) []byte {
	out := asGiven(data)
	switch n := (2*extensionUnit - 2 - len(data)%extensionUnit) % extensionUnit; n {
	case 0:
		return out
	case 1:
		return append(out, 0)
	default:
		return append(append(out, 1, uint8(n-2)), make([]byte, n-2)...)
	}
}

// finishExtension writes the next header and the length, which all extension headers but the fragment header begin with.
func finishExtension(h []byte, next *Kind, _ int) {
	h[0], h[1] = protoOf(next), uint8(max(len(h)/extensionUnit, 1)-1)
}

// fragment is IPv6's fragment header (RFC 8200 4.5): by default of a packet in one piece (RFC 6946).
func fragment() *Kind {
	return &Kind{
		Name: "fraghdr", Prefix: "ipv6.fraghdr", Header: HeaderFragment, Len: 8, Follows: onIPv6(), Proto: ProtoFragment,
		Fields: []Field{
			{Name: "nxt", Bit: 0, Bits: 8, Auto: true, Values: protoValues(), Doc: "protocol of what follows"},
			{Name: "reserved_octet", Bit: 8, Bits: 8, Doc: "reserved"},
			{Name: "offset", Bit: 16, Bits: 13, Doc: "fragment offset in units of 8 bytes"},
			{Name: "reserved_bits", Bit: 29, Bits: 2, Doc: "reserved"},
			{Name: "more", Bit: 31, Bits: 1, Doc: "more fragments"},
			{Name: "ident", Bit: 32, Bits: 32, Doc: "identification"},
		},
		Finish: func(h []byte, next *Kind, _ int) { h[0] = protoOf(next) },
	}
}
