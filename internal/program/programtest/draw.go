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

// number draws any number of the field, the corners more often.
func number(t *rapid.T, f *packet.Field, label string) packet.Num {
	m := f.Max()
	return packet.Num{Hi: rapid.Uint64Max(m.Hi).Draw(t, label), Lo: rapid.Uint64Max(m.Lo).Draw(t, label)}
}

// value draws any value that the field takes.
func value(t *rapid.T, f *packet.Field) stream.Value {
	v := stream.Value{Op: stream.Op(rapid.IntRange(0, 4).Draw(t, "op")), Start: number(t, f, f.Name)}
	switch v.Op {
	case stream.Inc, stream.Dec:
		steps(t, f, &v)
	case stream.Rand:
		v.Seed = rapid.Uint64().Draw(t, "seed")
		if top := f.Max().Hi; top != 0 && rapid.Bool().Draw(t, "all") {
			v.Start.Hi, v.Max.Hi = span(t, v.Start.Hi, top, f.Bits-64)
			v.Start.Lo, v.Max.Lo = 0, ^uint64(0)
			break
		}
		v.Max.Hi = v.Start.Hi
		v.Start.Lo, v.Max.Lo = span(t, v.Start.Lo, f.Max().Lo, min(f.Bits, 64))
	case stream.List:
		for range rapid.IntRange(1, 5).Draw(t, "len") {
			v.List = append(v.List, number(t, f, "item"))
		}
	}
	return v
}

// span draws the ends of a range in a number of that many bits, low or more.
func span(t *rapid.T, low, top uint64, bits int) (from, to uint64) {
	to = rapid.Uint64Range(low, top).Draw(t, "max")
	if to-low >= 1<<32 {
		return 0, top >> rapid.IntRange(0, max(0, bits-33)).Draw(t, "narrower")
	}
	return low, to
}

// steps draws step and count of an Inc or Dec: any in 64 bits; in wider fields also steps in their upper half and carries
// through the middle.
func steps(t *rapid.T, f *packet.Field, v *stream.Value) {
	room := f.Max().Sub(v.Start)
	if v.Op == stream.Dec {
		room = v.Start
	}
	up := 0
	if f.Bits > 64 {
		up = rapid.SampledFrom([]int{0, 0, 8, 60, 64, f.Bits - 8}).Draw(t, "up")
	}
	left := room.Right(up)
	most := left.Lo
	if left.Hi != 0 {
		most = ^uint64(0)
	}
	step := rapid.Uint64Max(most).Draw(t, "step")
	v.Step = packet.Num{Lo: step}.Left(up)
	count := uint64(1 << 63)
	if step > 0 && most/step < count {
		count = most/step + 1
	}
	v.Count = rapid.OneOf(rapid.Uint64Range(1, count), rapid.Uint64Range(1, min(count, 20))).Draw(t, "count")
	if v.Check(f) != nil {
		v.Count = min(v.Count, 20) // few enough to be written out
	}
}

// payload draws fields of the payload, from the byte at on, of which least are there in every frame.
func payload(t *rapid.T, s *stream.Stream, at, least int) {
	for bit := at * 8; ; {
		bit += rapid.IntRange(0, 80).Draw(t, "gap")
		f := &packet.Field{Name: fmt.Sprint("payload bit ", bit), Bit: bit, Bits: rapid.SampledFrom([]int{1, 8, 13, 16, 32, 48, 61, 64, 65, 100, 128}).Draw(t, "bits")}
		bit += f.Bits
		if bit > least*8-8 || len(s.Modify) == 3 { // the last byte of an odd frame cannot vary
			return
		}
		s.Modify = append(s.Modify, stream.PayloadField{Field: f, Value: value(t, f)})
	}
}
