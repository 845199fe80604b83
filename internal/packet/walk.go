package packet

import "encoding/binary"

// Layout says where things lie in a frame: offsets from its start, in bytes.
type Layout struct {
	EtherType uint16 // behind all VLAN tags of the outermost Ethernet header; below 0x600 the length of what follows
	Proto     uint8  // of what stands behind IP and its extension headers; 0 without IP
	Version   uint8  // of IP: 4 or 6; 0 without IP
	VLANs     int    // tags
	L3        int    // IP header; without IP what stands behind the outermost Ethernet header and its VLAN tags
	L4        int    // UDP, TCP, ICMP or ICMPv6 header; 0: none, or a later fragment
	Payload   int    // behind the last header known
	End       int    // end of the payload by the lengths in IP, else of the frame: padding is behind it
	Fragment  bool   // a part of a packet: the L4 checksum cannot be right or wrong, and nothing is followed behind L4
	// BadLength: the lengths in the headers contradict each other or say more than there is. End is then what is there.
	BadLength bool

	// Stack are the headers in their order, Depth of them. Everything above but EtherType and VLANs speaks of the innermost IP
	// packet; what lies around it is here.
	Stack [MaxStack]Header
	Depth int
}

// MaxStack is the largest number of headers that Walk follows; what is behind counts as payload.
const MaxStack = 24

// A Header is one header of a frame.
type Header struct {
	End  uint32 // end of what it carries, by its own lengths and those around it
	Off  uint16 // from the start of the frame
	Len  uint16
	Kind HeaderKind
}

// HeaderKind is what a Header is.
type HeaderKind uint8

// The headers that Walk knows.
const (
	HeaderEth HeaderKind = iota + 1
	HeaderVLAN
	HeaderMPLS
	HeaderLLC
	HeaderSNAP
	HeaderARP
	HeaderIPv4
	HeaderIPv6
	HeaderHopOpts
	HeaderRouting
	HeaderFragment
	HeaderDstOpts
	HeaderUDP
	HeaderTCP
	HeaderICMP
	HeaderICMPv6
	HeaderGRE
	HeaderVXLAN
)

// String is the name of the kind, as in Kinds.
func (k HeaderKind) String() string {
	names := [...]string{
		"payload", "eth", "vlan", "mpls", "llc", "snap", "arp", "ip", "ipv6", "hopopts", "routing", "fraghdr", "dstopts",
		"udp", "tcp", "icmp", "icmpv6", "gre", "vxlan",
	}
	if int(k) >= len(names) {
		return "unknown"
	}
	return names[k]
}

// Walk finds the headers of a frame as it lies in memory: short frames padded, no FCS. It is false where the frame is too
// short for an Ethernet header and its tags. Headers that are cut short, or of a protocol unknown here, count as payload,
// so Payload <= End <= len(frame) always holds, and every header lies inside the one below it.
//
// Two things are guessed, as frames do not say them. What follows the bottom label of MPLS is IP where it reads as an IP
// header, else Ethernet where it reads as that with an EtherType known here, else payload. And VXLAN is what is sent
// to its UDP port with the flag set that says that there is a network identifier.
//
// The receivers in the kernel follow the same headers by the same rules (walk.bpf.h): a change here is one there.
func Walk(frame []byte) (l Layout, ok bool) {
	ok = l.Walk(frame)
	return l, ok
}

// Walk fills the layout anew, as the function Walk does; of Stack only the first Depth headers are written. A layout that is
// used again for each frame spares clearing and copying it.
func (l *Layout) Walk(frame []byte) bool {
	l.EtherType, l.Proto, l.Version, l.VLANs, l.L3, l.L4 = 0, 0, 0, 0, 0, 0
	l.Payload, l.End, l.Fragment, l.BadLength, l.Depth = 0, len(frame), false, false, 0
	t, ok := l.ethernet(frame, 0, len(frame))
	if !ok {
		return false
	}
	l.EtherType, l.VLANs, l.L3 = t, l.Depth-1, l.Payload
	l.behindEthernet(frame, l.Payload, len(frame), t)
	return true
}

// push adds a header of n bytes that carries what reaches to end; false where the stack is full.
func (l *Layout) push(k HeaderKind, off, n, end int) bool {
	if l.Depth >= MaxStack {
		return false
	}
	h := &l.Stack[l.Depth]
	h.Kind, h.Off, h.Len, h.End = k, uint16(off), uint16(n), uint32(end)
	l.Depth++
	l.Payload, l.End = off+n, end
	return true
}

// ethernet takes an Ethernet header and its tags; false where they are cut short. The type is that of what follows.
func (l *Layout) ethernet(f []byte, off, end int) (t uint16, ok bool) {
	if end-off < 14 || !l.push(HeaderEth, off, 14, end) {
		return 0, false
	}
	t = binary.BigEndian.Uint16(f[off+12:])
	for off += 14; IsTPID(t); off += 4 {
		if end-off < 4 {
			return t, false
		}
		if !l.push(HeaderVLAN, off, 4, end) {
			break
		}
		t = binary.BigEndian.Uint16(f[off+2:])
	}
	return t, true
}

// behindEthernet follows what an Ethernet header or its last tag announces, by a type or a length.
func (l *Layout) behindEthernet(f []byte, off, end int, t uint16) {
	if t >= EtherFirst {
		l.ether(f, off, end, t)
		return
	}
	stop := off + int(t)
	if stop > end {
		l.BadLength = true
		stop = end
	}
	l.End = stop
	l.llc(f, off, stop)
}

// ether follows what an EtherType announces.
func (l *Layout) ether(f []byte, off, end int, t uint16) {
	switch t {
	case EtherIPv4:
		l.ipv4(f, off, end)
	case EtherIPv6:
		l.ipv6(f, off, end)
	case EtherMPLS, EtherMPLSUp:
		l.mpls(f, off, end)
	case EtherARP:
		l.arp(f, off, end)
	}
}

func (l *Layout) ipv4(f []byte, off, end int) {
	if end-off < 20 || f[off]>>4 != 4 {
		return
	}
	h := f[off : off+20]
	hdr, stop := int(h[0]&15)*4, off+int(binary.BigEndian.Uint16(h[2:]))
	if hdr < 20 || hdr > end-off {
		l.BadLength = true
		return
	}
	if stop < off+hdr || stop > end {
		l.BadLength = true
		stop = end
	}
	if !l.push(HeaderIPv4, off, hdr, stop) {
		return
	}
	frag := binary.BigEndian.Uint16(h[6:])
	l.Version, l.Proto, l.L3, l.L4, l.Fragment = 4, h[9], off, 0, frag&0x3fff != 0
	if frag&0x1fff == 0 {
		l.behindIP(f, off+hdr, stop)
	}
}

func (l *Layout) ipv6(f []byte, off, end int) {
	if end-off < 40 || f[off]>>4 != 6 {
		return
	}
	stop := off + 40 + int(binary.BigEndian.Uint16(f[off+4:]))
	if stop > end {
		l.BadLength = true
		stop = end
	}
	if !l.push(HeaderIPv6, off, 40, stop) {
		return
	}
	l.Version, l.Proto, l.L3, l.L4, l.Fragment = 6, f[off+6], off, 0, false
	l.behindIP(f, off+40, stop)
}

// behindIP follows what Proto announces. A first fragment is followed up to its L4 header.
func (l *Layout) behindIP(f []byte, off, end int) {
	switch l.Proto {
	case ProtoUDP:
		l.udp(f, off, end)
	case ProtoTCP:
		l.tcp(f, off, end)
	default:
		if l.Version == 6 {
			off = l.extensions(f, off, end)
		}
		if off >= 0 {
			l.upper(f, off, end)
		}
	}
}

// upper follows what Proto announces where extension headers are behind us.
func (l *Layout) upper(f []byte, off, end int) {
	switch l.Proto {
	case ProtoUDP:
		l.udp(f, off, end)
	case ProtoTCP:
		l.tcp(f, off, end)
	case ProtoICMP, ProtoICMPv6:
		want, kind := uint8(4), HeaderICMP
		if l.Proto == ProtoICMPv6 {
			want, kind = 6, HeaderICMPv6
		}
		if l.Version == want && end-off >= 8 && l.push(kind, off, 8, end) {
			l.L4 = off
		}
	case ProtoGRE:
		l.gre(f, off, end)
	case ProtoIPv4, ProtoIPv6, ProtoMPLS:
		l.tunnel(f, off, end)
	}
}

func (l *Layout) udp(f []byte, off, end int) {
	if end-off < 8 {
		return
	}
	h, stop := f[off:off+8], end
	if n := int(binary.BigEndian.Uint16(h[4:])); n != end-off && !l.Fragment {
		l.BadLength = true
		if n >= 8 && n < end-off {
			stop = off + n
		}
	}
	if !l.push(HeaderUDP, off, 8, stop) {
		return
	}
	l.L4, l.End = off, end
	if binary.BigEndian.Uint16(h[2:]) == PortVXLAN && !l.Fragment {
		l.vxlan(f, off+8, stop)
	}
}

func (l *Layout) tcp(f []byte, off, end int) {
	if end-off < 20 {
		return
	}
	hdr := int(f[off+12]>>4) * 4
	if hdr < 20 || hdr > end-off {
		l.BadLength = true
		hdr = 20
	}
	if l.push(HeaderTCP, off, hdr, end) {
		l.L4 = off
	}
}
