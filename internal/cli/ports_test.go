package cli

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/wirespeed/wirespeed/internal/engine"
)

// ratingEngine judges ports by a table; it opens none.
type ratingEngine struct {
	engine.Engine
	name string
	send engine.Caps
	err  error
}

func (r ratingEngine) Name() string { return r.name }
func (r ratingEngine) Probe(context.Context, engine.Target) (engine.Caps, error) {
	return r.send, r.err
}

func TestPortsSaysWhatWorksAndWhyNot(t *testing.T) {
	down := engine.Problem{Reason: "it is down", Mend: "ip link set it up"}
	doc, err := listPorts(context.Background(), []engine.Engine{
		ratingEngine{name: "good"}, ratingEngine{name: "bad", send: engine.Caps{Problems: []engine.Problem{down}}},
		ratingEngine{name: "mended", send: engine.Caps{Problems: []engine.Problem{{Reason: "no GRO", Mendable: true}}}},
		ratingEngine{name: "unsure", send: engine.Caps{Unknown: []string{"the peer"}}}, ratingEngine{name: "broken", err: errors.New("cannot ask")},
	}, []string{"lo"})
	if err != nil {
		t.Fatal(err)
	}
	p := doc.Ports[0]
	want := []string{"send", "-", "send*", "send?", "-"}
	for i, e := range p.Engines {
		if got := fitWord(e); got != want[i] && p.Up {
			t.Errorf("%s: %q, want %q", e.Engine, got, want[i])
		}
		if e.Receive.Works {
			t.Errorf("%s receives", e.Engine)
		}
	}
	var out strings.Builder
	if err := doc.text(&out); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"bad: send does not work at lo: it is down\n  mend: ip link set it up\n", "broken: send does not work at lo: cannot ask\n", "unsure: not known at lo: the peer\n", "* wirespeed mends"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in:\n%s", want, out.String())
		}
	}
	b, err := json.Marshal(doc)
	if err != nil || !strings.Contains(string(b), `"bus":null`) || !strings.Contains(string(b), `"link_bps":null`) {
		t.Errorf("%v: %s", err, b)
	}
}

func TestPortsOfNothing(t *testing.T) {
	if _, err := listPorts(context.Background(), nil, []string{"t-host-nosuch"}); err == nil || !strings.Contains(err.Error(), "mend") {
		t.Errorf("%v", err)
	}
}

// TestPortsIsBrief: what both engines say stands once, and what a lab of wirespeed mends itself is not explained port by port.
func TestPortsIsBrief(t *testing.T) {
	down, gro := problemDoc{Reason: "it is down", Mend: "`up`"}, problemDoc{Reason: "no GRO", Mend: "`gro`", Mendable: true}
	both := func(p ...problemDoc) fit { return fit{Problems: p, Unknown: []string{"the driver"}} }
	doc := portsDoc{labs: []string{"xA"}, Ports: []portFacts{
		{Port: "d", Engines: []engineFit{{Engine: "one", Send: both(down), Receive: both(down)}, {Engine: "two", Send: both(down), Receive: both(down)}}},
		{Port: "va@xA", Netns: "xA", Up: true, Carrier: true, Engines: []engineFit{{Engine: "one", Send: fit{Problems: []problemDoc{gro}}}, {Engine: "two"}}},
	}}
	var out strings.Builder
	if err := doc.text(&out); err != nil {
		t.Fatal(err)
	}
	_, reasons, _ := strings.Cut(out.String(), "in its own labs\n")
	if want := "\none, two: neither send nor receive works at d: it is down\n  mend: `up`\n"; reasons != want {
		t.Errorf("got %q, want %q", reasons, want)
	}
}
