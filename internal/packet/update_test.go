package packet_test

import (
	"testing"

	"github.com/wirespeed/wirespeed/internal/packet"
	"pgregory.net/rapid"
)

// A checksum changed by what changed is the one made anew, and what was wrong stays wrong by the same amount.
func TestUpdatedSumIsTheSumMadeAnew(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := rapid.SliceOfN(rapid.SampledFrom([]byte{0, 0, 1, 0x7f, 0xfe, 0xff}), 3, 41).Draw(t, "bytes")
		b[0] |= 1 // all zeros have two checksums, and no header is all zeros
		wrong := rapid.SampledFrom([]uint16{0, 0, 1, 0x8000, 0xfffe}).Draw(t, "wrong")
		sum := add(^packet.Fold(packet.Sum(0, b)), wrong)
		changed := append([]byte(nil), b...)
		var delta uint64
		byWord := sum
		for range rapid.IntRange(0, 4).Draw(t, "changes") {
			i := rapid.IntRange(1, (len(b)-1)/2).Draw(t, "word") * 2
			old := word(changed[i:])
			copy(changed[i:], rapid.SliceOfN(rapid.Byte(), 2, 2).Draw(t, "new"))
			one := change(old, word(changed[i:]))
			delta += one
			byWord = packet.ApplyDelta(byWord, one)
		}
		want := add(^packet.Fold(packet.Sum(0, changed)), wrong)
		got := packet.ApplyDelta(sum, delta)
		if !same(got, want) || !same(byWord, want) || wrong == 0 && got != want {
			t.Fatalf("%#x at once, %#x word by word, want %#x", got, byWord, want)
		}
		if udp := packet.ApplyDeltaUDP(sum, delta); udp != got && !(got == 0 && udp == 0xffff) && !(sum == 0 && udp == 0) {
			t.Fatalf("UDP: %#x, want %#x", udp, got)
		}
	})
}

// change is what one word adds to a delta.
func change(old, new uint16) uint64 { return 0xffff - uint64(old) + uint64(new) }

// add is ones' complement addition.
func add(a, b uint16) uint16 { return packet.Fold(uint64(a) + uint64(b)) }

// same takes the two zeros of ones' complement for one.
func same(a, b uint16) bool { return a == b || a^b == 0xffff && (a == 0 || b == 0) }

// word is the first word; a last odd byte has a zero behind it.
func word(b []byte) uint16 {
	if len(b) == 1 {
		return uint16(b[0]) << 8
	}
	return uint16(b[0])<<8 | uint16(b[1])
}

func TestApplyDelta(t *testing.T) {
	one := change(0x5555, 0x3285)
	// RFC 1624, section 4: equation 2 would give 0xffff.
	if got := packet.ApplyDelta(0xdd2f, one); got != 0 {
		t.Errorf("%#x", got)
	}
	for _, delta := range []uint64{0, change(7, 7), change(7, 9) + change(9, 7)} {
		for _, sum := range []uint16{0, 0x1234, 0xffff} {
			if got := packet.ApplyDelta(sum, delta); got != sum {
				t.Errorf("nothing changed, and %#x became %#x", sum, got)
			}
		}
	}
	for sum, want := range map[uint16]uint16{0: 0, 0xdd2f: 0xffff, 0xdd2e: 0xfffe} {
		if got := packet.ApplyDeltaUDP(sum, one); got != want {
			t.Errorf("UDP %#x became %#x, want %#x", sum, got, want)
		}
	}
}
