package trial

import (
	"testing"

	"github.com/wirespeed/wirespeed/internal/engine"
)

// TestFinerMeasuresAreMerged: the ids of a stream's queues, and its receive ports, make one set of measures.
func TestFinerMeasuresAreMerged(t *testing.T) {
	var m merged
	for i, o := range []engine.Order{
		{Reordered: 2, ExtentMax: 4, NMax: 1, LateNsMax: 10, ByteOffsetMax: 400, RD: map[int]uint64{0: 6, 1: 2}, RBD: map[int]uint64{0: 8}},
		{Reordered: 1, ExtentMax: 1, NMax: 3, LateNsMax: 62, ByteOffsetMax: 100, RD: map[int]uint64{0: 2}, RBD: map[int]uint64{0: 1, 1: 1}},
	} {
		var v engine.Histogram
		for range 10 {
			v.Record(uint64(20 * i))
		}
		merge(&m, &engine.StreamReceived{Frames: 10, Order: &o, Variation: &v})
	}
	j := &judge{reasons: map[string]string{}}
	rx := m.streamRx(j, "s", "", false)
	o := rx.Order
	if o.Reordered != 3 || o.ExtentMax != 4 || o.NMax != 3 || o.LateNsMax != 62 || o.ByteOffsetMax != 400 {
		t.Errorf("%+v", o)
	}
	if o.RD["0"] != .8 || o.RD["1"] != .2 || o.RBD["0"] != .9 || o.RBD["1"] != .1 {
		t.Errorf("densities %v and %v", o.RD, o.RBD)
	}
	v := rx.IPDVNs
	if v == nil || v.Count != 20 || v.Mean != 10 || v.Max != 20 || v.P50 == nil || v.P99 != nil || j.reasons["s.ipdv_ns.p99"] == "" {
		t.Errorf("%+v, reasons %v", v, j.reasons)
	}
}
