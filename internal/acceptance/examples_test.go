package acceptance

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/wirespeed/wirespeed/internal/lab/labtest"
	"github.com/wirespeed/wirespeed/stream"
)

// enough frames of an example are 2000, or those of half a second where it is slow.
func enough(t *testing.T, file string) uint64 {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	set, err := stream.Parse(file, text)
	if err != nil {
		t.Fatal(err)
	}
	const most = 2000
	fps, err := set.Rate.FPSMean(64, 1, 0)
	if err != nil {
		t.Fatal(err)
	}
	if fps.IsZero() {
		return most
	}
	return min(most, max(1, fps.Num/fps.Den/2))
}

// Every example is sent as it stands, and arrives whole. Whether a busy machine holds its rate is not looked at.
func TestExamples(t *testing.T) {
	files, err := filepath.Glob("../../examples/*.yaml")
	if err != nil || len(files) < 8 {
		t.Fatalf("%d examples, %v", len(files), err)
	}
	forEngines(t, func(t *testing.T, engine string, p *labtest.Pair) {
		for _, file := range files {
			t.Run(filepath.Base(file), func(t *testing.T) {
				n := enough(t, file)
				r := run(t, "send", engine+p.PortA, "--rx", p.PortB, "-f", file, "--count", fmt.Sprint(n), "--catch-up", "5s", "--json")
				if r.exit != 0 && r.exit != 3 {
					t.Fatalf("status %d\n%s", r.exit, r.all())
				}
				r.wantVerdict(t, "valid")
				if tx, rx := r.tx(t), r.rx(t); tx.Sent != n || tx.Unsent != 0 || rx.Frames != n || rx.Foreign != 0 {
					t.Errorf("sent %s, received %s", show(tx), show(rx))
				}
				for i, s := range r.doc.Streams {
					if rx := r.stream(t, i); s.Signature != "none" && (*rx.Lost != 0 || *rx.Corrupt != 0 || *rx.Frames != s.Tx.Frames) {
						t.Errorf("%s: sent %d, %s", s.Name, s.Tx.Frames, show(rx))
					}
				}
			})
		}
	})
}
