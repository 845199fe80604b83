package program_test

import (
	"fmt"

	"github.com/wirespeed/wirespeed/internal/packet"
	"github.com/wirespeed/wirespeed/stream"
	"pgregory.net/rapid"
)

// stacks are all the ways in which the kinds stand on each other.
var stacks = [][]string{
	{"eth"}, {"eth", "vlan"}, {"eth", "vlan", "vlan", "vlan"}, {"eth", "ip"}, {"eth", "ipv6"}, {"eth", "vlan", "ip"},
	{"eth", "ip", "udp"}, {"eth", "ip", "tcp"}, {"eth", "ipv6", "udp"}, {"eth", "ipv6", "tcp"},
	{"eth", "vlan", "ip", "udp"}, {"eth", "vlan", "vlan", "ipv6", "udp"}, {"eth", "vlan", "vlan", "ip", "tcp"},
}

// drawNum draws any number of the field, the corners more often.
func drawNum(t *rapid.T, f *packet.Field, label string) packet.Num {
	m := f.Max()
	return packet.Num{Hi: rapid.Uint64Max(m.Hi).Draw(t, label), Lo: rapid.Uint64Max(m.Lo).Draw(t, label)}
}

func drawValue(t *rapid.T, f *packet.Field) stream.Value {
	v := stream.Value{Op: stream.Op(rapid.IntRange(0, 4).Draw(t, "op")), Start: drawNum(t, f, f.Name)}
	top := f.Max().Lo
	switch v.Op {
	case stream.Inc, stream.Dec:
		room := top - v.Start.Lo
		if v.Op == stream.Dec {
			room = v.Start.Lo
		}
		v.Step.Lo = rapid.Uint64Max(room).Draw(t, "step")
		most := uint64(1 << 62)
		if v.Step.Lo > 0 {
			most = min(most, room/v.Step.Lo) + 1
		}
		v.Count = rapid.Uint64Range(1, most).Draw(t, "count")
	case stream.Rand:
		v.Max = packet.Num{Hi: v.Start.Hi, Lo: rapid.Uint64Range(v.Start.Lo, top).Draw(t, "max")}
		if v.Max.Lo-v.Start.Lo >= 1<<32 {
			v.Start.Lo = 0
			v.Max.Lo = top >> rapid.IntRange(0, max(0, min(f.Bits, 64)-33)).Draw(t, "narrower")
		}
		v.Seed = rapid.Uint64().Draw(t, "seed")
	case stream.List:
		for range rapid.IntRange(1, 4).Draw(t, "len") {
			v.List = append(v.List, drawNum(t, f, "item"))
		}
	}
	return v
}

func drawStream(t *rapid.T, name string) stream.Stream {
	s := stream.Stream{Name: name, Weight: rapid.IntRange(1, 5).Draw(t, "weight")}
	hdr, end := 0, 0 // where the header begins, where the last given field ends
	for _, kind := range rapid.SampledFrom(stacks).Draw(t, "stack") {
		l := stream.Layer{Kind: packet.Lookup(kind)}
		for i := range l.Kind.Fields {
			f := &l.Kind.Fields[i]
			if hdr*8+f.Bit >= end && rapid.IntRange(0, 3).Draw(t, "give") == 0 {
				l.Fields = append(l.Fields, stream.FieldValue{Field: f, Value: drawValue(t, f)})
				end = hdr*8 + f.Bit + f.Bits
			}
		}
		hdr += l.Kind.Len
		s.Layers = append(s.Layers, l)
	}
	low := hdr + 4
	if rapid.Bool().Draw(t, "cycle") {
		s.Size.Cycle = rapid.SliceOfN(rapid.IntRange(low, 300), 1, 5).Draw(t, "sizes")
	} else {
		s.Size.Op, s.Size.Seed = stream.SizeRandom, rapid.Uint64().Draw(t, "size seed")
		s.Size.Min = rapid.IntRange(low, 150).Draw(t, "min")
		s.Size.Max = rapid.IntRange(s.Size.Min, s.Size.Min+50).Draw(t, "max")
	}
	s.Payload = stream.Payload{Fill: stream.Fill(rapid.IntRange(0, 3).Draw(t, "fill")), Byte: rapid.Byte().Draw(t, "byte"),
		Seed: rapid.Uint64().Draw(t, "fill seed"), Data: rapid.SliceOfN(rapid.Byte(), 1, 9).Draw(t, "data")}
	s.Signature = rapid.SampledFrom([]string{"", "none"}).Draw(t, "signature")
	return s
}

func drawSet(t *rapid.T) *stream.Set {
	set := &stream.Set{}
	for i := range rapid.IntRange(1, 3).Draw(t, "streams") {
		set.Streams = append(set.Streams, drawStream(t, fmt.Sprint("s", i)))
	}
	return set
}
