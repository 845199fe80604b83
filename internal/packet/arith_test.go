package packet

import (
	"math/big"
	"testing"

	"pgregory.net/rapid"
)

func bigOf(n Num) *big.Int {
	b := new(big.Int).SetUint64(n.Hi)
	return b.Lsh(b, 64).Or(b, new(big.Int).SetUint64(n.Lo))
}

// Every operation is that of numbers of any size, cut to 128 bits.
func TestArithmetic(t *testing.T) {
	one := rapid.Custom(func(t *rapid.T) Num { return Num{rapid.Uint64().Draw(t, "hi"), rapid.Uint64().Draw(t, "lo")} })
	all := bigOf(MaxNum(128))
	rapid.Check(t, func(t *rapid.T) {
		n, o := one.Draw(t, "n"), one.Draw(t, "o")
		by, width := rapid.IntRange(0, 127).Draw(t, "by"), rapid.IntRange(1, 128).Draw(t, "width")
		same := func(what string, got Num, want *big.Int) {
			if want.And(want, all).Cmp(bigOf(got)) != 0 {
				t.Fatalf("%s of %v and %v by %d: %v, want %v", what, n, o, by, got, want)
			}
		}
		same("sum", n.Add(o), new(big.Int).Add(bigOf(n), bigOf(o)))
		same("difference", n.Sub(o), new(big.Int).Sub(bigOf(n), bigOf(o)))
		same("product", n.Mul(o.Lo), new(big.Int).Mul(bigOf(n), new(big.Int).SetUint64(o.Lo)))
		same("right", n.Right(by), new(big.Int).Rsh(bigOf(n), uint(by)))
		same("left", n.Left(by), new(big.Int).Lsh(bigOf(n), uint(by)))
		same("cleared", n.Clear(by, width), new(big.Int).AndNot(bigOf(n), new(big.Int).Lsh(bigOf(MaxNum(width)), uint(by))))
	})
	for _, z := range []int{0, 1, 63, 64, 65, 127} {
		if got := (Num{Lo: 1}).Left(z).TrailingZeros(); got != z {
			t.Errorf("%d zeros counted as %d", z, got)
		}
	}
	if (Num{}).TrailingZeros() != 128 {
		t.Error("zero")
	}
}
