package wire

import (
	"errors"
	"fmt"
	"math/big"
	"strings"
)

// Limits of what a number may look like. They bound the work that a hostile text can cause; every exact rational of two
// 64-bit integers fits in them.
const (
	maxDigits   = 128
	maxExponent = 40
)

// errNoNumber means that a text does not begin with a number.
var errNoNumber = errors.New("does not begin with a number")

// parseNumber reads the number at the start of s: digits with an optional fraction and exponent, or two whole numbers
// with a slash (31250000/21), which is how a rational without a finite decimal form is written. It returns the exact value
// and what follows. Negative numbers are returned as such, so that the caller can say what is wrong with them.
func parseNumber(s string) (*big.Rat, string, error) {
	n := numberLen(s)
	if n == 0 {
		return nil, s, errNoNumber
	}
	if n > maxDigits {
		return nil, s, fmt.Errorf("has a number of %d characters; %d are enough for every exact rate", n, maxDigits)
	}
	text, rest := s[:n], strings.TrimLeft(s[n:], " ")
	if i := strings.IndexAny(text, "eE"); i >= 0 {
		var exp int
		if _, err := fmt.Sscanf(text[i+1:], "%d", &exp); err != nil || exp < -maxExponent || exp > maxExponent {
			return nil, s, fmt.Errorf("has the exponent %s; -%d to %d are understood", text[i+1:], maxExponent, maxExponent)
		}
	}
	var r *big.Rat
	var ok bool
	if above, below, fraction := strings.Cut(text, "/"); fraction {
		r, ok = parseFraction(above, below)
	} else {
		r, ok = new(big.Rat).SetString(text)
	}
	if !ok {
		return nil, s, fmt.Errorf("has the number %q, which is not understood", text)
	}
	return r, rest, nil
}

// parseFraction is above/below; both are decimal, also with leading zeros.
func parseFraction(above, below string) (*big.Rat, bool) {
	num, okNum := new(big.Int).SetString(above, 10)
	den, okDen := new(big.Int).SetString(below, 10)
	if !okNum || !okDen || den.Sign() == 0 {
		return nil, false
	}
	return new(big.Rat).SetFrac(num, den), true
}

// numberLen is the length of the number at the start of s; 0 where there is none.
func numberLen(s string) int {
	i := 0
	if i < len(s) && (s[i] == '-' || s[i] == '+') {
		i++
	}
	whole := digits(s[i:])
	i += whole
	if whole > 0 && i < len(s) && s[i] == '/' {
		if d := digits(s[i+1:]); d > 0 {
			return i + 1 + d
		}
		return i
	}
	fraction := 0
	if i < len(s) && s[i] == '.' {
		fraction = digits(s[i+1:])
		i += 1 + fraction
	}
	if whole+fraction == 0 {
		return 0
	}
	if i < len(s) && (s[i] == 'e' || s[i] == 'E') {
		j := i + 1
		if j < len(s) && (s[j] == '-' || s[j] == '+') {
			j++
		}
		if d := digits(s[j:]); d > 0 {
			i = j + d
		}
	}
	return i
}

// digits counts the decimal digits at the start of s.
func digits(s string) int {
	n := 0
	for n < len(s) && s[n] >= '0' && s[n] <= '9' {
		n++
	}
	return n
}

// prefixes are the multipliers that may stand before a unit. A lower-case m is mega: nobody sends milliframes, and other
// generators write 10mpps.
var prefixes = [...]struct {
	text  string
	value int64
}{
	{"Ki", 1 << 10}, {"ki", 1 << 10}, {"Mi", 1 << 20}, {"mi", 1 << 20}, {"Gi", 1 << 30}, {"gi", 1 << 30}, {"Ti", 1 << 40},
	{"k", 1e3}, {"K", 1e3}, {"M", 1e6}, {"m", 1e6}, {"G", 1e9}, {"g", 1e9}, {"T", 1e12},
}

// splitPrefix separates the multiplier from the unit.
func splitPrefix(s string) (multiplier int64, unit string) {
	for _, p := range prefixes {
		if rest, ok := strings.CutPrefix(s, p.text); ok {
			return p.value, rest
		}
	}
	return 1, s
}

// scale multiplies an exact number by a whole one.
func scale(r *big.Rat, by int64) *big.Rat {
	return new(big.Rat).Mul(r, new(big.Rat).SetInt64(by))
}

// ratio returns the reduced 64-bit numerator and denominator of a number that is not negative.
func ratio(r *big.Rat) (num, den uint64, ok bool) {
	if !r.Num().IsUint64() || !r.Denom().IsUint64() {
		return 0, 0, false
	}
	return r.Num().Uint64(), r.Denom().Uint64(), true
}

// rat is num/den; den must not be 0.
func rat(num, den uint64) *big.Rat {
	return new(big.Rat).SetFrac(new(big.Int).SetUint64(num), new(big.Int).SetUint64(den))
}

// maxDecimals is how many decimals are printed before a fraction is the clearer form.
const maxDecimals = 12

// formatScaled prints r with the largest prefix of 1, k, M and G below it, exactly: as a decimal where that is finite and
// short, else as a fraction without prefix.
func formatScaled(r *big.Rat, unit string) string {
	by, prefix := int64(1), ""
	for _, p := range []struct {
		value int64
		text  string
	}{{1e9, "G"}, {1e6, "M"}, {1e3, "k"}} {
		if r.Cmp(new(big.Rat).SetInt64(p.value)) >= 0 {
			by, prefix = p.value, p.text
			break
		}
	}
	if text, ok := decimal(new(big.Rat).Quo(r, new(big.Rat).SetInt64(by))); ok {
		return text + prefix + unit
	}
	return formatPlain(r) + unit
}

// formatPlain prints r exactly, as a decimal or else as a fraction.
func formatPlain(r *big.Rat) string {
	if text, ok := decimal(r); ok {
		return text
	}
	return r.Num().String() + "/" + r.Denom().String()
}

// decimal prints r as a decimal number if that is exact and short.
func decimal(r *big.Rat) (string, bool) {
	n, exact := r.FloatPrec()
	if !exact || n > maxDecimals {
		return "", false
	}
	return r.FloatString(n), true
}
