package pcapio

import (
	"fmt"
	"math"
	"math/bits"
)

// ticksPerSecond reads a resolution of pcapng: 10^-n, or 2^-n with the highest bit set. 0: beyond 64 bits.
func ticksPerSecond(resolution byte) uint64 {
	n := resolution & 0x7f
	if resolution&0x80 != 0 {
		if n > 63 {
			return 0
		}
		return 1 << n
	}
	if n > 19 {
		return 0
	}
	t := uint64(1)
	for range n {
		t *= 10
	}
	return t
}

func resolutionText(resolution byte) string {
	if resolution&0x80 != 0 {
		return fmt.Sprintf("2^-%d", resolution&0x7f)
	}
	return fmt.Sprintf("10^-%d", resolution)
}

// time is a time of the interface in ns since 1970, rounded down; what 64 bits cannot hold becomes the nearest they can.
func (i *Interface) time(ticks uint64) int64 {
	switch {
	case i.OffsetS != 0:
	case i.TicksPerSecond == 1e9 && ticks <= math.MaxInt64:
		return int64(ticks)
	case i.TicksPerSecond == 1e6 && ticks <= math.MaxInt64/1000:
		return int64(ticks) * 1000
	}
	whole, part := ticks/i.TicksPerSecond, ticks%i.TicksPerSecond
	hi, lo := bits.Mul64(part, 1e9)
	ns, _ := bits.Div64(hi, lo, i.TicksPerSecond) // part is less than the divisor, so the quotient is less than 1e9
	const most = math.MaxInt64 / 1_000_000_000
	var sec int64
	switch {
	case whole > math.MaxInt64:
		sec = most + 1
		if i.OffsetS < 0 && whole+uint64(i.OffsetS) <= math.MaxInt64 {
			sec = int64(whole + uint64(i.OffsetS))
		}
	case i.OffsetS > 0 && int64(whole) > math.MaxInt64-i.OffsetS:
		sec = most + 1
	default:
		sec = int64(whole) + i.OffsetS
	}
	switch {
	case sec >= most: // the last, partial second of the range is given up
		return math.MaxInt64
	case sec <= -most:
		return math.MinInt64
	}
	return sec*1e9 + int64(ns)
}
