package show

import (
	"fmt"
	"reflect"
	"strings"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"

	"github.com/wirespeed/wirespeed/internal/packet"
)

// layersOf decodes the headers, which end at the offset end. What is behind them is not the decoder's business: it would
// guess a protocol from the port.
func layersOf(raw []byte, end int) []Layer {
	var out []Layer
	var network gopacket.NetworkLayer
	next := gopacket.Decoder(layers.LayerTypeEthernet)
	for at := 0; at < end && next != nil; {
		p := gopacket.NewPacket(raw[at:], next, gopacket.DecodeOptions{NoCopy: true})
		next = nil
		for _, l := range p.Layers() {
			if at >= end {
				break
			}
			at += len(l.LayerContents())
			if n, ok := l.(gopacket.NetworkLayer); ok {
				network = n
			}
			if bad, ok := l.(gopacket.ErrorLayer); ok {
				return append(out, Layer{Name: "unknown", Problem: bad.Error().Error()})
			}
			d := describe(l)
			d.ChecksumOK = verify(l, network)
			out = append(out, d)
			if oldTag(l) {
				next = layers.LayerTypeDot1Q
				break
			}
		}
	}
	return out
}

// oldTag reports whether a header announces a tag by the TPID from before 802.1ad, which the decoder does not know. The tag
// behind it is the usual one.
func oldTag(l gopacket.Layer) bool {
	switch v := l.(type) {
	case *layers.Ethernet:
		return v.EthernetType == packet.TPIDOld
	case *layers.Dot1Q:
		return v.Type == packet.TPIDOld
	default:
		return false
	}
}

// verify asks the decoder whether a checksum is right; nil where the header has none.
func verify(l gopacket.Layer, network gopacket.NetworkLayer) *bool {
	c, ok := l.(gopacket.LayerWithChecksum)
	if !ok {
		return nil
	}
	if n, ok := l.(interface {
		SetNetworkLayerForChecksum(gopacket.NetworkLayer) error
	}); ok && network != nil {
		if err := n.SetNetworkLayerForChecksum(network); err != nil {
			return nil
		}
	}
	err, result := c.VerifyChecksum()
	if err != nil {
		return nil
	}
	return &result.Valid
}

// describe names the fields of a header as Wireshark does and as a stream definition takes them.
func describe(l gopacket.Layer) Layer {
	switch v := l.(type) {
	case *layers.Ethernet:
		return Layer{Name: "eth", Fields: []Field{{"dst", v.DstMAC.String()}, {"src", v.SrcMAC.String()}, {"type", hex16(uint16(v.EthernetType))}}}
	case *layers.Dot1Q:
		return Layer{Name: "vlan", Fields: []Field{{"priority", v.Priority}, {"dei", bit(v.DropEligible)}, {"id", v.VLANIdentifier}, {"etype", hex16(uint16(v.Type))}}}
	case *layers.IPv4:
		return describeIPv4(v)
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
		return describeTCP(v)
	default:
		return describeAny(l)
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
