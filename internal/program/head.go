package program

import (
	"encoding/binary"

	"github.com/wirespeed/wirespeed/internal/packet"
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
