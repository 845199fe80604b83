package program

import (
	"encoding/binary"

	"github.com/wirespeed/wirespeed/internal/packet"
)

// heads makes one head for each length. Bits that vary are zero, and so are checksums that are computed.
func (c *compiler) heads() {
	for _, n := range c.out.Lens {
		h := make([]byte, c.out.HeadLen)
		copy(h, c.in.Headers(n))
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
