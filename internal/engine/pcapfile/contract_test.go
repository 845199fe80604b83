package pcapfile_test

import (
	"net/url"
	"path/filepath"
	"testing"

	"github.com/wirespeed/wirespeed/internal/engine"
	"github.com/wirespeed/wirespeed/internal/engine/enginetest"
	"github.com/wirespeed/wirespeed/internal/engine/pcapfile"
)

// loop is a port on a file with a line rate, which is read back.
func loop(t *testing.T, name string) enginetest.Loop {
	path := filepath.Join(t.TempDir(), name)
	return enginetest.Loop{
		Tx: pcapfile.New(), TxTarget: engine.Target{Engine: "pcap", Device: path, Text: "pcap:" + path, Options: url.Values{"overwrite": {"yes"}, "speed": {"1G"}}},
		Rx: &enginetest.Readback{Path: path}, RxTarget: engine.Target{Device: path},
		Virtual: true, Missing: filepath.Join(path, "no", "folder"),
		Captured: func(t *testing.T) func() [][]byte {
			return func() [][]byte {
				frames, _, err := enginetest.ReadFrames(path)
				if err != nil {
					t.Fatal(err)
				}
				return frames
			}
		},
	}
}

func TestContract(t *testing.T) {
	for _, name := range []string{"a b@c.pcapng", "x.pcap"} {
		t.Run(name, func(t *testing.T) {
			enginetest.Run(t, func(t *testing.T, _ int) enginetest.Loop { return loop(t, name) })
		})
	}
}
