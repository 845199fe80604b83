package pcapio_test

import (
	"bytes"
	"errors"
	"io"
	"math"
	"os"
	"testing"

	"pgregory.net/rapid"

	"github.com/wirespeed/wirespeed/internal/pcapio"
)

// writtenAt and writtenLen are the time and the captured length of packet i of writeFile.
func writtenAt(i int) int64 { return 1_700_000_000_999_999_999 + int64(i)*7 }
func writtenLen(i int) int  { return 60 + i*31 }

func writeFile(tb testing.TB, path string, format pcapio.Format, n int) {
	tb.Helper()
	f, err := os.Create(path)
	if err != nil {
		tb.Fatal(err)
	}
	w, err := pcapio.NewWriter(f, pcapio.WriterConfig{Format: format, Link: pcapio.LinkEthernet, SnapLen: 1600, IfName: "va", Filter: "udp port 9", Comment: "a test"})
	if err != nil {
		tb.Fatal(err)
	}
	for i := range n {
		b := bytes.Repeat([]byte{byte(i)}, writtenLen(i))
		switch i % 3 {
		case 0:
			err = w.WriteFrame(writtenAt(i), len(b)+i%2, b, i%2 == 1, false)
		case 1:
			err = w.WriteTagged(writtenAt(i), len(b)+i%2, b[:12], b[12:16], b[16:])
		default:
			err = w.WriteFrame(writtenAt(i), len(b)+i%2, b, false, i%2 == 1)
		}
		if err != nil {
			tb.Fatal(err)
		}
	}
	if err := errors.Join(w.Stats(uint64(n), 3), w.Flush(), f.Close()); err != nil {
		tb.Fatal(err)
	}
	if s, err := os.Stat(path); err != nil || s.Size() != w.Size() || w.Count() != uint64(n) {
		tb.Errorf("%v: %d bytes, said %d; %d packets, want %d", err, s.Size(), w.Size(), w.Count(), n)
	}
}

// TestRoundTrip: what is written is read again, whatever it is.
func TestRoundTrip(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		format := rapid.SampledFrom([]pcapio.Format{pcapio.PCAP, pcapio.PCAPNG}).Draw(t, "format")
		link := pcapio.LinkType(rapid.Uint16().Draw(t, "link"))
		most := int64(math.MaxInt64)
		if format == pcapio.PCAP {
			most = (math.MaxUint32+1)*1e9 - 1
		}
		type packet struct {
			pcapio.Packet
			outgoing bool
		}
		var packets []packet
		for range rapid.IntRange(0, 20).Draw(t, "packets") {
			b := rapid.SliceOfN(rapid.Byte(), 0, 300).Draw(t, "data")
			if rapid.IntRange(0, 15).Draw(t, "long") == 0 {
				b = bytes.Repeat([]byte{7}, rapid.IntRange(0, 3<<20).Draw(t, "length"))
			}
			packets = append(packets, packet{pcapio.Packet{
				Data: b, Orig: rapid.IntRange(0, math.MaxUint32).Draw(t, "orig"), TimeNs: rapid.Int64Range(0, most).Draw(t, "time"), Merged: rapid.Bool().Draw(t, "merged"),
			}, rapid.Bool().Draw(t, "outgoing")})
		}
		var out bytes.Buffer
		w, err := pcapio.NewWriter(&out, pcapio.WriterConfig{Format: format, Link: link, IfName: rapid.StringN(0, 300, 300).Draw(t, "name"), Filter: rapid.String().Draw(t, "filter")})
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range packets {
			at := rapid.IntRange(0, len(p.Data)).Draw(t, "at")
			if p.Merged || p.outgoing {
				err = w.WriteFrame(p.TimeNs, p.Orig, p.Data, p.Merged, p.outgoing)
			} else {
				err = w.WriteTagged(p.TimeNs, p.Orig, p.Data[:at/2], p.Data[at/2:at], p.Data[at:])
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		if err := errors.Join(w.Stats(1<<63, 5), w.Flush()); err != nil {
			t.Fatal(err)
		}
		if int64(out.Len()) != w.Size() {
			t.Fatalf("%d bytes, said %d", out.Len(), w.Size())
		}
		r, err := pcapio.NewReader(&out)
		if err != nil {
			t.Fatal(err)
		}
		for i, want := range packets {
			var p pcapio.Packet
			if err := r.Next(&p); err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(p.Data, want.Data) || p.Orig != want.Orig || p.TimeNs != want.TimeNs || !p.HasTime || p.Link != link || p.Merged != (want.Merged && format == pcapio.PCAPNG) {
				t.Fatalf("packet %d: %+v, want %+v", i+1, p, want)
			}
		}
		if err := r.Next(&pcapio.Packet{}); err != io.EOF {
			t.Fatal(err)
		}
		if i := r.Interfaces()[0]; format == pcapio.PCAPNG && (i.Received != 1<<63 || i.Dropped != 5) {
			t.Fatalf("%+v", i)
		}
	})
}

// TestWriterAllocatesNothing: nor does it keep what it is given.
func TestWriterAllocatesNothing(t *testing.T) {
	for _, format := range []pcapio.Format{pcapio.PCAP, pcapio.PCAPNG} {
		w, err := pcapio.NewWriter(io.Discard, pcapio.WriterConfig{Format: format, Link: pcapio.LinkEthernet})
		if err != nil {
			t.Fatal(err)
		}
		b := make([]byte, 1514)
		if got := testing.AllocsPerRun(5000, func() {
			if errors.Join(w.WritePacket(1, len(b), b), w.WriteTagged(2, len(b), b[:12], b[12:16], b[16:]), w.WriteFrame(3, len(b), b, true, true)) != nil {
				t.Fatal("cannot be written")
			}
		}); got != 0 {
			t.Errorf("%s: %v allocations for three packets", format, got)
		}
	}
}

// wholeRecords fails where a piece that is handed over does not end where a record does.
type wholeRecords struct {
	t    *testing.T
	all  []byte
	n    uint64
	fail int // write of this number from 1
}

var errNoRoom = errors.New("no room")

func (w *wholeRecords) Write(b []byte) (int, error) {
	if w.fail--; w.fail == 0 {
		return 0, errNoRoom
	}
	w.all = append(w.all, b...)
	r, err := pcapio.NewReader(bytes.NewReader(w.all))
	if err != nil {
		w.t.Fatal(err)
	}
	var p pcapio.Packet
	for w.n = 0; err == nil; w.n++ {
		err = r.Next(&p)
	}
	if w.n--; err != io.EOF {
		w.t.Errorf("a piece ends within a record: %v", err)
	}
	return len(b), nil
}

// TestWriterHandsOverWholeRecords: and says where it could not.
func TestWriterHandsOverWholeRecords(t *testing.T) {
	for _, format := range []pcapio.Format{pcapio.PCAP, pcapio.PCAPNG} {
		sink := &wholeRecords{t: t, fail: 5}
		w, err := pcapio.NewWriter(sink, pcapio.WriterConfig{Format: format, Link: pcapio.LinkEthernet})
		if err != nil {
			t.Fatal(err)
		}
		b := make([]byte, 9001)
		for err == nil {
			err = w.WritePacket(0, len(b), b)
		}
		if err != errNoRoom || w.WritePacket(0, 1, b) != err || w.Flush() != err || sink.n == 0 {
			t.Errorf("%s: %v after %d packets", format, err, sink.n)
		}
	}
}

func TestWriterRefuses(t *testing.T) {
	t.Parallel()
	for _, c := range []pcapio.WriterConfig{{}, {Format: pcapio.PCAP, SnapLen: -1}} {
		if _, err := pcapio.NewWriter(io.Discard, c); err == nil {
			t.Errorf("%+v: no error", c)
		}
	}
	w, err := pcapio.NewWriter(io.Discard, pcapio.WriterConfig{Format: pcapio.PCAP, Link: pcapio.LinkEthernet})
	if err != nil {
		t.Fatal(err)
	}
	for _, err := range []error{w.WritePacket(-1, 60, nil), w.WritePacket(1<<32*1e9, 60, nil), w.WritePacket(0, -1, nil), w.WritePacket(0, 60, make([]byte, pcapio.MaxRecord))} {
		if err == nil {
			t.Error("no error")
		}
	}
	if err := w.WritePacket(0, 60, nil); err != nil || w.Count() != 1 {
		t.Errorf("after refusals: %v, %d packets", err, w.Count())
	}
}
