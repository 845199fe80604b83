package packet

// This file changes checksums by what changed under them, without reading the rest (RFC 1624). So a checksum that was wrong
// stays wrong by the same amount, and a right one stays right.

// UpdateSum is a checksum after one of the 16-bit words under it, big endian, has changed from old to new: equation 3 of RFC
// 1624, HC' = ~(~HC + ~m + m').
func UpdateSum(sum, old, new uint16) uint16 {
	return ^Fold(uint64(^sum) + uint64(^old) + uint64(new))
}

// Delta adds to acc what a change from old to new makes of a sum, for ApplyDelta: several changes under one checksum may be
// added up. Both have the same length and begin at an even offset of what the checksum covers; a last odd byte is followed
// by one that does not change, or by the end.
func Delta(acc uint64, old, new []byte) uint64 {
	i := 0
	for ; i+1 < len(old) && i+1 < len(new); i += 2 {
		o, n := uint16(old[i])<<8|uint16(old[i+1]), uint16(new[i])<<8|uint16(new[i+1])
		acc += uint64(^o) + uint64(n)
	}
	if i < len(old) && i < len(new) {
		acc += uint64(^(uint16(old[i]) << 8)) + uint64(uint16(new[i])<<8)
	}
	return acc
}

// ApplyDelta is a checksum after the changes that Delta has added up. Changes that make no difference leave it as it is, also
// where it is written as the other zero of ones' complement.
func ApplyDelta(sum uint16, acc uint64) uint16 {
	d := Fold(acc)
	if d == 0 || d == 0xffff {
		return sum
	}
	return ^Fold(uint64(^sum) + uint64(d))
}

// ApplyDeltaUDP is ApplyDelta for UDP: 0, which means that there is no checksum, stays 0, and a computed 0 becomes 0xffff
// (RFC 768).
func ApplyDeltaUDP(sum uint16, acc uint64) uint16 {
	if sum == 0 {
		return 0
	}
	if n := ApplyDelta(sum, acc); n != 0 {
		return n
	}
	return 0xffff
}
