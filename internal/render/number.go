package render

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// integer is any whole number that reports hold.
type integer interface {
	~int | ~int64 | ~uint64
}

// count prints a whole number with its thousands apart: 1,234,567.
func count[T integer](n T) string { return group(fmt.Sprint(n)) }

// group puts commas into a decimal whole number.
func group(s string) string {
	sign := ""
	if strings.HasPrefix(s, "-") {
		sign, s = "-", s[1:]
	}
	var b strings.Builder
	for i, c := range s {
		if i > 0 && (len(s)-i)%3 == 0 {
			b.WriteByte(',')
		}
		b.WriteRune(c)
	}
	return sign + b.String()
}

// short prints v with four significant digits and a decimal prefix: 14.88 M.
func short(v float64, unit string) string {
	prefix := ""
	for _, p := range []string{"k", "M", "G", "T"} {
		if math.Abs(v) < 999.95 {
			break
		}
		v, prefix = v/1000, p
	}
	return strings.TrimSuffix(significant(v)+" "+prefix+unit, " ")
}

// significant prints v below 1000 with about four significant digits.
func significant(v float64) string {
	decimals := 3
	for limit := 10.0; decimals > 0 && math.Abs(v) >= limit; limit *= 10 {
		decimals--
	}
	s := strconv.FormatFloat(v, 'f', decimals, 64)
	if strings.Contains(s, ".") {
		s = strings.TrimRight(strings.TrimRight(s, "0"), ".")
	}
	return s
}

// rate prints frames/s twice: to the frame, and short.
func rate(fps float64) string { return both(fps, "pps") }

// bitRate prints bit/s twice: to the bit, and short.
func bitRate(bps float64) string { return both(bps, "bit/s") }

func both(v float64, unit string) string {
	if v < 1000 {
		return short(v, unit)
	}
	return fmt.Sprintf("%s (%s)", short(v, unit), group(strconv.FormatFloat(v, 'f', 0, 64)))
}

// perFrame prints how many of something there are for each frame; of few, for how many frames there is one.
func perFrame(v float64) string {
	if v > 0 && v < 0.001 {
		return "1 per " + group(strconv.FormatFloat(1/v, 'f', 0, 64)) + " frames"
	}
	return strconv.FormatFloat(v, 'g', 3, 64)
}

// share prints a part of 1 as a percentage.
func share(v float64) string { return strconv.FormatFloat(v*100, 'f', 2, 64) + " %" }

// nanoseconds prints a time given in ns in the unit that reads best.
func nanoseconds(ns float64) string {
	for _, u := range []struct {
		ns   float64
		text string
	}{{1e9, "s"}, {1e6, "ms"}, {1e3, "us"}} {
		if math.Abs(ns) >= u.ns {
			return significant(ns/u.ns) + " " + u.text
		}
	}
	return significant(ns) + " ns"
}

// clean makes text from outside harmless for a terminal: control characters become question marks.
func clean(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r >= 0x7f && r < 0xa0 {
			return '?'
		}
		return r
	}, s)
}
