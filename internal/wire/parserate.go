package wire

import (
	"errors"
	"fmt"
	"math/big"
	"strings"
)

// rateForms is the end of every message about a rate that is not understood.
const rateForms = "write max, 1.2Mpps, 500Mbps@L1, 500Mbps@L2, 87.5% or gap=10us"

// ParseRate reads a rate as the flag --rate takes it: max, frames per second (1.2Mpps, 10kpps, 1e6pps), bit/s at a named
// layer (500Mbps@L1, 500Mbps@L2) or without one (500Mbps, 1G: L1), a share of the line (87.5%) or the time from frame to
// frame (gap=10us). Ki, Mi and Gi are powers of 1024, the others of 1000. The value is exact. An error is one sentence with
// the mend.
func ParseRate(s string) (Rate, error) {
	text := strings.TrimSpace(s)
	if text == "" {
		return Rate{}, errors.New("the rate is empty: " + rateForms)
	}
	if strings.EqualFold(text, "max") {
		return Rate{}, nil
	}
	var r Rate
	var err error
	if len(text) >= 4 && strings.EqualFold(text[:4], "gap=") {
		r, err = parseGap(strings.TrimSpace(text[4:]))
	} else {
		r, err = parseAmount(text)
	}
	if err != nil {
		return Rate{}, fmt.Errorf("rate %q %w", s, err)
	}
	return r, nil
}

// parseAmount reads every form but max and gap.
func parseAmount(text string) (Rate, error) {
	value, unit, err := parseNumber(text)
	if errors.Is(err, errNoNumber) {
		return Rate{}, errors.New("is not understood: " + rateForms)
	}
	if err != nil {
		return Rate{}, err
	}
	if err := positive(value, "ask for more, or for max"); err != nil {
		return Rate{}, err
	}
	if unit == "%" {
		return newRate(RatePercent, value, false)
	}
	kind, bare, multiplier, err := parseUnit(unit)
	if err != nil {
		return Rate{}, err
	}
	return newRate(kind, scale(value, multiplier), bare)
}

// parseUnit reads what follows the number: a prefix, a unit of frames or bits, and the layer.
func parseUnit(text string) (kind RateKind, bare bool, multiplier int64, err error) {
	if text == "" {
		return 0, false, 0, errors.New("has no unit: add pps for frames per second, or bps@L1 for bits")
	}
	base, layer, layered := strings.Cut(text, "@")
	multiplier, unit := splitPrefix(base)
	if strings.HasPrefix(unit, "B") {
		return 0, false, 0, errors.New("is in bytes: write bits, 8 times as many (Mbps, with a small b)")
	}
	switch strings.ToLower(unit) {
	case "pps", "fps", "p/s":
		if layered {
			return 0, false, 0, errors.New("counts frames, which have no layer: leave out @" + layer)
		}
		return RateFPS, false, multiplier, nil
	case "", "bps", "bit", "bits", "bit/s", "bits/s", "b/s":
	default:
		return 0, false, 0, fmt.Errorf("has the unknown unit %q: %s", base, rateForms)
	}
	switch {
	case !layered:
		return RateL1, true, multiplier, nil
	case strings.EqualFold(layer, "L1"):
		return RateL1, false, multiplier, nil
	case strings.EqualFold(layer, "L2"):
		return RateL2, false, multiplier, nil
	}
	return 0, false, 0, fmt.Errorf("has the unknown layer %q: write @L1 (with preamble and gap) or @L2 (frames with FCS)", layer)
}

// parseGap reads the time behind gap=.
func parseGap(text string) (Rate, error) {
	value, unit, err := parseNumber(text)
	if errors.Is(err, errNoNumber) {
		return Rate{}, errors.New("has no time: write gap=10us")
	}
	if err != nil {
		return Rate{}, err
	}
	if err := positive(value, "write a longer gap, or max for none"); err != nil {
		return Rate{}, err
	}
	var ns int64
	switch unit {
	case "ns":
		ns = 1
	case "us", "µs", "μs":
		ns = 1e3
	case "ms":
		ns = 1e6
	case "s":
		ns = 1e9
	case "":
		return Rate{}, errors.New("has no unit: add ns, us, ms or s")
	default:
		return Rate{}, fmt.Errorf("has the unknown unit %q: write ns, us, ms or s", unit)
	}
	return newRate(RateGap, scale(value, ns), false)
}

// positive refuses zero and negative numbers; mend says what to write instead.
func positive(value *big.Rat, mend string) error {
	switch value.Sign() {
	case 0:
		return errors.New("is zero: " + mend)
	case -1:
		return errors.New("is negative: " + mend)
	}
	return nil
}

func newRate(kind RateKind, value *big.Rat, bare bool) (Rate, error) {
	num, den, ok := ratio(value)
	if !ok {
		return Rate{}, errors.New("is too large or too precise to be kept exactly: give it fewer digits")
	}
	return Rate{Kind: kind, Num: num, Den: den, Bare: bare}, nil
}

// String prints the rate in the form that ParseRate reads back to the same value.
func (r Rate) String() string {
	if r.Kind == RateMax || r.Num == 0 || r.Den == 0 {
		return "max"
	}
	value := rat(r.Num, r.Den)
	switch r.Kind {
	case RateL1:
		if r.Bare {
			return formatScaled(value, "bps")
		}
		return formatScaled(value, "bps@L1")
	case RateL2:
		return formatScaled(value, "bps@L2")
	case RatePercent:
		return formatPlain(value) + "%"
	case RateGap:
		return "gap=" + formatTime(value)
	}
	return formatScaled(value, "pps")
}

// formatTime prints ns with the largest unit below them.
func formatTime(ns *big.Rat) string {
	for _, u := range []struct {
		ns   int64
		text string
	}{{1e9, "s"}, {1e6, "ms"}, {1e3, "us"}} {
		if ns.Cmp(new(big.Rat).SetInt64(u.ns)) < 0 {
			continue
		}
		if text, ok := decimal(new(big.Rat).Quo(ns, new(big.Rat).SetInt64(u.ns))); ok {
			return text + u.text
		}
		break
	}
	return formatPlain(ns) + "ns"
}
