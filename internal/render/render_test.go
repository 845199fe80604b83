package render

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/wirespeed/wirespeed/internal/wire"
	"github.com/wirespeed/wirespeed/report"
)

var update = flag.Bool("update", false, "write the golden files anew")

// golden compares got with testdata/name.golden.
func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name+".golden")
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v; make it with go test -update", err)
	}
	if d := cmp.Diff(string(want), string(got)); d != "" {
		t.Errorf("%s differs (go test -update takes it over):\n%s", path, d)
	}
}

func ptr[T any](v T) *T { return &v }

const noLine = "the device has no line rate of its own; declare one with ?speed=1G"

// goodRun is a paced run on a declared line with everything known that can be.
func goodRun() *report.Run {
	link := uint64(1e9)
	return &report.Run{
		Schema: report.SchemaRun, Tool: report.Tool{Version: "0.1.0", Commit: "abc"},
		Command: []string{"wirespeed", "send", "va@A?speed=1G", "--rx", "vb@B?speed=1G", "--rate", "750064pps", "--count", "1000000"},
		Started: "2026-01-02T03:04:05Z", Host: report.Host{Kernel: "6.12.1", CPU: "Example CPU", Cores: 2}, RunID: 23,
		Ports: []report.Port{
			{
				Port: "va@A?speed=1G", Device: "va", Engine: "xdp", Why: "the fastest that carries this stream",
				LinkBps: &link, LinkDeclared: true,
				Tx: &report.Tx{
					Intended: ptr(uint64(1000000)), Submitted: 1000000, Sent: 1000000, SentSource: "device counter of the peer",
					DeviceFrames: ptr(uint64(1000012)), DeviceDropped: ptr(uint64(0)), OtherTraffic: ptr(uint64(12)),
					DurationS: 1.333219566, FPS: 750064, L1Bps: 504043008, L2Bps: 384032768, L2NoFCSBps: 360030720, LineShare: ptr(0.504043008),
					RequestedFPS: ptr(750064.0), BehindNsMax: 41200, Batch: 4, DoorbellsPerFrame: ptr(0.25),
					Queues: []report.TxQueue{{Queue: 0, Core: 0, Submitted: 500000, Sent: ptr(uint64(500000)), BehindNsMax: 41200}, {Queue: 1, Core: 1, Submitted: 500000, Sent: ptr(uint64(500000)), BehindNsMax: 900}},
				},
			},
			{
				Port: "vb@B?speed=1G", Device: "vb", Engine: "xdp", LinkBps: &link, LinkDeclared: true,
				Rx: &report.Rx{
					Frames: 1000000, Bytes: 64000000, DeviceFrames: ptr(uint64(1000012)), DurationS: 1.333219566,
					FPS: 750064, L1Bps: 504043008, L2Bps: 384032768, L2LineShare: ptr(0.384032768), MeanIntervalNs: ptr(1333.2196),
					Foreign: 12, TesterDrops: ptr(uint64(0)), Clock: "xdp program, CLOCK_MONOTONIC, every frame", Window: 65472,
				},
			},
		},
		Streams: []report.Stream{{
			Name: "main", FrameSize: "64", Signature: "full", Tx: &report.StreamTx{Frames: 1000000},
			Rx: &report.StreamRx{
				Frames: ptr(uint64(1000000)), Lost: ptr(int64(0)), Duplicate: ptr(uint64(0)), Reordered: ptr(uint64(0)),
				Late: ptr(uint64(0)), Corrupt: ptr(uint64(0)), BadSeq: ptr(uint64(0)),
				LatencyNs: &report.Latency{
					Count: 1000000, Min: 350, Mean: 812.5, P50: ptr(uint64(790)), P90: ptr(uint64(1100)), P99: ptr(uint64(2300)),
					P999: ptr(uint64(15800)), Max: 1204000, Clock: "one clock", FloorP50: nil,
				},
				GapNs: &report.Gap{
					Count: 999998, Mean: 2666.4, Stdev: 88.2, P1: ptr(uint64(2500)), P50: ptr(uint64(2666)), P99: ptr(uint64(2800)),
					Max: 61000, Within5Pct: ptr(0.9731),
				},
			},
		}},
		Verdict: report.Verdict{Status: "valid"},
		Notes:   []string{"GRO was switched on at vb, the peer of va, and put back"},
		Reasons: map[string]string{"streams[0].rx.latency_ns.floor_p50": "the floor of this port pair has not been measured"},
	}
}

// badRun has unknowns everywhere, losses and a suspect verdict.
func badRun() *report.Run {
	const unsigned = "the frames carry no signature: compare the ports' counts"
	r := goodRun()
	r.Command = []string{"wirespeed", "send", "packet:va@A", "--rx", "vb@B", "--duration", "1s"}
	tx, rx := r.Ports[0].Tx, r.Ports[1].Rx
	r.Ports[0].Port, r.Ports[0].Engine, r.Ports[0].Why = "packet:va@A", "packet", "asked for"
	r.Ports[0].LinkBps, r.Ports[1].LinkBps, tx.LineShare, rx.L2LineShare = nil, nil, nil, nil
	r.Ports[1].Port = "vb@B"
	r.Ports[1].WhyNot = []string{"xdp: the kernel is older than 5.18, which is the first one that can send frames from a program; a newer kernel mends it"}
	tx.Intended, tx.RequestedFPS, tx.DeviceFrames, tx.DeviceDropped, tx.OtherTraffic = nil, nil, nil, nil, nil
	tx.Submitted, tx.Sent, tx.Unsent, tx.Undrained, tx.Queues = 1000100, 1000000, 100, 100, tx.Queues[:1]
	tx.DoorbellsPerFrame, tx.BehindNsMax = nil, 0
	rx.TesterDrops, rx.DeviceFrames, rx.MeanIntervalNs = ptr(uint64(77)), nil, nil
	r.Streams = append(r.Streams, report.Stream{
		Name: "odd\x1b[31m", ID: 1, FrameSize: "imix", Signature: "none", Tx: &report.StreamTx{Frames: 4}, Rx: &report.StreamRx{},
	})
	s := r.Streams[0].Rx
	s.Frames, s.Lost, s.Duplicate, s.Reordered, s.Late = ptr(uint64(999900)), ptr(int64(100)), ptr(uint64(3)), ptr(uint64(2)), ptr(uint64(1))
	s.LostFirst = ptr(uint64(30))
	s.LatencyNs, s.GapNs.Within5Pct, s.GapNs.P1 = nil, nil, nil
	s.Order = &report.Order{Reordered: 2, ExtentMax: 4, NMax: 3, LateNsMax: 62000, ByteOffsetMax: 400}
	s.IPDVNs = &report.IPDV{Count: 9, Mean: 18.2, P50: ptr(uint64(0)), Max: 82}
	r.Verdict = report.Verdict{Status: "suspect", Reasons: []string{"vb@B: the tester itself dropped 77 frames: up to 77 of the lost were ours"}}
	r.Notes = nil
	r.Error = &report.Error{Code: 3, Message: "packet:va@A: 100 frames unsent, 100 of them not drained", Mend: "give a lower --rate"}
	r.Reasons = map[string]string{
		"ports[0].link_bps": noLine, "ports[1].link_bps": noLine, "ports[0].tx.line_share": noLine, "ports[1].rx.l2_line_share": noLine,
		"ports[0].tx.intended": "as many as possible in the given time", "ports[0].tx.requested_fps": "as fast as possible",
		"ports[0].tx.device_frames": "no device counter could be read", "ports[0].tx.device_dropped": "no device counter could be read",
		"ports[0].tx.other_traffic": "no device counter could be read", "ports[0].tx.doorbells_per_frame": "the engine does not count its doorbells",
		"ports[1].rx.device_frames": "no device counter could be read", "ports[1].rx.mean_interval_ns": "no arrival was stamped",
		"streams[0].rx.latency_ns": "no clock was read for this stream", "streams[0].rx.gap_ns.within_5pct": "no constant gap was asked for",
	}
	for _, f := range []string{"frames", "lost", "lost_first", "duplicate", "reordered", "late", "corrupt", "bad_seq", "latency_ns", "gap_ns"} {
		r.Reasons["streams[1].rx."+f] = unsigned
	}
	return r
}

func TestText(t *testing.T) {
	for name, r := range map[string]*report.Run{"good": goodRun(), "bad": badRun(), "empty": {}} {
		t.Run(name, func(t *testing.T) {
			var b bytes.Buffer
			if err := Text(&b, r); err != nil {
				t.Fatal(err)
			}
			golden(t, name, b.Bytes())
			if strings.Contains(b.String(), "\x1b") {
				t.Error("an escape sequence got through")
			}
			for i, line := range strings.Split(b.String(), "\n") {
				if len(line) > 90 || strings.TrimRight(line, " ") != line {
					t.Errorf("line %d is %d bytes long or ends with a space: %q", i+1, len(line), line)
				}
			}
		})
	}
}

// TestInterruptedIsNoError: what the user ended himself is not called one.
func TestInterruptedIsNoError(t *testing.T) {
	r := goodRun()
	for code, want := range map[int]string{3: "\nerror: so far\n", 5: "trusted\nso far\n"} {
		r.Error = &report.Error{Code: code, Message: "so far"}
		var b bytes.Buffer
		if err := Text(&b, r); err != nil || !strings.HasSuffix(b.String(), want) {
			t.Errorf("%v: code %d ends with %q, want %q", err, code, b.String()[max(0, b.Len()-60):], want)
		}
	}
}

// TestTextOfManyPorts: every port has its column, and no line grows with their number.
func TestTextOfManyPorts(t *testing.T) {
	r := badRun()
	sender := r.Ports[0]
	r.Ports = nil
	for i := range 5 {
		sender.Port = fmt.Sprintf("packet:port%d", i) + "@a-namespace?speed=10G"
		r.Ports = append(r.Ports, sender)
	}
	var b bytes.Buffer
	if err := Text(&b, r); err != nil {
		t.Fatal(err)
	}
	for i := range 5 {
		if n := strings.Count(b.String(), fmt.Sprintf("packet:port%d", i)); n != 1 {
			t.Errorf("port %d is named %d times", i, n)
		}
	}
	for line := range strings.SplitSeq(b.String(), "\n") {
		if len(line) > 90 {
			t.Errorf("%d bytes wide: %q", len(line), line)
		}
	}
}

// TestUnknownIsNeverZero: no null of a report is printed as a number.
func TestUnknownIsNeverZero(t *testing.T) {
	var b bytes.Buffer
	if err := Text(&b, badRun()); err != nil {
		t.Fatal(err)
	}
	for line := range strings.SplitSeq(b.String(), "\n") {
		if strings.HasPrefix(line, "odd") && !strings.Contains(line, "imix") && strings.Contains(line, " 0") {
			t.Errorf("an unknown is printed as 0: %q", line)
		}
	}
	if n := strings.Count(b.String(), "no reason was recorded"); n > 0 {
		t.Errorf("%d unknowns lost their reason:\n%s", n, b.String())
	}
}

func TestRate(t *testing.T) {
	for name, c := range map[string]struct {
		sizes string
		link  uint64
		rate  string
	}{
		"rate-64": {"64", 1e9, "750064pps"}, "rate-imix": {"imix", 1e10, "max"}, "rate-nolink": {"64", 0, "gap=10us"},
	} {
		s, err := wire.ParseSizes(c.sizes)
		if err != nil {
			t.Fatal(err)
		}
		r, err := wire.ParseRate(c.rate)
		if err != nil {
			t.Fatal(err)
		}
		v, err := wire.Report(s, c.link, r, 0)
		if err != nil {
			t.Fatal(err)
		}
		var b bytes.Buffer
		if err := Rate(&b, v); err != nil {
			t.Fatal(err)
		}
		golden(t, name, b.Bytes())
	}
}

func TestJSON(t *testing.T) {
	want := goodRun()
	for name, write := range map[string]func(*bytes.Buffer) error{
		"document": func(b *bytes.Buffer) error { return JSON(b, want) },
		"line":     func(b *bytes.Buffer) error { return JSONLine(b, want) },
	} {
		var b bytes.Buffer
		if err := write(&b); err != nil {
			t.Fatal(err)
		}
		if lines := strings.Count(b.String(), "\n"); !strings.HasSuffix(b.String(), "\n") || (lines == 1) != (name == "line") {
			t.Errorf("the %s has %d line ends", name, lines)
		}
		var got report.Run
		if err := json.Unmarshal(b.Bytes(), &got); err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(want, &got); d != "" {
			t.Errorf("the %s reads back differently:\n%s", name, d)
		}
	}
}

func intervals() []report.Interval {
	var out []report.Interval
	for i := 1; i <= 32; i++ {
		v := report.Interval{Type: "interval", TS: float64(i) + 0.0004, TxFPS: 14880952.4, RxFPS: 14880950, Tx: uint64(i) * 14880952, Rx: uint64(i)*14880952 - 12}
		if i != 2 {
			v.Lost = ptr(int64(12))
		}
		out = append(out, v)
	}
	return out
}

func TestLive(t *testing.T) {
	for name, tty := range map[string]bool{"live-terminal": true, "live-plain": false} {
		var b bytes.Buffer
		l := NewLive(&b, tty)
		for _, v := range intervals() {
			l.Update(v)
		}
		l.Done()
		l.Done()
		golden(t, name, b.Bytes())
		for line := range strings.SplitSeq(b.String(), "\r") {
			if tty && len(strings.TrimPrefix(strings.TrimSuffix(line, "\n"), eraseLine)) > 79 {
				t.Errorf("wider than a terminal: %q", line)
			}
		}
		if !tty && strings.ContainsAny(b.String(), "\r\x1b") {
			t.Error("control characters outside a terminal")
		}
	}
}

// TestLiveOneSided: a side that nobody measures is not shown as 0.
func TestLiveOneSided(t *testing.T) {
	for want, v := range map[string]report.Interval{
		"1.0 s: sending 5 pps, sent 5\n":      {TS: 1, TxFPS: 5, Tx: 5},
		"1.0 s: nothing so far\n":             {TS: 1},
		"1.0 s: receiving 5 pps, arrived 5\n": {TS: 1, RxFPS: 5, Rx: 5},
		"1.0 s: sending 0 pps, sent 0, receiving 0 pps, arrived 0, lost or under way 0\n": {TS: 1, Lost: ptr(int64(0))},
	} {
		var b bytes.Buffer
		NewLive(&b, false).Update(v)
		if b.String() != want {
			t.Errorf("got %q, want %q", b.String(), want)
		}
	}
}

// TestLiveCaptured: a capture in both directions holds what was sent too, so nothing of it is said to arrive.
func TestLiveCaptured(t *testing.T) {
	for tty, want := range map[bool]string{true: "  captured 5 pps (5)", false: "1.0 s: capturing 5 pps, captured 5\n"} {
		var b bytes.Buffer
		l := NewLive(&b, tty)
		l.Captured()
		l.Update(report.Interval{TS: 1, RxFPS: 5, Rx: 5})
		if !strings.Contains(b.String(), want) {
			t.Errorf("got %q, want %q", b.String(), want)
		}
	}
}

// TestVerdictWords: where nothing arrived, or nobody knows what was lost, it is not said that every count agrees.
func TestVerdictWords(t *testing.T) {
	tx, nothing, some := report.Port{Tx: &report.Tx{Sent: 5}}, report.Port{Rx: &report.Rx{}}, report.Port{Rx: &report.Rx{Frames: 5}}
	stream := func(lost *int64) []report.Stream { return []report.Stream{{Rx: &report.StreamRx{Lost: lost}}} }
	for _, x := range []struct {
		name    string
		ports   []report.Port
		streams []report.Stream
		want    string
	}{
		{"all arrived", []report.Port{tx, some}, stream(new(int64)), "every count agrees"},
		{"nothing arrived", []report.Port{tx, nothing}, stream(ptr(int64(5))), "nothing of the run arrived"},
		{"at one of two ports", []report.Port{tx, nothing, some}, stream(new(int64)), "every count agrees"},
		{"a receiver on its own", []report.Port{nothing}, nil, "nothing of the run arrived"},
		{"a capture of other frames", []report.Port{{Rx: &report.Rx{Capture: &report.Capture{Frames: 1}}}}, nil, "every count agrees"},
		{"nothing sent", []report.Port{{Tx: &report.Tx{}}, nothing}, stream(new(int64)), "every count agrees"},
		{"no receiver", []report.Port{tx}, []report.Stream{{}}, "every count agrees"},
		{"loss unknown", []report.Port{tx, some}, stream(nil), "not every loss is known"},
	} {
		r := &report.Run{Ports: x.ports, Streams: x.streams, Verdict: report.Verdict{Status: "valid"}}
		if got := verdictWords(r); !strings.HasPrefix(got, "valid: ") || !strings.Contains(got, x.want) {
			t.Errorf("%s: %q", x.name, got)
		}
	}
}

func TestNumbers(t *testing.T) {
	for got, want := range map[string]string{
		count(0): "0", count(999): "999", count(uint64(1234567)): "1,234,567", count(int64(-1234)): "-1,234", count(-123): "-123",
		short(14880952.4, "pps"): "14.88 Mpps", short(999.96, "pps"): "1 kpps", short(0, "pps"): "0 pps", short(-1500, ""): "-1.5 k",
		rate(750064): "750.1 kpps (750,064)", rate(12.5): "12.5 pps", bitRate(504043008): "504 Mbit/s (504,043,008)",
		share(0.504043): "50.40 %", nanoseconds(67.2): "67.2 ns", nanoseconds(1.333e9): "1.333 s", nanoseconds(41200): "41.2 us",
		nanoseconds(0): "0 ns", nanoseconds(3.6e12): "3600 s", perFrame(0): "0", perFrame(1.0 / 64): "0.0156", perFrame(1.17e-6): "1 per 854,701 frames", seconds(0): "0.000000 s", seconds(0.0195): "19.5000 ms",
		clean("a\x1b\u009bb"): "a??b",
	} {
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
