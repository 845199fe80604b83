package engine

import "math/bits"

func leadingZeros(v uint64) int { return bits.LeadingZeros64(v) }

func add64(a, b uint64) (sum, carry uint64) { return bits.Add64(a, b, 0) }

func (h *Histogram) addSquare(d uint64) {
	hi, lo := bits.Mul64(d, d)
	var carry uint64
	h.SquareLo, carry = bits.Add64(h.SquareLo, lo, 0)
	h.SquareHi += hi + carry
}
