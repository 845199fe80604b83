package acceptance

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/wirespeed/wirespeed/internal/engine/enginetest"
	"github.com/wirespeed/wirespeed/internal/pcapio/pcaptest"
)

// rewritten sends a capture into another one.
func rewritten(t *testing.T, args ...string) (r *result, path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "out.pcapng")
	r = run(t, append([]string{"send", "pcap:" + path, "--json"}, args...)...)
	r.wantExit(t, 0)
	r.wantVerdict(t, "valid")
	return r, path
}

// The byte order of a capture makes no difference: the same span is printed, and what leaves is the same, with the same gaps
// to the ns that it holds. Nanoseconds are kept from end to end.
func TestInputByteOrders(t *testing.T) {
	for _, c := range []struct {
		files []string
		span  uint64 // ns
		print string
	}{
		{[]string{"us-little.pcap", "us-big.pcap", "modified-little.pcap", "modified-big.pcap"}, 100_000, "100.000 us"},
		{[]string{"ns-little.pcap", "ns-big.pcap", "ns-little.pcap.gz"}, 100_070, "100.070 us"},
	} {
		var all [][]byte
		var due []int64
		for _, name := range c.files {
			in := inputFile(t, name)
			run(t, "pcap", "info", in).wantExit(t, 0, c.print)
			r, out := rewritten(t, "--pcap", in)
			if d := r.tx(t).Replay; d.SpanNs != c.span || !d.Recorded {
				t.Errorf("%s: %s", name, show(d))
			}
			_, at, err := enginetest.ReadFrames(out)
			if err != nil || len(at) != 5 {
				t.Fatalf("%s: %d frames, %v", name, len(at), err)
			}
			for i, p := range pcaptest.Named(name).Packets {
				if got, want := at[i]-at[0], p.TimeNs-pcaptest.Named(name).Packets[0].TimeNs; got != want {
					t.Errorf("%s: frame %d leaves after %d ns, want %d", name, i, got, want)
				}
			}
			// And once more, from what was written.
			_, again := rewritten(t, "--pcap", out)
			frames, at, err := enginetest.ReadFrames(again)
			if err != nil {
				t.Fatal(err)
			}
			if all == nil {
				all = frames
				for i := range at {
					due = append(due, at[i]-at[0])
				}
			}
			same(t, frames, all)
			for i := range at {
				if at[i]-at[0] != due[i] {
					t.Errorf("%s: frame %d leaves after %d ns, of %s after %d", name, i, at[i]-at[0], c.files[0], due[i])
				}
			}
		}
	}
}

// On the wire the recorded gaps are kept: none is shorter than it was, as far as a receiver can tell on a busy machine.
func TestInputGapsOnTheWire(t *testing.T) {
	p := inputPair(t, "1500")
	in := filepath.Join(t.TempDir(), "gaps.pcap")
	run(t, "send", "pcap:"+in, "--rate", "100pps", "--count", "20", "--signature", "none", "--json").wantExit(t, 0)
	r := record(t, p)
	sent := run(t, "send", "packet:"+p.PortA, "--pcap", in, "--catch-up", "5s", "--json")
	if sent.exit != 3 { // late, on a busy machine
		sent.wantExit(t, 0)
	}
	if d := sent.tx(t).Replay; d.SpanNs != 190_000_000 || sent.tx(t).Sent != 20 {
		t.Fatalf("%s", sent.all())
	}
	r.expect(in, framesOf(t, in)...)
	r.check(t)
	_, at, err := enginetest.ReadFrames(r.path)
	if err != nil {
		t.Fatal(err)
	}
	if span := time.Duration(at[19] - at[0]); span < 180*time.Millisecond {
		t.Errorf("%v from the first to the last, recorded 190ms", span)
	}
}

// A frame that the capture cut is filled up to its length, and the lengths in its headers are right again.
func TestInputCutFramesAreFilledUp(t *testing.T) {
	in := inputFile(t, "snaplen-96.pcap")
	var sent [][]byte
	for _, how := range []string{"zero", "random", "random"} {
		r, out := rewritten(t, "--pcap", in, "--pad", how)
		if d := r.tx(t).Replay; d.Padded != 2 || len(d.Skipped) != 0 {
			t.Errorf("%s", show(d))
		}
		frames := framesOf(t, out)
		for i, n := range []int{60, 96, 97, 1514} {
			f := frames[i]
			ip, udp := int(binary.BigEndian.Uint16(f[16:])), int(binary.BigEndian.Uint16(f[38:]))
			if len(f) != n || ip != n-14 || udp != n-34 || !bytes.Equal(f[:min(n, 96)], pcaptest.Named("snaplen-96.pcap").Packets[i].Data) {
				t.Errorf("frame %d: %d bytes, want %d; IP says %d, UDP %d", i, len(f), n, ip, udp)
			}
			if zeros := bytes.Equal(f[min(n, 96):], make([]byte, n-min(n, 96))); n == 1514 && zeros != (how == "zero") {
				t.Errorf("--pad %s: % x", how, f[96:])
			}
		}
		sent = append(sent, slices.Concat(frames...))
	}
	if !bytes.Equal(sent[1], sent[2]) {
		t.Error("random bytes are others in the next run")
	}
}

// Times that go backwards or stand still make no gap and are counted; a gap of years is named and refused, and shortened where
// that is asked for. Packets without a time leave back to back, which is said.
func TestInputTimes(t *testing.T) {
	in := inputFile(t, "times.pcap")
	run(t, "pcap", "info", in).wantExit(t, 0, "backwards in time     1 packet", "946,080,000.000000000 s, before packet 7")
	for _, port := range []string{"null:", "pcap:" + filepath.Join(t.TempDir(), "x.pcap")} {
		e := refusal(t, run(t, "send", port, "--pcap", in, "--json"), 1)
		if !strings.Contains(e.Message, "a gap of 30.0 years before packet 7") || !strings.Contains(e.Mend, "--max-gap") {
			t.Errorf("%+v", e)
		}
	}
	begin := time.Now()
	r := run(t, "send", "null:", "--pcap", in, "--max-gap", "50ms", "--catch-up", "5s", "--json")
	if took := time.Since(begin); r.exit != 0 && r.exit != 3 || r.tx(t).Sent != 8 || took < 50*time.Millisecond || took > patience/2 {
		t.Errorf("after %v: %s", took, r.all())
	}
	r, out := rewritten(t, "--pcap", in, "--max-gap", "1s")
	if d := r.tx(t).Replay; d.Backwards != 4 || d.GapsShortened != 1 || d.LongestGapNs < 946_000_000e9 || d.SpanNs != 1000+1_000_000_000+1000 {
		t.Errorf("%s", show(d))
	}
	notes := strings.Join(r.doc.Notes, "\n")
	if !strings.Contains(notes, "the time of 4 frames is before") || !strings.Contains(notes, "before packet 7") {
		t.Errorf("%s", notes)
	}
	_, at, err := enginetest.ReadFrames(out)
	if err != nil {
		t.Fatal(err)
	}
	var gaps []int64
	for i := 1; i < len(at); i++ {
		gaps = append(gaps, at[i]-at[i-1])
	}
	if !slices.Equal(gaps, []int64{1000, 0, 0, 0, 0, 1e9, 1000}) {
		t.Errorf("gaps %v", gaps)
	}
	r, _ = rewritten(t, "--pcap", inputFile(t, "all-blocks.pcapng"), "--allow-skip")
	if notes := strings.Join(r.doc.Notes, "\n"); r.tx(t).Replay.Untimed != 1 || !strings.Contains(notes, "no time: they leave back to back") {
		t.Errorf("%s", r.all())
	}
}

// Merged frames are refused each with its size and the MTU, and the others are sent whole.
func TestInputSuperFrames(t *testing.T) {
	p := inputPair(t, "1500")
	in := inputFile(t, "super-frames.pcap")
	run(t, "pcap", "check", in, "--mtu", "1500").wantExit(t, 4, "1 of 4 packets", "packet 2 (16388 bytes with FCS, MTU 1500)", "(65539 bytes with FCS, MTU 1500)", "(262148 bytes with FCS, MTU 1500)")
	inside(t, p.NSB, "ethtool", "-K", "vb", "gro", "on")
	r := record(t, p)
	for i, tx := range engines {
		before := procNetDev(t, p.NSA, "va").txFrames
		e := refusal(t, run(t, "send", tx+p.PortA, "--pcap", in, "--json"), 1)
		for _, s := range []string{"3 too_long (packets 2, 3, 4: 16388 bytes with FCS", "1518", "MTU of 1500"} {
			if !strings.Contains(e.Message, s) {
				t.Errorf("%s %q does not say %q", tx, e.Message, s)
			}
		}
		if procNetDev(t, p.NSA, "va").txFrames != before {
			t.Errorf("%s frames left all the same", tx)
		}
		d := run(t, "send", tx+p.PortA, "--pcap", in, "--allow-skip", "--json")
		d.wantExit(t, 0, "left out: 3 too_long")
		if d.tx(t).Sent != 1 || d.tx(t).Replay.Skipped["too_long"] != 3 {
			t.Errorf("%s", d.all())
		}
		r.expect(fmt.Sprint("round ", i), pcaptest.Named("super-frames.pcap").Packets[0].Data)
	}
	r.check(t)
}
