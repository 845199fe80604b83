package program

import (
	"encoding/binary"
	"fmt"

	"github.com/wirespeed/wirespeed/internal/packet"
)

// MaxSums is the largest number of checksums that vary in one stream.
const MaxSums = 8

// A cover is a range of bytes of the frame, [from, to).
type cover struct{ from, to int }

func (c cover) has(off int) bool { return c.from <= off && off < c.to }

// sums makes a Sum of each checksum that varies and writes the others into the heads, the innermost first: what lies
// further out may cover it. Checksums that the user gave are in the heads already.
func (c *compiler) sums() error {
	for i := len(c.in.Layers) - 1; i >= 0; i-- {
		sum := c.in.Layers[i].Kind.Checksum
		if sum == nil || c.given(i, sum.Field) {
			continue
		}
		if err := c.sum(i, sum); err != nil {
			return err
		}
	}
	return nil
}

// sum makes one checksum.
func (c *compiler) sum(i int, sum *packet.Checksum) error {
	body, addrs := c.covers(i, sum)
	s := Sum{Off: c.at[i] + sum.Off, ZeroIsNone: sum.ZeroIsNone, Signature: c.out.Form != packet.FormNone && body.has(c.out.SigOff)}
	for j, n := range c.out.Lens {
		s.Base = append(s.Base, c.base(j, n, body, addrs, sum.Pseudo))
	}
	bit := uint(1) << len(c.out.Sums)
	varies := s.Signature
	for j := range c.out.Mods {
		m := &c.out.Mods[j]
		// The last byte that the modifier changes: no field lies half inside.
		if off := m.Off + m.Width - 1 - int(m.Shift)/8; body.has(off) || addrs.has(off) {
			m.Sums |= bit
			varies = true
		}
	}
	for j := range c.out.Sums {
		if body.has(c.out.Sums[j].Off) {
			c.out.Sums[j].Into |= bit
			varies = true
		}
	}
	if varies {
		if len(c.out.Sums) == MaxSums {
			return fmt.Errorf("more than %d checksums vary: use fewer layers or fewer modifiers", MaxSums)
		}
		c.out.Sums = append(c.out.Sums, s)
		return nil
	}
	for j, h := range c.out.Heads {
		binary.BigEndian.PutUint16(h[s.Off:], s.checksum(uint64(s.Base[j])))
	}
	return nil
}

func (c *compiler) given(layer int, field string) bool {
	for _, v := range c.in.Layers[layer].Fields {
		if v.Field.Name == field {
			return true
		}
	}
	return false
}

// covers says which bytes the checksum of a layer covers: from the header on, and addresses in the IP header below. The
// body ends at the end of the frame: to is then larger than any frame.
func (c *compiler) covers(layer int, sum *packet.Checksum) (body, addrs cover) {
	at := c.at[layer]
	if sum.HeaderOnly {
		return cover{at, at + c.in.Layers[layer].Kind.Len}, cover{}
	}
	body = cover{at, 1 << 30}
	if sum.Pseudo == 0 {
		return body, cover{}
	}
	for i := layer - 1; i >= 0; i-- {
		k := c.in.Layers[i].Kind
		src, dst := k.Field("src"), k.Field("dst")
		if src != nil && dst != nil && (src.Type == packet.IPv4 || src.Type == packet.IPv6) {
			return body, cover{c.at[i] + src.Bit/8, c.at[i] + (dst.Bit+dst.Bits)/8}
		}
	}
	return body, cover{}
}

// base is the sum of all that is constant in a frame of n bytes with head j.
func (c *compiler) base(j, n int, body, addrs cover, pseudo uint8) uint16 {
	frame := append(append(make([]byte, 0, n), c.out.Heads[j]...), c.out.Tail[:n-c.out.HeadLen]...)
	end := min(n, body.to)
	var acc uint64
	if pseudo != 0 {
		acc = packet.PseudoSum(frame[addrs.from:addrs.to], pseudo, n-body.from)
	}
	return packet.Fold(packet.Sum(acc, frame[body.from:end]))
}

// checksum is what is written for a sum.
func (s *Sum) checksum(acc uint64) uint16 {
	v := ^packet.Fold(acc)
	if v == 0 && s.ZeroIsNone {
		return 0xffff
	}
	return v
}
