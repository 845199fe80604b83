package analyse

import (
	"maps"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/wirespeed/wirespeed/internal/engine"
)

// arrivals draws the numbers of frames as a bad path delivers them: lost, repeated, swapped, delayed, now and then across
// more than the window.
func arrivals(t *rapid.T, first uint64, maxLen int) []uint64 {
	n := rapid.IntRange(1, maxLen).Draw(t, "n")
	stride := rapid.SampledFrom([]uint64{1, 1, 1, 40, 70, 5000}).Draw(t, "stride")
	type frame struct{ seq, at uint64 }
	var frames []frame
	seq := first
	for i := range n {
		switch rapid.IntRange(0, 9).Draw(t, "fate") {
		case 0: // lost
		case 1:
			frames = append(frames, frame{seq, uint64(i)}, frame{seq, uint64(i) + rapid.Uint64Range(0, 60).Draw(t, "again")})
		case 2:
			frames = append(frames, frame{seq, uint64(i) + rapid.Uint64Range(0, 60).Draw(t, "delay")})
		default:
			frames = append(frames, frame{seq, uint64(i)})
		}
		seq += rapid.Uint64Range(1, stride).Draw(t, "step")
	}
	slices.SortStableFunc(frames, func(a, b frame) int { return int(a.at) - int(b.at) })
	out := make([]uint64, len(frames))
	for i, f := range frames {
		out[i] = f.seq
	}
	return out
}

// TestSequenceAgainstOracle compares the window of bits with a set that forgets nothing.
func TestSequenceAgainstOracle(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		first := rapid.SampledFrom([]uint64{0, 1, 1<<32 - 40, 1<<33 - 1}).Draw(t, "first")
		var s sequence
		s.start(first)
		seen := map[uint64]bool{}
		next, lowest := first, uint64(math.MaxUint64)
		for i, seq := range arrivals(t, first, 400) {
			want := inOrder
			switch {
			case seq >= next:
				next = seq + 1
			case next-seq > engine.WindowSize:
				want = late
			case seen[seq]:
				want = duplicate
			default:
				want = outOfOrder
			}
			seen[seq] = true
			if want != late {
				lowest = min(lowest, seq)
			}
			got, a := s.accept(uint32(seq))
			if got != seq || a != want || s.missing != lowest-first {
				t.Fatalf("arrival %d: number %d is %d, want %d; taken for %d; %d missing", i, seq, a, want, got, s.missing)
			}
		}
	})
}

// TestOrderAgainstOracle compares with the definitions of RFC 4737, applied to every pair of arrivals, and with the
// algorithms of RFC 5236, written out plainly.
func TestOrderAgainstOracle(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		limit := rapid.IntRange(1, threshold).Draw(t, "threshold")
		var seqs []uint64
		for _, s := range arrivals(t, 1, 300) {
			if !slices.Contains(seqs, s) {
				seqs = append(seqs, s)
			}
		}
		o := newOrder(limit)
		highest := uint64(0)
		for i, s := range seqs {
			o.add(s, s > highest, int64(10*i+1), int(s))
			highest = max(highest, s)
		}
		got, want := o.result(), pairs(seqs)
		if got.Reordered != want.Reordered || got.ExtentMax != want.ExtentMax || got.NMax != want.NMax || got.LateNsMax != want.LateNsMax || got.ByteOffsetMax != want.ByteOffsetMax {
			t.Fatalf("%v: got %+v, want %+v", seqs, got, want)
		}
		if rd := plainDensity(seqs, limit); !maps.Equal(got.RD, rd) {
			t.Fatalf("%v, threshold %d: RD %v, want %v", seqs, limit, got.RD, rd)
		}
		if rbd := plainOccupancy(seqs, limit); !maps.Equal(got.RBD, rbd) {
			t.Fatalf("%v, threshold %d: RBD %v, want %v", seqs, limit, got.RBD, rbd)
		}
	})
}

// pairs are the measures of RFC 4737 by their definitions; arrival i comes at 10*i, and number s has s bytes.
func pairs(seqs []uint64) (o engine.Order) {
	for i, s := range seqs {
		if j := slices.IndexFunc(seqs[:i], func(x uint64) bool { return x > s }); j >= 0 {
			o.Reordered++
			o.ExtentMax = max(o.ExtentMax, uint64(i-j))
			o.LateNsMax = max(o.LateNsMax, uint64(10*(i-j)))
		}
		bytes := uint64(0)
		for _, x := range seqs[:i] {
			if x > s {
				bytes += x
			}
		}
		o.ByteOffsetMax = max(o.ByteOffsetMax, bytes)
		n := 0
		for n < i && seqs[i-1-n] > s {
			n++
		}
		o.NMax = max(o.NMax, uint64(n))
	}
	return o
}

func least(lists ...[]uint64) uint64 {
	m := ^uint64(0)
	for _, l := range lists {
		for _, s := range l {
			m = min(m, s)
		}
	}
	return m
}

func plainDensity(seqs []uint64, limit int) map[int]uint64 {
	count := map[int]uint64{}
	var window, buffer []uint64
	index := uint64(1)
	fill := func() {
		for len(window) <= limit && len(seqs) > 0 {
			if seqs[0] >= index {
				window = append(window, seqs[0])
			}
			seqs = seqs[1:]
		}
	}
	for fill(); len(window) > 0; fill() {
		beyond := func(l []uint64) []uint64 {
			return slices.DeleteFunc(slices.Clone(l), func(s uint64) bool { return s < index })
		}
		if m := least(beyond(window), beyond(buffer)); m != ^uint64(0) {
			index = m
		}
		d := int(int64(index - window[0]))
		if d >= -limit && d <= limit {
			count[d]++
			buffer = slices.DeleteFunc(buffer, func(s uint64) bool { return s == index })
			if d < 0 {
				buffer = append(buffer, window[0])
			}
			index++
		}
		window = window[1:]
	}
	return count
}

func plainOccupancy(seqs []uint64, limit int) map[int]uint64 {
	count := map[int]uint64{}
	var window, buffer []uint64
	expected := uint64(0)
	fill := func() {
		for len(window) <= limit && len(seqs) > 0 {
			if seqs[0] >= expected {
				window = append(window, seqs[0])
			}
			seqs = seqs[1:]
		}
	}
	for fill(); len(window) > 0; fill() {
		expected = least(window)
		s := window[0]
		window = window[1:]
		if s == expected {
			buffer = slices.DeleteFunc(buffer, func(b uint64) bool { return b < least(window) })
		} else if len(buffer) < limit {
			buffer = append(buffer, s)
		}
		expected = least(window)
		if len(window) == 0 {
			expected = s + 1
		}
		count[len(buffer)]++
	}
	return count
}
