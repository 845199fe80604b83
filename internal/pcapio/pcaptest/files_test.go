package pcaptest

import (
	"bytes"
	"testing"
)

// TestFilesAreTheSameEveryTime: and each has a name of its own.
func TestFilesAreTheSameEveryTime(t *testing.T) {
	again := Files()
	seen := map[string]bool{}
	for i, f := range Files() {
		if seen[f.Name] || f.Name == "" {
			t.Errorf("two files have the name %q", f.Name)
		}
		seen[f.Name] = true
		if !bytes.Equal(f.Bytes, again[i].Bytes) {
			t.Errorf("%s is another every time", f.Name)
		}
		if n := Named(f.Name); len(n.Packets) != len(f.Packets) {
			t.Errorf("%s is not found by its name", f.Name)
		}
	}
}
