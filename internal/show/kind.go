package show

import (
	"strings"

	"github.com/wirespeed/wirespeed/internal/packet"
)

// shown are the fields of the headers that are read by their table, in the order of the header; of fields that overlap,
// those that say most.
func shown() map[string][]string {
	return map[string][]string{
		"llc":     {"dsap", "ssap", "control"},
		"snap":    {"oui", "type"},
		"mpls":    {"label", "exp", "bottom", "ttl"},
		"arp":     {"hw.type", "proto.type", "hw.size", "proto.size", "opcode", "src.hw_mac", "src.proto_ipv4", "dst.hw_mac", "dst.proto_ipv4"},
		"hopopts": {"nxt", "len"},
		"dstopts": {"nxt", "len"},
		"routing": {"nxt", "len", "type", "segleft", "srh.last_entry", "srh.flags", "srh.tag"},
		"fraghdr": {"nxt", "offset", "more", "ident"},
		"icmp":    {"type", "code", "checksum", "ident", "seq"},
		"icmpv6":  {"type", "code", "checksum", "reserved"},
		"gre":     {"flags_and_version", "proto", "checksum", "offset", "key", "sequence_number"},
		"vxlan":   {"flags", "gbp", "vni"},
	}
}

// describeKind reads the fields of a header by the table of its kind.
func describeKind(kind *packet.Kind, header []byte) Layer {
	out := Layer{Name: kind.Name}
	names, ok := shown()[kind.Name]
	if !ok {
		for i := range kind.Fields {
			names = append(names, kind.Fields[i].Name)
		}
	}
	switch {
	case kind.Name == "icmpv6" && (header[0] == echo6 || header[0] == echoReply6):
		names = []string{"type", "code", "checksum", "echo.identifier", "echo.sequence_number"}
	case kind.Name == "icmp" && !hasIdent(header[0]):
		names = names[:3]
	}
	behind := kind.Len
	if kind.Name == "gre" {
		if shaped, err := kind.Shape(func(f string) bool { return greHas(kind, f, header) }, nil); err == nil {
			kind, behind = shaped, len(header)
		}
	}
	for _, name := range names {
		f := kind.Field(name)
		if f == nil || f.Bit < 0 || (f.Bit+f.Bits+7)/8 > len(header) {
			continue
		}
		n := f.Get(header, 0)
		var v any = n.Lo
		switch {
		case f.Type != packet.Uint:
			v = packet.FormatNum(f, n)
		case f.Bits == 16 && (strings.Contains(name, "type") || strings.Contains(name, "flags") || name == "checksum" || name == "proto"):
			v = hex16(uint16(n.Lo))
		}
		out.Fields = append(out.Fields, Field{name, v})
	}
	kind = &packet.Kind{Len: behind, Data: kind.Data}
	return withData(out, kind, header)
}

// withData adds the bytes behind the fields, such as options, where there are some.
func withData(l Layer, kind *packet.Kind, header []byte) Layer {
	if kind.Data != nil && len(header) > kind.Len {
		l.Fields = append(l.Fields, Field{kind.Data.Name, dataText(kind.Data, header[kind.Len:])})
	}
	return l
}

// Types of ICMPv6 (RFC 4443) that have an identifier and a number.
const (
	echo6      = 128
	echoReply6 = 129
)

// hasIdent reports whether ICMP messages of the type have an identifier and a number (RFC 792, RFC 950).
func hasIdent(icmp uint8) bool { return icmp == 0 || icmp == 8 || icmp >= 13 && icmp <= 18 }

// greHas reads from the flags which optional words there are.
func greHas(kind *packet.Kind, field string, header []byte) bool {
	f := kind.Field(field)
	return strings.HasPrefix(field, "flags.") && f != nil && f.Get(header, 0).Lo != 0
}

// dataText is what a stream definition takes for the bytes behind the fields.
func dataText(d *packet.Data, b []byte) string {
	if d.Type != packet.IPv6 || len(b)%16 != 0 {
		return shortHex(b)
	}
	var all []string
	f := packet.Field{Bits: 128, Type: packet.IPv6}
	for at := 0; at < len(b); at += 16 {
		all = append(all, packet.FormatNum(&f, f.Get(b, at)))
	}
	return strings.Join(all, ", ")
}
