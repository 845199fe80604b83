package acceptance

import (
	"fmt"
	"net"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/wirespeed/wirespeed/internal/host"
	"github.com/wirespeed/wirespeed/internal/lab/labtest"
)

// A shaping qdisc holds frames back: what has left when the drain limit is over is sent, the rest is unsent and said to be
// not drained. What leaves later is the next run's stale frames, and neither its sent nor its received.
func TestBackPressure(t *testing.T) {
	p := pair(t, 1)
	tbf := func(op, rate string) {
		inside(t, p.NSA, "tc", "qdisc", op, "dev", "va", "root", "tbf", "rate", rate, "burst", "1600", "limit", "600000")
	}
	tbf("add", "100kbit") // 200 frames each second, and room for 10,000
	port := "packet:" + p.PortA + "?qdisc=use"

	before := procNetDev(t, p.NSA, "va")
	s := start(t, "send", port, "--rate", "20kpps", "--duration", "25s", "--json")
	moving(t, s, p.NSA, "va", before, 20)
	va, err := p.NSA.Link("va")
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, "more waits than leaves in all the limits of two runs", func() bool {
		n, err := p.NSA.Backlog(va.Index)
		return err == nil && n > 3000
	})
	s.stop() // under load
	r := s.wait(t)
	after := procNetDev(t, p.NSA, "va")
	r.wantExit(t, 5, "not drained")
	tx := r.tx(t)
	left := after.txFrames - before.txFrames
	if tx.Sent > left || tx.Sent+100 < left { // the test reads a little later
		t.Errorf("sent %d, the kernel counts %d", tx.Sent, left)
	}
	if tx.Undrained == 0 || tx.Unsent < tx.Undrained || tx.Submitted != tx.Sent+tx.Undrained || *tx.DeviceFrames != tx.Sent || *tx.OtherTraffic != 0 {
		t.Errorf("%s", show(tx))
	}

	// The next run starts while the first one's frames still leave. Nothing of it leaves: it says so.
	r = run(t, "send", port, "--rx", p.PortB, "--count", "50", "--rate", "500pps", "--catch-up", "5s", "--json")
	r.wantExit(t, 3, "50 of 50 frames unsent", "not drained")
	if tx := r.tx(t); tx.Sent != 0 || *tx.OtherTraffic == 0 || *tx.OtherTraffic != *tx.DeviceFrames {
		t.Errorf("%s", show(tx))
	}
	if stream := r.stream(t, 0); *stream.Frames != 0 || *stream.Lost != 0 || r.rx(t).Stale == 0 {
		t.Errorf("%s, stale %d", show(stream), r.rx(t).Stale)
	}

	// Once the queue is empty again, a run that the qdisc can carry is whole.
	tbf("change", "1gbit")
	r = run(t, "send", port, "--rx", p.PortB, "--count", "1000", "--rate", "10kpps", "--catch-up", "5s", "--json")
	if tx := r.tx(t); tx.Sent != 1000 || tx.Undrained != 0 || *r.stream(t, 0).Lost != 0 {
		t.Errorf("%s %s", show(tx), show(r.stream(t, 0)))
	}

	// Past the qdisc nothing is held back, and the report names what was passed by.
	tbf("change", "1mbit")
	r = run(t, "send", "packet:"+p.PortA, "--rx", p.PortB, "--count", "10000", "--rate", "50kpps", "--catch-up", "5s", "--json")
	if tx := r.tx(t); tx.Sent != 10_000 || !strings.Contains(strings.Join(r.doc.Notes, "\n"), "tbf") {
		t.Errorf("%s %v", show(tx), r.doc.Notes)
	}
}

// A flow that is stopped while a qdisc holds it back is over when its report says so: what waited has left before, or is said
// to be not drained (TestBackPressure). Of another flow's frames none is this one's.
func TestStoppedFlowIsOver(t *testing.T) {
	p := pair(t, 1)
	// 1 Mbit/s are 2,000 frames of 60 bytes each second; 1,500 that wait have left before the limit of the drain.
	inside(t, p.NSA, "tc", "qdisc", "add", "dev", "va", "root", "tbf", "rate", "1mbit", "burst", "1600", "limit", "90000")
	port := "packet:" + p.PortA + "?qdisc=use"
	before := procNetDev(t, p.NSA, "va")
	s := start(t, "send", port, "--rate", "50kpps", "--duration", "25s", "--json")
	moving(t, s, p.NSA, "va", before, 200)
	va, err := p.NSA.Link("va")
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, "much waits", func() bool {
		n, err := p.NSA.Backlog(va.Index)
		return err == nil && n > 1000
	})
	s.stop()
	r := s.wait(t)
	r.wantExit(t, 5, "interrupted")
	after := procNetDev(t, p.NSA, "va")
	if tx := r.tx(t); tx.Undrained != 0 || tx.Sent != after.txFrames-before.txFrames || tx.Sent < 1000 {
		t.Errorf("the kernel counts %d frames: %s", after.txFrames-before.txFrames, show(tx))
	}
	r = run(t, "send", port, "--rx", p.PortB, "--dst-port", "7", "--count", "500", "--rate", "1kpps", "--catch-up", "5s", "--json")
	if tx, rx := r.tx(t), r.rx(t); tx.Sent != 500 || *tx.OtherTraffic != 0 || rx.Frames != 500 || rx.Stale != 0 || rx.Foreign != 0 {
		t.Errorf("%s, %s", show(tx), show(rx))
	}
	if all := procNetDev(t, p.NSA, "va").txFrames - after.txFrames; all != 500 {
		t.Errorf("%d frames left after the first flow's report, want the 500 of the second", all)
	}
}

// Frames of a run before this one are stale: they are counted apart.
func TestStaleFrames(t *testing.T) {
	forBoth(t, func(t *testing.T, tx, rx string, p *labtest.Pair) {
		before := procNetDev(t, p.NSB, "vb")
		inside(t, p.NSB, "ethtool", "-K", "vb", "gro", "on") // before there is a receiver
		c := startProgram(t, 0, "receive", rx+p.PortB, "--json")
		receiving(t, c, rx, p.NSB, "vb")
		run(t, "send", tx+p.PortA, "--count", "1000", "--json").wantExit(t, 0) // learned
		run(t, "send", tx+p.PortA, "--count", "500", "--json").wantExit(t, 0)  // another one's
		arrived(t, p.NSB, "vb", before, 1500)
		c.signal(t, syscall.SIGINT)
		r := c.wait(t)
		r.wantExit(t, 0)
		if s := r.stream(t, 0); r.rx(t).Frames != 1000 || r.rx(t).Stale != 500 || *s.Frames != 1000 || *s.Lost != 0 {
			t.Errorf("%s %s", show(r.rx(t)), show(s))
		}
	})
}

// addressed gives both ends an address and returns a datagram socket at each, A's towards B's.
func addressed(t testing.TB, p *labtest.Pair) (a, b *net.UDPConn) {
	t.Helper()
	inside(t, p.NSA, "ip", "addr", "add", "192.0.2.1/24", "dev", "va")
	inside(t, p.NSB, "ip", "addr", "add", "192.0.2.2/24", "dev", "vb")
	to := &net.UDPAddr{IP: net.IPv4(192, 0, 2, 2), Port: 4000}
	socket := func(ns *host.NS, open func() (*net.UDPConn, error)) (c *net.UDPConn) {
		if err := ns.Do(func() (err error) { c, err = open(); return err }); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Close() })
		return c
	}
	b = socket(p.NSB, func() (*net.UDPConn, error) { return net.ListenUDP("udp4", to) })
	a = socket(p.NSA, func() (*net.UDPConn, error) { return net.DialUDP("udp4", nil, to) })
	return a, b
}

// exchange sends n datagrams, each of which must come out at the other end.
func exchange(t testing.TB, a, b *net.UDPConn, n int) {
	t.Helper()
	buf := make([]byte, 100)
	for i := range n {
		want := fmt.Sprint("datagram ", i)
		if _, err := a.Write([]byte(want)); err != nil {
			t.Fatal(err)
		}
		if err := b.SetReadDeadline(time.Now().Add(patience)); err != nil {
			t.Fatal(err)
		}
		m, err := b.Read(buf)
		if err != nil || string(buf[:m]) != want {
			t.Fatalf("%q, %v: want %q", buf[:m], err, want)
		}
	}
}

// Other traffic on the port during a run: counted apart at both ends, the run is valid, and the kernel gets the frames.
func TestOtherTraffic(t *testing.T) {
	forBoth(t, func(t *testing.T, tx, rx string, p *labtest.Pair) {
		a, b := addressed(t, p)
		before := procNetDev(t, p.NSA, "va")
		s := start(t, "send", tx+p.PortA, "--rx", rx+p.PortB, "--rate", "5kpps", "--duration", "1s", "--catch-up", "10s", "--json")
		moving(t, s, p.NSA, "va", before, 20)
		exchange(t, a, b, 50)
		during := !s.ended() // else some came too late to count
		r := s.wait(t)
		paced(t, r, 5000, 5000)
		r.wantVerdict(t, "valid")
		all := procNetDev(t, p.NSA, "va").txFrames - before.txFrames
		if other := *r.tx(t).OtherTraffic; other == 0 || other > all-5000 || during && (other != all-5000 || r.rx(t).Foreign != other) {
			t.Errorf("other traffic %d, foreign %d, want %d", other, r.rx(t).Foreign, all-5000)
		}
		if s := r.stream(t, 0); *s.Frames != 5000 || *s.Lost != 0 {
			t.Errorf("%s", show(s))
		}
	})
}

// A receiver never blinds a host.
func TestReceivePassesTrafficOn(t *testing.T) {
	for _, rx := range engines {
		t.Run(strings.TrimSuffix(rx, ":"), func(t *testing.T) {
			p := pair(t, 1)
			a, b := addressed(t, p)
			c := startProgram(t, 0, "receive", rx+p.PortB, "--json")
			receiving(t, c, rx, p.NSB, "vb")
			exchange(t, a, b, 20)
			c.signal(t, syscall.SIGINT)
			r := c.wait(t)
			r.wantExit(t, 3, "nothing of a test run arrived") // there was none
			if r.rx(t).Foreign < 20 || r.rx(t).Frames != 0 {
				t.Errorf("%s", show(r.rx(t)))
			}
		})
	}
}

// One port has one sender and one receiver at a time.
func TestSecondInstance(t *testing.T) {
	p := pair(t, 1)
	c := startProgram(t, 0, "receive", "packet:"+p.PortB)
	receiving(t, c, "packet:", p.NSB, "vb")
	run(t, "receive", "packet:"+p.PortB, "--json").wantExit(t, 2, "another wirespeed receives on "+p.PortB, `"mend"`)
	before := procNetDev(t, p.NSA, "va")
	run(t, "send", "packet:"+p.PortA, "--rx", p.PortB, "--count", "10").wantExit(t, 2, "another wirespeed receives on "+p.PortB, "mend: ")

	s := startProgram(t, 0, "send", "packet:"+p.PortA, "--rate", "100pps", "--duration", "25s")
	moving(t, s, p.NSA, "va", before, 1)
	run(t, "send", "xdp:"+p.PortA, "--count", "10").wantExit(t, 2, "another wirespeed sends on "+p.PortA, "mend: ")
	s.signal(t, syscall.SIGKILL) // the lock goes with the process
	s.wait(t)
	run(t, "send", "packet:"+p.PortA, "--count", "10").wantExit(t, 0)
}
