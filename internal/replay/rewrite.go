package replay

import (
	"bytes"
	"encoding/binary"

	"github.com/wirespeed/wirespeed/internal/packet"
)

// A cover is one Internet checksum of a frame and what it covers: offsets from the start of the frame.
type cover struct {
	place    int
	from, to int
	// src and dst are where the addresses of its pseudo header lie, addr bytes long; 0: they are not in it.
	src, dst, addr int
	udp            bool // 0 is no checksum, and never written for one
	was, is        [2]byte
}

// has reports whether the byte at off counts in the checksum.
func (c *cover) has(off int) bool {
	return c.from <= off && off < c.to || c.src > 0 && c.src <= off && off < c.src+c.addr || c.dst > 0 && c.dst <= off && off < c.dst+c.addr
}

// even reports whether the byte at off is the upper one of its word.
func (c *cover) even(off int) bool {
	from := c.from
	switch {
	case c.src > 0 && c.src <= off && off < c.src+c.addr:
		from = c.src
	case c.dst > 0 && c.dst <= off && off < c.dst+c.addr:
		from = c.dst
	}
	return (off-from)&1 == 0
}

// covers finds the checksums of a frame, the outermost first. Of a fragment only the first has the checksum of layer 4, and
// only where its place is in it.
func (m *maker) findCovers(b []byte) {
	m.covers = m.covers[:0]
	for i := range m.layout.Stack[:m.layout.Depth] {
		h := &m.layout.Stack[i]
		off, end := int(h.Off), int(h.End)
		c := cover{from: off, to: end}
		switch h.Kind {
		case packet.HeaderIPv4:
			c.place, c.to = off+10, off+int(h.Len)
		case packet.HeaderUDP:
			c.place, c.udp = off+6, true
			m.pseudo(b, i, &c)
		case packet.HeaderTCP:
			c.place = off + 16
			m.pseudo(b, i, &c)
		case packet.HeaderICMPv6:
			c.place = off + 2
			m.pseudo(b, i, &c)
		case packet.HeaderGRE:
			if b[off]&0x80 == 0 {
				continue
			}
			c.place = off + 4
		default:
			continue
		}
		if c.place+2 > len(b) || c.udp && b[c.place]|b[c.place+1] == 0 {
			continue
		}
		m.covers = append(m.covers, c)
	}
}

// pseudo finds the addresses that count in the checksum of header i: those of the IP header below. With a routing header
// that has segments left, the destination of the checksum is another (RFC 8200 8.1).
func (m *maker) pseudo(b []byte, i int, c *cover) {
	routed := false
	for i--; i >= 0; i-- {
		h := &m.layout.Stack[i]
		off := int(h.Off)
		switch h.Kind {
		case packet.HeaderRouting:
			routed = routed || b[off+3] > 0
		case packet.HeaderHopOpts, packet.HeaderFragment, packet.HeaderDstOpts:
		case packet.HeaderIPv4:
			c.src, c.dst, c.addr = off+12, off+16, 4
			return
		case packet.HeaderIPv6:
			c.src, c.dst, c.addr = off+8, off+24, 16
			if routed {
				c.dst = 0
			}
			return
		default:
			return
		}
	}
}

// write puts new bytes over old ones at off and brings every checksum over them along (RFC 1624): what was right stays
// right, what was wrong stays wrong by the same.
func (m *maker) write(b []byte, off int, with []byte) {
	if old := b[off : off+len(with)]; !bytes.Equal(old, with) {
		m.bring(b, off, old, with, len(m.covers))
		copy(old, with)
	}
}

// bring updates the outermost n covers for a change of bytes at off. The innermost come first: their own change is a change
// to those around them.
func (m *maker) bring(b []byte, off int, old, with []byte, n int) {
	for i := n - 1; i >= 0; i-- {
		c := &m.covers[i]
		var acc uint64
		touched := false
		for j := range old {
			if old[j] == with[j] || !c.has(off+j) {
				continue
			}
			touched = true
			was, is := uint64(old[j]), uint64(with[j])
			if c.even(off + j) {
				was, is = was<<8, is<<8
			}
			acc += 0xffff - was + is
		}
		if !touched {
			continue
		}
		sum := binary.BigEndian.Uint16(b[c.place:])
		v := packet.ApplyDelta(sum, acc)
		if c.udp {
			v = packet.ApplyDeltaUDP(sum, acc)
		}
		binary.BigEndian.PutUint16(c.was[:], sum)
		binary.BigEndian.PutUint16(c.is[:], v)
		m.bring(b, c.place, c.was[:], c.is[:], i)
		copy(b[c.place:], c.is[:])
	}
}
