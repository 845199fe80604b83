package acceptance

import (
	"fmt"
	"syscall"
	"testing"
	"time"

	"github.com/wirespeed/wirespeed/internal/host"
	"github.com/wirespeed/wirespeed/internal/lab/labtest"
)

// phases are moments from a program's start on: before it listens to signals, while it opens the ports, while it sends.
var phases = []time.Duration{0, 5 * time.Millisecond, 15 * time.Millisecond, 30 * time.Millisecond, 60 * time.Millisecond, 150 * time.Millisecond}

// inPhase starts a run that does not end by itself and sends it a signal in a phase. The pairs of engines take turns: one
// changes the peer, the other attaches a program.
func inPhase(t *testing.T, p *labtest.Pair, i int, s syscall.Signal) *result {
	t.Helper()
	c := startProgram(t, 0, "send", engines[(i+1)%2]+p.PortA, "--rx", engines[i%2]+p.PortB, "--rate", "5kpps", "--duration", "30s", "--json")
	time.Sleep(phases[i])
	c.signal(t, s)
	return c.wait(t)
}

// asBefore wants both ports as the test found them.
func asBefore(t *testing.T, p *labtest.Pair) {
	t.Helper()
	for _, at := range []struct {
		ns     *host.NS
		device string
	}{{p.NSA, "va"}, {p.NSB, "vb"}} {
		l, err := at.ns.Link(at.device)
		if err != nil {
			t.Fatal(err)
		}
		if l.GRO || l.XDPMode != "" || len(packetSockets(t, at.ns)) > 0 {
			t.Errorf("%s: GRO %v, program %q, sockets %v", at.device, l.GRO, l.XDPMode, packetSockets(t, at.ns))
		}
	}
}

// Ctrl-C whenever it comes: the run ends, what it says is true, and the host is as before.
func TestInterruptInEveryPhase(t *testing.T) {
	p := pair(t, 1)
	for i, after := range phases {
		t.Run(fmt.Sprint(after), func(t *testing.T) {
			before := procNetDev(t, p.NSA, "va")
			r := inPhase(t, p, i, syscall.SIGINT)
			sent := procNetDev(t, p.NSA, "va").txFrames - before.txFrames
			switch {
			case r.exit == -1 && r.stdout == "": // it did not listen yet
			case r.doc != nil && r.doc.Schema != "":
				if r.wantExit(t, 5, "interrupted"); r.tx(t).Sent != sent {
					t.Errorf("the kernel counts %d: %s", sent, show(r.tx(t)))
				}
				sent = 0
			default:
				r.wantExit(t, 5, "interrupted before anything was sent")
			}
			if sent != 0 {
				t.Errorf("%d frames left, and nothing says so: %s", sent, r.all())
			}
			asBefore(t, p)
			run(t, "restore").wantExit(t, 0, "nothing to restore")
		})
	}
	run(t, "send", "xdp:"+p.PortA, "--rx", "packet:"+p.PortB, "--count", "500", "--json").wantWhole(t, 500)
}

// Ctrl-C is a receiver's normal end, and whenever it comes the port is as before.
func TestInterruptReceiveInEveryPhase(t *testing.T) {
	p := pair(t, 1)
	for i, after := range phases {
		t.Run(fmt.Sprint(after), func(t *testing.T) {
			c := startProgram(t, 0, "receive", engines[i%2]+p.PortB, "--json")
			time.Sleep(after)
			c.signal(t, syscall.SIGINT)
			if r := c.wait(t); r.exit == 3 { // it listened, and nothing came
				r.wantExit(t, 3, "nothing of a test run arrived")
			} else if r.exit != -1 || r.stdout != "" {
				r.wantExit(t, 5, "interrupted before the receiver listened")
			}
			asBefore(t, p)
			run(t, "restore").wantExit(t, 0, "nothing to restore")
		})
	}
}

// All frames have left and the receiver waits for quiet: Ctrl-C takes nothing from the report.
func TestInterruptWhileSettling(t *testing.T) {
	p := pair(t, 1)
	before := procNetDev(t, p.NSA, "va")
	c := startProgram(t, 0, "send", "packet:"+p.PortA, "--rx", "packet:"+p.PortB, "--count", "300", "--rate", "20kpps", "--catch-up", "10s", "--json")
	moving(t, c, p.NSA, "va", before, 300)
	time.Sleep(50 * time.Millisecond)
	c.signal(t, syscall.SIGINT)
	r := c.wait(t)
	if r.exit != 5 && r.exit != 3 { // a busy machine: it was before the end, or the rate was missed
		r.wantExit(t, 0)
	}
	if r.tx(t).Sent != 300 || *r.stream(t, 0).Frames != 300 || *r.stream(t, 0).Lost != 0 {
		t.Errorf("%s, %s", show(r.tx(t)), show(r.stream(t, 0)))
	}
}

// Killed whenever, the next run is whole, and restore puts the host back.
func TestKilledInEveryPhase(t *testing.T) {
	p := pair(t, 1)
	for i, after := range phases {
		t.Run(fmt.Sprint(after), func(t *testing.T) {
			if r := inPhase(t, p, i, syscall.SIGKILL); r.exit != -1 {
				t.Fatalf("status %d", r.exit)
			}
			run(t, "send", engines[(i+1)%2]+p.PortA, "--rx", engines[i%2]+p.PortB, "--count", "500", "--json").wantWhole(t, 500)
			run(t, "restore").wantExit(t, 0)
			run(t, "restore").wantExit(t, 0, "nothing to restore")
			asBefore(t, p)
		})
	}
}
