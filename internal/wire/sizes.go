package wire

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// MaxCycle is the largest number of frames in one cycle of sizes.
const MaxCycle = 65536

// imixText is the simple IMIX: 7 small, 4 middle and 1 large frame.
const imixText = "64:7,570:4,1518:1"

const imixPrefix = "imix:"

const sizeForms = "write 64, a list 64,128,1518, a sweep 64-1518 or 64-1518/64, rand(64,1518,seed), imix or imix:64:7,570:4,1518:1"

// Sizes is a sequence of frame sizes in bytes with FCS. Either Cycle is repeated, or (Random) sizes lie in Min..Max by
// SplitMix64 of Seed and the frame index. Min and Max are the smallest and largest size in both cases.
type Sizes struct {
	Cycle    []int
	Random   bool
	Min, Max int
	Seed     uint64
}

// ParseSizes reads frame sizes as the flag --size takes them: 64, 64,128,1518, 64-1518, 64-1518/64, rand(64,1518,seed),
// imix, imix:64:7,570:4,1518:1. The frames of an IMIX are spread evenly over its cycle, always in the same order.
func ParseSizes(s string) (Sizes, error) {
	text := strings.TrimSpace(s)
	var sizes Sizes
	var err error
	switch {
	case text == "":
		err = errors.New("is empty: " + sizeForms)
	case text == "imix":
		sizes, err = parseImix(imixText)
	case strings.HasPrefix(text, imixPrefix):
		sizes, err = parseImix(text[len(imixPrefix):])
	case strings.HasPrefix(text, "rand"):
		sizes, err = parseRandom(text)
	case strings.Contains(text[1:], "-"):
		sizes, err = parseSweep(text)
	default:
		sizes, err = parseList(text)
	}
	if err != nil {
		return Sizes{}, fmt.Errorf("size %q %w", s, err)
	}
	return sizes, nil
}

// parseSize reads one size.
func parseSize(text string) (int, error) {
	text = strings.TrimSpace(text)
	n, err := strconv.Atoi(text)
	switch {
	case errors.Is(err, strconv.ErrRange):
	case err != nil:
		return 0, fmt.Errorf("has %q where a size in bytes should be: %s", text, sizeForms)
	case n < MinFrame:
		return 0, fmt.Errorf("is too small: an Ethernet frame has at least %d bytes with its FCS; write %d or more", MinFrame, MinFrame)
	case n <= MaxFrame:
		return n, nil
	}
	return 0, fmt.Errorf("is too large: no known MAC takes more than %d bytes with FCS; write %d or less", MaxFrame, MaxFrame)
}

func parseList(text string) (Sizes, error) {
	parts := strings.Split(text, ",")
	if len(parts) > MaxCycle {
		return Sizes{}, fmt.Errorf("has %d entries; a cycle has at most %d", len(parts), MaxCycle)
	}
	cycle := make([]int, 0, len(parts))
	for _, part := range parts {
		n, err := parseSize(part)
		if err != nil {
			return Sizes{}, err
		}
		cycle = append(cycle, n)
	}
	return cycleOf(cycle), nil
}

// parseSweep reads FROM-TO and FROM-TO/STEP. The last size is the last one that a whole number of steps reaches.
func parseSweep(text string) (Sizes, error) {
	text, stepText, stepped := strings.Cut(text, "/")
	fromText, toText, _ := strings.Cut(text, "-")
	if strings.Contains(text, ",") {
		return Sizes{}, errors.New("mixes a list and a sweep: " + sizeForms)
	}
	from, err := parseSize(fromText)
	if err != nil {
		return Sizes{}, err
	}
	to, err := parseSize(toText)
	if err != nil {
		return Sizes{}, err
	}
	step := 1
	if stepped {
		if step, err = strconv.Atoi(strings.TrimSpace(stepText)); err != nil || step < 1 {
			return Sizes{}, fmt.Errorf("has the step %q: a step is 1 byte or more", stepText)
		}
	}
	if from > to {
		return Sizes{}, fmt.Errorf("sweeps downwards: write %d-%d", to, from)
	}
	var cycle []int
	for n := from; n <= to; n += min(step, MaxFrame) {
		cycle = append(cycle, n)
	}
	return cycleOf(cycle), nil
}

// parseRandom reads rand(MIN,MAX,SEED); without SEED it is 0.
func parseRandom(text string) (Sizes, error) {
	inner, ok := strings.CutPrefix(text, "rand(")
	inner, closed := strings.CutSuffix(inner, ")")
	parts := strings.Split(inner, ",")
	if !ok || !closed || len(parts) < 2 || len(parts) > 3 {
		return Sizes{}, errors.New("is not understood: write rand(64,1518,seed)")
	}
	low, err := parseSize(parts[0])
	if err != nil {
		return Sizes{}, err
	}
	high, err := parseSize(parts[1])
	if err != nil {
		return Sizes{}, err
	}
	if low > high {
		return Sizes{}, fmt.Errorf("has its limits the wrong way round: write rand(%d,%d)", high, low)
	}
	var seed uint64
	if len(parts) == 3 {
		if seed, err = strconv.ParseUint(strings.TrimSpace(parts[2]), 0, 64); err != nil {
			return Sizes{}, fmt.Errorf("has the seed %q: a seed is a whole number from 0 to 2^64-1", strings.TrimSpace(parts[2]))
		}
	}
	return Sizes{Random: true, Min: low, Max: high, Seed: seed}, nil
}

// parseImix reads SIZE:WEIGHT,SIZE:WEIGHT,...
func parseImix(text string) (Sizes, error) {
	var sizes []int
	var weights []uint64
	for part := range strings.SplitSeq(text, ",") {
		sizeText, weightText, ok := strings.Cut(part, ":")
		if !ok {
			return Sizes{}, fmt.Errorf("has the entry %q without a weight: write imix:%s", part, imixText)
		}
		n, err := parseSize(sizeText)
		if err != nil {
			return Sizes{}, err
		}
		w, err := strconv.ParseUint(strings.TrimSpace(weightText), 10, 64)
		if err != nil || w == 0 || w > MaxCycle {
			return Sizes{}, fmt.Errorf("has the weight %q: a weight is a whole number from 1 to %d", strings.TrimSpace(weightText), MaxCycle)
		}
		sizes, weights = append(sizes, n), append(weights, w)
	}
	order := Spread(weights)
	if order == nil {
		return Sizes{}, fmt.Errorf("has a cycle of more than %d frames: use smaller weights", MaxCycle)
	}
	cycle := make([]int, len(order))
	for i, j := range order {
		cycle[i] = sizes[j]
	}
	return cycleOf(cycle), nil
}

func cycleOf(cycle []int) Sizes {
	return Sizes{Cycle: cycle, Min: slices.Min(cycle), Max: slices.Max(cycle)}
}

// Spread is one round of a weighted mix in which each index comes as evenly as its weight allows (7:4:1 is never seven in a
// row). Weights are reduced by their common divisor first; weight 0 never comes. It is nil where nothing has a weight or
// the round is longer than MaxCycle.
func Spread(weights []uint64) []int {
	var common, total uint64
	for _, w := range weights {
		common = gcd(common, w)
	}
	if common == 0 {
		return nil
	}
	for _, w := range weights {
		if total += w / common; w/common > MaxCycle || total > MaxCycle {
			return nil
		}
	}
	// Each index saves up its weight per frame; the richest one sends and pays the price of a round.
	credit := make([]int64, len(weights))
	order := make([]int, 0, total)
	for range total {
		best := 0
		for i, w := range weights {
			credit[i] += int64(w / common)
			if credit[i] > credit[best] {
				best = i
			}
		}
		credit[best] -= int64(total)
		order = append(order, best)
	}
	return order
}

// Mean is the mean size in bytes with FCS, reduced; 0/1 for the zero value.
func (s Sizes) Mean() (num, den uint64) {
	num, den = uint64(s.Min+s.Max), 2
	if !s.Random {
		num, den = 0, max(uint64(len(s.Cycle)), 1)
		for _, n := range s.Cycle {
			num += uint64(n)
		}
	}
	g := gcd(num, den)
	return num / g, den / g
}

// String prints the sizes in a form that ParseSizes reads back to the same value.
func (s Sizes) String() string {
	if s.Random {
		return fmt.Sprintf("rand(%d,%d,%d)", s.Min, s.Max, s.Seed)
	}
	if step, ok := s.sweep(); ok {
		text := fmt.Sprintf("%d-%d", s.Min, s.Max)
		if step != 1 {
			text += "/" + strconv.Itoa(step)
		}
		return text
	}
	if text, ok := s.imix(); ok {
		return text
	}
	parts := make([]string, len(s.Cycle))
	for i, n := range s.Cycle {
		parts[i] = strconv.Itoa(n)
	}
	return strings.Join(parts, ",")
}

// sweep reports whether the cycle rises by equal steps, and the step.
func (s Sizes) sweep() (step int, ok bool) {
	if len(s.Cycle) < 3 {
		return 0, false
	}
	step = s.Cycle[1] - s.Cycle[0]
	for i := 1; i < len(s.Cycle); i++ {
		if s.Cycle[i]-s.Cycle[i-1] != step {
			return 0, false
		}
	}
	return step, step > 0
}

// imix prints the cycle as weights if that gives the same cycle again and is the shorter form.
func (s Sizes) imix() (string, bool) {
	if len(s.Cycle) < 3 {
		return "", false
	}
	if d, err := parseImix(imixText); err == nil && slices.Equal(d.Cycle, s.Cycle) {
		return "imix", true
	}
	var sizes []int
	counts := map[int]int{}
	for _, n := range s.Cycle {
		if counts[n]++; counts[n] == 1 {
			sizes = append(sizes, n)
		}
	}
	if len(sizes) == len(s.Cycle) {
		return "", false
	}
	parts := make([]string, len(sizes))
	for i, n := range sizes {
		parts[i] = fmt.Sprintf("%d:%d", n, counts[n])
	}
	text := strings.Join(parts, ",")
	if len(imixPrefix+text) >= 3*len(s.Cycle) {
		return "", false
	}
	again, err := parseImix(text)
	if err != nil || !slices.Equal(again.Cycle, s.Cycle) {
		return "", false
	}
	return imixPrefix + text, true
}
