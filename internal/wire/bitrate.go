package wire

import (
	"errors"
	"fmt"
	"math/big"
	"strings"
)

// ParseBitRate reads the speed of a link in bit/s: 1G, 100M, 2.5G, 10Gbps, 1000000000.
func ParseBitRate(s string) (uint64, error) {
	value, text, err := parseNumber(strings.TrimSpace(s))
	if errors.Is(err, errNoNumber) {
		return 0, fmt.Errorf("link speed %q is not understood: write 100M, 1G or 2.5G", s)
	}
	if err != nil {
		return 0, fmt.Errorf("link speed %q %w", s, err)
	}
	multiplier, unit := splitPrefix(text)
	switch {
	case strings.HasPrefix(unit, "B"):
		return 0, fmt.Errorf("link speed %q is in bytes: write bits, 8 times as many (1Gbps, with a small b)", s)
	case unit == "":
	default:
		switch strings.ToLower(unit) {
		case "bps", "bit", "bits", "bit/s", "bits/s", "b/s":
		default:
			return 0, fmt.Errorf("link speed %q has the unknown unit %q: write 100M, 1G or 2.5G", s, text)
		}
	}
	if err := positive(value, "write 100M, 1G or 2.5G"); err != nil {
		return 0, fmt.Errorf("link speed %q %w", s, err)
	}
	bps, den, ok := ratio(scale(value, multiplier))
	if !ok || den != 1 {
		return 0, fmt.Errorf("link speed %q is not a whole number of bit/s below 2^64: write 100M, 1G or 2.5G", s)
	}
	return bps, nil
}

// FormatBitRate prints the speed of a link so that ParseBitRate reads it back exactly: 2.5G.
func FormatBitRate(bps uint64) string {
	return formatScaled(new(big.Rat).SetInt(new(big.Int).SetUint64(bps)), "")
}
