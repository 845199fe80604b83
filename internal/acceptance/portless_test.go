package acceptance

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/wirespeed/wirespeed/internal/engine/enginetest"
	"github.com/wirespeed/wirespeed/internal/packet"
)

// null: counts what it makes, and says that nothing left.
func TestNull(t *testing.T) {
	r := run(t, "send", "null:", "--count", "100001", "--queues", "2", "--size", "imix", "--json")
	r.wantExit(t, 0, "nothing left this machine")
	r.wantVerdict(t, "valid")
	if tx := r.tx(t); tx.Sent != 100001 || tx.Unsent != 0 || len(tx.Queues) != 2 || r.doc.Ports[0].Engine != "null" {
		t.Errorf("%s", show(tx))
	}
	refusal(t, run(t, "send", "null:", "--rx", "lo", "--count", "1", "--json"), 1)
	run(t, "ports").wantExit(t, 0, "pcap:FILE", "null:")
}

// pcap: needs no device, keeps its schedule to the ns, and never replaces a file by accident.
func TestPcapFile(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a b@c:1.pcapng")
	r := run(t, "send", "pcap:"+path, "--rate", "1Mpps", "--duration", "1ms", "--json")
	r.wantExit(t, 0)
	r.wantVerdict(t, "valid")
	tx := r.tx(t)
	if tx.Sent != 1000 || tx.FPS != 1e6 || tx.DurationS != 1e-3 || tx.BehindNsMax != 0 {
		t.Errorf("%s", show(tx))
	}
	frames, times, err := enginetest.ReadFrames(path)
	if err != nil || len(frames) != 1000 || times[999]-times[0] != 999_000 {
		t.Fatalf("%d frames, %v", len(frames), err)
	}
	if f := frames[0]; !bytes.Equal(f[:12], []byte{2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1}) {
		t.Errorf("addresses % x", f[:12])
	}
	if s, ok := packet.ParseSignature(frames[999][42:]); !ok || s.Flags&packet.FlagLast == 0 || s.Seq != 999 {
		t.Errorf("the last frame says %+v", s)
	}
	refusal(t, run(t, "send", "pcap:"+path, "--rate", "1Mpps", "--count", "1", "--json"), 1)
	run(t, "send", "pcap:"+path+"?overwrite=yes", "--rate", "1Mpps", "--count", "7", "--json").wantExit(t, 0)
	refusal(t, run(t, "send", "pcap:"+path+"?overwrite=yes", "--pcap", path, "--no-preload", "--json"), 1)
	refusal(t, run(t, "send", "pcap:-", "--count", "1", "--json"), 1)
	if frames, _, err := enginetest.ReadFrames(path); err != nil || len(frames) != 7 {
		t.Errorf("%d frames, %v", len(frames), err)
	}
	refusal(t, run(t, "send", "pcap:"+filepath.Join(dir, "no", "x"), "--count", "1", "--json"), 2)
	refusal(t, run(t, "send", "pcap:"+filepath.Join(dir, "x"), "--duration", "1s", "--json"), 1)
	refusal(t, run(t, "send", "pcap:"+filepath.Join(dir, "x"), "--count", "1", "--rate", "50%", "--json"), 1)
	if left, err := os.ReadDir(dir); err != nil || len(left) != 1 {
		t.Errorf("left over: %v, %v", left, err)
	}
	full := run(t, "send", "pcap:/dev/full", "--rate", "1Mpps", "--count", "100000", "--json")
	full.wantExit(t, 3, "no space left")
}

// What was written is replayed, and is the same: frames and times, preloaded, from the file and from a pipe of pieces.
func TestReplayThroughFiles(t *testing.T) {
	dir := t.TempDir()
	from := filepath.Join(dir, "from.pcap")
	run(t, "send", "pcap:"+from+"?speed=1G", "--size", "imix", "--signature", "none", "--count", "1000", "--json").wantExit(t, 0)
	want, times, err := enginetest.ReadFrames(from)
	if err != nil {
		t.Fatal(err)
	}
	for _, how := range []string{"--preload", "--no-preload"} {
		to := filepath.Join(dir, "to"+how+".pcapng")
		r := run(t, "send", "pcap:"+to, "--pcap", from, "--loop", "2", how, "--json")
		r.wantExit(t, 0)
		r.wantVerdict(t, "valid")
		got, at, err := enginetest.ReadFrames(to)
		if err != nil || len(got) != 2000 || r.tx(t).Sent != 2000 {
			t.Fatalf("%s: %d frames, %v", how, len(got), err)
		}
		for i := range got {
			k := i % 1000
			if !bytes.Equal(got[i], want[k]) || at[i]-at[i-k] != times[k]-times[0] {
				t.Fatalf("%s: frame %d is %x after %d ns, want %x after %d", how, i, got[i], at[i]-at[i-k], want[k], times[k]-times[0])
			}
		}
	}
	signed := filepath.Join(dir, "signed.pcapng")
	run(t, "send", "pcap:"+signed, "--pcap", from, "--signature", "full", "--no-preload", "--rate", "100kpps", "--json").wantExit(t, 0)
	got, _, err := enginetest.ReadFrames(signed)
	if err != nil || len(got) != 1000 {
		t.Fatalf("%d frames, %v", len(got), err)
	}
	for i, f := range got {
		l, _ := packet.Walk(f)
		s, ok := packet.ParseSignature(f[l.Payload:])
		if !ok || s.Seq != uint32(i) || (s.Flags&packet.FlagLast != 0) != (i == 999) || packet.VerifySums(f, &l) >= 0 {
			t.Fatalf("frame %d: %+v: %x", i, s, f)
		}
	}
}
