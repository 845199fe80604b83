package txloop

import (
	"math"
	"math/big"
	"testing"

	"pgregory.net/rapid"

	"github.com/wirespeed/wirespeed/internal/wire"
)

func TestDueIsExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := schedule{
			rate:   wire.FPS{Num: rapid.Uint64Range(1, 1<<40).Draw(t, "num"), Den: rapid.Uint64Range(1, 1<<20).Draw(t, "den")},
			queues: rapid.Uint64Range(1, 64).Draw(t, "queues"),
			origin: rapid.Int64Range(0, 1<<60).Draw(t, "origin"),
		}
		s.queue = rapid.Uint64Range(0, s.queues-1).Draw(t, "queue")
		slot := rapid.Uint64Range(0, 1<<40).Draw(t, "slot")
		i := new(big.Int).Add(new(big.Int).Mul(big.NewInt(int64(slot)), big.NewInt(int64(s.queues))), big.NewInt(int64(s.queue)))
		i.Mul(i, big.NewInt(nsPerSecond)).Mul(i, new(big.Int).SetUint64(s.rate.Den)).Quo(i, new(big.Int).SetUint64(s.rate.Num))
		i.Add(i, big.NewInt(s.origin))
		want := int64(math.MaxInt64)
		if i.IsInt64() {
			want = i.Int64()
		}
		if got := s.due(slot); got != want {
			t.Fatalf("slot %d of %+v is due at %d, want %d", slot, s, got, want)
		}
	})
}

func TestSlotsAddUp(t *testing.T) {
	for count := range uint64(50) {
		for queues := uint64(1); queues < 9; queues++ {
			var sum uint64
			for q := range queues {
				sum += slots(count, q, queues)
			}
			if sum != count {
				t.Errorf("%d frames on %d queues: %d", count, queues, sum)
			}
		}
	}
}

// play sends all slots of a schedule on a made-up clock. stall says how long the loop is held up before slot n is sent.
// It returns when each slot was sent; 0: dropped.
func play(s *schedule, stall func(n uint64) int64) []int64 {
	sent := make([]int64, s.end)
	s.start(1_000_000)
	now := s.origin
	for s.next < s.end {
		now = max(now, s.release()) + stall(s.next)
		if s.late(now) > 0 {
			continue
		}
		sent[s.next] = now
		s.left(now, 1)
	}
	return sent
}

const ms = 1_000_000

// at 100,000 frames a second a gap is 10,000 ns.
func at100k(catchUp int64, drop bool) *schedule {
	return &schedule{rate: wire.FPS{Num: 100_000, Den: 1}, queues: 1, end: 10_000, catchUp: catchUp, drop: drop}
}

func onceAt(slot uint64, ns int64) func(uint64) int64 {
	done := false
	return func(n uint64) int64 {
		if n < slot || done {
			return 0
		}
		done = true
		return ns
	}
}

func TestWithoutStallsEveryFrameIsOnTime(t *testing.T) {
	s := at100k(10*ms, false)
	for n, at := range play(s, func(uint64) int64 { return 0 }) {
		if want := int64(1_000_000 + n*10_000); at != want {
			t.Fatalf("frame %d left at %d, want %d", n, at, want)
		}
	}
	if s.behindMax != 0 || s.shifted != 0 || s.skipped != 0 {
		t.Errorf("behind %d, shifted %d, skipped %d", s.behindMax, s.shifted, s.skipped)
	}
}

func TestAStallIsCaughtUpAtHalfTheGap(t *testing.T) {
	s := at100k(10*ms, false)
	sent := play(s, onceAt(1000, 6*ms))
	for n := 1001; n < len(sent); n++ {
		gap, due := sent[n]-sent[n-1], int64(1_000_000+n*10_000)
		if gap < 5_000 {
			t.Fatalf("frame %d left %d ns after the one before, half a gap is 5000", n, gap)
		}
		// 6 ms behind at twice the rate: 1200 gaps of half the length
		if caughtUp := n >= 1000+1200; caughtUp && sent[n] != due {
			t.Fatalf("frame %d left at %d, due at %d", n, sent[n], due)
		}
	}
	if s.behindMax != 6*ms || s.shifted != 0 || s.skipped != 0 {
		t.Errorf("behind %d, shifted %d, skipped %d; want 6 ms, 0, 0", s.behindMax, s.shifted, s.skipped)
	}
}

func TestBeyondCatchUpACountShifts(t *testing.T) {
	s := at100k(10*ms, false)
	sent := play(s, onceAt(1000, 50*ms))
	if s.shifted != 40*ms || s.skipped != 0 || s.behindMax != 50*ms {
		t.Errorf("shifted %d, skipped %d, behind %d; want 40 ms, 0, 50 ms", s.shifted, s.skipped, s.behindMax)
	}
	if last, want := sent[9999], int64(1_000_000+9999*10_000+40*ms); last != want {
		t.Errorf("the last frame left at %d, want %d", last, want)
	}
}

func TestBeyondCatchUpADurationDrops(t *testing.T) {
	s := at100k(10*ms, true)
	sent := play(s, onceAt(1000, 50*ms))
	dropped := 0
	for n, at := range sent {
		if at == 0 {
			dropped++
			if n < 1000 || n >= 5000 {
				t.Fatalf("slot %d was dropped", n)
			}
		}
	}
	if dropped != 4000 || s.skipped != 4000 || s.shifted != 0 {
		t.Errorf("dropped %d, skipped %d, shifted %d; want 4000, 4000, 0", dropped, s.skipped, s.shifted)
	}
	if last, want := sent[9999], int64(1_000_000+9999*10_000); last != want {
		t.Errorf("the last frame left at %d, want %d", last, want)
	}
}

// TestScheduleHolds plays random rates, queues and stalls and checks what must always hold.
func TestScheduleHolds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := &schedule{
			rate:  wire.FPS{Num: rapid.Uint64Range(1000, 3_000_000).Draw(t, "num"), Den: rapid.Uint64Range(1, 7).Draw(t, "den")},
			queue: 1, queues: rapid.Uint64Range(2, 5).Draw(t, "queues"), end: 300,
			catchUp: rapid.Int64Range(0, 5*ms).Draw(t, "catch up"), drop: rapid.Bool().Draw(t, "drop"),
		}
		plan := *s
		plan.start(1_000_000)
		half := (plan.due(1) - plan.due(0)) / 2
		stalls := rapid.SliceOfN(rapid.Int64Range(0, 20*ms), 10, 10).Draw(t, "stalls")
		each := rapid.Uint64Range(1, 60).Draw(t, "each")
		sent := play(s, func(n uint64) int64 {
			if n%each == 0 {
				return stalls[n/each%10]
			}
			return 0
		})
		var before int64
		var dropped uint64
		for n, at := range sent {
			if at == 0 {
				dropped++
				continue
			}
			due := plan.due(uint64(n))
			if at < due {
				t.Fatalf("slot %d left %d ns early", n, due-at)
			}
			if late := at - due; late > s.catchUp+int64(s.shifted) {
				t.Fatalf("slot %d left %d ns late, catch-up %d, shifted %d", n, late, s.catchUp, s.shifted)
			}
			if before != 0 && at-before < half-1 {
				t.Fatalf("slot %d left %d ns after the one before, half a gap is %d", n, at-before, half)
			}
			before = at
		}
		if dropped != s.skipped || s.drop && s.shifted != 0 || !s.drop && dropped != 0 {
			t.Fatalf("dropped %d, skipped %d, shifted %d", dropped, s.skipped, s.shifted)
		}
	})
}

func TestScheduleOfOneFrameInCenturies(t *testing.T) {
	s := schedule{rate: wire.FPS{Num: 1, Den: 1 << 40}, queues: 1, end: 3, drop: true}
	s.start(5)
	if s.release() != 5 {
		t.Errorf("frame 0 is due at %d", s.release())
	}
	s.left(5, 1)
	if s.release() != math.MaxInt64 || s.late(1<<62) != 0 {
		t.Errorf("frame 1 is due at %d", s.release())
	}
}
