package program

import (
	"encoding/binary"

	"github.com/wirespeed/wirespeed/internal/packet"
	"github.com/wirespeed/wirespeed/stream"
)

// heads makes one head for each length: defaults, then what the headers say of each other, then what the user gave. So a
// given length or checksum wins, right or wrong. Bits that vary stay zero.
func (c *compiler) heads() {
	for _, n := range c.out.Lens {
		h := make([]byte, c.out.HeadLen)
		for i, l := range c.in.Layers {
			for j := range l.Kind.Fields {
				// A default of 0 is not written: it would clear what overlaps it.
				if f := &l.Kind.Fields[j]; f.Default != (packet.Num{}) {
					f.Put(h, c.at[i], f.Default)
				}
			}
		}
		for i, l := range c.in.Layers {
			if l.Kind.Finish == nil {
				continue
			}
			var next *packet.Kind
			if i+1 < len(c.in.Layers) {
				next = c.in.Layers[i+1].Kind
			}
			l.Kind.Finish(h[c.at[i]:c.at[i]+l.Kind.Len], next, n-c.at[i]-l.Kind.Len)
		}
		for i, l := range c.in.Layers {
			for _, v := range l.Fields {
				v.Field.Put(h, c.at[i], constantBits(v.Field, v.Value))
			}
		}
		switch c.out.Form {
		case packet.FormFull:
			binary.BigEndian.PutUint16(h[c.out.SigOff:], packet.MagicFull)
		case packet.FormShort:
			binary.BigEndian.PutUint16(h[c.out.SigOff:], packet.MagicShort)
		}
		c.out.Heads = append(c.out.Heads, h)
	}
}

// constantBits is the part of a value that is the same in every frame.
func constantBits(f *packet.Field, v stream.Value) packet.Num {
	if n, ok := constant(v); ok {
		return n
	}
	if f.Bits <= 64 {
		return packet.Num{}
	}
	if v.Op != stream.List {
		return packet.Num{Hi: v.Start.Hi}
	}
	if hi, ok := sameHi(v.List); ok {
		return packet.Num{Hi: hi}
	}
	return packet.Num{}
}

// constant is the value that every frame has, where there is one.
func constant(v stream.Value) (packet.Num, bool) {
	switch v.Op {
	case stream.Fixed:
		return v.Start, true
	case stream.Inc, stream.Dec:
		return v.Start, v.Count == 1 || v.Step == packet.Num{}
	case stream.Rand:
		return v.Start, v.Start == v.Max
	default:
		return v.List[0], len(v.List) == 1
	}
}

// sameHi is the upper half of all values of a list, where it is the same.
func sameHi(list []packet.Num) (uint64, bool) {
	for _, n := range list[1:] {
		if n.Hi != list[0].Hi {
			return 0, false
		}
	}
	return list[0].Hi, true
}
