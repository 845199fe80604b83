package pcapio

import (
	"math"
	"math/big"
	"testing"

	"pgregory.net/rapid"
)

// TestTimes holds times in ns against arithmetic without limits.
func TestTimes(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		resolution := rapid.OneOf(rapid.SampledFrom([]byte{0, 3, 6, 9, 12, 19, 0x80, 0x80 | 20, 0x80 | 63}), rapid.Byte()).Draw(t, "resolution")
		i := Interface{TicksPerSecond: ticksPerSecond(resolution), OffsetS: rapid.OneOf(rapid.Just(int64(0)), rapid.Int64(), rapid.Int64Range(-1e10, 1e10)).Draw(t, "offset")}
		if i.TicksPerSecond == 0 {
			if n := resolution & 0x7f; n < 20 || resolution&0x80 != 0 && n < 64 {
				t.Fatalf("%s s is refused", resolutionText(resolution))
			}
			return
		}
		ticks := rapid.OneOf(rapid.Uint64(), rapid.Uint64Range(0, 1e19), rapid.Uint64Range(0, 4e18)).Draw(t, "ticks")
		want := new(big.Int).SetUint64(ticks)
		want.Mul(want, big.NewInt(1e9)).Div(want, new(big.Int).SetUint64(i.TicksPerSecond))
		want.Add(want, new(big.Int).Mul(big.NewInt(i.OffsetS), big.NewInt(1e9)))
		got := i.time(ticks)
		if want.IsInt64() && want.Int64() == got {
			return
		}
		// In the last second of what 64 bits hold, and beyond, it is the end of the range.
		if end := big.NewInt(math.MaxInt64 - 2e9); got == math.MaxInt64 && want.Cmp(end) > 0 {
			return
		}
		if end := big.NewInt(math.MinInt64 + 2e9); got == math.MinInt64 && want.Cmp(end) < 0 {
			return
		}
		t.Fatalf("%d ticks of %s s and %d s: %d, want %s", ticks, resolutionText(resolution), i.OffsetS, got, want)
	})
}
