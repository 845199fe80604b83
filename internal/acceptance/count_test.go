package acceptance

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/wirespeed/wirespeed/internal/lab/labtest"
	"github.com/wirespeed/wirespeed/report"
)

// A million frames over a veth pair as the kernel makes it: all sent, all arrived, and the kernel counts the same.
func TestMillion(t *testing.T) {
	forEngines(t, func(t *testing.T, engine string, p *labtest.Pair) {
		const n = 1_000_000
		a, b := procNetDev(t, p.NSA, "va"), procNetDev(t, p.NSB, "vb")
		r := run(t, "send", engine+p.PortA, "--rx", p.PortB, "--count", fmt.Sprint(n), "--json")
		r.wantWhole(t, n)
		if sent := procNetDev(t, p.NSA, "va").txFrames - a.txFrames; sent != n || *r.tx(t).DeviceFrames != n {
			t.Errorf("the kernel counts %d frames sent, the document has %d", sent, *r.tx(t).DeviceFrames)
		}
		if got := procNetDev(t, p.NSB, "vb").rxFrames - b.rxFrames; got != n || *r.rx(t).DeviceFrames != n {
			t.Errorf("the kernel counts %d frames received, the document has %d", got, *r.rx(t).DeviceFrames)
		}
		if r.rx(t).Frames != n || r.rx(t).Foreign != 0 || r.rx(t).Stale != 0 || *r.rx(t).TesterDrops != 0 {
			t.Errorf("received %s", show(r.rx(t)))
		}
		if gro(t, p.NSB, "vb") {
			t.Error("GRO stays switched on at the peer")
		}
	})
}

// Every engine counts what every other sends, with all that the signature tells, at a rate that no receiver drops.
func TestEveryPairOfEngines(t *testing.T) {
	forBoth(t, func(t *testing.T, tx, rx string, p *labtest.Pair) {
		r := run(t, "send", tx+p.PortA, "--rx", rx+p.PortB, "--count", "5000", "--rate", "20kpps", "--catch-up", "5s", "--json")
		paced(t, r, 5000, 20_000)
		s := r.stream(t, 0)
		if *s.Frames != 5000 || *s.Lost != 0 {
			t.Errorf("%s", show(s))
		}
		if s.LatencyNs == nil || s.LatencyNs.Negative != 0 || s.GapNs == nil {
			t.Fatalf("latency and gaps: %s", show(s))
		}
		l, g := s.LatencyNs, s.GapNs
		if strings.Contains(l.Clock, "the time was set") { // on some hosts many times a second: then not every stamp is good
			if l.Count < 2500 || l.Count > 5000 || g.Count >= l.Count {
				t.Errorf("latency and gaps: %s", show(s))
			}
		} else if l.Count != 5000 || g.Count != 4999 {
			t.Errorf("latency and gaps: %s", show(s))
		}
	})
}

// paced checks what was sent against the schedule. A stalled machine may be late with the last frame, by no more than the
// report says, and only then may the status be 3.
func paced(t *testing.T, r *result, n uint64, fps float64) {
	t.Helper()
	tx := r.tx(t)
	if tx.Sent != n || tx.Unsent != 0 || tx.Intended == nil || *tx.Intended != n {
		t.Errorf("sent %d, unsent %d of %d\n%s", tx.Sent, tx.Unsent, n, r.all())
	}
	if tx.RequestedFPS == nil || *tx.RequestedFPS != fps {
		t.Errorf("asked for %s frames/s, want %v", show(tx.RequestedFPS), fps)
	}
	asked := float64(n) / fps
	late := float64(tx.BehindNsMax) / 1e9
	if tx.DurationS < asked*0.999-late || tx.DurationS > asked*1.001+late+0.001 { // the first may have been late too
		t.Errorf("%d frames took %v s, want %v and at most %v off", n, tx.DurationS, asked, late)
	}
	const wake = 200e-6 // s: short runs are off by a wake-up
	missed := n > 1 && (tx.FPS < fps*0.999 || tx.FPS > fps*1.001) && math.Abs(tx.DurationS-asked) > wake
	if want := map[bool]int{false: 0, true: 3}[missed]; r.exit != want {
		t.Errorf("status %d at %v frames/s, want %d\n%s", r.exit, tx.FPS, want, r.all())
	}
	if missed {
		t.Logf("the machine was busy: %v frames/s, %v s late", tx.FPS, late)
	}
}

func TestPaced(t *testing.T) {
	forEngines(t, func(t *testing.T, engine string, p *labtest.Pair) {
		for _, c := range []struct {
			rate, end, amount string
			n                 uint64
			fps               float64
		}{
			{"1000pps", "--duration", "1s", 1000, 1000},
			{"gap=250us", "--duration", "500ms", 2000, 4000},
			{"672kbps@L1", "--count", "500", 500, 1000},
			{"3kpps", "--count", "1", 1, 3000},
		} {
			t.Run(c.rate, func(t *testing.T) {
				r := run(t, "send", engine+p.PortA, "--rx", p.PortB, "--rate", c.rate, c.end, c.amount, "--catch-up", "5s", "--json")
				paced(t, r, c.n, c.fps)
				if s := r.stream(t, 0); *s.Frames != c.n || *s.Lost != 0 {
					t.Errorf("%s", show(s))
				}
			})
		}
	})
}

// Two queues: each has its own thread and id, and the report adds them up.
func TestQueues(t *testing.T) {
	if runtime.NumCPU() < 2 {
		t.Skip("needs two cores")
	}
	for _, e := range engines {
		t.Run(strings.TrimSuffix(e, ":"), func(t *testing.T) {
			p := pair(t, 2)
			const n = 100_001
			r := run(t, "send", e+p.PortA, "--rx", p.PortB, "--queues", "2", "--cores", "0,1", "--count", fmt.Sprint(n), "--rate", "100kpps", "--catch-up", "10s", "--json")
			if r.exit != 3 { // late as a whole, on a busy machine
				r.wantExit(t, 0)
			}
			q := r.tx(t).Queues
			if len(q) != 2 || *q[0].Sent != n/2+1 || *q[1].Sent != n/2 || q[0].Core != 0 || q[1].Core != 1 {
				t.Errorf("queues %s", show(q))
			}
			wantOrDropped(t, r, n)
		})
	}
}

// wantOrDropped: all that was sent arrived, but for what the tester itself dropped and says so.
func wantOrDropped(t *testing.T, r *result, n uint64) {
	t.Helper()
	var frames uint64
	for i := range r.doc.Streams {
		frames += *r.stream(t, i).Frames
	}
	drops := *r.rx(t).TesterDrops
	if r.tx(t).Sent != n || frames+drops != n {
		t.Errorf("sent %d, arrived %d, dropped by the tester %d, want %d", r.tx(t).Sent, frames, drops, n)
	}
	if drops > 0 {
		t.Logf("the tester dropped %d", drops)
		r.wantVerdict(t, "suspect")
		return
	}
	r.wantVerdict(t, "valid")
}

// Several streams by weight: each has its own exact count.
func TestStreamsByWeight(t *testing.T) {
	file := filepath.Join(t.TempDir(), "three.yaml")
	const streams = `
rate: 50kpps
streams:
  - {name: big, weight: 5, size: 256, layers: [eth, ip, udp]}
  - {name: small, weight: 2, size: 64, layers: [eth, ip, udp]}
  - {name: tagged, weight: 1, size: 128, layers: [eth, {vlan: {id: 7}}, ipv6, udp]}
`
	if err := os.WriteFile(file, []byte(streams), 0o600); err != nil {
		t.Fatal(err)
	}
	forEngines(t, func(t *testing.T, engine string, p *labtest.Pair) {
		r := run(t, "send", engine+p.PortA, "--rx", p.PortB, "-f", file, "--count", "8000", "--catch-up", "5s", "--json")
		paced(t, r, 8000, 50_000)
		want := map[string]uint64{"big": 5000, "small": 2000, "tagged": 1000}
		for i, s := range r.doc.Streams {
			if rx := r.stream(t, i); s.Tx.Frames != want[s.Name] || *rx.Frames != want[s.Name] || *rx.Lost != 0 {
				t.Errorf("%s: sent %d, %s", s.Name, s.Tx.Frames, show(rx))
			}
			delete(want, s.Name)
		}
		if len(want) != 0 {
			t.Errorf("not in the document: %v", want)
		}
		if bytes := uint64(5000*256 + 2000*64 + 1000*128); r.rx(t).Bytes != bytes {
			t.Errorf("%d bytes arrived, want %d", r.rx(t).Bytes, bytes)
		}
	})
}

// Without a signature loss is unknown, not guessed; the ports' counts are compared.
func TestNoSignature(t *testing.T) {
	forBoth(t, func(t *testing.T, tx, rx string, p *labtest.Pair) {
		r := run(t, "send", tx+p.PortA, "--rx", rx+p.PortB, "--signature", "none", "--count", "1000", "--json")
		r.wantExit(t, 0)
		s := r.stream(t, 0)
		if r.rx(t).Frames != 1000 || s.Lost != nil || s.LatencyNs != nil || r.doc.Reasons["streams[0].rx.lost"] == "" {
			t.Errorf("%s\n%s", show(s), show(r.rx(t)))
		}
	})
}

// The records of --jsonl are intervals, and the document comes last.
func TestIntervals(t *testing.T) {
	p := pair(t, 1)
	r := run(t, "send", "packet:"+p.PortA, "--rx", p.PortB, "--rate", "1000pps", "--duration", "1500ms", "--jsonl")
	lines := strings.Split(strings.TrimSpace(r.stdout), "\n")
	if len(lines) < 2 || !strings.HasPrefix(lines[0], `{"type":"interval"`) || !strings.Contains(lines[len(lines)-1], report.SchemaRun) {
		t.Errorf("status %d\n%s", r.exit, r.all())
	}
}
