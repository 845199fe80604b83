package packet

import "encoding/binary"

// VerifyL4 reports whether the checksum of the innermost UDP, TCP, ICMP or ICMPv6 header of a frame that Walk knows is right. A UDP
// checksum of 0 over IPv4 means that there is none and is right; so is a frame without such a header, and a fragment, of
// which a part is missing.
func VerifyL4(frame []byte, l *Layout) bool {
	if l.L4 == 0 || l.Fragment {
		return true
	}
	i := l.Depth - 1
	for i > 0 && int(l.Stack[i].Off) != l.L4 {
		i--
	}
	return l.right(frame, i)
}

// VerifySums checks every checksum of a frame that Walk knows: of IP headers, and of UDP, TCP, ICMP, ICMPv6 and GRE wherever
// they stand; those of fragments are left alone. It returns the index in Stack of the innermost that is wrong, or -1: what
// is wrong inside makes the checksums around it wrong too.
func VerifySums(frame []byte, l *Layout) int {
	for i := l.Depth - 1; i >= 0; i-- {
		if !l.right(frame, i) {
			return i
		}
	}
	return -1
}

// right reports whether the checksum of header i is right or there is none.
func (l *Layout) right(f []byte, i int) bool {
	h := &l.Stack[i]
	if h.Kind == HeaderIPv4 {
		return l.sums(f, h.Off, uint32(h.Off)+uint32(h.Len), 0)
	}
	if l.Fragment && int(h.Off) > l.L3 {
		return true
	}
	switch h.Kind {
	case HeaderUDP:
		ip := l.below(i)
		if f[h.Off+6]|f[h.Off+7] == 0 {
			return l.Stack[ip].Kind == HeaderIPv4
		}
		return l.sums(f, h.Off, h.End, l.pseudo(f, ip, i, ProtoUDP))
	case HeaderTCP:
		return l.sums(f, h.Off, h.End, l.pseudo(f, l.below(i), i, ProtoTCP))
	case HeaderICMPv6:
		return l.sums(f, h.Off, h.End, l.pseudo(f, l.below(i), i, ProtoICMPv6))
	case HeaderICMP:
		return l.sums(f, h.Off, h.End, 0)
	case HeaderGRE:
		return binary.BigEndian.Uint16(f[h.Off:])&greChecksum == 0 || l.sums(f, h.Off, h.End, 0)
	default:
		return true
	}
}

// sums reports whether the bytes and acc have the sum of what is right.
func (*Layout) sums(f []byte, off uint16, end uint32, acc uint64) bool {
	return Fold(Sum(acc, f[off:end])) == 0xffff
}

// below is the index of the nearest IP header below header i, which is there for every header with a pseudo header.
func (l *Layout) below(i int) int {
	for i--; i > 0 && l.Stack[i].Kind != HeaderIPv4 && l.Stack[i].Kind != HeaderIPv6; i-- {
	}
	return i
}

// pseudo is the sum of the pseudo header that header i has on the IP header at index ip. A routing header between them with
// segments left names another destination (RFC 8200 8.1).
func (l *Layout) pseudo(f []byte, ip, i int, proto uint8) uint64 {
	at := int(l.Stack[ip].Off)
	n := int(l.Stack[i].End) - int(l.Stack[i].Off)
	if l.Stack[ip].Kind == HeaderIPv4 {
		return PseudoSum(f[at+12:at+20], proto, n)
	}
	for j := i - 1; j > ip; j-- {
		r := &l.Stack[j]
		if r.Kind != HeaderRouting {
			continue
		}
		if off, ok := routingFinalDst(f[r.Off : r.Off+r.Len]); ok {
			dst := int(r.Off) + off
			return Sum(PseudoSum(f[at+8:at+24], proto, n), f[dst:dst+16])
		}
	}
	return PseudoSum(f[at+8:at+40], proto, n)
}
