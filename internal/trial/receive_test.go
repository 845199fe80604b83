package trial

import (
	"strings"
	"testing"

	"github.com/wirespeed/wirespeed/internal/engine"
	"github.com/wirespeed/wirespeed/internal/packet"
)

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
		{"short signature", packet.FormShort, nil, false, "no clock was read"},
		{"short signature on one machine", packet.FormShort, nil, true, "no clock was read"},
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
