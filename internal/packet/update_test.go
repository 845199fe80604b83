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
		var acc uint64
		byWord := sum
		for range rapid.IntRange(0, 4).Draw(t, "changes") {
			from := rapid.IntRange(1, (len(b)-1)/2).Draw(t, "from") * 2
			to := rapid.IntRange(from, len(b)).Draw(t, "to")
			if (to-from)%2 != 0 && to != len(b) {
				to++
			}
			old := append([]byte(nil), changed[from:to]...)
			copy(changed[from:to], rapid.SliceOfN(rapid.Byte(), to-from, to-from).Draw(t, "new"))
			acc = packet.Delta(acc, old, changed[from:to])
			for i := 0; i < len(old); i += 2 {
				byWord = packet.UpdateSum(byWord, word(old[i:]), word(changed[from+i:to]))
			}
		}
		want := add(^packet.Fold(packet.Sum(0, changed)), wrong)
		if got := packet.ApplyDelta(sum, acc); !same(got, want) || !same(byWord, want) {
			t.Fatalf("%#x by Delta, %#x by UpdateSum, want %#x", got, byWord, want)
		}
		if got := packet.ApplyDelta(sum, acc); wrong == 0 && got != want {
			t.Fatalf("%#x, want %#x", got, want)
		}
	})
}

// add is ones' complement addition.
func add(a, b uint16) uint16 { return packet.Fold(uint64(a) + uint64(b)) }

// same takes the two zeros of ones' complement for one.
func same(a, b uint16) bool { return a == b || a^b == 0xffff && (a == 0 || b == 0) }

func word(b []byte) uint16 {
	if len(b) == 1 {
		return uint16(b[0]) << 8
	}
	return uint16(b[0])<<8 | uint16(b[1])
}

func TestUpdateSum(t *testing.T) {
	// RFC 1624, section 4: equation 2 would give 0xffff.
	if got := packet.UpdateSum(0xdd2f, 0x5555, 0x3285); got != 0 {
		t.Errorf("%#x", got)
	}
	if got := packet.ApplyDelta(0x1234, 0); got != 0x1234 {
		t.Errorf("nothing changed, and 0x1234 became %#x", got)
	}
	if got := packet.ApplyDelta(0xffff, packet.Delta(0, []byte{1, 2, 3}, []byte{1, 2, 3})); got != 0xffff {
		t.Errorf("nothing changed, and 0xffff became %#x", got)
	}
	one := packet.Delta(0, []byte{0x55, 0x55}, []byte{0x32, 0x85})
	for sum, want := range map[uint16]uint16{0: 0, 0xdd2f: 0xffff, 0xdd2e: 0xfffe} {
		if got := packet.ApplyDeltaUDP(sum, one); got != want {
			t.Errorf("UDP %#x became %#x, want %#x", sum, got, want)
		}
	}
}
