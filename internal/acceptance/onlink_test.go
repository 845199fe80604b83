package acceptance

import (
	"strings"
	"testing"
)

// A destination on the port's own network is asked for itself: its frames go to it and not to whatever the port is plugged
// into, and where it is silent nothing is sent but the questions.
func TestDestinationOnTheNetwork(t *testing.T) {
	m := upMiddle(t, "bridge", "tacco")
	vb := macAt(t, m.nsB, "vb")
	for _, f := range []struct {
		own, there, silent string
		v6                 bool
	}{{"198.18.0.1/16", "198.18.0.2", "198.18.0.3", false}, {"2001:2::1/64", "2001:2::2", "2001:2::3", true}} {
		there := peerNode(t, m.nsB, f.there)
		far := listenAt(t, m.nsB, "vb")
		r := run(t, "send", "packet:"+m.portA, "--tx-ip", f.own, "--dst-ip", f.there, "--count", "20", "--json")
		r.wantExit(t, 0)
		if notes := strings.Join(r.doc.Notes, "\n"); !strings.Contains(notes, "the destination "+f.there+" has the address") {
			t.Errorf("notes: %s", notes)
		}
		for _, frame := range far.take(t, etherTypeOf(f.v6), 20) {
			if string(frame[:6]) != string(vb) {
				t.Fatalf("to % x, want % x", frame[:6], vb)
			}
		}
		if f.v6 { // of IPv4 see TestGatewayIsSilent: it takes a while
			before := procNetDev(t, m.nsA, "va")
			run(t, "send", "packet:"+m.portA, "--tx-ip", f.own, "--dst-ip", f.silent, "--count", "20", "--json").wantExit(t, 2, f.silent+" does not answer at "+m.portA, "--dst-mac")
			if asked := procNetDev(t, m.nsA, "va").txFrames - before.txFrames; asked == 0 || asked > 6 {
				t.Errorf("%d frames left, want the questions", asked)
			}
		}
		// Who says where frames go is not made to wait for an answer, nor who sends to many.
		run(t, "send", "packet:"+m.portA, "--tx-ip", f.own, "--dst-ip", f.silent, "--dst-mac", "02:00:00:00:00:09", "--count", "20", "--json").wantExit(t, 0)
		run(t, "send", "packet:"+m.portA, "--tx-ip", f.own, "--dst-ip", "inc("+f.silent+",1,4)", "--count", "20", "--json").wantExit(t, 0)
		if err := there.Close(); err != nil {
			t.Error(err)
		}
	}
}
