package packet

import "encoding/binary"

// This file follows what Walk meets less often: extension headers, tunnels, labels, LLC.

// extensions follows IPv6's extension headers from off on and sets Proto to what stands behind them. It returns where that
// is, or -1 where it is not known or not there.
func (l *Layout) extensions(f []byte, off, end int) int {
	for {
		var kind HeaderKind
		switch l.Proto {
		case ProtoHopOpts:
			kind = HeaderHopOpts
		case ProtoRouting:
			kind = HeaderRouting
		case ProtoDstOpts:
			kind = HeaderDstOpts
		case ProtoFragment:
			kind = HeaderFragment
		default:
			return off
		}
		if end-off < 8 {
			l.BadLength = true
			return -1
		}
		n := 8
		if kind != HeaderFragment {
			n += int(f[off+1]) * 8
		}
		if n > end-off {
			l.BadLength = true
			return -1
		}
		if !l.push(kind, off, n, end) {
			return -1
		}
		l.Proto = f[off]
		if kind == HeaderFragment {
			frag := binary.BigEndian.Uint16(f[off+2:])
			l.Fragment = l.Fragment || frag&0xfff9 != 0
			if frag&0xfff8 != 0 {
				return -1
			}
		}
		off += n
	}
}

// tunnel follows IP or MPLS in IP.
func (l *Layout) tunnel(f []byte, off, end int) {
	switch {
	case l.Fragment:
	case l.Proto == ProtoIPv4:
		l.ipv4(f, off, end)
	case l.Proto == ProtoIPv6:
		l.ipv6(f, off, end)
	default:
		l.mpls(f, off, end)
	}
}

// gre follows version 0 without routing (RFC 2784, RFC 2890); what else there is counts as payload.
func (l *Layout) gre(f []byte, off, end int) {
	if end-off < 4 {
		return
	}
	flags, t := binary.BigEndian.Uint16(f[off:]), binary.BigEndian.Uint16(f[off+2:])
	if flags&(greRouting|greVersion) != 0 {
		return
	}
	n := 4
	for _, word := range [...]uint16{greChecksum, greKey, greSequence} {
		if flags&word != 0 {
			n += 4
		}
	}
	if n > end-off {
		l.BadLength = true
		return
	}
	if !l.push(HeaderGRE, off, n, end) || l.Fragment {
		return
	}
	if t == EtherBridge {
		l.inner(f, off+n, end)
		return
	}
	l.ether(f, off+n, end, t)
}

func (l *Layout) vxlan(f []byte, off, end int) {
	if end-off < 8 || f[off]&0x08 == 0 || !l.push(HeaderVXLAN, off, 8, end) {
		return
	}
	l.inner(f, off+8, end)
}

// inner follows an Ethernet frame inside another.
func (l *Layout) inner(f []byte, off, end int) {
	if t, ok := l.ethernet(f, off, end); ok {
		l.behindEthernet(f, l.Payload, end, t)
	}
}

// mpls follows a label stack to its bottom, and then what reads as IP or as Ethernet. Where the bottom bit is wrong, what is
// behind is unknown: it rarely reads as either.
func (l *Layout) mpls(f []byte, off, end int) {
	for bottom := false; !bottom; off += 4 {
		if end-off < 4 || !l.push(HeaderMPLS, off, 4, end) {
			return
		}
		bottom = f[off+2]&1 != 0
	}
	switch b := f[off:end]; {
	case likeIPv4(b):
		l.ipv4(f, off, end)
	case likeIPv6(b):
		l.ipv6(f, off, end)
	case likeEthernet(b):
		l.inner(f, off, end)
	}
}

func likeIPv4(b []byte) bool {
	return len(b) >= 20 && b[0]>>4 == 4 && b[0]&15 >= 5 && int(binary.BigEndian.Uint16(b[2:])) <= len(b)
}

func likeIPv6(b []byte) bool {
	return len(b) >= 40 && b[0]>>4 == 6 && int(binary.BigEndian.Uint16(b[4:]))+40 <= len(b)
}

// likeEthernet reports whether there is an Ethernet header with an EtherType that is known here.
func likeEthernet(b []byte) bool {
	if len(b) < 14 {
		return false
	}
	switch t := binary.BigEndian.Uint16(b[12:]); t {
	case EtherIPv4, EtherIPv6, EtherARP, EtherMPLS, EtherMPLSUp, EtherTest:
		return true
	default:
		return IsTPID(t)
	}
}

// arp follows ARP with addresses of any length (RFC 826).
func (l *Layout) arp(f []byte, off, end int) {
	if end-off < 8 {
		return
	}
	if n := 8 + 2*(int(f[off+4])+int(f[off+5])); n <= end-off {
		l.push(HeaderARP, off, n, end)
	} else {
		l.BadLength = true
	}
}

// llc follows IEEE 802.2 LLC: unnumbered frames have a control field of one byte, others of two. SNAP without an
// organization, or with that of bridged frames (RFC 1042, IEEE 802.1H), has an EtherType.
func (l *Layout) llc(f []byte, off, end int) {
	n := 3
	if end-off >= n && f[off+2]&3 != 3 {
		n = 4
	}
	if end-off < n || !l.push(HeaderLLC, off, n, end) {
		return
	}
	snap := f[off]&0xfe == sapSNAP && f[off+1]&0xfe == sapSNAP && n == 3
	off += n
	if !snap || end-off < 5 || !l.push(HeaderSNAP, off, 5, end) {
		return
	}
	if o := uint32(f[off])<<16 | uint32(f[off+1])<<8 | uint32(f[off+2]); o == 0 || o == 0x0000f8 {
		l.ether(f, off+5, end, binary.BigEndian.Uint16(f[off+3:]))
	}
}
