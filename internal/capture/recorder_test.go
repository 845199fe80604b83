package capture

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/wirespeed/wirespeed/internal/lab/need"
	"github.com/wirespeed/wirespeed/internal/pcapio"
)

func begin(t testing.TB, s Spec, dropped func() uint64) *Recorder {
	t.Helper()
	r, err := Create(s)
	if err != nil {
		t.Fatal(err)
	}
	if dropped == nil {
		dropped = func() uint64 { return 0 }
	}
	if err := r.Begin("va", dropped); err != nil {
		t.Fatal(err)
	}
	return r
}

// frame is the i-th frame of a test.
func frame(i, n int) []byte {
	b := bytes.Repeat([]byte{byte(i)}, n)
	b[12], b[13], b[14], b[15] = 0x88, 0xb5, byte(i>>8), byte(i)
	return b
}

const second = int64(time.Second)

// statistics are what a file says about its interface.
func statistics(t testing.TB, path string) (received, dropped uint64) {
	t.Helper()
	r, err := pcapio.Open(path, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = r.Close() }()
	var p pcapio.Packet
	for err == nil {
		err = r.Next(&p)
	}
	all := r.Interfaces()
	if !errors.Is(err, io.EOF) || len(all) != 1 || all[0].Name != "va" || all[0].Link != pcapio.LinkEthernet || !all[0].HasReceived || !all[0].HasDropped {
		t.Fatalf("%s: %v, %+v", path, err, all)
	}
	return all[0].Received, all[0].Dropped
}

// read are the frames of a file.
func read(t testing.TB, path string) (frames [][]byte, times []int64) {
	t.Helper()
	r, err := pcapio.Open(path, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = r.Close() }()
	var p pcapio.Packet
	for {
		err := r.Next(&p)
		if errors.Is(err, io.EOF) {
			return frames, times
		}
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		frames, times = append(frames, bytes.Clone(p.Data)), append(times, p.TimeNs)
	}
}

func TestRecorderWritesWhatItGets(t *testing.T) {
	for _, ext := range []string{".pcapng", ".pcap", ".PCAP"} {
		path := filepath.Join(t.TempDir(), "x"+ext)
		r := begin(t, Spec{Path: path}, nil)
		for i := range 5 {
			f := frame(i, 60+i)
			r.Frame(second+int64(i), len(f), f, false, false)
		}
		if err := errors.Join(r.Close(), r.Close()); err != nil {
			t.Fatal(err)
		}
		frames, times := read(t, path)
		for i, f := range frames {
			if !bytes.Equal(f, frame(i, 60+i)) || times[i] != second+int64(i) {
				t.Errorf("%s: frame %d at %d: % x", ext, i, times[i], f)
			}
		}
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		got := r.Result()
		if len(frames) != 5 || got.Frames != 5 || got.Bytes != 5*64+10 || got.FileBytes != info.Size() || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %d frames, %+v, %v", ext, len(frames), got, info)
		}
	}
}

func TestCreateRefuses(t *testing.T) {
	dir := t.TempDir()
	there := filepath.Join(dir, "x.pcapng")
	for _, name := range []string{"x.pcapng", "y-00007.pcapng"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("earlier"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var exists *Exists
	if _, err := Create(Spec{Path: there}); !errors.As(err, &exists) || exists.Path != there {
		t.Errorf("%v", err)
	}
	if _, err := Create(Spec{Path: filepath.Join(dir, "y.pcapng"), RotateSize: 1 << 20}); !errors.As(err, &exists) {
		t.Errorf("%v", err)
	}
	if _, err := Create(Spec{Path: filepath.Join(dir, "no", "x.pcap")}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%v", err)
	}
	if err := unix.Mkfifo(filepath.Join(dir, "fifo.pcap"), 0o600); err != nil {
		t.Fatal(err)
	}
	var none *NotAFile
	if _, err := Create(Spec{Path: filepath.Join(dir, "fifo.pcap"), Overwrite: true}); !errors.As(err, &none) {
		t.Errorf("%v", err)
	}
	for _, s := range []Spec{
		{Path: "x"}, {Path: "x.cap"}, {Path: "x.pcap.gz"}, {Path: "x.pcap", SnapLen: -1}, {Path: "x.pcap", SnapLen: MaxSnapLen + 1}, {Path: "x.pcap", RotateSize: 1},
		{Path: "x.pcap", RotateTime: -1}, {Path: "x.pcap", Keep: 1}, {Path: "x.pcap", Keep: -1, RotateTime: 1}, {Path: "x.pcap", RingBytes: 1}, {Path: "x.pcap", RingBytes: math.MaxInt64},
	} {
		if err := s.Validate(); err == nil {
			t.Errorf("%+v is taken", s)
		}
	}
	if err := (&Spec{Path: "x.pcap", Keep: 3}).Validate(); !strings.Contains(err.Error(), "--rotate-keep 3") || !strings.Contains(err.Error(), "--rotate-size or --rotate-time") {
		t.Errorf("%v", err)
	}
	if b, err := os.ReadFile(there); err != nil || string(b) != "earlier" {
		t.Errorf("%q, %v", b, err)
	}
}

// TestOverwrite keeps what is there until the capture begins.
func TestOverwrite(t *testing.T) {
	dir := t.TempDir()
	names := func() (all []string) {
		entries, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			all = append(all, e.Name())
		}
		return all
	}
	other := []string{"x-0000.pcapng", "x-00001.pcap", "x-00003.pcapng.gz", "x-000031.pcapng", "x-a.pcapng", "xx-00001.pcapng"}
	for _, name := range append([]string{"x-00001.pcapng", "x-00009.pcapng", "x-123456.pcapng"}, other...) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("earlier"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s := Spec{Path: filepath.Join(dir, "x.pcapng"), RotateSize: 1 << 20, Overwrite: true}
	r, err := Create(s)
	if err != nil {
		t.Fatal(err)
	}
	r.Discard()
	if got := names(); len(got) != 9 {
		t.Errorf("discarded, and there is %v", got)
	}
	if r = begin(t, s, nil); r.Close() != nil {
		t.Error(r.Close())
	}
	want := append([]string{"x-00001.pcapng"}, other...)
	slices.Sort(want)
	if got := names(); !slices.Equal(got, want) {
		t.Errorf("%v\nwant %v", got, want)
	}
	if frames, _ := read(t, s.name(1)); len(frames) != 0 {
		t.Errorf("%d frames", len(frames))
	}
}

func TestDiscardRemovesTheNewFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.pcapng")
	r, err := Create(Spec{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	r.Discard()
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%v", err)
	}
}

// TestRotateBySize: every frame is in one file, each file keeps the size, and the oldest go.
func TestRotateBySize(t *testing.T) {
	s := Spec{Path: filepath.Join(t.TempDir(), "x.pcapng"), RotateSize: minRotate}
	var r *Recorder
	r = begin(t, s, func() uint64 {
		if r == nil {
			return 0
		}
		return 2 * r.seen.Frames
	})
	const n = 5000
	for i := range n {
		f := frame(i, 60+i%100)
		r.Frame(int64(i), len(f), f, false, false)
	}
	huge := frame(n, 2*minRotate)
	r.Frame(n, len(huge), huge, true, false)
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	got := r.Result()
	next := 0
	var size int64
	for i, path := range got.Files {
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		size += info.Size()
		frames, _ := read(t, path)
		if last := i == len(got.Files)-1; info.Size() > minRotate != last || len(frames) == 0 {
			t.Errorf("%s has %d bytes, %d frames", path, info.Size(), len(frames))
		}
		if received, dropped := statistics(t, path); received != 3*uint64(len(frames)) || dropped != 2*uint64(len(frames)) {
			t.Errorf("%s: %d frames, %d received, %d dropped", path, len(frames), received, dropped)
		}
		for _, f := range frames {
			if int(f[14])<<8|int(f[15]) != next {
				t.Fatalf("%s: frame % x, want %d", path, f[:16], next)
			}
			next++
		}
	}
	if next != n+1 || len(got.Files) < 8 || got.Files[1] != s.name(2) || got.FileBytes != size || got.Frames != n+1 {
		t.Errorf("%d frames: %+v", next, got)
	}
}

func TestRotateByTimeAndKeep(t *testing.T) {
	s := Spec{Path: filepath.Join(t.TempDir(), "x.pcap"), RotateTime: time.Second, Keep: 2}
	r := begin(t, s, nil)
	// The clock of the frames decides; one that is set back makes no file.
	for _, at := range []float64{10, 10.5, 10.999, 11, 9, 12.5, 20, 20.1} {
		r.Frame(int64(at*1e9), 60, frame(1, 60), false, false)
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	got := r.Result()
	if !slices.Equal(got.Files, []string{s.name(3), s.name(4)}) || got.Removed != 2 || got.Frames != 8 {
		t.Errorf("%+v", got)
	}
	for i, want := range map[int]int{3: 1, 4: 2} {
		if frames, _ := read(t, s.name(i)); len(frames) != want {
			t.Errorf("%s: %d frames", s.name(i), len(frames))
		}
	}
	if _, err := os.Stat(s.name(1)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%s: %v", s.name(1), err)
	}
}

func TestLimit(t *testing.T) {
	r := begin(t, Spec{Path: filepath.Join(t.TempDir(), "x.pcap"), Limit: 3}, nil)
	for range 5 {
		r.Frame(1, 60, frame(1, 60), false, false)
	}
	if err := r.Close(); err != nil || r.Result().Frames != 3 || !r.Result().Full {
		t.Errorf("%+v", r.Result())
	}
}

func TestFrameAllocatesNothing(t *testing.T) {
	for _, ext := range []string{".pcapng", ".pcap"} {
		r := begin(t, Spec{Path: filepath.Join(t.TempDir(), "x"+ext), RotateTime: time.Hour}, nil)
		f := frame(1, 60)
		at := second
		if n := testing.AllocsPerRun(20_000, func() { // more than the buffer holds
			at++
			r.Frame(at, 60, f, at&1 == 0, at&2 == 0)
		}); n != 0 {
			t.Errorf("%s: %v allocations a frame", ext, n)
		}
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestFullDisk: the file stays whole, has what fitted, and says how much that was.
func TestFullDisk(t *testing.T) {
	need.Root(t)
	for _, ext := range []string{".pcapng", ".pcap"} {
		done := make(chan error, 1)
		go func() {
			defer close(done) // also where the test ends there
			done <- onSmallDisk(t, ext)
		}()
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}

// onSmallDisk runs on a thread with mounts of its own, which ends with it.
func onSmallDisk(t *testing.T, ext string) error {
	runtime.LockOSThread()
	dir := t.TempDir()
	if err := unix.Unshare(unix.CLONE_FS | unix.CLONE_NEWNS); err != nil {
		return err
	}
	if err := unix.Mount("", "/", "none", unix.MS_PRIVATE|unix.MS_REC, ""); err != nil {
		return err
	}
	if err := unix.Mount("capture", dir, "tmpfs", 0, "size=3m"); err != nil {
		return err
	}
	path := filepath.Join(dir, "x"+ext)
	r, err := Create(Spec{Path: path})
	if err != nil {
		return err
	}
	if err := r.Begin("va", func() uint64 { return 0 }); err != nil {
		return err
	}
	for i := range 100_000 {
		r.Frame(int64(i), 60, frame(i, 60), false, false)
	}
	over := r.Over()
	err = r.Close()
	if !errors.Is(err, unix.ENOSPC) || !over || !errors.Is(r.Result().Err, unix.ENOSPC) {
		return fmt.Errorf("over %t: %v", over, err)
	}
	frames, _ := read(t, path)
	if n := uint64(len(frames)); n == 0 || n != r.Result().Frames {
		return fmt.Errorf("%d frames in the file: %+v", n, r.Result())
	}
	if ext == ".pcapng" {
		statistics(t, path)
	}
	for i, f := range frames {
		if !bytes.Equal(f, frame(i, 60)) {
			return fmt.Errorf("frame %d: % x", i, f)
		}
	}
	return nil
}

func BenchmarkFrame(b *testing.B) {
	r := begin(b, Spec{Path: filepath.Join(b.TempDir(), "x.pcapng")}, nil)
	f := frame(1, 60)
	at := second
	for b.Loop() {
		at++
		r.Frame(at, 60, f, false, false)
		if at%(1<<20) == 0 { // a disk is not endless
			b.StopTimer()
			if _, err := r.file.Seek(0, 0); err != nil {
				b.Fatal(err)
			}
			b.StartTimer()
		}
	}
	_ = r.Close()
}
