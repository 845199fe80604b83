package trial

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/wirespeed/wirespeed/internal/engine"
	"github.com/wirespeed/wirespeed/stream"
)

func testRunner(w *fakeWire) *Runner {
	return &Runner{
		Engines: []engine.Engine{fakeEngine{"fake", w}}, Note: func(string) {},
		Change: func(engine.Change) (func() error, error) { return nil, errors.New("no changes here") },
	}
}

// oneStream is 64-byte UDP frames with the full signature.
func oneStream(t testing.TB, rate string) *stream.Set {
	t.Helper()
	s, err := stream.FromFlags(stream.Flags{Rate: rate})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func testSpec(t testing.TB) Spec {
	return Spec{
		Set: oneStream(t, ""), Tx: []engine.Target{{Device: "a", Text: "a"}}, Rx: []engine.Target{{Device: "b", Text: "b"}},
		Count: 1000, Queues: 1, CatchUp: DefaultCatchUp,
	}
}

func mustRun(t *testing.T, w *fakeWire, s Spec) *Outcome {
	t.Helper()
	o, err := testRunner(w).Run(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

func (o *Outcome) lost(t *testing.T) int64 {
	t.Helper()
	if o.Report.Streams[0].Rx.Lost == nil {
		t.Fatalf("lost is unknown: %v", o.Report.Reasons)
	}
	return *o.Report.Streams[0].Rx.Lost
}

func wantVerdict(t *testing.T, o *Outcome, status string, exit int) {
	t.Helper()
	if o.Report.Verdict.Status != status || o.Exit != exit {
		t.Errorf("verdict %s %v, exit %d (%s); want %s and %d", o.Report.Verdict.Status, o.Report.Verdict.Reasons, o.Exit, o.Why, status, exit)
	}
}

// Every rule of accounting, one path each.
func TestAccounting(t *testing.T) {
	type counts struct{ frames, dup, reordered uint64 }
	for _, c := range []struct {
		name    string
		wire    *fakeWire
		change  func(*Spec)
		lost    int64
		sent    uint64
		counts  counts
		verdict string
		exit    int
	}{
		{name: "clean", lost: 0, sent: 1000, counts: counts{1000, 0, 0}, verdict: "valid"},
		{
			name: "path loses", sent: 1000, lost: 10, counts: counts{990, 0, 0}, verdict: "valid",
			wire: &fakeWire{path: func(_ uint16, seq uint64) []uint64 {
				if seq%100 == 7 {
					return nil
				}
				return []uint64{seq}
			}},
		},
		{
			name: "path duplicates: no effect on lost", sent: 1000, lost: 0, counts: counts{1000, 10, 0}, verdict: "valid",
			wire: &fakeWire{path: func(_ uint16, seq uint64) []uint64 {
				if seq%100 == 7 {
					return []uint64{seq, seq}
				}
				return []uint64{seq}
			}},
		},
		{
			name: "path swaps neighbours", sent: 1000, lost: 0, counts: counts{1000, 0, 500}, verdict: "valid",
			wire: &fakeWire{path: func(_ uint16, seq uint64) []uint64 { return []uint64{seq ^ 1} }},
		},
		{
			name: "device drops: unsent, not lost", sent: 900, lost: 0, counts: counts{900, 0, 0}, verdict: "valid", exit: ExitShort,
			wire: &fakeWire{
				path: func(_ uint16, seq uint64) []uint64 {
					if seq >= 900 {
						return nil
					}
					return []uint64{seq}
				},
				device: func(n uint64) engine.DeviceCounters {
					return engine.DeviceCounters{TxFrames: n * 9 / 10, TxDropped: n / 10, Up: true}
				},
			},
		},
		{
			name: "device knows of fewer than were handed over", sent: 900, lost: -100, verdict: "invalid", exit: ExitShort, counts: counts{1000, 0, 0},
			wire: &fakeWire{device: func(n uint64) engine.DeviceCounters { return engine.DeviceCounters{TxFrames: n * 9 / 10, Up: true} }},
		},
		{
			name: "other traffic on the port", sent: 1000, lost: 0, counts: counts{1000, 0, 0}, verdict: "valid",
			wire: &fakeWire{device: func(n uint64) engine.DeviceCounters {
				d := engine.DeviceCounters{TxFrames: 50, Up: true}
				if n > 0 {
					d.TxFrames += n + 3
				}
				return d
			}},
		},
		{
			name: "the tester's own drops", sent: 1000, lost: 5, counts: counts{995, 0, 0}, verdict: "suspect",
			wire: &fakeWire{testerDrops: 5, path: func(_ uint16, seq uint64) []uint64 {
				if seq < 5 {
					return nil
				}
				return []uint64{seq}
			}},
		},
		{
			name: "the tester's own drops are never the device's loss", sent: 1000, lost: 5, counts: counts{995, 0, 0}, verdict: "invalid", exit: ExitFailed,
			change: func(s *Spec) { s.MaxLoss = new(float64) },
			wire: &fakeWire{testerDrops: 5, path: func(_ uint16, seq uint64) []uint64 {
				if seq < 5 {
					return nil
				}
				return []uint64{seq}
			}},
		},
		{
			name: "a limit on loss", sent: 1000, lost: 1, counts: counts{999, 0, 0}, verdict: "valid", exit: ExitFailed,
			change: func(s *Spec) { s.MaxLoss = new(float64) },
			wire: &fakeWire{path: func(_ uint16, seq uint64) []uint64 {
				if seq == 999 {
					return nil
				}
				return []uint64{seq}
			}},
		},
		{
			name: "suspect is failure when strict", sent: 1000, lost: 0, counts: counts{1000, 0, 0}, verdict: "suspect", exit: ExitFailed,
			change: func(s *Spec) { s.Strict = true },
			wire:   &fakeWire{testerDrops: 1},
		},
		{
			name: "frames that arrive before they are sent", sent: 1000, lost: 0, counts: counts{1000, 0, 0}, verdict: "invalid", exit: ExitFailed,
			wire: &fakeWire{latency: &engine.Histogram{Negative: 1}},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := testSpec(t)
			if c.change != nil {
				c.change(&s)
			}
			if c.wire == nil {
				c.wire = &fakeWire{}
			}
			o := mustRun(t, c.wire, s)
			wantVerdict(t, o, c.verdict, c.exit)
			tx, rx := o.Report.Ports[0].Tx, o.Report.Streams[0].Rx
			if got := o.lost(t); got != c.lost || tx.Sent != c.sent {
				t.Errorf("sent %d, lost %d; want %d and %d", tx.Sent, got, c.sent, c.lost)
			}
			if got := (counts{*rx.Frames, *rx.Duplicate, *rx.Reordered}); got != c.counts {
				t.Errorf("counts %+v, want %+v", got, c.counts)
			}
			if tx.Sent+tx.Unsent != *tx.Intended {
				t.Errorf("sent %d + unsent %d is not the intended %d", tx.Sent, tx.Unsent, *tx.Intended)
			}
		})
	}
}

func TestOtherTrafficIsNotOurs(t *testing.T) {
	w := &fakeWire{device: func(n uint64) engine.DeviceCounters {
		d := engine.DeviceCounters{TxFrames: 50}
		if n > 0 {
			d.TxFrames += n + 3
		}
		return d
	}}
	o := mustRun(t, w, testSpec(t))
	if got := *o.Report.Ports[0].Tx.OtherTraffic; got != 3 {
		t.Errorf("other traffic %d, want 3", got)
	}
}

func TestNothingSentIsNeverSuccess(t *testing.T) {
	w := &fakeWire{
		reason: "the peer takes nothing",
		path:   func(uint16, uint64) []uint64 { return nil },
		device: func(uint64) engine.DeviceCounters { return engine.DeviceCounters{Up: true} },
	}
	s := testSpec(t)
	s.Count, s.Duration = 0, time.Second
	o := mustRun(t, w, s)
	if o.Exit != ExitShort || !strings.Contains(o.Why, "the peer takes nothing") {
		t.Errorf("exit %d, %q", o.Exit, o.Why)
	}
	if tx := o.Report.Ports[0].Tx; tx.Sent != 0 || tx.Unsent != 1000 {
		t.Errorf("sent %d, unsent %d", tx.Sent, tx.Unsent)
	}
}

// An engine that ends before its time is never done, also where nobody asked for a number and all that it took has left.
func TestEndedEarly(t *testing.T) {
	s := testSpec(t)
	s.Count, s.Duration = 0, time.Second
	o := mustRun(t, &fakeWire{reason: "the ring is gone"}, s)
	if tx := o.Report.Ports[0].Tx; o.Exit != ExitShort || !strings.Contains(o.Why, "the ring is gone") || tx.Unsent != 0 || tx.Intended != nil {
		t.Errorf("exit %d, %q: %+v", o.Exit, o.Why, tx)
	}
}

func TestRate(t *testing.T) {
	s := testSpec(t)
	s.Set = oneStream(t, "1000pps")
	s.Count, s.Duration = 0, time.Second
	o := mustRun(t, &fakeWire{}, s)
	tx := o.Report.Ports[0].Tx
	if o.Exit != 0 || *tx.Intended != 1000 || tx.DurationS < 0.9999 || tx.DurationS > 1.0001 {
		t.Errorf("exit %d (%s): %+v", o.Exit, o.Why, tx)
	}
	o = mustRun(t, &fakeWire{paced: 1100 * time.Millisecond}, s)
	if o.Exit != ExitShort || !strings.Contains(o.Why, "rate not achieved") {
		t.Errorf("a missed rate: exit %d (%s)", o.Exit, o.Why)
	}
	s.Count, s.Duration = 10, 0 // 9 ms from the first to the last
	for off, exit := range map[time.Duration]int{-100 * time.Microsecond: 0, 100 * time.Microsecond: 0, time.Millisecond: ExitShort, -time.Millisecond: ExitShort} {
		if o := mustRun(t, &fakeWire{paced: 9*time.Millisecond + off}, s); o.Exit != exit {
			t.Errorf("%v off: exit %d (%s), want %d", off, o.Exit, o.Why, exit)
		}
	}
}

func TestQueuesAreAddedUp(t *testing.T) {
	s := testSpec(t)
	s.Queues, s.Count = 3, 1000
	o := mustRun(t, &fakeWire{path: func(id uint16, seq uint64) []uint64 {
		if id == 1 && seq == 0 {
			return nil
		}
		return []uint64{seq}
	}}, s)
	if n := len(o.Report.Ports[0].Tx.Queues); n != 3 {
		t.Errorf("%d queues", n)
	}
	if got := o.lost(t); got != 1 || *o.Report.Streams[0].Rx.Frames != 999 {
		t.Errorf("lost %d", got)
	}
}

func TestNoSignature(t *testing.T) {
	s := testSpec(t)
	var err error
	if s.Set, err = stream.FromFlags(stream.Flags{Signature: "none"}); err != nil {
		t.Fatal(err)
	}
	o := mustRun(t, &fakeWire{}, s)
	rx := o.Report.Streams[0].Rx
	if rx.Lost != nil || rx.Duplicate != nil || *rx.Frames != 1000 || o.Report.Reasons["streams[0].rx.lost"] == "" {
		t.Errorf("%+v %v", rx, o.Report.Reasons)
	}
}

// What cannot be read any more after a run does not take the rest of the report with it.
func TestDeviceGone(t *testing.T) {
	o := mustRun(t, &fakeWire{gone: true}, testSpec(t))
	wantVerdict(t, o, "suspect", 0)
	tx, rx := o.Report.Ports[0].Tx, o.Report.Ports[1].Rx
	if tx.Sent != 1000 || tx.DeviceFrames != nil || rx.Frames != 1000 || rx.DeviceFrames != nil || len(o.Report.Verdict.Reasons) != 2 {
		t.Errorf("%+v %+v %v", tx, rx, o.Report.Verdict)
	}
	o = mustRun(t, &fakeWire{rxError: errors.New("network is down")}, testSpec(t))
	wantVerdict(t, o, "invalid", ExitFailed)
}

func TestInterrupted(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	s := testSpec(t)
	o, err := testRunner(&fakeWire{block: true}).Run(ctx, s)
	if err != nil || o.Exit != ExitInterrupted || o.Report.Error.Code != ExitInterrupted {
		t.Errorf("%+v, %v", o, err)
	}
}

// What is refused before anything is sent: the exit status and a word of the sentence.
func TestRefusals(t *testing.T) {
	for _, c := range []struct {
		name   string
		wire   *fakeWire
		change func(*Spec)
		exit   int
		say    string
	}{
		{"a port twice", &fakeWire{}, func(s *Spec) { s.Tx = append(s.Tx, s.Tx[0]) }, ExitUsage, "a is given twice as a port to send from"},
		{"a receive port twice", &fakeWire{}, func(s *Spec) { s.Rx = append(s.Rx, s.Rx[0]) }, ExitUsage, "b is given twice as a port with --rx"},
		{"unknown port", &fakeWire{}, func(s *Spec) { s.Tx[0].Device = "missing" }, ExitEnvironment, "missing"},
		{"no ports", &fakeWire{}, func(s *Spec) { s.Tx = nil }, ExitUsage, "no port"},
		{"queues", &fakeWire{}, func(s *Spec) { s.Queues = 5 }, ExitEnvironment, "5 queues"},
		{"no queues", &fakeWire{}, func(s *Spec) { s.Queues = 0 }, ExitUsage, "--queues 0"},
		{"problem", &fakeWire{problems: []engine.Problem{{Reason: "link down", Mend: "ip link set a up"}}}, nil, ExitEnvironment, "ip link set a up"},
		{"above the line", &fakeWire{}, func(s *Spec) {
			s.Set = oneStream(t, "2Mpps")
			s.Tx[0].Options = map[string][]string{"speed": {"1G"}}
		}, ExitUsage, "1488095"},
		{"percent without a line", &fakeWire{}, func(s *Spec) { s.Set = oneStream(t, "50%") }, ExitUsage, "speed="},
		{"speed", &fakeWire{}, func(s *Spec) { s.Tx[0].Options = map[string][]string{"speed": {"fast"}} }, ExitUsage, "speed"},
		{"option", &fakeWire{}, func(s *Spec) { s.Tx[0].Options = map[string][]string{"colour": {"red"}} }, ExitUsage, "colour"},
		{"live port", &fakeWire{live: true}, nil, ExitUsage, "default route"},
		{"loss limit without a receiver", &fakeWire{}, func(s *Spec) { s.Rx, s.MaxLoss = nil, new(float64) }, ExitUsage, "--rx"},
		{"no destination", &fakeWire{}, func(s *Spec) { s.Rx = nil }, ExitUsage, "--dst-mac"},
		{"no destination, and no permission to look for one", &fakeWire{problems: []engine.Problem{{Reason: "not permitted", Mend: "sudo"}}}, func(s *Spec) { s.Rx = nil }, ExitEnvironment, "mend: sudo"},
		{"a signature that no receiver would find", &fakeWire{}, func(s *Spec) {
			set, err := stream.Parse("f", []byte("streams: [{name: a, layers: [{eth: {}}, {ip: {frag_offset: 1}}, {udp: {}}]}]"))
			if err != nil {
				t.Fatal(err)
			}
			s.Set = set
		}, ExitUsage, "frag_offset"},
		{"cores", &fakeWire{}, func(s *Spec) { s.Cores = []int{0, 1} }, ExitUsage, "2 cores for 1 queues"},
		{"forever and count", &fakeWire{}, func(s *Spec) { s.Forever = true }, ExitUsage, "--forever"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := testSpec(t)
			if c.change != nil {
				c.change(&s)
			}
			o, err := testRunner(c.wire).Run(t.Context(), s)
			if err == nil {
				t.Fatalf("not refused: %+v", o)
			}
			if e := ErrorOf(err); e.Code != c.exit || !strings.Contains(err.Error(), c.say) {
				t.Errorf("exit %d, %q; want %d and a word of %q", e.Code, err, c.exit, c.say)
			}
			if c.wire.sent != 0 {
				t.Errorf("%d frames were sent", c.wire.sent)
			}
		})
	}
}

// Numbers that the kernel resets during a run are said to be suspect, never negative.
func TestCountersReset(t *testing.T) {
	w := &fakeWire{device: func(n uint64) engine.DeviceCounters {
		if n == 0 {
			return engine.DeviceCounters{TxFrames: 1 << 40}
		}
		return engine.DeviceCounters{TxFrames: n}
	}}
	o := mustRun(t, w, testSpec(t))
	if o.Report.Verdict.Status != "suspect" || o.Report.Ports[0].Tx.DeviceFrames != nil {
		t.Errorf("%+v", o.Report.Verdict)
	}
	for _, f := range []string{"device_frames", "device_dropped", "other_traffic"} {
		if o.Report.Reasons["ports[0].tx."+f] == "" {
			t.Errorf("%s is null without a reason", f)
		}
	}
}

// A port in use by another run is refused, by name.
func TestSecondInstance(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	started, done := make(chan struct{}), make(chan struct{})
	r := testRunner(&fakeWire{block: true})
	r.Stage = func(s string) {
		if s == "running" {
			close(started)
		}
	}
	var first error
	go func() {
		defer close(done)
		_, first = r.Run(ctx, testSpec(t))
	}()
	select {
	case <-started:
	case <-done:
		t.Fatalf("the first instance did not start: %v", first)
	}
	w := &fakeWire{}
	_, err := testRunner(w).Run(t.Context(), testSpec(t))
	if err == nil || ErrorOf(err).Code != ExitEnvironment || !strings.Contains(err.Error(), "another wirespeed") {
		t.Errorf("got %v", err)
	}
	if w.sent != 0 {
		t.Error("the second instance sent")
	}
	cancel()
	<-done
	if _, err := testRunner(&fakeWire{}).Run(t.Context(), testSpec(t)); err != nil {
		t.Errorf("the lock outlived its run: %v", err)
	}
}

func TestOneQueueSentWhatItsPortSent(t *testing.T) {
	w := &fakeWire{device: func(n uint64) engine.DeviceCounters {
		return engine.DeviceCounters{TxFrames: n - n/10, TxDropped: n / 10, Up: true}
	}}
	o := mustRun(t, w, testSpec(t))
	tx := o.Report.Ports[0].Tx
	if tx.Sent != 900 || *tx.Queues[0].Sent != 900 || tx.Queues[0].Submitted != 1000 || !strings.Contains(o.Why, "100 dropped by the device") {
		t.Errorf("%+v: %s", tx, o.Why)
	}
}
