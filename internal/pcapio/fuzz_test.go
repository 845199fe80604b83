package pcapio_test

import (
	"bytes"
	"errors"
	"io"
	"math"
	"testing"

	"github.com/wirespeed/wirespeed/internal/pcapio"
	"github.com/wirespeed/wirespeed/internal/pcapio/pcaptest"
)

// fuzzLimit ends inputs that decompress to too much to be read in a test.
const fuzzLimit = 16 << 20

// FuzzReader: whatever a file holds, reading it ends, shows no byte that is not there, and says where it went wrong.
func FuzzReader(f *testing.F) {
	for _, file := range pcaptest.Files() {
		if len(file.Bytes) < 4096 {
			f.Add(file.Bytes)
		}
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		r, err := pcapio.NewReader(bytes.NewReader(b))
		if err != nil {
			if _, ok := errors.AsType[*pcapio.FormatError](err); !ok || err.Error() == "" {
				t.Fatalf("refused with %v", err)
			}
			return
		}
		whole := int64(len(b))
		if r.Gzip() {
			whole = math.MaxInt64
		}
		var p pcapio.Packet
		var end int64
		var frame []byte
		for n := uint64(1); ; n++ {
			if err = r.Next(&p); err != nil {
				break
			}
			if p.Number != n || p.Offset < end || p.Offset+int64(len(p.Data)) > r.Offset() || r.Offset() > whole || p.Orig < 0 || p.FCSLen < 0 {
				t.Fatalf("packet %d: %+v, read to %d of %d", n, p, r.Offset(), whole)
			}
			if end = r.Offset(); end > fuzzLimit {
				return
			}
			judged(t, &p, &frame)
		}
		if d, ok := errors.AsType[*pcapio.Damage](err); ok {
			if d.Offset < end || d.Offset > whole || d.After != p.Number || d.Error() == "" {
				t.Fatalf("%+v after %d bytes of %d", d, end, whole)
			}
		} else if err != io.EOF {
			t.Fatal(err)
		}
		if s, err := pcapio.Summarise(t.Context(), "x", mustRead(t, b), pcapio.Options{Pad: true, L2: true}); err != nil || s.Packets != p.Number || s.Sendable > s.Packets {
			t.Fatalf("%v: %+v", err, s)
		}
	})
}

func mustRead(t *testing.T, b []byte) *pcapio.Reader {
	r, err := pcapio.NewReader(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// judged makes a frame of what can be sent, whatever the options are.
func judged(t *testing.T, p *pcapio.Packet, frame *[]byte) {
	for o := range 8 {
		options := pcapio.Options{Pad: o&1 != 0, L2: o&2 != 0}
		if o&4 != 0 {
			options.MaxFrame, options.MaxTag = 1518, 4
		}
		if pcapio.Judge(p, options) != 0 {
			continue
		}
		*frame = p.AppendEthernet((*frame)[:0], [6]byte{2}, [6]byte{4})
		if n := len(*frame); n < 14 || n > 16106 || !options.Pad && n < 60 {
			t.Fatalf("%+v: a frame of %d bytes of %+v", options, n, p)
		}
	}
}
