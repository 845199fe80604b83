package pcapio_test

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/wirespeed/wirespeed/internal/pcapio"
	"github.com/wirespeed/wirespeed/internal/pcapio/pcaptest"
)

// TestReadsWhatIsThere holds every packet and every end of all inputs against what they were made of, whatever pieces the
// bytes come in.
func TestReadsWhatIsThere(t *testing.T) {
	t.Parallel()
	for _, f := range pcaptest.Files() {
		t.Run(f.Name, func(t *testing.T) {
			t.Parallel()
			reads(t, f, bytes.NewReader(f.Bytes))
			reads(t, f, iotest.HalfReader(bytes.NewReader(f.Bytes)))
			reads(t, f, iotest.DataErrReader(bytes.NewReader(f.Bytes)))
			if len(f.Bytes) < 20_000 {
				reads(t, f, iotest.OneByteReader(bytes.NewReader(f.Bytes)))
			}
		})
	}
}

func reads(t *testing.T, f pcaptest.File, in io.Reader) {
	t.Helper()
	r, err := pcapio.NewReader(in)
	if f.Refused != "" {
		if _, ok := errors.AsType[*pcapio.FormatError](err); !ok || !strings.Contains(err.Error(), f.Refused) {
			t.Fatalf("refused with %v, want %q", err, f.Refused)
		}
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	var p pcapio.Packet
	for i, want := range f.Packets {
		if err := r.Next(&p); err != nil {
			t.Fatalf("packet %d: %v", i+1, err)
		}
		same(t, i, &p, want)
	}
	err = r.Next(&p)
	if again := r.Next(&p); again != err {
		t.Errorf("ends with %v, then with %v", err, again)
	}
	if f.Damage == nil {
		if err != io.EOF {
			t.Errorf("ends with %v", err)
		}
		return
	}
	d, ok := errors.AsType[*pcapio.Damage](err)
	if !ok {
		t.Fatalf("ends with %v, want damage", err)
	}
	if d.Offset != f.Damage.Offset || d.After != uint64(len(f.Packets)) || d.Cut != f.Damage.Cut || !strings.Contains(d.Error(), f.Damage.What) {
		t.Errorf("%q: %+v, want %+v after %d", d, d, f.Damage, len(f.Packets))
	}
}

func same(t *testing.T, i int, p *pcapio.Packet, want pcaptest.Packet) {
	t.Helper()
	if !bytes.Equal(p.Data, want.Data) || p.Orig != want.Orig {
		t.Errorf("packet %d: %d of %d bytes, want %d of %d, or others", i+1, len(p.Data), p.Orig, len(want.Data), want.Orig)
	}
	if p.HasTime == want.Untimed || p.TimeNs != want.TimeNs {
		t.Errorf("packet %d: at %d (%v), want %d", i+1, p.TimeNs, p.HasTime, want.TimeNs)
	}
	if uint32(p.Link) != want.Link || p.Interface != want.Interface || p.Section != want.Section || p.FCSLen != want.FCSLen || p.Merged != want.Merged || p.Number != uint64(i+1) {
		t.Errorf("packet %d: %+v, want %+v", i+1, p, want)
	}
}

// TestJudges: each packet for the reason it has, and none where it is mended.
func TestJudges(t *testing.T) {
	t.Parallel()
	for _, f := range pcaptest.Files() {
		if f.Refused != "" {
			continue
		}
		r, err := pcapio.NewReader(bytes.NewReader(f.Bytes))
		if err != nil {
			t.Fatal(err)
		}
		var p pcapio.Packet
		for i, want := range f.Packets {
			if err := r.Next(&p); err != nil {
				t.Fatal(err)
			}
			if got := pcapio.Judge(&p, pcapio.Options{}); got.String() != want.Why {
				t.Errorf("%s: packet %d: %q, want %q", f.Name, i+1, got, want.Why)
			}
			for m := range pcaptest.Pad | pcaptest.L2 + 1 {
				got := pcapio.Judge(&p, pcapio.Options{Pad: m&pcaptest.Pad != 0, L2: m&pcaptest.L2 != 0})
				sent := want.Why == "" || want.Mend != 0 && m&want.Mend == want.Mend
				if (got == 0) != sent {
					t.Errorf("%s: packet %d with mends %b: %q, can be sent: %v", f.Name, i+1, m, got, sent)
				}
			}
		}
	}
}

// TestNextAllocatesNothing: in any format, with options and without.
func TestNextAllocatesNothing(t *testing.T) {
	for _, format := range []pcapio.Format{pcapio.PCAP, pcapio.PCAPNG} {
		const packets = 20_000
		r, err := pcapio.NewReader(bytes.NewReader(written(t, format, packets)))
		if err != nil {
			t.Fatal(err)
		}
		var p pcapio.Packet
		next := func() {
			if err := r.Next(&p); err != nil {
				t.Fatal(err)
			}
		}
		next()
		if got := testing.AllocsPerRun(packets-2, next); got != 0 {
			t.Errorf("%s: %v allocations a packet", format, got)
		}
	}
}

// written is a capture of n packets, some of them marked.
func written(tb testing.TB, format pcapio.Format, n int) []byte {
	var out bytes.Buffer
	w, err := pcapio.NewWriter(&out, pcapio.WriterConfig{Format: format, Link: pcapio.LinkEthernet})
	if err != nil {
		tb.Fatal(err)
	}
	data := make([]byte, 64)
	for i := range n {
		if err := w.WriteFrame(int64(i)*1000, len(data), data, i%3 == 0, i%5 == 0); err != nil {
			tb.Fatal(err)
		}
	}
	if err := w.Flush(); err != nil {
		tb.Fatal(err)
	}
	return out.Bytes()
}

// TestMemoryIsBounded: the length that a file claims takes no memory, and passing over a long block takes none either.
func TestMemoryIsBounded(t *testing.T) {
	for _, name := range []string{"bogus-first.pcap", "bogus-second.pcap", "longer-than-the-file.pcap", "block-of-4gib.pcapng", "other-block-of-4gib.pcapng", "packet-of-4gib.pcapng"} {
		f := pcaptest.Named(name)
		if n := allocated(func() { readAll(t, bytes.NewReader(f.Bytes)) }); n > 1<<20 {
			t.Errorf("%s: %d bytes for a file of %d", name, n, len(f.Bytes))
		}
	}
	long := io.MultiReader(bytes.NewReader(pcaptest.Named("header-only.pcapng").Bytes), strings.NewReader("\xad\x0b\x00\x00\x0c\x00\x00\x10"), io.LimitReader(zeros{}, 256<<20))
	if n := allocated(func() { readAll(t, long) }); n > 1<<20 {
		t.Errorf("%d bytes to pass over a block", n)
	}
	file := written(t, pcapio.PCAP, 10_000)
	records := &again{whole: file[24:], times: 200}
	var packets uint64
	if n := allocated(func() { packets = readAll(t, io.MultiReader(bytes.NewReader(file[:24]), records)) }); n > 1<<20 || packets != 2_000_000 {
		t.Errorf("%d bytes to read %d packets", n, packets)
	}
}

// again gives the same bytes a number of times.
type again struct {
	whole, rest []byte
	times       int
}

func (a *again) Read(b []byte) (int, error) {
	if len(a.rest) == 0 {
		if a.times == 0 {
			return 0, io.EOF
		}
		a.times--
		a.rest = a.whole
	}
	n := copy(b, a.rest)
	a.rest = a.rest[n:]
	return n, nil
}

// allocated is how many bytes f takes from the heap in all.
func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

type zeros struct{}

func (zeros) Read(b []byte) (int, error) {
	clear(b)
	return len(b), nil
}

func readAll(tb testing.TB, in io.Reader) (n uint64) {
	r, err := pcapio.NewReader(in)
	if err != nil {
		tb.Fatal(err)
	}
	var p pcapio.Packet
	for r.Next(&p) == nil {
		n++
	}
	return n
}

// TestReadsFromAPipe: as it comes, and without an end in sight.
func TestReadsFromAPipe(t *testing.T) {
	t.Parallel()
	f := pcaptest.Named("all-blocks.pcapng.gz")
	in, out := io.Pipe()
	go func() {
		_, _ = io.Copy(out, bytes.NewReader(f.Bytes))
		_ = out.Close()
	}()
	r, err := pcapio.Open("-", in)
	if err != nil {
		t.Fatal(err)
	}
	var p pcapio.Packet
	for i, want := range f.Packets {
		if err := r.Next(&p); err != nil {
			t.Fatal(err)
		}
		same(t, i, &p, want)
	}
	if err := r.Next(&p); err != io.EOF {
		t.Error(err)
	}
}

// TestErrorsOfTheFileAreNoDamage: what cannot be read is not said to be cut.
func TestErrorsOfTheFileAreNoDamage(t *testing.T) {
	t.Parallel()
	f := pcaptest.Named("us-little.pcap")
	broken := errors.New("the disk is gone")
	r, err := pcapio.NewReader(io.MultiReader(bytes.NewReader(f.Bytes[:200]), iotest.ErrReader(broken)))
	if err != nil {
		t.Fatal(err)
	}
	var p pcapio.Packet
	for err = r.Next(&p); err == nil; err = r.Next(&p) {
	}
	if !errors.Is(err, broken) {
		t.Error(err)
	}
	if _, err := pcapio.NewReader(iotest.ErrReader(broken)); !errors.Is(err, broken) {
		t.Error(err)
	}
}

func TestOpenRefuses(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if _, err := pcapio.Open(dir, nil); err == nil || !strings.Contains(err.Error(), "a directory") {
		t.Error(err)
	}
	if _, err := pcapio.Open(filepath.Join(dir, "none"), nil); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
	if _, err := pcapio.Open("-", nil); err == nil {
		t.Error("no standard input, and no error")
	}
}
