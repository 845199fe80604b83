package trial

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
)

// rememberedRuns is how many run ids back a new one differs from.
const rememberedRuns = 16

// drawRunID returns a run id that none of the last sixteen runs had, and remembers it. Where the state directory cannot be
// used the id is merely random: that never fails a run.
func drawRunID(stateDir string) uint8 {
	path := filepath.Join(stateDir, "run-ids")
	last, _ := os.ReadFile(path)
	if len(last) > rememberedRuns {
		last = last[len(last)-rememberedRuns:]
	}
	id := uint8(rand.UintN(256))
	for slices.Contains(last, id) {
		id++
	}
	last = append(last, id)
	if len(last) > rememberedRuns {
		last = last[1:]
	}
	if stateDir != "" && os.MkdirAll(stateDir, 0o755) == nil {
		if tmp, err := os.CreateTemp(stateDir, "run-ids-*"); err == nil {
			_, err := tmp.Write(last)
			if tmp.Close() == nil && err == nil {
				_ = os.Rename(tmp.Name(), path)
			} else {
				_ = os.Remove(tmp.Name())
			}
		}
	}
	return id
}
