package pcapio

import (
	"encoding/binary"
	"fmt"
)

// etherHead is the length of an Ethernet header; where an EtherType would begin, a length ends.
const (
	etherHead  = 14
	firstEther = 0x0600
	etherIPv4  = 0x0800
	etherIPv6  = 0x86dd
)

// FrameLen is how many bytes the packet had, without FCS.
func (p *Packet) FrameLen() int { return max(p.Orig-p.FCSLen, 0) }

// Frame is what was captured of the packet, without FCS.
func (p *Packet) Frame() []byte {
	if p.FCSLen == 0 {
		return p.Data
	}
	return p.Data[:min(len(p.Data), max(p.Orig-p.FCSLen, 0))]
}

// Heads of Linux cooked captures (https://www.tcpdump.org/linktypes/LINKTYPE_LINUX_SLL.html and _SLL2).
const (
	sllLen  = 16
	sll2Len = 20
	sllLLC  = 0x0004 // the protocol of frames with a length: LLC follows
)

// Hardware types (include/uapi/linux/if_arp.h) for which the protocol of a cooked capture is no EtherType.
const (
	arphrdNetlink   = 824
	arphrdGRE       = 778
	arphrdRadiotap  = 803
	arphrdFRAD      = 770
	arphrdFirstWiFi = 801
)

// Network finds what a packet of another link type carries: its EtherType, or the length of what follows where that is LLC,
// and where it begins within Data. not ok: nothing that Ethernet could carry. at is beyond the data where it ends before.
func (p *Packet) Network() (etherType uint16, at int, ok bool) {
	b := p.Frame()
	switch p.Link {
	case LinkEthernet:
		if len(b) < etherHead {
			return 0, etherHead, false
		}
		return binary.BigEndian.Uint16(b[12:]), etherHead, true
	case LinkNull, LinkLoop:
		if len(b) < 5 {
			return 0, 5, false
		}
		family := binary.BigEndian.Uint32(b)
		if p.Link == LinkNull && family > 0xffff {
			family = binary.LittleEndian.Uint32(b)
		}
		return familyEther(family), 4, familyEther(family) != 0
	case LinkRaw, linkRawBSD, linkRawOpenBSD, LinkIPv4, LinkIPv6:
		if len(b) < 1 {
			return 0, 1, false
		}
		etherType = versionEther(b[0] >> 4)
		return etherType, 0, etherType != 0
	case LinkSLL:
		if len(b) < sllLen {
			return 0, sllLen, false
		}
		return p.cooked(binary.BigEndian.Uint16(b[14:]), binary.BigEndian.Uint16(b[2:]), sllLen)
	case LinkSLL2:
		if len(b) < sll2Len {
			return 0, sll2Len, false
		}
		return p.cooked(binary.BigEndian.Uint16(b), binary.BigEndian.Uint16(b[8:]), sll2Len)
	}
	return 0, 0, false
}

// LinkProblem says why no Ethernet header makes a frame of the packet; empty: one does, or the packet ends before that is known.
func (p *Packet) LinkProblem() string {
	if !p.Link.Convertible() {
		return "nothing of this type is carried by Ethernet"
	}
	_, at, ok := p.Network()
	b := p.Frame()
	if ok || at > len(b) {
		return ""
	}
	switch p.Link {
	case LinkNull, LinkLoop:
		return fmt.Sprintf("its first 4 bytes, %x, are the address family of neither IPv4 nor IPv6", b[:4])
	case LinkSLL:
		return fmt.Sprintf("protocol 0x%04x of hardware type %d is not Ethernet's", binary.BigEndian.Uint16(b[14:]), binary.BigEndian.Uint16(b[2:]))
	case LinkSLL2:
		return fmt.Sprintf("protocol 0x%04x of hardware type %d is not Ethernet's", binary.BigEndian.Uint16(b), binary.BigEndian.Uint16(b[8:]))
	}
	return fmt.Sprintf("its first byte, %02x, begins neither IPv4 nor IPv6", b[0])
}

// cooked reads the protocol of a Linux cooked capture.
func (p *Packet) cooked(protocol, hardware uint16, at int) (uint16, int, bool) {
	switch {
	case hardware == arphrdNetlink || hardware == arphrdGRE || hardware == arphrdFRAD || hardware >= arphrdFirstWiFi && hardware <= arphrdRadiotap:
		return 0, at, false
	case protocol == sllLLC && p.FrameLen()-at < firstEther:
		return uint16(p.FrameLen() - at), at, true
	}
	return protocol, at, protocol >= firstEther
}

// versionEther is the EtherType of a version of IP; 0: there is none.
func versionEther(version byte) uint16 {
	switch version {
	case 4:
		return etherIPv4
	case 6:
		return etherIPv6
	}
	return 0
}

// familyEther is the EtherType of an address family: IPv6 has other numbers on each system.
func familyEther(family uint32) uint16 {
	switch family {
	case 2:
		return etherIPv4
	case 10, 23, 24, 28, 30:
		return etherIPv6
	}
	return 0
}

// AppendEthernet appends to b the packet as a frame without FCS: as it is, or with an Ethernet header of these addresses
// before what it carries. It adds nothing where Judge with L2 says that there is no frame in it.
func (p *Packet) AppendEthernet(b []byte, dst, src [6]byte) []byte {
	if p.Link == LinkEthernet {
		return append(b, p.Frame()...)
	}
	etherType, at, ok := p.Network()
	if !ok {
		return b
	}
	b = append(b, dst[:]...)
	b = append(b, src[:]...)
	b = binary.BigEndian.AppendUint16(b, etherType)
	return append(b, p.Frame()[at:]...)
}
