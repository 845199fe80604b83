package pcapfile_test

import (
	"context"
	"errors"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/wirespeed/wirespeed/internal/engine"
	"github.com/wirespeed/wirespeed/internal/engine/enginetest"
	"github.com/wirespeed/wirespeed/internal/engine/pcapfile"
	"github.com/wirespeed/wirespeed/internal/lab/need"
	"github.com/wirespeed/wirespeed/internal/packet"
	"github.com/wirespeed/wirespeed/internal/program"
	"github.com/wirespeed/wirespeed/internal/wire"
	"github.com/wirespeed/wirespeed/stream"
)

func target(path string, options ...string) engine.Target {
	v := url.Values{}
	for i := 0; i < len(options); i += 2 {
		v.Set(options[i], options[i+1])
	}
	return engine.Target{Engine: "pcap", Device: path, Text: "pcap:" + path, Options: v}
}

func open(t *testing.T, at engine.Target) engine.Port {
	t.Helper()
	p, err := pcapfile.New().Open(t.Context(), at, engine.Config{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	return p
}

func plan(t *testing.T, count uint64, rate wire.FPS, sizes string) engine.Plan {
	t.Helper()
	set, err := stream.FromFlags(stream.Flags{Size: sizes})
	if err != nil {
		t.Fatal(err)
	}
	set.SetMACs([6]byte{2, 0, 0, 0, 0, 1}, [6]byte{2, 0, 0, 0, 0, 2})
	p, err := program.Compile(set)
	if err != nil {
		t.Fatal(err)
	}
	return engine.Plan{Program: p, Queues: 1, Count: count, Rate: rate}
}

func run(t *testing.T, p engine.Port, plan engine.Plan) engine.Counters {
	t.Helper()
	if err := p.Load(plan); err != nil {
		t.Fatal(err)
	}
	if err := p.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	return p.Counters()
}

// gaps are the times of the frames in a file after the first.
func gaps(t *testing.T, path string) (after []int64, frames [][]byte) {
	t.Helper()
	frames, times, err := enginetest.ReadFrames(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, ns := range times {
		after = append(after, ns-times[0])
	}
	return after, frames
}

// The schedule is what the times of the file say, to the ns, and what the signatures say.
func TestTimesAreTheSchedule(t *testing.T) {
	for _, name := range []string{"x.pcap", "x.pcapng"} {
		path := filepath.Join(t.TempDir(), name)
		from := time.Now()
		c := run(t, open(t, target(path)), plan(t, 1000, wire.FPS{Num: 3_000_000, Den: 7}, "64"))
		after, frames := gaps(t, path)
		if len(frames) != 1000 || c.Total().Sent != 1000 || c.Total().BehindNsMax != 0 {
			t.Fatalf("%d frames: %+v", len(frames), c.Total())
		}
		first, _ := packet.ParseSignature(frames[0][42:])
		for i, ns := range after {
			s, ok := packet.ParseSignature(frames[i][42:])
			if want := int64(i) * 7_000_000_000 / 3_000_000; ns != want || !ok || int64(s.Time-first.Time) != want {
				t.Fatalf("frame %d: %d ns in the file, %d in its signature, want %d", i, ns, s.Time-first.Time, want)
			}
		}
		_, times, err := enginetest.ReadFrames(path)
		if err != nil || times[0] < from.UnixNano()-int64(time.Second) || times[0] > time.Now().UnixNano()+int64(time.Second) {
			t.Errorf("the first frame is of %v, %v", time.Unix(0, times[0]), err)
		}
	}
}

// With a line rate a frame holds the wire for as long as it takes.
func TestLineRate(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.pcapng")
	c := run(t, open(t, target(path, "speed", "1G")), plan(t, 4, wire.FPS{}, "64,1518"))
	if after, _ := gaps(t, path); len(after) != 4 || after[1] != 672 || after[2] != 672+12304 || after[3] != 2*672+12304 {
		t.Errorf("times %v", after)
	}
	if sum := c.Total(); sum.EndNs-sum.BeginNs != 2*(672+12304) {
		t.Errorf("took %d ns", sum.EndNs-sum.BeginNs)
	}
	// A rate that the line holds in the mean, but not for the large frames: they wait, and nothing is lost.
	path = filepath.Join(t.TempDir(), "y.pcapng")
	run(t, open(t, target(path, "speed", "1G")), plan(t, 4, wire.FPS{Num: 100_000, Den: 1}, "1518"))
	if after, _ := gaps(t, path); len(after) != 4 || after[1] != 12304 || after[3] != 3*12304 {
		t.Errorf("times %v", after)
	}
	// Rounded down for each frame, a line of 3 bit/ns would be faster than it is.
	path = filepath.Join(t.TempDir(), "z.pcapng")
	run(t, open(t, target(path, "speed", "3G")), plan(t, 1001, wire.FPS{}, "65"))
	if after, _ := gaps(t, path); after[1000] != 85*8*1000/3 {
		t.Errorf("1000 frames took %d ns", after[1000])
	}
}

func TestSizes(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.pcapng")
	run(t, open(t, target(path)), plan(t, 3, wire.FPS{}, "64,9018,16110"))
	after, frames := gaps(t, path)
	if len(frames) != 3 || len(frames[1]) != 9014 || len(frames[2]) != 16106 || after[2] != 0 {
		t.Errorf("%d frames, times %v", len(frames), after)
	}
}

func TestRefusals(t *testing.T) {
	dir := t.TempDir()
	old := filepath.Join(dir, "old.pcap")
	if err := os.WriteFile(old, []byte("precious"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		at    engine.Target
		say   string
		input bool
	}{
		{target(""), "no file is named", true},
		{target("-"), "standard output", true},
		{target(dir), "is a folder", true},
		{target(old), "overwrite=yes", true},
		{target(filepath.Join(dir, "x.gz")), ".gz", true},
		{target(filepath.Join(dir, "x"), "format", "erf"), "pcap or pcapng", true},
		{target(filepath.Join(dir, "x"), "overwrite", "maybe"), "yes or no", true},
		{target(filepath.Join(dir, "x"), "speed", "fast"), "speed", true},
		{target(filepath.Join(dir, "no", "x")), "mkdir -p", false},
	} {
		_, err := pcapfile.New().Open(t.Context(), c.at, engine.Config{})
		if err == nil || !strings.Contains(err.Error(), c.say) || errors.Is(err, engine.ErrInput) != c.input {
			t.Errorf("%s: %v, want %q", c.at.Text, err, c.say)
		}
	}
	path := filepath.Join(dir, "new.pcap")
	port := open(t, target(path))
	endless, batch, queues := plan(t, 0, wire.FPS{}, "64"), plan(t, 10, wire.FPS{}, "64"), plan(t, 10, wire.FPS{}, "64")
	endless.Duration = time.Second
	batch.Batch = 16
	queues.Queues = 2
	for say, p := range map[string]engine.Plan{"?speed=1G": endless, "--batch": batch, "--queues": queues} {
		if err := port.Load(p); err == nil || !strings.Contains(err.Error(), say) {
			t.Errorf("%v, want %q", err, say)
		}
	}
	// What was loaded and never ran leaves nothing; what was there stays.
	if err := port.Load(plan(t, 10, wire.FPS{}, "64")); err != nil {
		t.Fatal(err)
	}
	if err := port.Close(); err != nil {
		t.Fatal(err)
	}
	over := open(t, target(old, "overwrite", "yes"))
	if err := over.Load(plan(t, 10, wire.FPS{}, "64")); err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(old); err != nil || string(text) != "precious" {
		t.Errorf("before the run the old file holds %q, %v", text, err)
	}
	if err := over.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if frames, _, err := enginetest.ReadFrames(old); err != nil || len(frames) != 10 {
		t.Errorf("%d frames, %v", len(frames), err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 1 {
		t.Errorf("left over: %v, %v", left, err)
	}
}

// A file that appears between the look and the run is not written over.
func TestAFileThatAppears(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.pcap")
	port := open(t, target(path))
	if err := os.WriteFile(path, []byte("precious"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := port.Load(plan(t, 10, wire.FPS{}, "64")); err == nil || !errors.Is(err, engine.ErrInput) {
		t.Errorf("%v", err)
	}
	if text, err := os.ReadFile(path); err != nil || string(text) != "precious" {
		t.Errorf("%q, %v", text, err)
	}
}

// A full disk ends the run with a file that can be read, and as many frames as are counted.
func TestFullDisk(t *testing.T) {
	need.Root(t)
	dir := t.TempDir()
	if err := unix.Mount("t-seq", dir, "tmpfs", 0, "size=4m"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(dir, unix.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	path := filepath.Join(dir, "x.pcapng")
	port := open(t, target(path))
	c := run(t, port, plan(t, 100_000, wire.FPS{Num: 1_000_000, Den: 1}, "64"))
	frames, _, err := enginetest.ReadFrames(path)
	if err != nil {
		t.Fatal(err)
	}
	if sum := c.Total(); sum.Sent == 0 || sum.Sent >= 100_000 || sum.Sent != uint64(len(frames)) || !strings.Contains(c.Reason, syscall.ENOSPC.Error()) || c.Undrained != 0 {
		t.Errorf("%d frames in the file, %+v: %s", len(frames), sum, c.Reason)
	}
	at, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	whole := int64(len(frames)) * 92 // and what stands before them
	if at.Size() < whole || at.Size() > whole+1000 {
		t.Errorf("%d bytes for %d frames: it does not end behind one", at.Size(), len(frames))
	}
}

func TestCancelled(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.pcapng")
	port := open(t, target(path))
	if err := port.Load(plan(t, 0, wire.FPS{Num: 1, Den: 1}, "64")); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Millisecond)
	defer cancel()
	if err := port.Run(ctx); err != nil {
		t.Fatal(err)
	}
	frames, _, err := enginetest.ReadFrames(path)
	if sum := port.Counters().Total(); err != nil || sum.Sent != uint64(len(frames)) || sum.Sent == 0 {
		t.Errorf("%d frames in the file, %v: %+v", len(frames), err, sum)
	}
	if s, _ := packet.ParseSignature(frames[len(frames)-1][42:]); s.Flags&packet.FlagLast == 0 {
		t.Error("the last frame does not say so")
	}
}

// BenchmarkFile is the cost of a frame that is written, without a disk. One operation is one frame.
func BenchmarkFile(b *testing.B) {
	set, err := stream.FromFlags(stream.Flags{})
	if err != nil {
		b.Fatal(err)
	}
	set.SetMACs([6]byte{2, 0, 0, 0, 0, 1}, [6]byte{2, 0, 0, 0, 0, 2})
	p, err := program.Compile(set)
	if err != nil {
		b.Fatal(err)
	}
	port, err := pcapfile.New().Open(b.Context(), target("/dev/null"), engine.Config{})
	if err != nil {
		b.Fatal(err)
	}
	if err := port.Load(engine.Plan{Program: p, Queues: 1, Count: uint64(b.N), Rate: wire.FPS{Num: 1_000_000, Den: 1}}); err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	b.ResetTimer()
	if err := port.Run(b.Context()); err != nil {
		b.Fatal(err)
	}
}
