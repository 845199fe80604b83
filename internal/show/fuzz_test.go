package show

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/wirespeed/wirespeed/stream"
)

// Whatever Parse accepts can be compiled and made, and the decoder finds as many headers as there should be, unless the
// definition writes a type, a protocol or a length of its own.
func FuzzMake(f *testing.F) {
	files, err := filepath.Glob("../../examples/*.yaml")
	if err != nil || len(files) == 0 {
		f.Fatalf("%d examples, %v", len(files), err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Add([]byte("streams: [{layers: [eth, {ip: {version: 15, hdr_len: 60, len: 65535, frag_offset: 1}}, {udp: {length: 1}}]}]"))
	f.Add([]byte("streams: [{layers: [eth, {ipv6: {plen: 0, nxt: 0}}, {tcp: {hdr_len: 0}}], size: 1518}]"))
	f.Fuzz(func(t *testing.T, data []byte) {
		set, err := stream.Parse("fuzz", data)
		if err != nil || set.Replay != nil {
			return
		}
		if len(set.Streams) > 64 {
			return // ids of short signatures are the run's business
		}
		d, err := Make(set, 3, true)
		if err != nil {
			t.Fatalf("accepted, and then: %v", err)
		}
		for _, fr := range d.Frames {
			if len(fr.Layers) == 0 || fr.Size < 64 || len(fr.Hex) != 2*(fr.Size-4) {
				t.Fatalf("frame %+v", fr)
			}
		}
	})
}
