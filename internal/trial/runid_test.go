package trial

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// TestRunIDDiffersFromTheLastSixteen draws more ids than there are: with any shorter memory two of sixteen would agree soon.
func TestRunIDDiffersFromTheLastSixteen(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "state")
	var drawn []uint8
	for range 1000 {
		id := drawRunID(dir)
		if last := drawn[max(0, len(drawn)-rememberedRuns):]; slices.Contains(last, id) {
			t.Fatalf("run id %d is among the last: %v", id, last)
		}
		drawn = append(drawn, id)
	}
	if files, err := os.ReadDir(dir); err != nil || len(files) != 1 {
		t.Errorf("%d files are left in the state folder, %v", len(files), err)
	}
}

// TestRunIDWithoutState: that no state can be kept never fails a run.
func TestRunIDWithoutState(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	seen := map[uint8]bool{}
	for range 200 {
		seen[drawRunID("")], seen[drawRunID(filepath.Join(file, "below"))] = true, true
	}
	if len(seen) < 100 {
		t.Errorf("only %d different ids of 400", len(seen))
	}
}
