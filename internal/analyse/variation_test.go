package analyse

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/wirespeed/wirespeed/internal/engine"
	"github.com/wirespeed/wirespeed/internal/packet"
)

// TestVariationAgainstOracle compares with the definition, applied to all that arrived: pairs of neighbouring numbers. What
// comes later than is remembered is left out.
func TestVariationAgainstOracle(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var v variation
		delays, highest := map[uint64]int64{}, uint64(0)
		for _, seq := range arrivals(t, 0, 300) {
			highest = max(highest, seq)
			if _, twice := delays[seq]; !twice && highest-seq < remembered {
				delays[seq] = rapid.Int64Range(-1000, 100_000).Draw(t, "delay")
				v.add(seq, delays[seq])
			}
		}
		var want engine.Histogram
		for seq, d := range delays {
			if before, ok := delays[seq-1]; ok {
				want.Record(uint64(max(d-before, before-d)))
			}
		}
		if v.values != want {
			t.Fatalf("%v: %d values, sum %d; want %d, %d", delays, v.values.Count, v.values.Sum, want.Count, want.Sum)
		}
	})
}

// TestVariationOfFarNumbers: a number that meets the place of a newer one is not taken for its neighbour.
func TestVariationOfFarNumbers(t *testing.T) {
	var v variation
	for _, seq := range []uint64{5, 6 + remembered, 5 + 2*remembered, 4, 6} {
		v.add(seq, int64(seq))
	}
	if v.values.Count != 0 {
		t.Errorf("%d pairs, want none: both of a pair must be remembered", v.values.Count)
	}
}

// TestVariationNeedsATimeOfEachFrame: a time read once for several frames says nothing of one.
func TestVariationNeedsATimeOfEachFrame(t *testing.T) {
	for kind, want := range map[uint8]bool{packet.TimeNone: false, packet.TimeShared: false, packet.TimeFrame: true} {
		a := newAnalyser(t, 0)
		for seq := range uint64(3) {
			a.Frame(sigFrame(stamped(seq, 1000, kind)), 2000)
		}
		if got := one(t, a).Variation != nil; got != want {
			t.Errorf("kind of time %#x: delay variation measured %v, want %v", kind, got, want)
		}
	}
}
