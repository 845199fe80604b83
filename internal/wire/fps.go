package wire

import (
	"errors"
	"math"
	"math/big"
	"math/bits"
	"time"
)

const nsPerSecond = 1_000_000_000

// errTooPrecise means that a rate or its gap needs more than two 64-bit integers.
var errTooPrecise = errors.New("the rate is too large, too small or too precise to be kept exactly; give it fewer digits")

// NewFPS is num/den frames per second, reduced. Both must be above 0, and the gap between frames, too, must be an exact
// ratio of 64-bit integers.
func NewFPS(num, den uint64) (FPS, error) {
	if num == 0 || den == 0 {
		return FPS{}, errors.New("a rate of frames must be above 0")
	}
	g := gcd(num, den)
	f := FPS{Num: num / g, Den: den / g}
	if hi, _ := bits.Mul64(nsPerSecond/gcd(nsPerSecond, f.Num), f.Den); hi != 0 {
		return FPS{}, errTooPrecise
	}
	return f, nil
}

// newFPS is NewFPS of an exact number of any size.
func newFPS(r *big.Rat) (FPS, error) {
	num, den, ok := ratio(r)
	if !ok {
		return FPS{}, errTooPrecise
	}
	return NewFPS(num, den)
}

// rat is the exact value; 0 for the zero FPS.
func (f FPS) rat() *big.Rat { return rat(f.Num, max(f.Den, 1)) }

// Float is the nearest float to the rate, for printing.
func (f FPS) Float() float64 {
	v, _ := f.rat().Float64()
	return v
}

// Cmp is -1, 0 or 1 as f is below, equal to or above g; exact. The zero FPS is below every rate.
func (f FPS) Cmp(g FPS) int {
	fhi, flo := bits.Mul64(f.Num, max(g.Den, 1))
	ghi, glo := bits.Mul64(g.Num, max(f.Den, 1))
	switch {
	case fhi == ghi && flo == glo:
		return 0
	case fhi < ghi || fhi == ghi && flo < glo:
		return -1
	}
	return 1
}

// String prints the rate exactly, in a form that ParseRate reads back: 1.2Mpps, 31250000/21pps, max for the zero FPS.
func (f FPS) String() string {
	if f.IsZero() {
		return "max"
	}
	return formatScaled(f.rat(), "pps")
}

// Due is when frame i is due, in ns after frame 0: floor(i * 1e9 / rate), exact for every i; the largest uint64 where the
// result does not fit, 0 for the zero FPS. It does not allocate.
func (f FPS) Due(i uint64) uint64 {
	if f.Num == 0 {
		return 0
	}
	hi, lo := bits.Mul64(i, nsPerSecond)
	return mulDiv(hi, lo, f.Den, f.Num)
}

// GapNs is the exact time from the start of one frame to the start of the next, in ns, reduced; 0/1 for the zero FPS.
// A value not made by NewFPS whose gap does not fit is rounded to the nearest ratio that does.
func (f FPS) GapNs() (num, den uint64) {
	if f.Num == 0 {
		return 0, 1
	}
	g := gcd(nsPerSecond, f.Num)
	num, den = f.Num/g, nsPerSecond/g // den is what multiplies the denominator of the rate
	hi, lo := bits.Mul64(den, f.Den)
	shift := bits.Len64(hi)
	gapNum := lo>>shift | hi<<(64-shift)
	gapDen := max(num>>shift, 1)
	g = gcd(gapNum, gapDen)
	return gapNum / g, gapDen / g
}

// FramesIn is the number of frames that belong to a time: rate * d, rounded half up. It is 0 for the zero FPS and for
// negative times, and the largest uint64 where it does not fit.
func (f FPS) FramesIn(d time.Duration) uint64 {
	if f.Num == 0 || d <= 0 {
		return 0
	}
	n := new(big.Rat).Mul(f.rat(), rat(uint64(d), nsPerSecond))
	num := new(big.Int).Lsh(n.Num(), 1)
	num.Add(num, n.Denom())
	num.Quo(num, new(big.Int).Lsh(n.Denom(), 1))
	if !num.IsUint64() {
		return math.MaxUint64
	}
	return num.Uint64()
}

// mulDiv is floor(a * mul / div) with a = hi:lo of 128 bits, in 192-bit arithmetic; the largest uint64 where the
// quotient does not fit. div must not be 0.
func mulDiv(hi, lo, mul, div uint64) uint64 {
	p1, p0 := bits.Mul64(lo, mul)
	p3, p2 := bits.Mul64(hi, mul)
	var carry uint64
	p1, carry = bits.Add64(p1, p2, 0)
	p3 += carry
	if p3 != 0 || p1 >= div {
		return math.MaxUint64
	}
	q, _ := bits.Div64(p1, p0, div)
	return q
}

// gcd is the greatest common divisor; of 0 and n it is n.
func gcd(a, b uint64) uint64 {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}
