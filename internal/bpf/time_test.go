package bpf

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/wirespeed/wirespeed/internal/engine"
	"github.com/wirespeed/wirespeed/internal/host"
	"github.com/wirespeed/wirespeed/internal/packet"
)

func stamped(seq uint32, time int64) sig {
	return sig{form: packet.FormFull, run: testRun, stream: 3, seq: seq, flags: packet.TimeFrame, time: uint64(time)}
}

// between counts the values of h that may be from low to high.
func between(h *engine.Histogram, low, high uint64) (n uint64) {
	for i := engine.Bucket(low); i <= engine.Bucket(high); i++ {
		n += h.Counts[i]
	}
	return n
}

func TestLatency(t *testing.T) {
	for _, group := range []int{1, 4} {
		o := expectOne(packet.FormFull, 0)
		o.ClockGroup = group
		f := newFeeder(t, o)
		const frames = 100
		seq := uint32(0)
		var h engine.Histogram
		for _, age := range []int64{1e3, 1e6, 1e9, 5e9, 1 << 37} {
			before, first := h, host.Monotonic()-age
			for range frames {
				f.feed(frame(t, udp4, stamped(seq, first)), xdpDrop)
				seq++
			}
			s := f.one()
			h = *s.Latency
			low, high := uint64(age), uint64(host.Monotonic()-first)
			if n := between(&h, low, high) - between(&before, low, high); n != frames {
				t.Errorf("group %d, age %d: %d of %d latencies between %d and %d", group, age, n, frames, low, high)
			}
			if h.Max < low || h.Max > high || h.Sum-before.Sum < frames*low || h.Sum-before.Sum > frames*high {
				t.Errorf("group %d, age %d: max %d, sum %d more", group, age, h.Max, h.Sum-before.Sum)
			}
			if (s.Gap != nil) != (group == 1) {
				t.Errorf("group %d: gaps %v", group, s.Gap != nil)
			}
		}
		if h.Count != uint64(seq) || h.Min < 1e3 || h.Min > 1e6 || h.Negative != 0 {
			t.Errorf("group %d: count %d, min %d, negative %d", group, h.Count, h.Min, h.Negative)
		}
		if sd, mean := h.Stdev(), h.Mean(); sd < mean || sd > 3*mean { // 4 of 5 groups of values are far below the mean
			t.Errorf("group %d: standard deviation %g, mean %g", group, sd, mean)
		}
	}
}

func TestSquares(t *testing.T) {
	f := newFeeder(t, expectOne(packet.FormFull, 0))
	for i, age := range []int64{100, 1 << 20, 1 << 33, 1 << 40, 0} {
		f.feed(frame(t, udp4, stamped(uint32(i), host.Monotonic()-age)), xdpDrop)
	}
	h := f.one().Latency
	got := math.Ldexp(float64(h.SquareHi), 64) + float64(h.SquareLo)
	want := math.Ldexp(1, 80) // (2^40)^2; the others are small, the program's own time smaller
	if got < want || got > want*1.001 {
		t.Errorf("sum of squares %g, want %g", got, want)
	}
}

// A stamp from the future is no latency of 0 but a clock that is wrong.
func TestNegativeLatency(t *testing.T) {
	for _, group := range []int{1, 4} {
		o := expectOne(packet.FormFull, 0)
		o.ClockGroup = group
		f := newFeeder(t, o)
		f.feed(frame(t, udp4, stamped(0, host.Monotonic()+1e12)), xdpDrop)
		if s := f.one(); s.Frames != 1 || s.Latency == nil || s.Latency.Negative != 1 || s.Latency.Count != 0 {
			t.Errorf("group %d: %+v", group, s.Latency)
		}
	}
}

func TestGaps(t *testing.T) {
	o := expectOne(packet.FormFull, 0)
	o.GapNs = 1e6
	f := newFeeder(t, o)
	var want engine.Histogram
	want.Ref = 1e6
	const frames = 50
	begin := host.Monotonic()
	var inside uint64
	var last int64
	for seq := range uint32(frames) {
		for begin+int64(seq)*1e6 > host.Monotonic() {
		}
		f.feed(frame(t, udp4, stamped(seq, 1)), xdpDrop)
		r := f.read()
		if seq == 0 {
			if r.FirstNs < begin || r.FirstNs > host.Monotonic() {
				t.Errorf("first arrival %d, begun at %d", r.FirstNs, begin)
			}
		} else {
			gap := uint64(r.LastNs - last) // the arrival is in every snapshot: an independent gap
			want.Record(gap)
			if gap >= 950000 && gap <= 1050000 {
				inside++
			}
		}
		last = r.LastNs
	}
	f.feed(frame(t, udp4, stamped(1, 1)), xdpDrop) // a duplicate makes neither gap nor latency
	s := f.one()
	if d := cmp.Diff(&want, s.Gap); d != "" {
		t.Errorf("gaps (-want +got):\n%s", d)
	}
	if s.GapInside != inside || inside == 0 {
		t.Errorf("%d gaps within 5 %%, want %d", s.GapInside, inside)
	}
	if s.Latency.Count != frames || s.Duplicate != 1 {
		t.Errorf("%d latencies of %d frames, %d duplicates", s.Latency.Count, s.Frames, s.Duplicate)
	}
}

// The program's buckets are engine.Bucket's: every power of two and its neighbours, and random values.
func TestBuckets(t *testing.T) {
	f := newFeeder(t, expectOne(packet.FormFull, 0))
	var values []uint64
	for e := 13; e < 63; e++ {
		values = append(values, 1<<e-1, 1<<e, 1<<e+1<<(e-5), 1<<e+1<<(e-1)+1)
	}
	for range 300 {
		values = append(values, rand.Uint64()>>(2+rand.IntN(48)))
	}
	// Latency is arrival minus stamp; the arrival is in the snapshot. Below 8 us the program cannot be fed.
	var want engine.Histogram
	for i, v := range values {
		stamp := host.Monotonic() - int64(v)
		f.feed(frame(t, udp4, stamped(uint32(i), stamp)), xdpDrop)
		r := f.read()
		if stamp < 0 { // before the machine was started: the stamp is far in the future as the program sees it
			want.Negative++
			continue
		}
		want.Record(uint64(r.LastNs - stamp))
	}
	if d := cmp.Diff(&want, f.one().Latency); d != "" {
		t.Errorf("latencies (-want +got):\n%s", d)
	}
}

// No clock is read, and no span known, where a stream has no stamps.
func TestSpanNeedsStamps(t *testing.T) {
	o := expectOne(packet.FormFull, 0)
	o.Streams = append(o.Streams, engine.ExpectStream{ID: 4, Form: packet.FormShort})
	f := newFeeder(t, o)
	f.feed(frame(t, udp4, stamped(0, 1)), xdpDrop)
	if r := f.read(); r.FirstNs == 0 || r.FirstNs != r.LastNs {
		t.Errorf("span %d to %d", r.FirstNs, r.LastNs)
	}
	f.feed(frame(t, udp4, sig{form: packet.FormShort, run: testRun, stream: 4}), xdpDrop)
	if r := f.read(); r.FirstNs != 0 || r.LastNs != 0 {
		t.Errorf("span %d to %d of which one stream knows nothing", r.FirstNs, r.LastNs)
	}
}
