package acceptance

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/wirespeed/wirespeed/internal/pcapio"
	"github.com/wirespeed/wirespeed/report"
)

// framesIn reads a capture. whole: it must not end within a packet.
func framesIn(t testing.TB, path string, whole bool) (n uint64) {
	t.Helper()
	r, err := pcapio.Open(path, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = r.Close() }()
	for {
		var p pcapio.Packet
		if err := r.Next(&p); err != nil {
			if whole && !errors.Is(err, io.EOF) {
				t.Errorf("%s: %v", path, err)
			}
			return n
		}
		n++
	}
}

func captureOf(t testing.TB, r *result) *report.Capture {
	t.Helper()
	c := r.rx(t).Capture
	if c == nil {
		t.Fatalf("no capture in the document: %s", r.all())
	}
	return c
}

// A capture has what was sent, and the run is analysed at the same time.
func TestCapture(t *testing.T) {
	p := pair(t, 1)
	path := filepath.Join(t.TempDir(), "x.pcapng")
	c := start(t, "receive", p.PortB, "--write", path, "--count", "1000", "--json")
	eventually(t, "the receiver is ready", func() bool { return len(packetSockets(t, p.NSB)) > 0 || c.ended() })
	run(t, "send", "packet:"+p.PortA, "--count", "1000", "--json").wantExit(t, 0)
	r := c.wait(t)
	r.wantExit(t, 0)
	r.wantVerdict(t, "valid")
	got := captureOf(t, r)
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if got.Frames != 1000 || got.Bytes != 64_000 || got.Dropped != 0 || len(got.Files) != 1 || got.FileBytes != info.Size() || framesIn(t, path, true) != 1000 {
		t.Errorf("%s", show(got))
	}
	if r.rx(t).Frames != 1000 || *r.stream(t, 0).Lost != 0 {
		t.Errorf("%s", r.all())
	}
	if port := r.doc.Ports[0]; port.Engine != "packet" || !strings.Contains(strings.Join(port.WhyNot, " "), "xdp: does not write") {
		t.Errorf("%s, because %v", port.Engine, port.WhyNot)
	}
	// It is there now.
	refusal(t, run(t, "receive", p.PortB, "--write", path, "--count", "1", "--json"), 1)
	if framesIn(t, path, true) != 1000 {
		t.Error("the file was touched")
	}
}

func TestCaptureEndsWithSignals(t *testing.T) {
	for _, s := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGKILL} {
		t.Run(s.String(), func(t *testing.T) {
			p := pair(t, 1)
			path := filepath.Join(t.TempDir(), "x.pcapng")
			before := procNetDev(t, p.NSB, "vb")
			c := startProgram(t, 0, "receive", "packet:"+p.PortB, "--write", path, "--json")
			receiving(t, c, "packet:", p.NSB, "vb")
			run(t, "send", "packet:"+p.PortA, "--count", "3000", "--json").wantExit(t, 0)
			arrived(t, p.NSB, "vb", before, 3000)
			if s == syscall.SIGKILL {
				eventually(t, "all is written", func() bool { return framesIn(t, path, true) == 3000 })
			}
			c.signal(t, s)
			r := c.wait(t)
			if s != syscall.SIGKILL {
				r.wantExit(t, 0)
				if got := captureOf(t, r); got.Frames != 3000 {
					t.Errorf("%s", show(got))
				}
			}
			if n := framesIn(t, path, true); n != 3000 {
				t.Errorf("%d frames", n)
			}
		})
	}
}

// Killed while frames arrive, the file can be read to its end or to where it is cut.
func TestCaptureKilled(t *testing.T) {
	p := pair(t, 1)
	path := filepath.Join(t.TempDir(), "x.pcapng")
	before := procNetDev(t, p.NSB, "vb")
	c := startProgram(t, 0, "receive", "packet:"+p.PortB, "--write", path)
	receiving(t, c, "packet:", p.NSB, "vb")
	s := start(t, "send", "packet:"+p.PortA, "--rate", "50kpps", "--duration", "20s")
	arrived(t, p.NSB, "vb", before, 20_000)
	seen := procNetDev(t, p.NSB, "vb").rxFrames - before.rxFrames
	c.signal(t, syscall.SIGKILL)
	c.wait(t)
	s.stop()
	s.wait(t)
	if n := framesIn(t, path, false); n == 0 || n > seen+50_000 {
		t.Errorf("%d of %d frames", n, seen)
	}
}

// A file that may not grow is the same as a full disk.
func TestCaptureWithoutRoom(t *testing.T) {
	p := pair(t, 1)
	path := filepath.Join(t.TempDir(), "x.pcapng")
	c := startProgram(t, 0, "receive", "packet:"+p.PortB, "--write", path, "--json")
	receiving(t, c, "packet:", p.NSB, "vb")
	if err := unix.Prlimit(c.Process.Pid, unix.RLIMIT_FSIZE, &unix.Rlimit{Cur: 1 << 20, Max: 1 << 20}, nil); err != nil {
		t.Fatal(err)
	}
	run(t, "send", "packet:"+p.PortA, "--count", "20000", "--json").wantExit(t, 0)
	r := c.wait(t)
	r.wantExit(t, 3, "too large", "make room")
	got := captureOf(t, r)
	if n := framesIn(t, path, true); n == 0 || n >= 20_000 || got.Frames != n {
		t.Errorf("%d frames: %s", n, show(got))
	}
}

// A rotation loses no frame between two files.
func TestCaptureRotates(t *testing.T) {
	p := pair(t, 1)
	path := filepath.Join(t.TempDir(), "x.pcap")
	c := start(t, "receive", p.PortB, "--write", path, "--rotate-size", "64KiB", "--rotate-keep", "3", "--ring", "8MiB", "--count", "4000", "--json")
	eventually(t, "the receiver is ready", func() bool { return len(packetSockets(t, p.NSB)) > 0 || c.ended() })
	run(t, "send", "packet:"+p.PortA, "--count", "4000", "--json").wantExit(t, 0)
	r := c.wait(t)
	r.wantExit(t, 0)
	got := captureOf(t, r)
	perFile := uint64((64<<10 - 24) / (16 + 60)) // at most
	if got.Frames != 4000 || len(got.Files) != 3 || got.Removed+3 < int(4000/perFile)+1 || got.FileBytes != int64(got.Removed+3)*24+4000*76 {
		t.Errorf("%s", show(got))
	}
	entries, err := os.ReadDir(filepath.Dir(path))
	if err != nil || len(entries) != 3 {
		t.Errorf("%v, %v", entries, err)
	}
	var last uint32
	for _, f := range got.Files {
		for _, b := range framesOf(t, f) {
			seq, ok := sequence(b)
			if !ok || last != 0 && seq != last+1 {
				t.Fatalf("%s: frame %d after %d, %t", f, seq, last, ok)
			}
			last = seq
		}
	}
	if last != 3999 {
		t.Errorf("the last frame is %d", last)
	}
}

func TestCaptureRefuses(t *testing.T) {
	p := pair(t, 1)
	dir := t.TempDir()
	x := filepath.Join(dir, "x.pcapng")
	for _, c := range []struct {
		args []string
		exit int
		say  []string
	}{
		{[]string{"xdp:" + p.PortB, "--write", x}, 2, []string{"xdp", "packet:"}},
		{[]string{p.PortB, "--write", filepath.Join(dir, "no", "x.pcapng")}, 1, []string{"no such file", "folder"}},
		{[]string{p.PortB, "--write", dir}, 1, []string{".pcapng"}},
		{[]string{p.PortB, "--write", "/proc/x.pcapng"}, 1, []string{"/proc/x.pcapng"}},
		{[]string{p.PortB, "--write", filepath.Join(dir, "x.txt")}, 1, []string{".pcapng", ".pcap"}},
		{[]string{p.PortB, "--write", ""}, 1, []string{"empty"}},
		{[]string{p.PortB, "--overwrite"}, 1, []string{"--write"}},
		{[]string{p.PortB, "--filter", "1,6 0 0 0"}, 1, []string{"--write"}},
		{[]string{p.PortB, "--write", x, "--filter", "udp port 9"}, 1, []string{"begins with", "tcpdump -ddd"}},
		{[]string{p.PortB, "--write", x, "--filter", "@" + filepath.Join(dir, "none")}, 1, []string{"none", "tcpdump -ddd"}},
		{[]string{p.PortB, "--write", x, "--filter", "2,65535 0 0 0,6 0 0 1"}, 1, []string{"kernel", "tcpdump -ddd"}},
		{[]string{p.PortB, "--write", x, "--rotate-keep", "2"}, 1, []string{"keep", "--rotate-size or --rotate-time"}},
		{[]string{p.PortB, "--write", x, "--rotate-size", "10"}, 1, []string{"--rotate-size 10: give 65536 bytes", "or more"}},
		{[]string{p.PortB, "--write", x, "--rotate-size", "1XB"}, 1, []string{"1XB", "100MB"}},
		{[]string{p.PortB, "--write", x, "--ring", "1kB"}, 1, []string{"ring"}},
		{[]string{p.PortB, "--write", x, "--snaplen", "0"}, 1, []string{"snaplen"}},
		{[]string{p.PortB, "--write", x, "--snaplen", "99999999"}, 1, []string{"snaplen"}},
		{[]string{p.PortB, "--write", x, "--direction", "up"}, 1, []string{"direction"}},
	} {
		r := run(t, append([]string{"receive", "--json", "--duration", "50ms"}, c.args...)...)
		e := refusal(t, r, c.exit)
		for _, s := range c.say {
			if !strings.Contains(e.Message+" "+e.Mend, s) {
				t.Errorf("%v: %q does not say %q", c.args, e.Message+"; mend: "+e.Mend, s)
			}
		}
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 0 {
		t.Errorf("%v is left, %v", left, err)
	}
}
