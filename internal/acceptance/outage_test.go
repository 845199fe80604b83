package acceptance

import (
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/wirespeed/wirespeed/internal/host"
	"github.com/wirespeed/wirespeed/internal/lab"
	"github.com/wirespeed/wirespeed/internal/lab/labtest"
	"github.com/wirespeed/wirespeed/internal/lab/need"
)

// A peer that would drop live frames silently, in namespaces that are not wirespeed's: refused with the exact command,
// nothing is sent, and the command helps.
func TestSilentPeerIsRefusedWithTheCommand(t *testing.T) {
	need.Tool(t, "ethtool")
	p := pair(t, 1)
	before := procNetDev(t, p.NSA, "va")
	r := run(t, "send", "xdp:"+p.PortA, "--count", "1000", "--json")
	r.wantExit(t, 2, "neither GRO nor an XDP program", "ip netns exec "+p.B+" ethtool -K vb gro on")
	if now := procNetDev(t, p.NSA, "va"); now != before {
		t.Errorf("the counters moved from %+v to %+v", before, now)
	}
	command := regexp.MustCompile("`(ip netns exec [^`]*)`").FindStringSubmatch(r.doc.Error.Message + r.doc.Error.Mend)
	if command == nil {
		t.Fatalf("no command in %+v", r.doc.Error)
	}
	if out, err := exec.Command("sh", "-c", command[1]).CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", command[1], err, out)
	}
	r = run(t, "send", "xdp:"+p.PortA, "--count", "1000", "--json")
	r.wantExit(t, 0)
	if got := procNetDev(t, p.NSA, "va").txFrames - before.txFrames; got != 1000 || r.tx(t).Sent != 1000 {
		t.Errorf("sent %d, the kernel counts %d", r.tx(t).Sent, got)
	}
}

// The peer's namespace cannot be found, so nobody can look at it: never "sent".
func TestSilentPeerThatCannotBeFound(t *testing.T) {
	a := labtest.TestNetns(t, "t-accept-lonely")
	b := nameless(t)
	if err := lab.Wire(a, b, "va", "vb", 1); err != nil {
		t.Fatal(err)
	}
	before := procNetDev(t, a, "va")
	const port = "va@t-accept-lonely"
	r := startProgram(t, 0, "send", "packet:"+port, "--count", "100", "--json").wait(t)
	r.wantExit(t, 1, "--dst-mac")
	r = startProgram(t, 0, "send", "xdp:"+port, "--dst-mac", "02:00:00:00:00:02", "--count", "1000000", "--json").wait(t)
	if sent := procNetDev(t, a, "va").txFrames - before.txFrames; sent != 0 {
		t.Errorf("the kernel counts %d frames", sent)
	}
	if r.exit == 2 { // this kernel says beforehand what the peer takes
		r.wantExit(t, 2, "GRO", "ethtool -K")
		return
	}
	r.wantExit(t, 3, "GRO")
	if tx := r.tx(t); tx.Sent != 0 || tx.Unsent != 1_000_000 || tx.DurationS > 1 {
		t.Errorf("%s", show(tx))
	}
}

// A peer that becomes deaf during the run: the run stops, and what the device did not count is unsent.
func TestPeerBecomesSilent(t *testing.T) {
	need.Tool(t, "ethtool")
	p := pair(t, 1)
	inside(t, p.NSB, "ethtool", "-K", "vb", "gro", "on")
	before := procNetDev(t, p.NSA, "va")
	s := start(t, "send", "xdp:"+p.PortA, "--forever", "--json")
	moving(t, s, p.NSA, "va", before, 1000)
	inside(t, p.NSB, "ethtool", "-K", "vb", "gro", "off")
	r := s.wait(t)
	r.wantExit(t, 3, "GRO")
	if sent := procNetDev(t, p.NSA, "va").txFrames - before.txFrames; r.tx(t).Sent != sent || r.tx(t).Unsent == 0 {
		t.Errorf("the kernel counts %d frames: %s", sent, show(r.tx(t)))
	}
}

// In a lab of wirespeed's the peer is mended without asking, said, and put back.
func TestSilentPeerInALabIsMended(t *testing.T) {
	need.Root(t)
	up(t, "taccm")
	b, err := host.OpenNS("taccmB")
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	r := run(t, "send", "xdp:va@taccmA", "--count", "1000", "--json")
	r.wantExit(t, 0)
	if notes := strings.Join(r.doc.Notes, "\n"); r.tx(t).Sent != 1000 || !strings.Contains(notes, "switched GRO on at vb") {
		t.Errorf("sent %d; notes: %s", r.tx(t).Sent, notes)
	}
	if gro(t, b, "vb") {
		t.Error("GRO stays on")
	}
}

// up makes a lab for the length of the test.
func up(t testing.TB, name string) {
	t.Helper()
	run(t, "lab", "up", "pair", "--name", name).wantExit(t, 0)
	t.Cleanup(func() { run(t, "lab", "down", name) })
}

// The interface is taken down during the run: the run ends, the partial report is printed and says why.
func TestLinkDownDuringTheRun(t *testing.T) {
	forBoth(t, func(t *testing.T, tx, rx string, p *labtest.Pair) {
		before := procNetDev(t, p.NSA, "va")
		s := start(t, "send", tx+p.PortA, "--rx", rx+p.PortB, "--rate", "20kpps", "--duration", "25s", "--json")
		moving(t, s, p.NSA, "va", before, 100)
		inside(t, p.NSA, "ip", "link", "set", "va", "down")
		r := s.wait(t)
		r.wantExit(t, 3, "down")
		if sent := procNetDev(t, p.NSA, "va").txFrames - before.txFrames; r.tx(t).Sent != sent || r.tx(t).Unsent == 0 {
			t.Errorf("the kernel counts %d frames: %s", sent, show(r.tx(t)))
		}
		if r.doc.Verdict.Status == "valid" {
			t.Errorf("verdict %+v", r.doc.Verdict)
		}
		if lost := r.stream(t, 0).Lost; lost == nil || *lost != 0 {
			t.Errorf("lost %s: what was sent before arrived", show(lost))
		}
	})
}

// The device is deleted during the run, and its peer with it.
func TestDeviceDeletedDuringTheRun(t *testing.T) {
	forBoth(t, func(t *testing.T, tx, rx string, p *labtest.Pair) {
		before := procNetDev(t, p.NSA, "va")
		s := start(t, "send", tx+p.PortA, "--rx", rx+p.PortB, "--rate", "20kpps", "--duration", "25s", "--json")
		moving(t, s, p.NSA, "va", before, 100)
		inside(t, p.NSA, "ip", "link", "del", "va")
		r := s.wait(t)
		r.wantExit(t, 3, "va@")
		if got := r.tx(t); got.Unsent == 0 || *got.Intended != 500_000 {
			t.Errorf("%s", show(got))
		}
		if r.doc.Verdict.Status == "valid" {
			t.Errorf("verdict %+v", r.doc.Verdict)
		}
	})
}

// The receiving interface goes away: what was sent is known, what arrived until then too.
func TestReceiverDownDuringTheRun(t *testing.T) {
	forBoth(t, func(t *testing.T, tx, rx string, p *labtest.Pair) {
		before := procNetDev(t, p.NSA, "va")
		s := start(t, "send", tx+p.PortA, "--rx", rx+p.PortB, "--rate", "20kpps", "--duration", "25s", "--json")
		moving(t, s, p.NSA, "va", before, 100)
		inside(t, p.NSB, "ip", "link", "set", "vb", "down")
		r := s.wait(t)
		r.wantExit(t, 3)
		if got := r.tx(t); got.Unsent == 0 || got.Sent == 0 {
			t.Errorf("%s", show(got))
		}
		if r.doc.Verdict.Status == "valid" {
			t.Errorf("verdict %+v", r.doc.Verdict)
		}
	})
}
