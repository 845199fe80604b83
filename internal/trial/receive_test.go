package trial

import (
	"strings"
	"testing"

	"github.com/wirespeed/wirespeed/internal/capture"
	"github.com/wirespeed/wirespeed/internal/engine"
	"github.com/wirespeed/wirespeed/internal/packet"
)

// TestFilteredLossIsUnknown: what a filter kept out is not lost.
func TestFilteredLossIsUnknown(t *testing.T) {
	filtered := ReceiveSpec{Rx: engine.Target{Device: "b", Text: "b"}, Capture: &capture.Spec{Path: "x.pcapng", Filter: make([]capture.Instruction, 1)}}
	u := &run{rx: []*receiver{{}}}
	j := &judge{reasons: map[string]string{}}
	st := u.learned(&engine.StreamReceived{Frames: 4, Next: 8, LastSeen: true, LastSeq: 9}, filtered, j, "s")
	if st.Rx.Lost != nil || st.Rx.LostFirst != nil || !strings.Contains(j.reasons["s.rx.lost"], "filter") || j.reasons["s.rx.lost_first"] == "" {
		t.Errorf("%+v, %v", st.Rx, j.reasons)
	}
	filtered.MaxLoss = new(float64)
	_, err := testRunner(&fakeWire{}).Receive(t.Context(), filtered)
	if bad, ok := err.(*Refusal); !ok || bad.Code != ExitUsage || !strings.Contains(bad.Message, "--max-loss together with --filter") || bad.Mend == "" {
		t.Error(err)
	}
}

// TestWhyLatencyIsUnknown: a receiver on its own names the clocks only where there were times to compare.
func TestWhyLatencyIsUnknown(t *testing.T) {
	var h engine.Histogram
	h.Record(5)
	for _, c := range []struct {
		name    string
		form    packet.Form
		latency *engine.Histogram
		same    bool
		why     string // empty: it is known
	}{
		{"short signature", packet.FormShort, nil, false, "the short form of the signature has no time"},
		{"short signature on one machine", packet.FormShort, nil, true, "the short form of the signature has no time"},
		{"no time stamped", packet.FormFull, nil, true, "no clock was read"},
		{"clocks may differ", packet.FormFull, &h, false, "--clock"},
		{"one clock", packet.FormFull, &h, true, ""},
	} {
		u := &run{rx: []*receiver{{}}}
		j := &judge{reasons: map[string]string{}}
		g := &engine.StreamReceived{Form: c.form, Frames: 10, Next: 10, LastSeen: true, LastSeq: 9, Latency: c.latency}
		st := u.learned(g, ReceiveSpec{SameClock: c.same}, j, "s")
		why := j.reasons["s.rx.latency_ns"]
		if (st.Rx.LatencyNs == nil) != (c.why != "") || !strings.Contains(why, c.why) || c.why == "" && why != "" {
			t.Errorf("%s: latency %+v, reason %q", c.name, st.Rx.LatencyNs, why)
		}
	}
}
