package pcapio_test

import (
	"bytes"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/wirespeed/wirespeed/internal/lab/need"
	"github.com/wirespeed/wirespeed/internal/pcapio"
	"github.com/wirespeed/wirespeed/internal/pcapio/pcaptest"
)

// seen is what tshark prints of each packet.
func seen(t *testing.T, path string) []string {
	t.Helper()
	out, err := exec.Command(need.Tool(t, "tshark"), "-r", path, "-Y", "eth || sll", "-T", "fields", "-e", "frame.time_epoch", "-e", "frame.cap_len", "-e", "frame.len").Output()
	if err != nil {
		t.Fatalf("tshark: %v", err)
	}
	return strings.Split(strings.TrimSuffix(string(out), "\n"), "\n")
}

func line(timeNs int64, captured, orig int) string {
	return fmt.Sprintf("%d.%09d\t%d\t%d", timeNs/1e9, timeNs%1e9, captured, orig)
}

// TestTsharkReadsTheInputs: the files are what they are said to be, by an independent reader.
func TestTsharkReadsTheInputs(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := pcaptest.Write(dir); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"modified-big.pcap", "ns-big.pcap", "snaplen-96.pcap", "two-interfaces.pcapng", "offsets.pcapng", "all-blocks.pcapng.gz"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := seen(t, filepath.Join(dir, name))
			for i, p := range pcaptest.Named(name).Packets {
				want := line(p.TimeNs, len(p.Data), p.Orig)
				if p.Untimed { // it shows one of its own, or none
					want = want[strings.Index(want, "\t"):]
				}
				if i >= len(got) || !strings.HasSuffix(got[i], want) {
					t.Errorf("packet %d: %q, want %q", i+1, got, want)
				}
			}
		})
	}
}

// TestTsharkReadsWhatIsWritten: in both formats, with all that can be said about packets.
func TestTsharkReadsWhatIsWritten(t *testing.T) {
	t.Parallel()
	for _, format := range []pcapio.Format{pcapio.PCAP, pcapio.PCAPNG} {
		t.Run(format.String(), func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "x."+format.String())
			const packets = 50
			writeFile(t, path, format, packets)
			got := seen(t, path)
			if len(got) != packets {
				t.Fatalf("%d packets, want %d: %q", len(got), packets, got)
			}
			for i := range got {
				if want := line(writtenAt(i), writtenLen(i), writtenLen(i)+i%2); got[i] != want {
					t.Errorf("packet %d: %q, want %q", i+1, got[i], want)
				}
			}
			out, err := exec.Command(need.Tool(t, "capinfos"), "-M", path).CombinedOutput()
			want := []string{"Number of packets:   50", "Strict time order:   True", "nanoseconds (9)"}
			if format == pcapio.PCAPNG {
				want = append(want, "Name = va", "Filter string = udp port 9", "Capture application: wirespeed", "Number of stat entries = 1", "Capture length = 1600", "Capture comment:     a test")
			}
			for _, w := range want {
				if err != nil || !strings.Contains(string(out), w) {
					t.Fatalf("capinfos: %v, want %q: %s", err, w, out)
				}
			}
			if format == pcapio.PCAPNG {
				out, err = exec.Command(need.Tool(t, "tshark"), "-r", path, "-T", "fields", "-e", "frame.number", "-e", "frame.comment", "-e", "frame.packet_flags_direction").Output()
				if err != nil || !bytes.Contains(out, []byte("\n4\twirespeed: merged\t\n")) || !bytes.Contains(out, []byte("\n6\t\t0x00000002\n")) {
					t.Errorf("tshark: %v: %s", err, out)
				}
			}
		})
	}
}
