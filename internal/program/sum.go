package program

import (
	"encoding/binary"
	"fmt"

	"github.com/wirespeed/wirespeed/internal/packet"
	"github.com/wirespeed/wirespeed/stream"
)

// MaxSums is the largest number of checksums that vary in one stream.
const MaxSums = stream.MaxSums

// sums makes a Sum of each checksum that varies and writes the others into the heads, the innermost first: what stands
// further out may cover it. Checksums that the user gave, or that cannot be computed, are in the heads already.
func (c *compiler) sums() error {
	for _, sum := range c.in.Checksums() {
		if sum.Unknown != "" {
			continue
		}
		if err := c.sum(&sum); err != nil {
			return err
		}
	}
	return nil
}

// sum makes one checksum.
func (c *compiler) sum(sum *stream.Checksum) error {
	s := Sum{Off: sum.Off, ZeroIsNone: sum.ZeroIsNone, Signature: c.out.Form != packet.FormNone && sum.Body.Has(c.out.SigOff)}
	for j, n := range c.out.Lens {
		s.Base = append(s.Base, c.base(j, n, sum))
	}
	bit := uint(1) << len(c.out.Sums)
	varies := s.Signature
	for j := range c.out.Mods {
		m := &c.out.Mods[j]
		// The last byte that the modifier changes: no field lies half inside.
		if sum.Covers(m.Off + m.Width - 1 - int(m.Shift)/8) {
			m.Sums |= bit
			varies = true
		}
	}
	for j := range c.out.Sums {
		if sum.Body.Has(c.out.Sums[j].Off) {
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

// base is the sum of all that is constant in a frame of n bytes with head j.
func (c *compiler) base(j, n int, sum *stream.Checksum) uint16 {
	frame := append(append(make([]byte, 0, n), c.out.Heads[j]...), c.out.Tail[:n-c.out.HeadLen]...)
	var acc uint64
	if sum.Pseudo != 0 {
		acc = packet.PseudoSum(nil, sum.Pseudo, n-sum.Body.From)
	}
	for _, a := range sum.Addresses {
		acc = packet.Sum(acc, frame[a.From:a.To])
	}
	return packet.Fold(packet.Sum(acc, frame[sum.Body.From:min(n, sum.Body.To)]))
}

// checksum is what is written for a sum.
func (s *Sum) checksum(acc uint64) uint16 {
	v := ^packet.Fold(acc)
	if v == 0 && s.ZeroIsNone {
		return 0xffff
	}
	return v
}
