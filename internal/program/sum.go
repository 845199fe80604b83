package program

import (
	"encoding/binary"
	"fmt"
	"math/bits"

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
	head, end := c.out.Heads[j], c.out.HeadLen
	var acc uint64
	if sum.Pseudo != 0 {
		acc = packet.PseudoSum(nil, sum.Pseudo, n-sum.Body.From)
	}
	for _, a := range sum.Addresses {
		acc = packet.Sum(acc, head[a.From:a.To])
	}
	if sum.Body.To < n { // a header alone
		return packet.Fold(packet.Sum(acc, head[sum.Body.From:sum.Body.To]))
	}
	tail := c.tailSum(j)
	if (end-sum.Body.From)%2 != 0 { // its bytes count in the other halves of the words
		tail = bits.ReverseBytes16(tail)
	}
	return packet.Fold(packet.Sum(acc, head[sum.Body.From:]) + uint64(tail))
}

// tailSum is the sum of the tail of a frame of Lens[j]. They are made all at once, each from the one before: a stream may
// have as many lengths as there are.
func (c *compiler) tailSum(j int) uint16 {
	if c.tails == nil {
		var acc uint64
		done := 0
		for _, n := range c.out.Lens {
			n -= c.out.HeadLen
			acc = packet.Sum(acc, c.out.Tail[done:n&^1])
			done = n &^ 1
			c.tails = append(c.tails, packet.Fold(packet.Sum(acc, c.out.Tail[done:n])))
		}
	}
	return c.tails[j]
}

// checksum is what is written for a sum.
func (s *Sum) checksum(acc uint64) uint16 {
	v := ^packet.Fold(acc)
	if v == 0 && s.ZeroIsNone {
		return 0xffff
	}
	return v
}
