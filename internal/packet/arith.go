package packet

import "math/bits"

// Add is n + o, modulo 2^128.
func (n Num) Add(o Num) Num {
	lo, carry := bits.Add64(n.Lo, o.Lo, 0)
	hi, _ := bits.Add64(n.Hi, o.Hi, carry)
	return Num{hi, lo}
}

// Sub is n - o, modulo 2^128.
func (n Num) Sub(o Num) Num {
	lo, borrow := bits.Sub64(n.Lo, o.Lo, 0)
	hi, _ := bits.Sub64(n.Hi, o.Hi, borrow)
	return Num{hi, lo}
}

// Mul is n * by, modulo 2^128.
func (n Num) Mul(by uint64) Num {
	hi, lo := bits.Mul64(n.Lo, by)
	return Num{hi + n.Hi*by, lo}
}

// Right is n shifted right by 0 to 127 bits.
func (n Num) Right(by int) Num {
	if by >= 64 {
		return Num{Lo: n.Hi >> (by - 64)}
	}
	return Num{n.Hi >> by, n.Lo>>by | n.Hi<<(64-by)}
}

// Left is n shifted left by 0 to 127 bits.
func (n Num) Left(by int) Num {
	if by >= 64 {
		return Num{Hi: n.Lo << (by - 64)}
	}
	return Num{n.Hi<<by | n.Lo>>(64-by), n.Lo << by}
}

// Clear is n with width bits set to zero, of which low bits of n are behind.
func (n Num) Clear(low, width int) Num {
	m := MaxNum(width).Left(low)
	return Num{n.Hi &^ m.Hi, n.Lo &^ m.Lo}
}

// TrailingZeros is the number of zero bits at the end of n; 128 for 0.
func (n Num) TrailingZeros() int {
	if n.Lo == 0 {
		return 64 + bits.TrailingZeros64(n.Hi)
	}
	return bits.TrailingZeros64(n.Lo)
}
