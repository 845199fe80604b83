package packet

// Types of IPv6's routing header.
const (
	routingSource  = 0 // RFC 2460, deprecated by RFC 5095
	routingMobile  = 2 // RFC 6275
	routingSegment = 4 // RFC 8754
)

// routing is IPv6's routing header (RFC 8200 4.4): by default the segment routing header of RFC 8754, of which the first
// address is the last segment.
func routing() *Kind {
	k := &Kind{
		Name: "routing", Prefix: "ipv6.routing", Header: HeaderRouting, Len: 8, Follows: onIPv6(), Proto: ProtoRouting,
		Fields: []Field{
			{Name: "nxt", Bit: 0, Bits: 8, Auto: true, Values: protoValues(), Doc: "protocol of what follows"},
			{Name: "len", Bit: 8, Bits: 8, Auto: true, Doc: "length of the header in units of 8 bytes, the first not counted"},
			{Name: "type", Bit: 16, Bits: 8, Default: Num{Lo: routingSegment}, Doc: "routing type: 4 is segment routing, 2 mobile IPv6, 0 source routing (deprecated; give src.reserved: 0 too)"},
			{Name: "segleft", Bit: 24, Bits: 8, Doc: "segments left: above 0, upper checksums take the final destination among the addresses"},
			{Name: "src.reserved", Bit: 32, Bits: 32, Auto: true, Doc: "the four bytes before the addresses, reserved where the type is not 4"},
			{Name: "srh.last_entry", Bit: 32, Bits: 8, Auto: true, Doc: "index of the last address, of type 4"},
			{Name: "srh.flags", Bit: 40, Bits: 8, Doc: "flags, of type 4"},
			{Name: "srh.tag", Bit: 48, Bits: 16, Doc: "tag, of type 4"},
		},
		Data: &Data{Name: "addresses", Type: IPv6, Max: 127 * 16, Doc: "addresses, 16 bytes each; of type 4 the last segment first"},
		Finish: func(h []byte, next *Kind, after int) {
			finishExtension(h, next, after)
			h[4] = uint8(max(1, (len(h)-8)/16) - 1)
		},
		FinalDst: routingFinalDst,
	}
	return shapedByData(k, zerosTo(extensionUnit))
}

// routingFinalDst finds the final destination of a routing header; see Kind.FinalDst.
func routingFinalDst(h []byte) (off int, ok bool) {
	if len(h) < 8+16 || h[3] == 0 {
		return 0, false
	}
	switch h[2] {
	case routingSegment:
		return 8, true
	case routingSource, routingMobile:
		return 8 + ((len(h)-8)/16-1)*16, true
	default:
		return 0, false
	}
}
