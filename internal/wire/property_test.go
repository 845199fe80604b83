package wire

import (
	"math"
	"math/big"
	"reflect"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// drawFPS draws rates of every magnitude.
func drawFPS(t *rapid.T) FPS {
	num := rapid.Uint64Range(1, math.MaxUint64).Draw(t, "num") >> rapid.IntRange(0, 63).Draw(t, "shift")
	den := rapid.Uint64Range(1, 18e9).Draw(t, "den")
	f, err := NewFPS(max(num, 1), den)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func TestRateRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		num := rapid.Uint64Range(1, math.MaxUint64).Draw(t, "num")
		den := rapid.OneOf(rapid.SampledFrom([]uint64{1, 2, 10, 1000, 1e6, 1e18}), rapid.Uint64Range(1, math.MaxUint64)).Draw(t, "den")
		g := gcd(num, den)
		r := Rate{Kind: RateKind(rapid.IntRange(1, int(RateGap)).Draw(t, "kind")), Num: num / g, Den: den / g}
		r.Bare = r.Kind == RateL1 && rapid.Bool().Draw(t, "bare")
		text := r.String()
		if again, err := ParseRate(text); err != nil || again != r {
			t.Fatalf("%+v prints as %s and reads as %+v, %v", r, text, again, err)
		}
	})
}

func TestFPSRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := drawFPS(t)
		r, err := ParseRate(f.String())
		if err != nil {
			t.Fatal(err)
		}
		if again, err := fpsOf(r, 0, 64); err != nil || again != f {
			t.Fatalf("%v/%v prints as %s and reads as %v, %v", f.Num, f.Den, f, again, err)
		}
	})
}

func TestBitRateRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		bps := rapid.Uint64Range(1, math.MaxUint64).Draw(t, "bps")
		if again, err := ParseBitRate(FormatBitRate(bps)); err != nil || again != bps {
			t.Fatalf("%d prints as %s and reads as %d, %v", bps, FormatBitRate(bps), again, err)
		}
	})
}

func TestSizesRoundTrip(t *testing.T) {
	size := rapid.IntRange(MinFrame, MaxFrame)
	rapid.Check(t, func(t *rapid.T) {
		var s Sizes
		switch rapid.IntRange(0, 2).Draw(t, "form") {
		case 0:
			s = cycleOf(rapid.SliceOfN(rapid.OneOf(size, rapid.SampledFrom([]int{64, 65, 66})), 1, 12).Draw(t, "cycle"))
		case 1:
			low := size.Draw(t, "low")
			s = Sizes{Random: true, Min: low, Max: rapid.IntRange(low, MaxFrame).Draw(t, "high"), Seed: rapid.Uint64().Draw(t, "seed")}
		case 2:
			weights := rapid.SliceOfN(rapid.Uint64Range(1, 9), 1, 5).Draw(t, "weights")
			var cycle []int
			for _, i := range Spread(weights) {
				cycle = append(cycle, 64*(1+i%3))
			}
			s = cycleOf(cycle)
		}
		text := s.String()
		if again, err := ParseSizes(text); err != nil || !reflect.DeepEqual(again, s) {
			t.Fatalf("%+v prints as %s and reads as %+v, %v", s, text, again, err)
		}
	})
}

// TestFPSAgainstBig compares the 64-bit arithmetic with arithmetic of any size.
func TestFPSAgainstBig(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := drawFPS(t)
		i := rapid.Uint64().Draw(t, "i")
		gap := new(big.Rat).Quo(rat(nsPerSecond, 1), f.rat())
		if got, want := f.Due(i), floorOf(new(big.Rat).Mul(gap, rat(i, 1))); got != want {
			t.Fatalf("Due(%d) of %d/%d = %d, want %d", i, f.Num, f.Den, got, want)
		}
		num, den := f.GapNs()
		if rat(num, den).Cmp(gap) != 0 {
			t.Fatalf("GapNs of %d/%d = %d/%d", f.Num, f.Den, num, den)
		}
		d := rapid.Int64Range(0, int64(time.Hour)).Draw(t, "d")
		half := big.NewRat(1, 2)
		frames := new(big.Rat).Quo(rat(uint64(d), 1), gap)
		if got, want := f.FramesIn(time.Duration(d)), floorOf(half.Add(half, frames)); got != want {
			t.Fatalf("FramesIn(%d) of %d/%d = %d, want %d", d, f.Num, f.Den, got, want)
		}
	})
}

// TestDueAndFramesInAgree: the frames due before d are as many as belong to d, to one frame.
func TestDueAndFramesInAgree(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f, err := NewFPS(rapid.Uint64Range(1, 1e9).Draw(t, "num"), rapid.Uint64Range(1, 1000).Draw(t, "den"))
		if err != nil {
			t.Fatal(err)
		}
		d := rapid.Uint64Range(1, 3600e9).Draw(t, "d")
		n := f.FramesIn(time.Duration(d))
		if n > 0 && f.Due(n-1) > d {
			t.Fatalf("%v for %d ns: frame %d is due at %d", f, d, n-1, f.Due(n-1))
		}
		if f.Due(n+1) < d {
			t.Fatalf("%v for %d ns: %d frames, but frame %d is due at %d", f, d, n, n+1, f.Due(n+1))
		}
	})
}

func floorOf(r *big.Rat) uint64 {
	n := new(big.Int).Quo(r.Num(), r.Denom())
	if !n.IsUint64() {
		return math.MaxUint64
	}
	return n.Uint64()
}

func FuzzParseRate(f *testing.F) {
	for _, s := range []string{"max", "1.2Mpps", "500Mbps@L1", "500Mbps", "87.5%", "gap=10us", "31250000/21pps", "1e6pps", "1Mi", "-1", "010/7pps", "1e-40Kipps"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		r, err := ParseRate(s)
		if err != nil {
			return
		}
		if again, err := ParseRate(r.String()); err != nil || again != r {
			t.Fatalf("%q is %+v, prints as %q and reads as %+v, %v", s, r, r.String(), again, err)
		}
		for _, link := range []uint64{0, 1e9} {
			if v, err := fpsOf(r, link, 64, 1518); err == nil && r.Kind != RateMax && v.IsZero() {
				t.Fatalf("%q is no frames per second", s)
			}
		}
	})
}

func FuzzParseSizes(f *testing.F) {
	for _, s := range []string{"64", "64,128,1518", "64-1518/64", "rand(64,1518,1)", "imix", "imix:64:7,570:4,1518:1", "imix:64:65536,65:65536", "64-16110"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		v, err := ParseSizes(s)
		if err != nil {
			return
		}
		if again, err := ParseSizes(v.String()); err != nil || !reflect.DeepEqual(again, v) {
			t.Fatalf("%q is %+v, prints as %q and reads as %+v, %v", s, v, v.String(), again, err)
		}
		if v.Min < MinFrame || v.Max > MaxFrame || v.Min > v.Max {
			t.Fatalf("%q has sizes from %d to %d", s, v.Min, v.Max)
		}
	})
}
