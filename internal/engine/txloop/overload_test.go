package txloop

import (
	"testing"
	"time"

	"github.com/wirespeed/wirespeed/internal/wire"
)

// A rate beyond what the ring takes is sent in full batches, one after the other, and what was not sent was dropped.
func TestARateOutOfReachIsSentAtFullSpeed(t *testing.T) {
	for _, rate := range []uint64{2_000_000, 10_000_000, 1_000_000_000} {
		m := newMemory()
		m.keep = false
		busy := time.Duration(0)
		m.take = func(_, n int) (int, error) {
			began := time.Now()
			for time.Since(began) < time.Millisecond { // far more than filling a batch takes, also under the race detector
			}
			busy += time.Since(began)
			return n, nil
		}
		p := testPlan(t, 1)
		p.Duration, p.Rate = 100*time.Millisecond, wire.FPS{Num: rate, Den: 1}
		_, c := run(t, t.Context(), p, m)
		q := c.Queues[0]
		if c.Batch != 64 || q.Sent < 50*q.Doorbells {
			t.Errorf("%d frames/s: batch %d, %d frames in %d calls", rate, c.Batch, q.Sent, q.Doorbells)
		}
		if took := time.Duration(q.EndNs - q.BeginNs); busy < took/4 {
			t.Errorf("%d frames/s: the ring was busy for %v of %v", rate, busy, took)
		}
		if want := rate / 10; q.Sent+q.Skipped > want || q.Sent+q.Skipped < want-want/50 {
			t.Errorf("%d frames/s: %d sent, %d dropped, of %d", rate, q.Sent, q.Skipped, want)
		}
	}
}

// The batch to begin with is what a system call for each frame could not hold.
func TestFirstBatch(t *testing.T) {
	for _, c := range []struct {
		fps    uint64
		queues int
		want   int
	}{{100_000, 1, 1}, {200_000, 1, 4}, {400_000, 1, 16}, {800_000, 1, 64}, {800_000, 2, 16}, {100_000_000, 1, 64}} {
		p := testPlan(t, 1)
		p.Rate, p.Queues = wire.FPS{Num: c.fps, Den: 1}, c.queues
		if got, most := firstBatch(&p, 64); got != c.want || most != 64 {
			t.Errorf("%d frames/s on %d queues: batch %d of %d, want %d", c.fps, c.queues, got, most, c.want)
		}
	}
}
