package packet

import (
	"encoding/binary"
	"math/bits"
)

// Sum adds the bytes to a ones' complement sum of big endian 16-bit words (RFC 1071), which is kept in 64 bits: fold it
// with Fold. A last odd byte counts as if a zero followed, so only the last part of what is summed may have an odd length.
func Sum(acc uint64, b []byte) uint64 {
	var c uint64
	for len(b) >= 8 {
		acc, c = bits.Add64(acc, binary.BigEndian.Uint64(b), c)
		b = b[8:]
	}
	// The rest is below 2^63, so that the two carries cannot meet: 64-bit words are congruent modulo 65535 to their four
	// 16-bit words, and the end-around carry keeps that.
	var rest uint64
	for len(b) >= 2 {
		rest += uint64(b[0])<<8 | uint64(b[1])
		b = b[2:]
	}
	if len(b) == 1 {
		rest += uint64(b[0]) << 8
	}
	acc, c = bits.Add64(acc, rest, c)
	acc, c = bits.Add64(acc, 0, c)
	return acc + c
}

// Fold brings a sum to 16 bits. The checksum is its complement. The upper half of a number and its halves swapped, added,
// is the sum of the halves with the carry brought round.
func Fold(acc uint64) uint16 {
	v := uint32((acc + bits.RotateLeft64(acc, 32)) >> 32)
	return uint16((v + bits.RotateLeft32(v, 16)) >> 16)
}

// PseudoSum is the sum of the pseudo header: the addresses (8 bytes for IPv4, RFC 9293 3.1; 32 for IPv6, RFC 8200 8.1),
// the protocol and the length of the L4 header and what follows.
func PseudoSum(addrs []byte, proto uint8, length int) uint64 {
	return Sum(uint64(proto)+uint64(length), addrs)
}
