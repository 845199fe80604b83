// Package programtest draws streams for property tests: of every kind of header, field, modifier, size and payload. Two parts
// that make frames (program, and the engines that compile it into something else) are held to the same draws. Only tests
// import it.
package programtest

import (
	"fmt"

	"pgregory.net/rapid"

	"github.com/wirespeed/wirespeed/internal/packet"
	"github.com/wirespeed/wirespeed/stream"
)

// Stacks are all the ways in which the kinds stand on each other.
func Stacks() [][]string {
	return [][]string{
		{"eth"}, {"eth", "vlan"}, {"eth", "vlan", "vlan", "vlan"}, {"eth", "ip"}, {"eth", "ipv6"}, {"eth", "vlan", "ip"},
		{"eth", "ip", "udp"}, {"eth", "ip", "tcp"}, {"eth", "ipv6", "udp"}, {"eth", "ipv6", "tcp"},
		{"eth", "vlan", "ip", "udp"}, {"eth", "vlan", "vlan", "ipv6", "udp"}, {"eth", "vlan", "vlan", "ipv6", "tcp"}, {"eth", "vlan", "vlan", "ip", "tcp"},
	}
}

// number draws any number of the field, the corners more often.
func number(t *rapid.T, f *packet.Field, label string) packet.Num {
	m := f.Max()
	return packet.Num{Hi: rapid.Uint64Max(m.Hi).Draw(t, label), Lo: rapid.Uint64Max(m.Lo).Draw(t, label)}
}

// value draws any value that the field takes.
func value(t *rapid.T, f *packet.Field) stream.Value {
	v := stream.Value{Op: stream.Op(rapid.IntRange(0, 4).Draw(t, "op")), Start: number(t, f, f.Name)}
	top := f.Max().Lo
	switch v.Op {
	case stream.Inc, stream.Dec:
		room := top - v.Start.Lo
		if v.Op == stream.Dec {
			room = v.Start.Lo
		}
		v.Step.Lo = rapid.Uint64Max(room).Draw(t, "step")
		most := uint64(1 << 63)
		if v.Step.Lo > 0 {
			most = min(most, room/v.Step.Lo+1)
		}
		v.Count = rapid.OneOf(rapid.Uint64Range(1, most), rapid.Uint64Range(1, min(most, 20))).Draw(t, "count")
	case stream.Rand:
		v.Max = packet.Num{Hi: v.Start.Hi, Lo: rapid.Uint64Range(v.Start.Lo, top).Draw(t, "max")}
		if v.Max.Lo-v.Start.Lo >= 1<<32 {
			v.Start.Lo = 0
			v.Max.Lo = top >> rapid.IntRange(0, max(0, min(f.Bits, 64)-33)).Draw(t, "narrower")
		}
		v.Seed = rapid.Uint64().Draw(t, "seed")
	case stream.List:
		for range rapid.IntRange(1, 5).Draw(t, "len") {
			v.List = append(v.List, number(t, f, "item"))
		}
	}
	return v
}

// Stream draws a stream whose frames have at least least bytes with FCS.
func Stream(t *rapid.T, name string, least int) stream.Stream {
	s := stream.Stream{Name: name, Weight: rapid.IntRange(1, 5).Draw(t, "weight")}
	hdr, end := 0, 0 // where the header begins, where the last given field ends
	for _, kind := range rapid.SampledFrom(Stacks()).Draw(t, "stack") {
		l := stream.Layer{Kind: packet.Lookup(kind)}
		for i := range l.Kind.Fields {
			f := &l.Kind.Fields[i]
			if hdr*8+f.Bit >= end && rapid.IntRange(0, 3).Draw(t, "give") == 0 {
				l.Fields = append(l.Fields, stream.FieldValue{Field: f, Value: value(t, f)})
				end = hdr*8 + f.Bit + f.Bits
			}
		}
		hdr += l.Kind.Len
		s.Layers = append(s.Layers, l)
	}
	low := max(least, hdr+4)
	switch rapid.IntRange(0, 3).Draw(t, "sizes") {
	case 0:
		s.Size.Op, s.Size.Seed = stream.SizeRandom, rapid.Uint64().Draw(t, "size seed")
		s.Size.Min = rapid.IntRange(low, 150).Draw(t, "min")
		s.Size.Max = rapid.IntRange(s.Size.Min, s.Size.Min+50).Draw(t, "max")
	case 1:
		s.Size.Cycle = rapid.SliceOfN(rapid.IntRange(low, 300), 1, 5).Draw(t, "cycle")
	default:
		s.Size.Cycle = []int{rapid.IntRange(low, 300).Draw(t, "size")}
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
	if room-4-hdr >= packet.ShortLen {
		forms = append(forms, "short")
	}
	s.Signature = rapid.SampledFrom(forms).Draw(t, "signature")
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
