package packet

// This file changes checksums by what changed under them, without reading the rest (RFC 1624, equation 3: HC' = ~(~HC + ~m +
// m')). So a checksum that was wrong stays wrong by the same amount, and a right one stays right.

// ApplyDelta is a checksum after changes under it. delta is the sum of 0xffff - m + m' for every 16-bit word, big endian from
// the start of what the checksum covers, that was m and is m' now. Changes that make no difference leave the checksum as it
// is, also where it is written as the other zero of ones' complement.
func ApplyDelta(sum uint16, delta uint64) uint16 {
	d := Fold(delta)
	if d == 0 || d == 0xffff {
		return sum
	}
	return ^Fold(uint64(^sum) + uint64(d))
}

// ApplyDeltaUDP is ApplyDelta for UDP: 0, which means that there is no checksum, stays 0, and a computed 0 becomes 0xffff
// (RFC 768).
func ApplyDeltaUDP(sum uint16, delta uint64) uint16 {
	if sum == 0 {
		return 0
	}
	if n := ApplyDelta(sum, delta); n != 0 {
		return n
	}
	return 0xffff
}
