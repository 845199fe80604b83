package packet

import "encoding/binary"

// Layout says where things lie in a frame: offsets from its start, in bytes.
type Layout struct {
	EtherType uint16 // behind all VLAN tags
	Proto     uint8  // of IP; 0 without IP
	Version   uint8  // of IP: 4 or 6; 0 without IP
	VLANs     int    // tags
	L3        int    // what stands behind Ethernet and VLAN tags
	L4        int    // UDP or TCP header; 0: none, or a later fragment
	Payload   int    // behind the last header known
	End       int    // end of the payload by the lengths in IP, else of the frame: padding is behind it
	Fragment  bool   // a part of a packet: the L4 checksum cannot be right or wrong
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
	Kind HeaderKind
	Off  uint16 // from the start of the frame
	Len  uint16
	End  uint16 // end of what it carries, by its own lengths and those around it
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

// Walk finds the layers of a frame as it lies in memory: short frames padded, no FCS. It is false where the frame is too
// short for an Ethernet header and its tags. Headers that are cut short, or of a protocol unknown here, count as payload,
// so Payload <= End <= len(frame) always holds. IPv6 extension headers are payload too; a fragment header sets Fragment.
func Walk(frame []byte) (Layout, bool) {
	var l Layout
	if len(frame) < 14 {
		return l, false
	}
	l.L3 = 14
	l.EtherType = binary.BigEndian.Uint16(frame[12:])
	for IsTPID(l.EtherType) {
		if len(frame) < l.L3+4 {
			return l, false
		}
		l.EtherType = binary.BigEndian.Uint16(frame[l.L3+2:])
		l.L3 += 4
		l.VLANs++
	}
	l.Payload, l.End = l.L3, len(frame)
	switch h := frame[l.L3:]; {
	case l.EtherType == EtherIPv4 && len(h) >= 20 && h[0]>>4 == 4:
		l.walkIPv4(h)
	case l.EtherType == EtherIPv6 && len(h) >= 40 && h[0]>>4 == 6:
		l.walkIPv6(h)
	}
	return l, true
}

func (l *Layout) walkIPv4(h []byte) {
	hdr, total := int(h[0]&15)*4, int(binary.BigEndian.Uint16(h[2:]))
	if hdr < 20 || hdr > len(h) {
		l.BadLength = true
		return
	}
	l.Version, l.Proto = 4, h[9]
	l.end(total, hdr, len(h))
	frag := binary.BigEndian.Uint16(h[6:])
	l.Fragment = frag&0x3fff != 0
	if frag&0x1fff == 0 {
		l.walkL4(h[hdr : l.End-l.L3])
	}
}

func (l *Layout) walkIPv6(h []byte) {
	l.Version, l.Proto = 6, h[6]
	l.end(40+int(binary.BigEndian.Uint16(h[4:])), 40, len(h))
	l.Fragment = l.Proto == ProtoFragment
	l.walkL4(h[40 : l.End-l.L3])
}

// end sets Payload and End for an IP packet of total bytes with a header of hdr bytes, of which have are there.
func (l *Layout) end(total, hdr, have int) {
	if total < hdr || total > have {
		l.BadLength = true
		total = have
	}
	l.Payload, l.End = l.L3+hdr, l.L3+total
}

func (l *Layout) walkL4(h []byte) {
	switch {
	case l.Proto == ProtoUDP && len(h) >= 8:
		l.L4, l.Payload = l.Payload, l.Payload+8
		if int(binary.BigEndian.Uint16(h[4:])) != len(h) && !l.Fragment {
			l.BadLength = true
		}
	case l.Proto == ProtoTCP && len(h) >= 20:
		hdr := int(h[12]>>4) * 4
		if hdr < 20 || hdr > len(h) {
			l.BadLength = true
			hdr = 20
		}
		l.L4, l.Payload = l.Payload, l.Payload+hdr
	}
}
