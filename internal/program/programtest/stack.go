package programtest

import (
	"fmt"
	"slices"

	"pgregory.net/rapid"

	"github.com/wirespeed/wirespeed/internal/packet"
	"github.com/wirespeed/wirespeed/stream"
)

// Stacks are ways in which the kinds stand on each other, every kind among them, that a decoder takes apart to the end.
func Stacks() [][]string {
	return [][]string{
		{"eth"}, {"eth", "vlan"}, {"eth", "vlan", "vlan", "vlan"}, {"eth", "ip"}, {"eth", "ipv6"}, {"eth", "vlan", "ip"},
		{"eth", "ip", "udp"}, {"eth", "ip", "tcp"}, {"eth", "ipv6", "udp"}, {"eth", "ipv6", "tcp"},
		{"eth", "vlan", "ip", "udp"}, {"eth", "vlan", "vlan", "ipv6", "udp"}, {"eth", "vlan", "vlan", "ipv6", "tcp"}, {"eth", "vlan", "vlan", "ip", "tcp"},
		{"eth", "arp"}, {"eth", "vlan", "arp"}, {"eth", "llc"}, {"eth", "vlan", "llc"}, {"eth", "llc", "snap", "ip", "udp"},
		{"eth", "mpls", "ip", "udp"}, {"eth", "mpls", "mpls", "mpls", "ipv6", "udp"}, {"eth", "vlan", "mpls", "ip", "tcp"},
		{"eth", "ip", "icmp"}, {"eth", "ipv6", "icmpv6"}, {"eth", "ipv6", "hopopts", "udp"}, {"eth", "ipv6", "hopopts", "dstopts", "routing", "fraghdr", "dstopts", "tcp"},
		{"eth", "ip", "ip", "udp"}, {"eth", "ip", "ipv6", "tcp"}, {"eth", "ipv6", "ip", "icmp"},
		{"eth", "ip", "gre", "ip", "udp"}, {"eth", "ipv6", "gre", "eth", "ip", "tcp"},
		{"eth", "ip", "udp", "vxlan", "eth", "ip", "udp"}, {"eth", "ipv6", "udp", "vxlan", "eth", "vlan", "ipv6", "icmpv6"},
		{"eth", "raw"}, {"eth", "ip", "udp", "raw"},
	}
}

// most is how many bytes of headers are drawn at least before no more come.
const most = 150

// stack draws any headers that may stand on each other.
func stack(t *rapid.T) []string {
	if rapid.Bool().Draw(t, "usual") {
		return rapid.SampledFrom(Stacks()).Draw(t, "stack")
	}
	kinds := packet.Kinds()
	out := []string{rapid.SampledFrom([]string{"eth", "eth", "eth", "raw"}).Draw(t, "outermost")}
	for length := 14; length < most && rapid.IntRange(0, 5).Draw(t, "end") > 0; {
		var may []string
		for _, k := range kinds {
			if slices.Contains(k.Follows, out[len(out)-1]) {
				may = append(may, k.Name)
			}
		}
		if len(may) == 0 {
			break
		}
		next := rapid.SampledFrom(may).Draw(t, "next")
		out = append(out, next)
		length += packet.Lookup(next).Len
	}
	return out
}

// data draws the bytes behind a header's fields: nil where none are given.
func data(t *rapid.T, k *packet.Kind, outermost bool) []byte {
	if k.Data == nil || len(k.Fields) > 0 && rapid.IntRange(0, 2).Draw(t, "with data") > 0 {
		return nil
	}
	low, high, unit := 0, 17, 1
	switch {
	case outermost:
		low, high = 14, 31
	case len(k.Fields) == 0:
		low = 1
	case k.Data.Type == packet.IPv6:
		high, unit = 2, 16
	}
	n := unit * rapid.IntRange(low, high).Draw(t, "data length")
	return rapid.SliceOfN(rapid.Byte(), n, n).Draw(t, "data")
}

// layers draws headers with any fields; hdr is their length.
func layers(t *rapid.T) (out []stream.Layer, hdr int) {
	end := 0 // where the last given field ends
	for i, name := range stack(t) {
		kind := packet.Lookup(name)
		give := map[string]bool{}
		for j := range kind.Fields {
			give[kind.Fields[j].Name] = rapid.IntRange(0, 3).Draw(t, "give") == 0
		}
		bytes := data(t, kind, i == 0)
		shape := func(give map[string]bool) stream.Layer {
			var fields []stream.FieldValue
			for j := range kind.Fields {
				if give[kind.Fields[j].Name] {
					fields = append(fields, stream.FieldValue{Field: &kind.Fields[j]})
				}
			}
			l, err := stream.NewLayer(kind, fields, bytes)
			if err != nil {
				t.Fatal(err)
			}
			return l
		}
		l := shape(give)
		for _, v := range l.Fields { // of two that overlap, the first
			if at := hdr*8 + v.Field.Bit; at < end {
				give[v.Field.Name] = false
			} else {
				end = at + v.Field.Bits
			}
		}
		l = shape(give)
		for j := range l.Fields {
			l.Fields[j].Value = value(t, l.Fields[j].Field)
		}
		hdr += l.Kind.Len
		out = append(out, l)
	}
	return out, hdr
}

// settle gives every checksum a value where one of them cannot be computed.
func settle(t *rapid.T, s *stream.Stream) {
	if s.Validate() == nil {
		return
	}
	for i := range s.Layers {
		l := &s.Layers[i]
		if l.Kind.Checksum == nil || l.Has(l.Kind.Checksum.Field) {
			continue
		}
		f := l.Kind.Field(l.Kind.Checksum.Field)
		l.Fields = append(l.Fields, stream.FieldValue{Field: f, Value: value(t, f)})
	}
	if err := s.Validate(); err != nil {
		t.Fatalf("drawn, and not valid: %v", err)
	}
}

// Stream draws a stream whose frames have at least least bytes with FCS.
func Stream(t *rapid.T, name string, least int) stream.Stream {
	s := stream.Stream{Name: name, Weight: rapid.IntRange(1, 5).Draw(t, "weight")}
	var hdr int
	s.Layers, hdr = layers(t)
	low := max(least, hdr+5) // where the headers are odd, their last byte can vary
	high := max(low, 300)
	switch rapid.IntRange(0, 3).Draw(t, "sizes") {
	case 0:
		s.Size.Op, s.Size.Seed = stream.SizeRandom, rapid.Uint64().Draw(t, "size seed")
		s.Size.Min = rapid.IntRange(low, max(low, 150)).Draw(t, "min")
		s.Size.Max = rapid.IntRange(s.Size.Min, s.Size.Min+50).Draw(t, "max")
	case 1:
		s.Size.Cycle = rapid.SliceOfN(rapid.IntRange(low, high), 1, 5).Draw(t, "cycle")
	default:
		s.Size.Cycle = []int{rapid.IntRange(low, high).Draw(t, "size")}
	}
	s.Payload = stream.Payload{Fill: stream.Fill(rapid.IntRange(0, 3).Draw(t, "fill")), Byte: rapid.Byte().Draw(t, "byte"),
		Seed: rapid.Uint64().Draw(t, "fill seed"), Data: rapid.SliceOfN(rapid.Byte(), 1, 9).Draw(t, "data")}
	room := s.Size.Min
	for _, n := range s.Size.Cycle {
		if room == 0 || n < room {
			room = n
		}
	}
	forms := []string{"", "none"}
	if room-4-hdr >= packet.ShortLen && hdr%2 == 0 {
		forms = append(forms, "short")
	}
	s.Signature = rapid.SampledFrom(forms).Draw(t, "signature")
	if rapid.IntRange(0, 3).Draw(t, "payload fields") == 0 {
		at := map[string]int{"": packet.FullLen, "short": packet.ShortLen}[s.Signature] // the largest that there could be
		payload(t, &s, at, room-4-hdr)
	}
	settle(t, &s)
	return s
}

// Set draws one to three streams.
func Set(t *rapid.T, least int) *stream.Set {
	set := &stream.Set{}
	for i := range rapid.SampledFrom([]int{1, 1, 2, 3}).Draw(t, "streams") {
		set.Streams = append(set.Streams, Stream(t, fmt.Sprint("s", i), least))
	}
	return set
}
