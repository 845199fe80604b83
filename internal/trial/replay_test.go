package trial

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/wirespeed/wirespeed/internal/engine"
	"github.com/wirespeed/wirespeed/internal/pcapio/pcaptest"
	"github.com/wirespeed/wirespeed/stream"
)

// row writes the first file of a row of known captures.
func row(t testing.TB, name string) string {
	t.Helper()
	for _, r := range pcaptest.Rows() {
		if r.Name == name {
			path := filepath.Join(t.TempDir(), r.Files[0].Name)
			if err := os.WriteFile(path, r.Files[0].Bytes, 0o600); err != nil {
				t.Fatal(err)
			}
			return path
		}
	}
	t.Fatalf("no row %q", name)
	return ""
}

// replaySpec sends a capture of five frames, 100 us from the first to the last.
func replaySpec(t testing.TB, f stream.Flags, r stream.ReplayFlags) Spec {
	t.Helper()
	if r.PCAP == "" {
		r.PCAP = row(t, "microseconds")
	}
	set, err := stream.FromReplayFlags(f, r)
	if err != nil {
		t.Fatal(err)
	}
	s := testSpec(t)
	s.Set, s.Count = set, 0
	return s
}

// How much a replay sends: its rounds, the count and the duration, whichever ends first.
func TestReplayAmount(t *testing.T) {
	for name, x := range map[string]struct {
		f      stream.Flags
		r      stream.ReplayFlags
		change func(*Spec)
		want   engine.Plan
	}{
		"once":            {want: engine.Plan{Count: 5, Recorded: true}},
		"three times":     {r: stream.ReplayFlags{Loop: "3"}, want: engine.Plan{Count: 15, Recorded: true}},
		"less":            {r: stream.ReplayFlags{Loop: "3"}, change: func(s *Spec) { s.Count = 7 }, want: engine.Plan{Count: 7, Recorded: true}},
		"with a duration": {change: func(s *Spec) { s.Duration = time.Second }, want: engine.Plan{Count: 5, Duration: time.Second, Recorded: true}},
		"for ever":        {r: stream.ReplayFlags{Loop: "0"}, change: func(s *Spec) { s.Forever = true }, want: engine.Plan{Recorded: true}},
		"again and again": {f: stream.Flags{Rate: "max"}, r: stream.ReplayFlags{Loop: "0"}, change: func(s *Spec) { s.Count = 99 }, want: engine.Plan{Count: 99}},
	} {
		t.Run(name, func(t *testing.T) {
			s := replaySpec(t, x.f, x.r)
			if x.change != nil {
				x.change(&s)
			}
			u := &run{Runner: testRunner(&fakeWire{}), spec: s}
			p := &sender{target: s.Tx[0]}
			defer u.close()
			if err := u.plan(t.Context(), p, 0); err != nil {
				t.Fatal(err)
			}
			if got := p.plan; got.Count != x.want.Count || got.Duration != x.want.Duration || got.Recorded != x.want.Recorded || !got.Rate.IsZero() {
				t.Errorf("count %d, duration %v, recorded %v; want %+v", got.Count, got.Duration, got.Recorded, x.want)
			}
		})
	}
	for want, change := range map[string]func(*Spec){
		"--count 6 is more than the 5 frames": func(s *Spec) { s.Count = 6 },
		"--loop 0 has no end":                 func(s *Spec) { s.Set.Replay.Loop = 0 },
		"no run sends that many":              func(s *Spec) { s.Set.Replay.Loop = 1 << 63 },
		"no time passes from round to round":  func(s *Spec) { s.Set.Replay.Loop = 0; s.Set.Replay.Limit = 1; s.Forever = true },
		"from one port only":                  func(s *Spec) { s.Set.Replay.File = "-"; s.Tx = append(s.Tx, engine.Target{Device: "c", Text: "c"}) },
		"which 2 queues cannot do together":   func(s *Spec) { s.Set.Replay.Preload = stream.PreloadNo; s.Queues = 2 },
		"which frames of a pipe": func(s *Spec) {
			s.Set.Replay.File = "-"
			s.Stdin = bytes.NewReader(pcaptest.Named("us-little.pcap").Bytes)
		},
	} {
		s := replaySpec(t, stream.Flags{}, stream.ReplayFlags{})
		change(&s)
		_, err := testRunner(&fakeWire{}).Run(t.Context(), s)
		if bad, ok := err.(*Refusal); !ok || bad.Code != ExitUsage || !strings.Contains(bad.Message, want) || bad.Mend == "" {
			t.Errorf("%v; want %q and a mend", err, want)
		}
	}
}

// A rate in bit/s is converted with the mean size of the capture.
func TestReplayRate(t *testing.T) {
	s := replaySpec(t, stream.Flags{Rate: "1Mbps@L2"}, stream.ReplayFlags{})
	u := &run{Runner: testRunner(&fakeWire{}), spec: s}
	p := &sender{target: s.Tx[0]}
	defer u.close()
	if err := u.plan(t.Context(), p, 0); err != nil {
		t.Fatal(err)
	}
	f := p.replay.Facts()
	if want := 1e6 / 8 * float64(f.Frames) / float64(f.Bytes); p.plan.Rate.Float() < want*.999999 || p.plan.Rate.Float() > want*1.000001 || p.plan.Recorded {
		t.Errorf("%v frames/s, want %v", p.plan.Rate.Float(), want)
	}
}

// The receivers are told what the capture's frames are known by, and the document what was read.
func TestReplayDocument(t *testing.T) {
	w := &fakeWire{}
	o := mustRun(t, w, replaySpec(t, stream.Flags{Rate: "max", TTL: "9"}, stream.ReplayFlags{PCAP: row(t, "snapshot length"), AllowSkip: true, Loop: "2", MapIP: []string{"1.0.0.0/8=2.0.0.0/8"}}))
	wantVerdict(t, o, "valid", 0)
	if len(w.exp.SrcMACs) == 0 || len(w.exp.EtherTypes) == 0 || len(w.exp.Streams) != 0 {
		t.Errorf("expected %+v", w.exp)
	}
	d := o.Report.Ports[0].Tx.Replay
	if d == nil || d.Packets != 4 || d.Frames != 2 || d.Skipped["truncated"] != 2 || *d.Loop != 2 || !d.Preloaded || d.Recorded || o.Report.Ports[0].Tx.Sent != 4 {
		t.Errorf("%+v", d)
	}
	notes := strings.Join(o.Report.Notes, "\n")
	for _, want := range []string{"2 of 4 frames of", "left out: 2 truncated (packets 3, 4", "no address lies in 1.0.0.0/8"} {
		if !strings.Contains(notes, want) {
			t.Errorf("%q is missing in\n%s", want, notes)
		}
	}
	if strings.Contains(notes, "sent and arrived differ") {
		t.Errorf("all arrived:\n%s", notes)
	}
	w.path = func(_ uint16, seq uint64) []uint64 { return []uint64{seq, seq} }
	o = mustRun(t, w, replaySpec(t, stream.Flags{Rate: "max"}, stream.ReplayFlags{}))
	if !strings.Contains(strings.Join(o.Report.Notes, "\n"), "sent and arrived differ: 5 frames of") {
		t.Errorf("frames that came twice are not said: %q", o.Report.Notes)
	}
}

// Frames without room for a signature are judged by the ports' counts, the others by their numbers.
func TestReplayMaxLossOfBoth(t *testing.T) {
	for name, x := range map[string]struct {
		lose int // of the frames without a signature
		dup  int // of those with one
		exit int
		why  string
	}{
		"all arrived":             {},
		"signed came twice":       {dup: 1},
		"one without is lost":     {lose: 1, exit: ExitFailed, why: "lost 1 of 4 frames"},
		"one lost behind a twice": {lose: 1, dup: 1, exit: ExitFailed, why: "lost 1 of 4 frames"},
		"one too many":            {lose: -1, exit: ExitFailed, why: "1 more frames without a signature arrived"},
	} {
		t.Run(name, func(t *testing.T) {
			lose, dup := x.lose, x.dup
			w := &fakeWire{path: func(id uint16, seq uint64) []uint64 {
				switch {
				case id == 0 && seq == 0 && dup > 0:
					return []uint64{seq, seq}
				case id == 1 && seq == 0 && lose > 0:
					return nil
				case id == 1 && seq == 0 && lose < 0:
					return []uint64{seq, seq}
				}
				return []uint64{seq}
			}}
			s := replaySpec(t, stream.Flags{Rate: "max", Signature: "full"}, stream.ReplayFlags{PCAP: row(t, "UDP checksums")})
			s.MaxLoss = new(float64)
			o := mustRun(t, w, s)
			if len(o.Report.Streams) != 2 || o.Exit != x.exit || !strings.Contains(o.Why, x.why) {
				t.Errorf("exit %d (%s), streams %+v", o.Exit, o.Why, o.Report.Streams)
			}
		})
	}
}

// A router drops frames whose time to live is 1: that is said before the start.
func TestReplayThroughARouterNamesTheTimeToLive(t *testing.T) {
	for ttl, want := range map[string]bool{"1": true, "2": false} {
		s := replaySpec(t, stream.Flags{TTL: ttl}, stream.ReplayFlags{})
		for _, gateway := range []*[6]byte{nil, {2, 0, 0, 0, 0, 0xee}} {
			u := &run{Runner: testRunner(&fakeWire{}), spec: s, gatewayMAC: gateway}
			if err := u.plan(t.Context(), &sender{target: s.Tx[0]}, 0); err != nil {
				t.Fatal(err)
			}
			u.close()
			if said := strings.Contains(strings.Join(u.notes, "\n"), "5 of 5 frames have a time to live of 1 or less"); said != (want && gateway != nil) {
				t.Errorf("--ttl %s, gateway %v: %q", ttl, gateway, u.notes)
			}
		}
	}
}

// Stalls that stretch recorded gaps are a missed rate.
func TestReplayStretched(t *testing.T) {
	w := &fakeWire{paced: time.Second, shifted: 10 * time.Millisecond}
	if o := mustRun(t, w, replaySpec(t, stream.Flags{}, stream.ReplayFlags{})); o.Exit != ExitShort || !strings.Contains(o.Why, "the recorded gaps were not kept") {
		t.Errorf("exit %d: %s", o.Exit, o.Why)
	}
	w.shifted = 100 * time.Microsecond
	if o := mustRun(t, w, replaySpec(t, stream.Flags{}, stream.ReplayFlags{})); o.Exit != 0 {
		t.Errorf("exit %d: %s", o.Exit, o.Why)
	}
}
