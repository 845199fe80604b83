package analyse

import (
	"maps"
	"testing"

	"github.com/wirespeed/wirespeed/internal/engine"
	"github.com/wirespeed/wirespeed/internal/packet"
)

// TestSequences are arrivals whose counts are known. tx is what was sent: lost is tx less frames.
func TestSequences(t *testing.T) {
	span := func(from, n uint64) (s []uint64) {
		for i := range n {
			s = append(s, from+i)
		}
		return s
	}
	const wrap = 1 << 32
	tests := []struct {
		name                                           string
		first, tx                                      uint64
		seqs                                           []uint64
		lost, dup, reordered, late, badSeq, next, nMax uint64
		lostFirst                                      uint64
	}{
		{name: "all in order", tx: 5, seqs: span(0, 5), next: 5},
		{name: "one lost is not reordered", first: 1, tx: 5, seqs: []uint64{1, 3, 4, 5}, lost: 1, next: 6},
		{name: "a duplicate", first: 1, tx: 3, seqs: []uint64{1, 2, 3, 2}, dup: 1, next: 4},
		{name: "reordered and twice again", first: 1, tx: 3, seqs: []uint64{1, 3, 2, 3, 2}, dup: 2, reordered: 1, next: 4, nMax: 1},
		{name: "the head is lost", first: 1, tx: 10, seqs: span(6, 5), lost: 5, lostFirst: 5, next: 11},
		{name: "the head is lost but for one that is late", first: 1, tx: 10, seqs: append(span(6, 5), 3, 4, 3), lost: 3, dup: 1, reordered: 2, lostFirst: 2, next: 11},
		{name: "the head is overtaken", tx: 3, seqs: []uint64{2, 1, 0}, reordered: 2, next: 3, nMax: 2},
		{name: "the tail is lost", tx: 10, seqs: span(0, 6), lost: 4, next: 6},
		{name: "nothing of it", tx: 1, seqs: []uint64{0}, next: 1},
		{name: "first and only number twice", tx: 1, seqs: []uint64{0, 0}, dup: 1, next: 1},
		{name: "wrap of 32 bits", first: wrap - 2, tx: 4, seqs: span(wrap-2, 4), next: wrap + 2},
		{name: "wrap with a swap across it", first: wrap - 2, tx: 4, seqs: []uint64{wrap - 2, wrap, wrap - 1, wrap + 1}, reordered: 1, next: wrap + 2, nMax: 1},
		{name: "wrap with loss across it", first: wrap - 2, tx: 6, seqs: []uint64{wrap - 2, wrap + 3}, lost: 4, next: wrap + 4},
		{name: "below the first number", first: wrap, tx: 1, seqs: []uint64{wrap, wrap - 1}, badSeq: 1, next: wrap + 1},
		{name: "a jump of 2^30", tx: 2, seqs: []uint64{0, engine.MaxJump, 1}, badSeq: 1, next: 2},
		{name: "a jump just below", tx: engine.MaxJump, seqs: []uint64{0, engine.MaxJump - 1}, lost: engine.MaxJump - 2, next: engine.MaxJump},
		{name: "a jump of 2^31 back", tx: 2, seqs: []uint64{0, 1 << 31, 1}, badSeq: 1, next: 2},
		{name: "the oldest in the window", tx: window, seqs: append(span(1, window-1), 0), reordered: 1, next: window, nMax: window - 1},
		{name: "one older than the window", tx: window + 1, seqs: append(span(1, window), 0), lost: 1, late: 1, lostFirst: 1, next: window + 1},
		{name: "a duplicate older than the window", tx: window + 1, seqs: append(span(0, window+1), 0), late: 1, next: window + 1},
		{name: "the window is cleared as it moves", tx: 3 * window, seqs: append(span(0, 10), 2*window, 2*window-65, window+5, window+5), lost: 3*window - 13, dup: 1, reordered: 2, next: 2*window + 1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			a := newAnalyser(t, tt.first)
			for i, s := range tt.seqs {
				a.Frame(full(s, int64(1000+i), 0), int64(2000+i))
			}
			s := one(t, a)
			got := []uint64{tt.tx - s.Frames, s.Duplicate, s.Reordered, s.Late, s.BadSeq, s.Next, s.LostFirst}
			want := []uint64{tt.lost, tt.dup, tt.reordered, tt.late, tt.badSeq, tt.next, tt.lostFirst}
			for i, name := range []string{"lost", "duplicate", "reordered", "late", "bad_seq", "next", "lost first"} {
				if got[i] != want[i] {
					t.Errorf("%s %d, want %d", name, got[i], want[i])
				}
			}
			if s.Order.Reordered != s.Reordered {
				t.Errorf("RFC 4737 reordered %d, counted %d", s.Order.Reordered, s.Reordered)
			}
			if tt.nMax != 0 && tt.nMax < remembered && s.Order.NMax != tt.nMax {
				t.Errorf("n-reordered by %d, want %d", s.Order.NMax, tt.nMax)
			}
		})
	}
}

// TestRFC4737 is the example of RFC 4737: ten packets sent every 20, all with 100 bytes of payload and a delay of 68 but
// packet 4, which arrives at 210. Its delay differs by 82 from those of its neighbours (RFC 5481).
func TestRFC4737(t *testing.T) {
	const origin = 1000
	a := newAnalyser(t, 1)
	for _, seq := range []uint64{1, 2, 3, 5, 6, 7, 8, 4, 9, 10} {
		sent := int64(origin + 20*(seq-1))
		ns := sent + 68
		if seq == 4 {
			ns = origin + 210
		}
		b := make([]byte, 100)
		sig := stamped(seq, sent, packet.TimeFrame)
		sig.Put(b)
		a.Frame(udpFrame(b), ns)
	}
	s := one(t, a)
	if o := s.Order; o.Reordered != 1 || o.ExtentMax != 4 || o.NMax != 4 || o.LateNsMax != 62 || o.ByteOffsetMax != 400 {
		t.Errorf("reordered %d, extent %d, n %d, late time %d, byte offset %d; want 1, 4, 4, 62, 400", o.Reordered, o.ExtentMax, o.NMax, o.LateNsMax, o.ByteOffsetMax)
	}
	if v := s.Variation; v.Count != 9 || v.Counts[engine.Bucket(0)] != 7 || v.Counts[engine.Bucket(82)] != 2 || v.Max != 82 || v.Sum != 164 {
		t.Errorf("delay variation: %d values up to %d, sum %d; want 7 of 0 and 2 of 82", v.Count, v.Max, v.Sum)
	}
	if l := s.Latency; l.Count != 10 || l.Min != 68 || l.Max != 150 {
		t.Errorf("latency %d values from %d to %d, want 10 from 68 to 150", l.Count, l.Min, l.Max)
	}
}

// TestRFC5236 is an example with the thresholds DT = BT = 4.
func TestRFC5236(t *testing.T) {
	o := newOrder(4)
	highest := uint64(0)
	for i, seq := range []uint64{1, 4, 2, 5, 3, 6, 7, 8} {
		o.add(seq, seq > highest, int64(i), 1)
		highest = max(highest, seq)
	}
	r := o.result()
	if want := map[int]uint64{-2: 1, -1: 1, 0: 4, 1: 1, 2: 1}; !maps.Equal(r.RD, want) {
		t.Errorf("RD %v, want %v", r.RD, want)
	}
	if want := map[int]uint64{0: 5, 1: 2, 2: 1}; !maps.Equal(r.RBD, want) {
		t.Errorf("RBD %v, want %v", r.RBD, want)
	}
	if r.Reordered != 2 {
		t.Errorf("reordered %d, want 2", r.Reordered)
	}
	if again := o.result(); !maps.Equal(again.RD, r.RD) || !maps.Equal(again.RBD, r.RBD) {
		t.Error("asking for the result changed it")
	}
}
