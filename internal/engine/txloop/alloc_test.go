package txloop

import (
	"context"
	"runtime"
	"testing"

	"github.com/wirespeed/wirespeed/internal/engine"
	"github.com/wirespeed/wirespeed/internal/wire"
)

// TestLoopDoesNotAllocate compares a long run with a short one: what each run allocates at its start and end cancels out.
func TestLoopDoesNotAllocate(t *testing.T) {
	for name, rate := range map[string]wire.FPS{"as fast as possible": {}, "paced": {Num: 5_000_000, Den: 1}} {
		t.Run(name, func(t *testing.T) {
			mallocs := func(count uint64) uint64 {
				m := newMemory()
				m.keep = false
				p := testPlan(t, 1)
				p.Count, p.Rate, p.Batch, p.Stamp = count, rate, 16, engine.StampFrame
				l, err := New(Config{Plan: p, MaxBatch: 64, Ring: func(int) (engine.Ring, error) { return m, nil }})
				if err != nil {
					t.Fatal(err)
				}
				var before, after runtime.MemStats
				runtime.ReadMemStats(&before)
				if err := l.Run(context.Background()); err != nil {
					t.Fatal(err)
				}
				runtime.ReadMemStats(&after)
				return after.Mallocs - before.Mallocs
			}
			mallocs(100)
			short, long := mallocs(100), mallocs(100_000)
			if long > short+50 { // the runtime's own
				t.Errorf("100,000 frames allocate %d times, 100 frames %d times", long, short)
			}
		})
	}
}
