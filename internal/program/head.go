package program

import (
	"encoding/binary"

	"github.com/wirespeed/wirespeed/internal/packet"
)

// heads makes one head for each length. Bits that vary are zero, and so are checksums that are computed.
func (c *compiler) heads() {
	constants := c.constants()
	for _, n := range c.out.Lens {
		h := make([]byte, c.out.HeadLen)
		copy(h, c.in.Headers(n))
		for _, k := range constants[:len(constants)-len(c.in.Modify)] {
			k.field.Put(h, k.at, k.bits)
		}
		switch c.out.Form {
		case packet.FormFull:
			binary.BigEndian.PutUint16(h[c.out.SigOff:], packet.MagicFull)
		case packet.FormShort:
			binary.BigEndian.PutUint16(h[c.out.SigOff:], packet.MagicShort)
		}
		copy(h[c.hdr+c.out.Form.Len():], c.fill)
		for _, k := range constants[len(constants)-len(c.in.Modify):] {
			k.field.Put(h, k.at, k.bits)
		}
		c.out.Heads = append(c.out.Heads, h)
	}
}

// A constant is the part of a given field that is the same in every frame; at is the byte where its header begins.
type constant struct {
	field *packet.Field
	at    int
	bits  packet.Num
}

// constants lists those of the headers, and then those of the payload.
func (c *compiler) constants() []constant {
	var out []constant
	for i, l := range c.in.Layers {
		for _, v := range l.Fields {
			out = append(out, constant{v.Field, c.at[i], constantBits(v.Field, v.Value)})
		}
	}
	for _, v := range c.in.Modify {
		out = append(out, constant{v.Field, c.hdr, constantBits(v.Field, v.Value)})
	}
	return out
}
