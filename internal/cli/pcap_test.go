package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/wirespeed/wirespeed/internal/pcapio"
	"github.com/wirespeed/wirespeed/internal/pcapio/pcaptest"
)

// pcapFiles is a folder with all inputs.
func pcapFiles(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := pcaptest.Write(dir); err != nil {
		t.Fatal(err)
	}
	return dir
}

func runPcap(stdin io.Reader, args ...string) (exit int, out, errs string) {
	var o, e bytes.Buffer
	exit = Run(context.Background(), append([]string{"pcap"}, args...), stdin, &o, &e)
	return exit, o.String(), e.String()
}

type pcapDocument struct {
	Schema string
	Files  []*pcapio.Summary
	Error  *struct {
		Code          int
		Message, Mend string
	}
}

func pcapJSON(t *testing.T, stdin io.Reader, args ...string) (exit int, doc pcapDocument) {
	t.Helper()
	exit, out, errs := runPcap(stdin, append(args, "--json")...)
	d := json.NewDecoder(strings.NewReader(out))
	d.DisallowUnknownFields()
	if err := d.Decode(&doc); err != nil || errs != "" || doc.Schema != capturesSchema && doc.Error == nil {
		t.Fatalf("pcap %s: %v: %s%s", strings.Join(args, " "), err, out, errs)
	}
	return exit, doc
}

// TestPcapOfAllInputs holds info and check against what the files hold: counts, what cannot be sent, and the exit status.
func TestPcapOfAllInputs(t *testing.T) {
	t.Parallel()
	dir := pcapFiles(t)
	for _, f := range pcaptest.Files() {
		path := filepath.Join(dir, f.Name)
		for mends := range pcaptest.Pad | pcaptest.L2 + 1 {
			if mends != 0 && !slices.ContainsFunc(f.Packets, func(p pcaptest.Packet) bool { return p.Why != "" }) {
				break
			}
			args := []string{"check", path}
			if mends&pcaptest.Pad != 0 {
				args = append(args, "--pad")
			}
			if mends&pcaptest.L2 != 0 {
				args = append(args, "--l2")
			}
			sendable := 0
			for _, p := range f.Packets {
				if p.Why == "" || p.Mend != 0 && p.Mend&mends == p.Mend {
					sendable++
				}
			}
			want := 0
			switch {
			case len(f.Packets) == 0:
				want = 1
			case sendable < len(f.Packets) || f.Damage != nil:
				want = 4
			}
			exit, doc := pcapJSON(t, nil, args...)
			if exit != want {
				t.Errorf("%v: status %d, want %d", args, exit, want)
			}
			if want == 1 {
				if len(doc.Files) != 0 || doc.Error == nil || doc.Error.Code != 1 || doc.Error.Mend == "" || !strings.HasPrefix(doc.Error.Message, path+": ") {
					t.Errorf("%v: %+v", args, doc)
				}
				continue
			}
			if s := doc.Files[0]; s.Packets != uint64(len(f.Packets)) || s.Sendable != uint64(sendable) || (s.Damage != nil) != (f.Damage != nil) {
				t.Errorf("%v: %d packets, %d can be sent, want %d and %d; damage %+v", args, s.Packets, s.Sendable, len(f.Packets), sendable, s.Damage)
			}
		}
		exit, out, errs := runPcap(nil, "info", path)
		switch {
		case len(f.Packets) == 0 && (exit != 1 || out != "" || strings.Count(errs, "\n") != 2):
			t.Errorf("info %s: status %d: %s%s", f.Name, exit, out, errs)
		case len(f.Packets) > 0 && (exit != 0 || errs != "" || !strings.Contains(out, fmt.Sprintf("%d packet", len(f.Packets)))):
			t.Errorf("info %s: status %d: %s%s", f.Name, exit, out, errs)
		}
	}
}

// TestPcapSays holds the words of single inputs.
func TestPcapSays(t *testing.T) {
	t.Parallel()
	dir := pcapFiles(t)
	for _, c := range []struct {
		line string
		exit int
		want []string
	}{
		{"info us-little.pcap", 0, []string{"pcap, little-endian, 5 packets", "span                  100.000 us", "2020-09-13 12:26:40.123456000 UTC", "all 5 packets can be sent"}},
		{"info us-big.pcap", 0, []string{"pcap, big-endian, 5 packets", "span                  100.000 us", "longest gap           40.000 us, before packet 5"}},
		{"info ns-big.pcap", 0, []string{"2020-09-13 12:26:40.123456789 UTC", "span                  100.070 us", "1 ns"}},
		{"check snaplen-96.pcap", 4, []string{"2 of 4 packets can be sent", "truncated: 2 packets: packet 3 (96 of 97 bytes), packet 4 (96 of 1514 bytes)", "mend: --pad zero"}},
		{"check too-short.pcap", 4, []string{"too_short: 4 packets: packet 2 (0 of 0 bytes), packet 3 (1 of 1 bytes)", "below_minimum: 3 packets: packet 6 (18 bytes with FCS)"}},
		{"check cut-in-packet.pcap", 4, []string{"all 4 packets can be sent", "truncated at offset 1847 after packet 4"}},
		{"check bogus-second.pcap", 4, []string{"a packet of 2147483647 bytes at offset 100 after packet 1"}},
		{"check bogus-first.pcap", 1, []string{"no packets: a packet of 4294967295 bytes at offset 24 before the first packet"}},
		{"info header-only.pcap", 1, []string{"no packets"}},
		{"info empty.pcap", 1, []string{"not a capture file: it is empty"}},
		{"check 23-bytes.pcap", 1, []string{"not a capture file: it is cut within the header, after 23 of 24 bytes"}},
		{"info two-interfaces.pcapng", 0, []string{"0          ETHERNET   96       1 us        3", "1          LINUX_SLL  none     1 ns        1", "link_type: 1 packet: packet 2 (LINUX_SLL)"}},
		{"info all-blocks.pcapng", 0, []string{"pcapng, mixed-endian, 10", "without a time        2 packets", "eth0 of section 1  ETHERNET   none     1 ns        5        7         2", "merged: 1 packet: packet 5 (1004 bytes with FCS)"}},
		{"info offsets.pcapng", 0, []string{"2020-09-13 12:30:00.000000123 UTC", "backwards in time     1 packet", "all 3 packets"}},
		{"info times.pcap", 0, []string{"backwards in time     1 packet", "longest gap           946,080,000.000000000 s, before packet 7", "span                  946,080,000.000002000 s", "8 Ethernet frames of 64 bytes with FCS"}},
		{"check super-frames.pcap --mtu 1500", 4, []string{"too_long: 3 packets: packet 2 (16388 bytes with FCS, MTU 1500), packet 3", "(65539 bytes with FCS, MTU 1500), packet 4 (262148 bytes with FCS, MTU 1500)"}},
		{"check sll.pcap", 4, []string{"0 of 3 packets can be sent", "link_type: 3 packets: packet 1 (LINUX_SLL)", "--l2 DST,SRC puts an Ethernet header"}},
		{"check sll.pcap --l2", 0, []string{"all 3 packets can be sent"}},
		{"check radiotap.pcap --l2", 4, []string{"IEEE802_11_RADIOTAP: nothing of this type is", "mend: --allow-skip leaves them out"}},
		{"check sll-odd.pcap --l2 --pad", 4, []string{"packet 1 (LINUX_SLL: protocol 0x0000 of hardware type 824", "mend: --allow-skip leaves them out"}},
		{"check llc.pcap", 0, []string{"all 5 packets can be sent"}},
		{"check large.pcap --mtu 1500", 4, []string{"2 of 10 packets", "packet 2 (1519 bytes with FCS, MTU 1500)", "packet 10 (1526 bytes with FCS, MTU 1500)"}},
		{"check large.pcap", 0, nil},
		{"check us-little.pcap --mtu 67", 1, []string{"--mtu 67", "from 68 to 16092"}},
		{"check us-little.pcap --mtu 16093", 1, []string{"from 68 to 16092"}},
		{"info none.pcap", 1, []string{"none.pcap: no such file or directory"}},
		{"info .", 1, []string{"not a capture file: a directory"}},
		{"info - -", 1, []string{"standard input cannot be read twice"}},
	} {
		words := strings.Fields(c.line)
		if strings.Contains(words[1], ".") {
			words[1] = filepath.Join(dir, words[1])
		}
		exit, out, errs := runPcap(bytes.NewReader(pcaptest.Named("us-little.pcap").Bytes), words...)
		if exit != c.exit {
			t.Errorf("%s: status %d, want %d: %s%s", c.line, exit, c.exit, out, errs)
		}
		for _, w := range c.want {
			if !strings.Contains(out+errs, w) {
				t.Errorf("%s: no %q in:\n%s%s", c.line, w, out, errs)
			}
		}
	}
}

// TestPcapReadsStandardInput: as it is, and compressed.
func TestPcapReadsStandardInput(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"all-blocks.pcapng", "all-blocks.pcapng.gz"} {
		exit, doc := pcapJSON(t, bytes.NewReader(pcaptest.Named(name).Bytes), "info", "-")
		if s := doc.Files[0]; exit != 0 || s.Packets != 10 || s.Compressed != strings.HasSuffix(name, ".gz") || s.File != "standard input" {
			t.Errorf("%s: status %d, %+v", name, exit, s)
		}
	}
	if exit, _, errs := runPcap(strings.NewReader(""), "check", "-"); exit != 1 || !strings.Contains(errs, "it is empty") {
		t.Errorf("status %d: %s", exit, errs)
	}
}

// TestPcapInfoOfSeveralFiles: those that can be read are, and the status says that one could not.
func TestPcapInfoOfSeveralFiles(t *testing.T) {
	t.Parallel()
	dir := pcapFiles(t)
	at := func(name string) string { return filepath.Join(dir, name) }
	exit, doc := pcapJSON(t, nil, "info", at("us-little.pcap"), at("empty.pcap"), at("ns-big.pcap"))
	if exit != 1 || len(doc.Files) != 2 || doc.Error == nil || !strings.Contains(doc.Error.Message, "empty.pcap") {
		t.Errorf("status %d: %+v", exit, doc)
	}
	s := doc.Files[1]
	if s.Format != "pcap" || s.ByteOrder != "big" || *s.SpanNs != 100_070 || *s.FirstNs != 1_600_000_000_123_456_789 || s.OriginalBytes != 2349 || s.Frames.MinBytes != 64 || s.Frames.MaxBytes != 1518 ||
		s.Frames.Histogram[1].Frames != 1 || *s.LongestGapNs != 40_028 || s.LongestGapBefore != 5 || s.Interfaces[0].TicksPerSecond != 1e9 || len(s.Unsendable) != 0 {
		t.Errorf("%+v", s)
	}
	if exit, _ := pcapJSON(t, nil, "check", at("us-little.pcap"), at("sll.pcap")); exit != 4 {
		t.Errorf("status %d where one of two cannot be sent", exit)
	}
	if exit, _ := pcapJSON(t, nil, "check", at("sll.pcap"), at("text.pcap")); exit != 1 {
		t.Errorf("status %d where one of two is no capture", exit)
	}
}

// TestPcapEndsWhenInterrupted: also where a pipe brings nothing.
func TestPcapEndsWhenInterrupted(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(context.Background())
	in, out := io.Pipe()
	go func() {
		_, _ = out.Write(pcaptest.Named("us-little.pcap").Bytes[:100])
		cancel()
	}()
	var text, errs bytes.Buffer
	if exit := Run(ctx, []string{"pcap", "info", "-"}, in, &text, &errs); exit != 5 || text.Len() != 0 || !strings.Contains(errs.String(), "interrupted") {
		t.Errorf("status %d: %s%s", exit, text.String(), errs.String())
	}
	_ = out.Close()
}
