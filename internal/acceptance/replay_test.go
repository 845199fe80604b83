package acceptance

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/wirespeed/wirespeed/internal/cli"
	"github.com/wirespeed/wirespeed/internal/lab/labtest"
	"github.com/wirespeed/wirespeed/internal/pcapio"
	"github.com/wirespeed/wirespeed/internal/pcapio/pcaptest"
)

// framesOf reads what a capture holds.
func framesOf(t testing.TB, path string) (all [][]byte) {
	t.Helper()
	r, err := pcapio.Open(path, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = r.Close() }()
	for {
		var p pcapio.Packet
		if err := r.Next(&p); err != nil {
			return all
		}
		all = append(all, bytes.Clone(p.Frame()))
	}
}

// rowFile writes the first file of a row of known captures.
func rowFile(t testing.TB, row string) string {
	t.Helper()
	for _, r := range pcaptest.Rows() {
		if r.Name == row {
			path := filepath.Join(t.TempDir(), r.Files[0].Name)
			if err := os.WriteFile(path, r.Files[0].Bytes, 0o600); err != nil {
				t.Fatal(err)
			}
			return path
		}
	}
	t.Fatalf("no row %q", row)
	return ""
}

// mixed writes a capture of n IMIX frames with changing ports, 10 us apart.
func mixed(t testing.TB, n string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "mixed.pcapng")
	run(t, "send", "pcap:"+path, "--count", n, "--size", "imix", "--src-port", "inc(1,1,100)", "--rate", "100kpps", "--signature", "none", "--json").wantExit(t, 0)
	return path
}

// What a capture holds is on the wire, byte for byte and in its order: tags, labels, lengths, wrong headers.
func TestReplayedFramesAreThoseOfTheCapture(t *testing.T) {
	p := pair(t, 1)
	for row, how := range map[string]string{
		"tags": "--preload", "labels": "--no-preload", "extension headers": "--preload", "odd IPv4": "--no-preload", "UDP checksums": "--preload", "frames with a length": "--preload",
	} {
		t.Run(row, func(t *testing.T) {
			file, path := rowFile(t, row), filepath.Join(t.TempDir(), "x.pcapng")
			want := framesOf(t, file)
			want = append(want, want...)
			c := start(t, "receive", "packet:"+p.PortB, "--write", path, "--count", strconv.Itoa(len(want)), "--json")
			eventually(t, "the receiver is ready", func() bool { return len(packetSockets(t, p.NSB)) > 0 || c.ended() })
			run(t, "send", "packet:"+p.PortA, "--pcap", file, "--loop", "2", "--rate", "max", how, "--json").wantExit(t, 0)
			c.wait(t)
			same(t, framesOf(t, path), want)
		})
	}
}

// Counts and bytes of both sides agree, in every engine.
func TestReplayCounts(t *testing.T) {
	file := mixed(t, "500")
	forBoth(t, func(t *testing.T, tx, rx string, p *labtest.Pair) {
		send := []string{"send", tx + p.PortA, "--rx", rx + p.PortB, "--pcap", file, "--loop", "3", "--rate", "max", "--json"}
		r := run(t, send...)
		r.wantExit(t, 0)
		r.wantVerdict(t, "valid")
		if d := r.tx(t).Replay; r.tx(t).Sent != 1500 || r.rx(t).Frames != 1500 || d == nil || d.Frames != 500 || *d.Loop != 3 || !d.Preloaded || d.File != file {
			t.Errorf("%s", r.all())
		}
		if strings.Contains(r.all(), "sent and arrived differ") || r.stream(t, 0).Lost != nil {
			t.Errorf("%s", r.all())
		}
		r = run(t, append(send, "--signature", "full", "--src-ip", "198.18.9.9", "--vlan", "7", "--map-ip", "198.19.0.0/16=198.18.0.0/16")...)
		r.wantExit(t, 0)
		r.wantVerdict(t, "valid")
		if s := r.stream(t, 0); r.doc.Streams[0].Signature != "full" || *s.Frames != 1500 || *s.Lost != 0 || *s.Corrupt != 0 || s.LatencyNs == nil {
			t.Errorf("%s", r.all())
		}
	})
}

// Frames that have no room for a signature are a stream of their own.
func TestReplaySignsWhereThereIsRoom(t *testing.T) {
	p := pair(t, 1)
	file := rowFile(t, "odd IPv4")
	r := run(t, "send", "packet:"+p.PortA, "--rx", "packet:"+p.PortB, "--pcap", file, "--signature", "full", "--rate", "max", "--json")
	r.wantExit(t, 0)
	if len(r.doc.Streams) != 2 || r.doc.Streams[0].Signature != "full" || r.doc.Streams[1].Signature != "none" || r.tx(t).Sent != 8 || r.rx(t).Frames != 8 {
		t.Fatalf("%s", r.all())
	}
	if s := r.stream(t, 0); *s.Lost != 0 || *s.Corrupt != 0 || r.doc.Streams[0].Tx.Frames+r.doc.Streams[1].Tx.Frames != 8 {
		t.Errorf("%s", r.all())
	}
}

// What cannot be sent as asked is refused in one sentence, and nothing leaves.
func TestReplayRefuses(t *testing.T) {
	p := pair(t, 1)
	good := mixed(t, "20")
	before := procNetDev(t, p.NSA, "va")
	for what, args := range map[string][]string{
		"snapshot length":        {"--pcap", rowFile(t, "snapshot length")},
		"too short":              {"--pcap", rowFile(t, "too short"), "--pad", "zero"},
		"header only":            {"--pcap", rowFile(t, "no packets")},
		"bogus":                  {"--pcap", rowFile(t, "bogus lengths"), "--allow-skip"},
		"merged":                 {"--pcap", rowFile(t, "super frames")},
		"link types":             {"--pcap", rowFile(t, "link types")},
		"no file":                {"--pcap", "/nowhere/x.pcap"},
		"a folder":               {"--pcap", t.TempDir()},
		"more than there is":     {"--pcap", good, "--count", "21"},
		"no end":                 {"--pcap", good, "--loop", "0"},
		"a pipe, twice":          {"--pcap", "-", "--loop", "2"},
		"an empty pipe":          {"--pcap", "-"},
		"a pipe with a receiver": {"--pcap", "-", "--rx", p.PortB},
		"no line rate":           {"--pcap", good, "--rate", "50%"},
		"size":                   {"--pcap", good, "--size", "64"},
		"flags without it":       {"--speed", "2"},
	} {
		t.Run(what, func(t *testing.T) {
			refusal(t, run(t, append([]string{"send", "packet:" + p.PortA, "--json"}, args...)...), 1)
		})
	}
	if after := procNetDev(t, p.NSA, "va"); after.txFrames != before.txFrames {
		t.Errorf("%d frames left all the same", after.txFrames-before.txFrames)
	}
}

// A pipe is sent as it comes, to its end or to the first packet that cannot be sent.
func TestReplayFromAPipe(t *testing.T) {
	p := pair(t, 1)
	piped := func(file string, args ...string) *result {
		f, err := os.Open(file)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = f.Close() }()
		ctx, stop := context.WithTimeout(t.Context(), patience)
		defer stop()
		var out, errs bytes.Buffer
		args = append([]string{"send", "packet:" + p.PortA, "--pcap", "-", "--rate", "max", "--json"}, args...)
		exit := cli.Run(ctx, args, io.MultiReader(f), &out, &errs)
		return finish(t, args, exit, out.String(), errs.String())
	}
	r := piped(mixed(t, "3000"))
	r.wantExit(t, 0)
	if d := r.tx(t).Replay; r.tx(t).Sent != 3000 || d.Packets != 3000 || d.Preloaded {
		t.Errorf("%s", r.all())
	}
	r = piped(mixed(t, "300"), "--preload", "--loop", "2", "--rx", "packet:"+p.PortB)
	r.wantExit(t, 0)
	if r.tx(t).Sent != 600 || r.rx(t).Frames != 600 {
		t.Errorf("%s", r.all())
	}
	snapped := rowFile(t, "snapshot length") // the third packet is cut
	r = piped(snapped)
	r.wantExit(t, 3, "packet 3 cannot be sent", "truncated")
	if r.tx(t).Sent != 2 {
		t.Errorf("%s", r.all())
	}
	r = piped(snapped, "--allow-skip")
	r.wantExit(t, 0)
	if d := r.tx(t).Replay; r.tx(t).Sent != 2 || d.Skipped["truncated"] != 2 {
		t.Errorf("%s", r.all())
	}
}

// Every example of a replay is sent as it stands, and arrives whole. Whether a busy machine keeps its gaps is not looked at.
func TestReplayExamples(t *testing.T) {
	p := pair(t, 1)
	files, err := filepath.Glob("../../examples/replay/*.yaml")
	if err != nil || len(files) < 3 {
		t.Fatalf("%d examples, %v", len(files), err)
	}
	for _, file := range files {
		r := run(t, "send", p.PortA, "--rx", p.PortB, "-f", file, "--catch-up", "5s", "--json")
		if r.exit != 0 && r.exit != 3 {
			t.Fatalf("%s: status %d\n%s", file, r.exit, r.all())
		}
		r.wantVerdict(t, "valid")
		if tx, rx := r.tx(t), r.rx(t); tx.Unsent != 0 || tx.Sent != tx.Replay.Frames**tx.Replay.Loop || rx.Frames != tx.Sent {
			t.Errorf("%s: sent %s, received %s", file, show(tx), show(rx))
		}
	}
}
