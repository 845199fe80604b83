package bpf

import (
	"bytes"
	"encoding/binary"
	"math"
	"testing"
	"unsafe"

	"github.com/wirespeed/wirespeed/internal/engine"
)

// Whatever lies in a record, decoding and the figures made of it end, and are numbers.
func FuzzRecord(f *testing.F) {
	f.Add([]byte{})
	f.Add(bytes.Repeat([]byte{0xff}, 300))
	f.Add(bytes.Repeat([]byte{1, 0, 0, 0, 0, 0, 0, 0x80}, 2100))
	f.Fuzz(func(t *testing.T, b []byte) {
		raw := make([]byte, unsafe.Sizeof(Record{}))
		for n := 0; n < len(raw) && len(b) > 0; {
			n += copy(raw[n:], b)
		}
		r := new(Record)
		if _, err := binary.Decode(raw, binary.NativeEndian, r); err != nil {
			t.Fatal(err)
		}
		s := r.decode(5, 7)
		if s.ID != 5 || s.Frames != r.Frames || s.Next != r.Next || s.LastSeen != (r.LastSeen != 0) || s.BadSeq != r.BadSeq {
			t.Errorf("%+v", countsOf(s))
		}
		if (s.Gap != nil) != (r.Gap.Count != 0) || s.Gap != nil && s.Gap.Ref != 7 {
			t.Error("gaps")
		}
		for _, h := range []*engine.Histogram{s.Latency, s.Gap} {
			if h == nil {
				continue
			}
			_ = h.Quantile(.99)
			if v := h.Mean() + h.Stdev(); math.IsNaN(v) || math.IsInf(v, 0) {
				t.Errorf("mean %g, standard deviation %g", h.Mean(), h.Stdev())
			}
		}
		var got engine.Received
		widen(&got, r)
		if r.FirstNs == 0 && got.FirstNs|got.LastNs != 0 {
			t.Error("a span of nothing")
		}
	})
}
