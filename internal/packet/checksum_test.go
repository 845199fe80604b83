package packet_test

import (
	"encoding/hex"
	"testing"

	"github.com/wirespeed/wirespeed/internal/packet"
	"pgregory.net/rapid"
)

func slowSum(b []byte) uint16 {
	var sum uint32
	for i, c := range b {
		if i%2 == 0 {
			sum += uint32(c) << 8
		} else {
			sum += uint32(c)
		}
		sum = sum>>16 + sum&0xffff
	}
	return uint16(sum)
}

func TestSum(t *testing.T) {
	// RFC 1071, section 3.
	b, _ := hex.DecodeString("0001f203f4f5f6f7")
	if got := packet.Fold(packet.Sum(0, b)); got != 0xddf2 {
		t.Fatalf("%#x", got)
	}
	rapid.Check(t, func(t *rapid.T) {
		b := rapid.SliceOfN(rapid.SampledFrom([]byte{0, 1, 0x7f, 0xfe, 0xff}), 0, 80).Draw(t, "bytes")
		cut := rapid.IntRange(0, len(b)/2).Draw(t, "cut") * 2
		if got, want := packet.Fold(packet.Sum(packet.Sum(0, b[:cut]), b[cut:])), slowSum(b); got != want {
			t.Fatalf("%#x, want %#x", got, want)
		}
	})
}

func TestSumCarriesAround(t *testing.T) {
	all := make([]byte, 64)
	for i := range all {
		all[i] = 0xff
	}
	for n := 0; n <= len(all); n++ {
		if got, want := packet.Fold(packet.Sum(^uint64(0), all[:n])), slowSum(append([]byte{0xff, 0xff}, all[:n]...)); got != want {
			t.Fatalf("%d bytes: %#x, want %#x", n, got, want)
		}
	}
}

func TestSignature(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := packet.Signature{Form: packet.FormFull, Run: rapid.Byte().Draw(t, "run"), Flags: packet.FlagVersion | rapid.ByteMax(31).Draw(t, "flags"),
			Stream: rapid.Uint16().Draw(t, "stream"), Seq: rapid.Uint32().Draw(t, "seq"), Time: rapid.Uint64().Draw(t, "time")}
		if rapid.Bool().Draw(t, "short") {
			s = packet.Signature{Form: packet.FormShort, Run: s.Run, Stream: s.Stream & 0xff, Seq: s.Seq}
		}
		b := make([]byte, s.Form.Len())
		s.Put(b)
		if got, ok := packet.ParseSignature(b); !ok || got != s {
			t.Fatalf("%+v became %+v", s, got)
		}
		if _, ok := packet.ParseSignature(b[:len(b)-1]); ok {
			t.Fatal("a signature cut short was read")
		}
	})
	full := packet.Signature{Form: packet.FormFull, Run: 0x2a, Flags: packet.FlagVersion | packet.TimeShared | packet.FlagFirst, Stream: 0x0102, Seq: 0x03040506, Time: 0x0708090a0b0c0d0e}
	short := packet.Signature{Form: packet.FormShort, Run: 0x2a, Stream: 7, Seq: 0x03040506}
	for s, want := range map[packet.Signature]string{full: "57532a340102030405060708090a0b0c0d0e", short: "57732a0703040506"} {
		b := make([]byte, s.Form.Len())
		if s.Put(b); hex.EncodeToString(b) != want {
			t.Errorf("%x, want %s", b, want)
		}
	}
	for _, text := range []string{"57532a540102030405060708090a0b0c0d0e", "57542a340102030405060708090a0b0c0d0e", ""} {
		b, _ := hex.DecodeString(text)
		if s, ok := packet.ParseSignature(b); ok {
			t.Errorf("%s was read as %+v", text, s)
		}
	}
}
