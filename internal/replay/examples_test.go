package replay

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/wirespeed/wirespeed/stream"
)

// Every example is explained at its head, can be sent whole, and leaves every checksum right.
func TestExamples(t *testing.T) {
	files, err := filepath.Glob("../../examples/replay/*.yaml")
	if err != nil || len(files) < 3 {
		t.Fatalf("%d examples, %v", len(files), err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if text := string(data); !strings.HasPrefix(text, "# ") || !strings.Contains(text, "wirespeed show -f examples/replay/"+filepath.Base(file)) {
			t.Errorf("%s: the head does not say what it is and how to show it", file)
		}
		s, err := stream.Parse(file, data)
		if err != nil {
			t.Fatal(err)
		}
		c := open(t, s.Replay, Limits{})
		if f := c.Facts(); f.Frames == 0 || f.Frames != f.Packets {
			t.Errorf("%s: %d of %d frames", file, f.Frames, f.Packets)
		}
		for i, b := range frames(c) {
			if c.Program.Sequence.Frames[i].Sig == 0 && !right(b) {
				t.Errorf("%s, frame %d: a checksum is wrong", file, i)
			}
		}
	}
}
