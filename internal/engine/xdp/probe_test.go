package xdp

import (
	"errors"
	"io/fs"
	"os/exec"
	"strings"
	"testing"

	"github.com/wirespeed/wirespeed/internal/engine"
	"github.com/wirespeed/wirespeed/internal/lab/labtest"
	"github.com/wirespeed/wirespeed/internal/lab/need"
)

// A probe names everything that is in the way, each with its mend, and finds nothing where nothing is.
func TestProbe(t *testing.T) {
	need.Tool(t, "ip")
	pair := labtest.TestPair(t, "t-xdptx", 2)
	in := func(args ...string) {
		t.Helper()
		if out, err := exec.Command("ip", append([]string{"-n", pair.A}, args...)...).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	probe := func(device string) engine.Caps {
		t.Helper()
		c, err := New().Probe(t.Context(), engine.Target{Device: device, Netns: pair.A})
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	text := func(c engine.Caps) string {
		var s []string
		for _, p := range c.Problems {
			s = append(s, p.String())
		}
		return strings.Join(s, "\n")
	}
	if s := text(probe(pair.DevA)); !strings.Contains(s, "vb has neither GRO nor an XDP program") {
		t.Errorf("deaf peer: %s", s)
	}
	in("link", "set", "va", "mtu", "9000")
	if c := probe(pair.DevA); c.MaxFrame != maxLive+4 || c.MaxTag != 0 {
		t.Errorf("MTU 9000: frames up to %d and %d", c.MaxFrame, c.MaxTag)
	}
	in("link", "set", "va", "mtu", "1500")
	newSink(t, pair, udpSig)
	c := probe(pair.DevA)
	if len(c.Problems)+len(c.Unknown) != 0 || c.MaxFrame != 1518 || c.MaxTag != 4 || c.MaxQueues < 1 || c.MaxQueues > 2 || !c.Paces || !c.Stamps || c.Link.PeerMAC == nil {
		t.Errorf("%+v", c)
	}
	in("link", "set", "va", "down")
	if s := text(probe(pair.DevA)); !strings.Contains(s, "is down; mend: `ip netns exec "+pair.A+" ip link set dev va up`") {
		t.Errorf("down: %s", s)
	}
	in("link", "set", "lo", "up")
	if s := text(probe("lo")); !strings.Contains(s, "no ndo_xdp_xmit") {
		t.Errorf("lo: %s", s)
	}
	for _, target := range []engine.Target{{Device: "nosuch", Netns: pair.A}, {Device: "va", Netns: "nosuch"}} {
		if _, err := New().Probe(t.Context(), target); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%v: %v", target, err)
		}
		if _, err := New().Open(t.Context(), target, engine.Config{}); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%v: %v", target, err)
		}
	}
}
