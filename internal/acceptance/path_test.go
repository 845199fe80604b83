package acceptance

import (
	"encoding/binary"
	"fmt"
	"math"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/wirespeed/wirespeed/internal/host"
	"github.com/wirespeed/wirespeed/internal/lab"
	"github.com/wirespeed/wirespeed/internal/lab/labtest"
)

// sequence reads the number of a frame that is IPv4 and UDP with the full signature: magic, run, flags, stream, sequence.
func sequence(frame []byte) (seq uint32, ok bool) {
	const signature = 14 + 20 + 8
	if len(frame) < signature+18 || binary.BigEndian.Uint16(frame[signature:]) != 0x5753 {
		return 0, false
	}
	return binary.BigEndian.Uint32(frame[signature+6:]), true
}

// device is a forwarder between two namespaces: va@A to ma, mb to vb@B.
type device struct {
	nsA, nsB     *host.NS
	portA, portB string
	forwarder    *lab.Forwarder
}

// between makes a device under test that hurts frames on the way from A to B as do says, by their number.
func between(t testing.TB, do func(seq uint32) lab.Action) *device {
	t.Helper()
	base := fmt.Sprintf("t-accept-f%d-", time.Now().UnixNano()%1e9)
	d := &device{nsA: labtest.TestNetns(t, base+"A"), nsB: labtest.TestNetns(t, base+"B")}
	m := labtest.TestNetns(t, base+"M")
	for _, w := range []struct {
		a, b       *host.NS
		devA, devB string
	}{{d.nsA, m, "va", "ma"}, {m, d.nsB, "mb", "vb"}} {
		if err := lab.Wire(w.a, w.b, w.devA, w.devB, 1); err != nil {
			t.Fatal(err)
		}
	}
	d.portA, d.portB = "va@"+base+"A", "vb@"+base+"B"
	path := &lab.Path{Impair: func(_ uint64, frame []byte) lab.Action {
		if seq, ok := sequence(frame); ok {
			return do(seq)
		}
		return lab.Action{}
	}}
	var err error
	d.forwarder, err = lab.StartForwarder(lab.ForwardPort{NS: m, Device: "ma"}, lab.ForwardPort{NS: m, Device: "mb"}, path, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.forwarder.Close(); err != nil {
			t.Error(err)
		}
	})
	// What stands in for a real device takes live frames: GRO at the near end, as its driver would.
	inside(t, m, "ethtool", "-K", "ma", "gro", "on")
	return d
}

// overrun is how many frames the forwarder itself was too slow for: on a busy machine they are lost too.
func (d *device) overrun() uint64 {
	c, _ := d.forwarder.Counts()
	return c.SocketDrops + c.Unsent
}

// A path that loses the first frames and later ones, duplicates one in a thousand, swaps neighbours, delays one frame by 2 s
// and corrupts some: each count is exact, and each is a count of its own.
func TestPathHurtsChosenFrames(t *testing.T) {
	const (
		n   = 130_000
		fps = 60_000
		// More than the window of 65,536 overtake it, also where the run takes 3.5 s instead of 2.2; and it comes before
		// all has been quiet for 200 ms.
		hold = 2 * time.Second
	)
	do := func(seq uint32) (a lab.Action) {
		switch {
		case seq < 3: // as by a device that learns addresses
			a.Drop = true
		case seq == 5:
			a.Delay = hold
		case seq >= 1000 && seq < 1010 || seq == n-2:
			a.Drop = true
		case seq == 3000:
			a.Duplicate = 3
		case seq%1000 == 500:
			a.Duplicate = 1
		case seq >= 4000 && seq < 4014 && seq%2 == 0:
			a.Behind = 1
		case seq >= 5000 && seq < 5004:
			a.Corrupt, a.At = true, -1
		}
		return a
	}
	for _, tx := range engines {
		for _, rx := range engines {
			t.Run(tx+"to-"+rx, func(t *testing.T) {
				d := between(t, do)
				// 100 bytes: the last one is behind the signature, and under the UDP checksum.
				r := run(t, "send", tx+d.portA, "--rx", rx+d.portB, "--dst-mac", "02:00:00:00:00:02", "--size", "100", "--count", fmt.Sprint(n), "--rate", fmt.Sprint(fps, "pps"), "--catch-up", "10s", "--json")
				if r.exit != 3 { // late, on a busy machine
					r.wantExit(t, 0)
				}
				s := r.stream(t, 0)
				more := d.overrun() + *r.rx(t).TesterDrops
				if more > 0 {
					t.Logf("the machine was busy: %d further frames lost", more)
				}
				const dropped, corrupt, duplicate = 3 + 11, 4, n/1000 + 3
				late, swapped := uint64(1), uint64(7)
				if r.tx(t).DurationS > 3.5 && *s.Late == 0 {
					t.Log("the machine was so busy that the frame came late, but inside the window")
					late, swapped = 0, swapped+1
				}
				if r.tx(t).Sent != n || *s.Lost != int64(dropped+late+corrupt+more) || *s.Frames != n-dropped-late-corrupt-more {
					t.Errorf("sent %d, lost %d, frames %d", r.tx(t).Sent, *s.Lost, *s.Frames)
				}
				if *s.Late != late || *s.Corrupt != corrupt || *s.Duplicate != duplicate || *s.Reordered != swapped || *s.BadSeq != 0 {
					t.Errorf("%s", show(s))
				}
				if first := *s.LostFirst; first != 3 && (more == 0 || first < 3) {
					t.Errorf("%d lost before the first arrival, want 3", first)
				}
				// RFC 4737 and RFC 5236: who is swapped with its neighbour comes one place late, its neighbour one place early.
				if o := s.Order; rx == "packet:" && late == 1 && more == 0 && (o == nil || o.Reordered != swapped || o.ExtentMax != 1 || o.NMax != 1 || !near(o.RD["1"], swapped, *s.Frames) || !near(o.RD["-1"], swapped, *s.Frames)) {
					t.Errorf("order %s", show(o))
				}
				if want := uint64(n - dropped + duplicate); r.rx(t).Frames != want-more {
					t.Errorf("%d arrived, want %d", r.rx(t).Frames, want-more)
				}
			})
		}
	}
}

// near is whether a share is that of so many of so many, give or take one.
func near(share float64, of, all uint64) bool {
	return math.Abs(share*float64(all)-float64(of)) <= 1
}

// A limit on loss is judged: what a device loses is its own, and a failure of the limit.
func TestMaxLoss(t *testing.T) {
	d := between(t, func(seq uint32) lab.Action { return lab.Action{Drop: seq%100 == 7} })
	args := []string{"send", "packet:" + d.portA, "--rx", "packet:" + d.portB, "--dst-mac", "02:00:00:00:00:02", "--count", "1000", "--json", "--max-loss"}
	r := run(t, append(args, "1%")...)
	r.wantExit(t, 0)
	if lost := *r.stream(t, 0).Lost; lost != 10 {
		t.Errorf("lost %d, want 10", lost)
	}
	r = run(t, append(args, "0.9%")...)
	r.wantExit(t, 4, "lost 10 of 1000")
	r.wantVerdict(t, "valid") // the numbers are right, the device is not
}

// A sender and a receiver that know nothing of each other: the receiver learns the run, and knows what was lost up to the
// last frame. Latency is unknown unless the clocks are said to agree.
func TestReceiveOnItsOwn(t *testing.T) {
	for _, tx := range engines {
		for _, rx := range engines {
			t.Run(tx+"to-"+rx, func(t *testing.T) {
				d := between(t, func(seq uint32) lab.Action { return lab.Action{Drop: seq == 10 || seq == 998} })
				for _, clock := range []string{"unknown", "same"} {
					before := procNetDev(t, d.nsB, "vb")
					p := startProgram(t, 0, "receive", rx+d.portB, "--clock", clock, "--json")
					receiving(t, p, rx, d.nsB, "vb")
					run(t, "send", tx+d.portA, "--dst-mac", "02:00:00:00:00:02", "--count", "1000", "--rate", "20kpps", "--catch-up", "5s", "--json")
					arrived(t, d.nsB, "vb", before, 998)
					p.signal(t, syscall.SIGINT)
					r := p.wait(t)
					r.wantExit(t, 0)
					r.wantVerdict(t, "valid")
					s := r.stream(t, 0)
					if *s.Frames != 998 || *s.Lost != 2 || r.doc.Reasons["streams[0].rx.lost"] != "" || r.rx(t).Stale != 0 {
						t.Errorf("%s, reasons %v", show(s), r.doc.Reasons)
					}
					if (s.LatencyNs != nil) != (clock == "same") || clock == "unknown" && r.doc.Reasons["streams[0].rx.latency_ns"] == "" {
						t.Errorf("clock %s: latency %s, reasons %v", clock, show(s.LatencyNs), r.doc.Reasons)
					}
				}
			})
		}
	}
}

// Without the last frame the tail is not known, and said so.
func TestLostTailIsNotGuessed(t *testing.T) {
	var mu sync.Mutex
	last := uint32(999)
	d := between(t, func(seq uint32) lab.Action {
		mu.Lock()
		defer mu.Unlock()
		return lab.Action{Drop: seq == last}
	})
	before := procNetDev(t, d.nsB, "vb")
	p := startProgram(t, 0, "receive", "packet:"+d.portB, "--json")
	receiving(t, p, "packet:", d.nsB, "vb")
	run(t, "send", "packet:"+d.portA, "--dst-mac", "02:00:00:00:00:02", "--count", "1000", "--json").wantExit(t, 0)
	arrived(t, d.nsB, "vb", before, 999)
	p.signal(t, syscall.SIGINT)
	r := p.wait(t)
	r.wantExit(t, 0)
	if s := r.stream(t, 0); *s.Frames != 999 || r.doc.Reasons["streams[0].rx.lost"] == "" {
		t.Errorf("%s, reasons %v", show(s), r.doc.Reasons)
	}
}

// The tester's own receiver drops, being stopped while a million frames come: that is said, and never the device's loss.
func TestReceiverLoses(t *testing.T) {
	p := pair(t, 1)
	const n = 1_000_000
	c := startProgram(t, 0, "receive", "packet:"+p.PortB, "--max-loss", "0", "--json")
	receiving(t, c, "packet:", p.NSB, "vb")
	run(t, "send", "packet:"+p.PortA, "--count", "100", "--signature", "none", "--json").wantExit(t, 0)
	before := procNetDev(t, p.NSB, "vb")
	c.signal(t, syscall.SIGSTOP)
	sent := run(t, "send", "packet:"+p.PortA, "--count", fmt.Sprint(n), "--json")
	c.signal(t, syscall.SIGCONT)
	sent.wantExit(t, 0)
	arrived(t, p.NSB, "vb", before, n)
	c.signal(t, syscall.SIGINT)
	r := c.wait(t)
	r.wantVerdict(t, "invalid")
	r.wantExit(t, 4, "dropped by the tester itself")
	drops := *r.rx(t).TesterDrops
	if drops == 0 || r.rx(t).Frames+drops != n {
		t.Errorf("arrived %d, dropped %d, sent %d", r.rx(t).Frames, drops, n)
	}
}

// The same within one process: received and dropped add up to what was sent, at the highest rate and on one core.
func TestReceiverShort(t *testing.T) {
	p := pair(t, 1)
	const n = 500_000
	cpus, err := host.CPUs()
	if err != nil {
		t.Fatal(err)
	}
	r := run(t, "send", "xdp:"+p.PortA, "--rx", "packet:"+p.PortB, "--cores", fmt.Sprint(cpus[len(cpus)-1]), "--count", fmt.Sprint(n), "--max-loss", "0", "--json")
	wantOrInvalid(t, r, n)
}

func wantOrInvalid(t *testing.T, r *result, n uint64) {
	t.Helper()
	drops := *r.rx(t).TesterDrops
	if got := r.rx(t).Frames; r.tx(t).Sent != n || got+drops != n || *r.stream(t, 0).Lost != int64(drops) {
		t.Errorf("sent %d, arrived %d, dropped %d", r.tx(t).Sent, got, drops)
	}
	if drops == 0 {
		t.Log("this receiver dropped nothing")
		r.wantExit(t, 0)
		return
	}
	r.wantExit(t, 4, "dropped by the tester itself")
	r.wantVerdict(t, "invalid")
}

// receiving waits until a receiver in another process is ready.
func receiving(t testing.TB, c *process, engine string, ns *host.NS, device string) {
	t.Helper()
	eventually(t, "the receiver is ready", func() bool {
		if c.ended() {
			t.Fatalf("the receiver ended: %s", c.wait(t).all())
		}
		if engine == "packet:" {
			return len(packetSockets(t, ns)) > 0
		}
		l, err := ns.Link(device)
		return err == nil && l.XDPMode != ""
	})
}

// arrived waits until a device has received so many frames beyond from.
func arrived(t testing.TB, ns *host.NS, device string, from netCounts, n uint64) {
	t.Helper()
	eventually(t, fmt.Sprintf("%s receives %d frames", device, n), func() bool {
		return procNetDev(t, ns, device).rxFrames >= from.rxFrames+n
	})
}
