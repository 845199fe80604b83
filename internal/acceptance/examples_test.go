package acceptance

import (
	"path/filepath"
	"testing"

	"github.com/wirespeed/wirespeed/internal/lab/labtest"
)

// Every example is sent as it stands, and arrives whole. Whether a busy machine holds its rate is not looked at.
func TestExamples(t *testing.T) {
	files, err := filepath.Glob("../../examples/*.yaml")
	if err != nil || len(files) < 8 {
		t.Fatalf("%d examples, %v", len(files), err)
	}
	forEngines(t, func(t *testing.T, engine string, p *labtest.Pair) {
		for _, file := range files {
			t.Run(filepath.Base(file), func(t *testing.T) {
				const n = 2000
				r := run(t, "send", engine+p.PortA, "--rx", p.PortB, "-f", file, "--count", "2000", "--catch-up", "5s", "--json")
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
