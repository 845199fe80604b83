package show

import (
	"encoding/hex"
	"fmt"
	"reflect"
	"strings"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"

	"github.com/wirespeed/wirespeed/internal/packet"
)

// decoders are what the independent decoder calls the headers.
func decoders() map[packet.HeaderKind]gopacket.LayerType {
	return map[packet.HeaderKind]gopacket.LayerType{
		packet.HeaderEth: layers.LayerTypeEthernet, packet.HeaderVLAN: layers.LayerTypeDot1Q, packet.HeaderMPLS: layers.LayerTypeMPLS,
		packet.HeaderLLC: layers.LayerTypeLLC, packet.HeaderSNAP: layers.LayerTypeSNAP, packet.HeaderARP: layers.LayerTypeARP,
		packet.HeaderIPv4: layers.LayerTypeIPv4, packet.HeaderIPv6: layers.LayerTypeIPv6, packet.HeaderHopOpts: layers.LayerTypeIPv6HopByHop,
		packet.HeaderRouting: layers.LayerTypeIPv6Routing, packet.HeaderFragment: layers.LayerTypeIPv6Fragment, packet.HeaderDstOpts: layers.LayerTypeIPv6Destination,
		packet.HeaderUDP: layers.LayerTypeUDP, packet.HeaderTCP: layers.LayerTypeTCP, packet.HeaderICMP: layers.LayerTypeICMPv4,
		packet.HeaderICMPv6: layers.LayerTypeICMPv6, packet.HeaderGRE: layers.LayerTypeGRE, packet.HeaderVXLAN: layers.LayerTypeVXLAN,
	}
}

// layersOf decodes the headers, which end at the offset end: what is behind them is payload. Where each begins is read from
// the frame as a receiver reads it, so a decoder that guesses a protocol from a port, or gives up at a tag or label that it
// does not know, misleads nobody; what each says is the decoder's business.
func layersOf(raw []byte, end int) []Layer {
	l, ok := packet.Walk(raw)
	if !ok {
		return []Layer{{Name: "unknown", Problem: "shorter than Ethernet and its tags"}}
	}
	kinds, types := map[packet.HeaderKind]*packet.Kind{}, decoders()
	for _, k := range packet.Kinds() {
		kinds[k.Header] = k
	}
	var out []Layer
	sums := verifier{frame: raw}
	at, last := 0, packet.Header{}
	for _, h := range l.Stack[:l.Depth] {
		if int(h.Off) >= end {
			break
		}
		if h.Kind == 0 || kinds[h.Kind] == nil || types[h.Kind] == gopacket.LayerTypeZero {
			break // the walk knows more than this package
		}
		body := raw[h.Off:max(int(h.End), int(h.Off)+int(h.Len))]
		p := gopacket.NewPacket(body, types[h.Kind], gopacket.DecodeOptions{NoCopy: true})
		first := p.Layers()[0]
		if bad := p.ErrorLayer(); bad != nil && len(first.LayerContents()) == 0 { // it gave up within the header
			first = bad
		}
		d := describe(first, kinds[h.Kind], raw[h.Off:int(h.Off)+int(h.Len)])
		sums.verify(&d, first, h)
		out = append(out, d)
		at, last = int(h.Off)+int(h.Len), h
	}
	if at >= end {
		return out
	}
	return append(out, rest(raw, at, end, last, types))
}

// rest describes header bytes that the walk does not follow: with the decoder's words where it knows them, else as they are.
func rest(raw []byte, at, end int, last packet.Header, types map[packet.HeaderKind]gopacket.LayerType) Layer {
	bytes := []Field{{"len", end - at}, {"data", shortHex(raw[at:end])}}
	p := gopacket.NewPacket(raw[last.Off:], types[last.Kind], gopacket.DecodeOptions{NoCopy: true})
	if bad := p.ErrorLayer(); bad != nil {
		if text := bad.Error().Error(); !strings.HasPrefix(text, "Unable to decode ") { // of a type that nobody knows
			return Layer{Name: "unknown", Fields: bytes, Problem: text}
		}
	} else if all := p.Layers(); len(all) > 1 {
		switch all[1].LayerType() {
		case gopacket.LayerTypePayload, gopacket.LayerTypeFragment, gopacket.LayerTypeZero:
		default:
			return describeAny(all[1])
		}
	}
	return Layer{Name: "raw", Fields: bytes}
}

// shortHex are the first bytes in hexadecimal.
func shortHex(b []byte) string {
	const most = 24
	if len(b) > most {
		return hex.EncodeToString(b[:most]) + "..."
	}
	return hex.EncodeToString(b)
}

// describe names the fields of a header as Wireshark does and as a stream definition takes them.
func describe(l gopacket.Layer, kind *packet.Kind, header []byte) Layer {
	switch v := l.(type) {
	case gopacket.ErrorLayer:
		d := describeKind(kind, header)
		d.Problem = v.Error().Error()
		return d
	case *layers.Ethernet:
		return Layer{Name: "eth", Fields: []Field{{"dst", v.DstMAC.String()}, {"src", v.SrcMAC.String()}, {"type", hex16(uint16(v.EthernetType) | v.Length)}}}
	case *layers.Dot1Q:
		return Layer{Name: "vlan", Fields: []Field{{"priority", v.Priority}, {"dei", bit(v.DropEligible)}, {"id", v.VLANIdentifier}, {"etype", hex16(uint16(v.Type))}}}
	case *layers.IPv4:
		return withData(describeIPv4(v), kind, header)
	case *layers.IPv6:
		return Layer{Name: "ipv6", Fields: []Field{
			{"tclass", v.TrafficClass}, {"flow", v.FlowLabel}, {"plen", v.Length}, {"nxt", uint8(v.NextHeader)}, {"hlim", v.HopLimit},
			{"src", v.SrcIP.String()}, {"dst", v.DstIP.String()},
		}}
	case *layers.UDP:
		return Layer{Name: "udp", Fields: []Field{
			{"srcport", uint16(v.SrcPort)}, {"dstport", uint16(v.DstPort)}, {"length", v.Length}, {"checksum", hex16(v.Checksum)},
		}}
	case *layers.TCP:
		return withData(describeTCP(v), kind, header)
	default:
		return describeKind(kind, header)
	}
}

func describeIPv4(v *layers.IPv4) Layer {
	return Layer{Name: "ip", Fields: []Field{
		{"hdr_len", int(v.IHL) * 4}, {"dsfield", v.TOS}, {"len", v.Length}, {"id", v.Id},
		{"flags.df", bit(v.Flags&layers.IPv4DontFragment != 0)}, {"flags.mf", bit(v.Flags&layers.IPv4MoreFragments != 0)},
		{"frag_offset", v.FragOffset}, {"ttl", v.TTL}, {"proto", uint8(v.Protocol)}, {"checksum", hex16(v.Checksum)},
		{"src", v.SrcIP.String()}, {"dst", v.DstIP.String()},
	}}
}

func describeTCP(v *layers.TCP) Layer {
	var flags []string
	for _, f := range []struct {
		name string
		set  bool
	}{
		{"fin", v.FIN}, {"syn", v.SYN}, {"rst", v.RST}, {"psh", v.PSH}, {"ack", v.ACK}, {"urg", v.URG}, {"ece", v.ECE}, {"cwr", v.CWR}, {"ae", v.NS},
	} {
		if f.set {
			flags = append(flags, f.name)
		}
	}
	return Layer{Name: "tcp", Fields: []Field{
		{"srcport", uint16(v.SrcPort)}, {"dstport", uint16(v.DstPort)}, {"seq", v.Seq}, {"ack", v.Ack}, {"hdr_len", int(v.DataOffset) * 4},
		{"flags", strings.Join(flags, "|")}, {"window_size_value", v.Window}, {"checksum", hex16(v.Checksum)}, {"urgent_pointer", v.Urgent},
	}}
}

// describeAny reads whatever header the decoder knows and this package does not, with the decoder's names.
func describeAny(l gopacket.Layer) Layer {
	out := Layer{Name: strings.ToLower(l.LayerType().String())}
	v := reflect.Indirect(reflect.ValueOf(l))
	if v.Kind() != reflect.Struct {
		return out
	}
	for i := range v.NumField() {
		if f := v.Type().Field(i); f.IsExported() && !f.Anonymous {
			out.Fields = append(out.Fields, Field{f.Name, fmt.Sprint(v.Field(i).Interface())})
		}
	}
	return out
}

func hex16(v uint16) string { return fmt.Sprintf("0x%04x", v) }

func bit(b bool) int {
	if b {
		return 1
	}
	return 0
}
