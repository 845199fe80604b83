package pcapio

import (
	"encoding/binary"
)

// Block types (draft-ietf-opsawg-pcapng).
const (
	blockInterface  = 1
	blockPacket     = 2 // obsolete
	blockSimple     = 3
	blockStatistics = 5
	blockEnhanced   = 6
	blockSection    = 0x0a0d0d0a
	byteOrderMagic  = 0x1a2b3c4d
)

// Bytes of a block without its body, and the offsets of the data in the blocks that carry packets.
const (
	blockEnds   = 12
	sectionLen  = 28
	dataEPB     = 28
	dataSPB     = 12
	maxOptions  = 1 << 20 // bytes of a block that describes something
	maxText     = 256     // bytes of a name that are kept
	pcapngMajor = 1
)

// maxInterfaces is how many interfaces a section may have, and how many are kept of the sections before.
const maxInterfaces = 4096

// mergedMark is the comment by which a capture of ours says that a packet was made of several frames.
const mergedMark = "wirespeed: merged"

// firstSection checks that the file begins with a section.
func (r *Reader) firstSection(b []byte) error {
	if len(b) < 12 {
		return notCapture("it is cut within the header, after %d of %d bytes", len(b), sectionLen)
	}
	if !r.byteOrder(b[8:]) {
		return notCapture("it begins like pcapng, but has no byte order: % x", b[8:12])
	}
	total := r.u32(b[4:])
	if total < sectionLen || total%4 != 0 || total > maxOptions {
		return notCapture("it begins like pcapng, but its first block claims %d bytes", total)
	}
	whole := r.w.peek(int(total))
	if len(whole) < int(total) {
		return notCapture("it is cut within the header, after %d of %d bytes", len(whole), total)
	}
	if major := r.u16(whole[12:]); major != pcapngMajor {
		return notCapture("pcapng of version %d.%d, and only version 1 is read", major, r.u16(whole[14:]))
	}
	return nil
}

// byteOrder sets the byte order by the magic of a section.
func (r *Reader) byteOrder(b []byte) bool {
	switch uint32(byteOrderMagic) {
	case binary.LittleEndian.Uint32(b):
		r.big = false
	case binary.BigEndian.Uint32(b):
		r.big = true
	default:
		return false
	}
	return true
}

// nextBlock passes over blocks until one carries a packet.
func (r *Reader) nextBlock(p *Packet) error {
	for {
		b := r.w.peek(blockEnds)
		if len(b) < blockEnds {
			return r.end(len(b), "within the head of a block")
		}
		kind := r.u32(b)
		if kind == blockSection && !r.byteOrder(b[8:]) {
			return r.broken("a section without a byte order")
		}
		total := r.u32(b[4:])
		if total < blockEnds || total%4 != 0 {
			return r.broken("a block of type %#x that claims %d bytes", kind, total)
		}
		switch kind {
		case blockEnhanced, blockPacket, blockSimple:
			b, err := r.block(kind, total, MaxRecord)
			if err != nil {
				return err
			}
			return r.packet(p, kind, b)
		case blockSection, blockInterface, blockStatistics:
			b, err := r.block(kind, total, maxOptions)
			if err != nil {
				return err
			}
			if err := r.describe(kind, b); err != nil {
				return err
			}
			r.w.lo += len(b)
		default:
			if err := r.pass(total); err != nil {
				return err
			}
		}
	}
}

// block shows a whole block and holds its two lengths against each other.
func (r *Reader) block(kind, total uint32, most int) ([]byte, error) {
	if total > uint32(most) {
		return nil, r.broken("a block of type %#x that claims %d bytes", kind, total)
	}
	n := int(total)
	b := r.w.peek(n)
	if len(b) < n {
		return nil, r.end(len(b), "within a block")
	}
	if again := r.u32(b[n-4:]); again != total {
		return nil, r.broken("a block of type %#x that claims %d bytes at its beginning and %d at its end", kind, total, again)
	}
	return b, nil
}

// pass skips a block whatever its length is, without having it in memory.
func (r *Reader) pass(total uint32) error {
	at := r.w.at()
	if r.w.skip(int64(total)) < int64(total) {
		err := r.end(1, "within a block")
		if d, ok := err.(*Damage); ok {
			d.Offset = at
		}
		return err
	}
	r.skipped++
	return nil
}

// packet reads a block that carries one. The block is not yet skipped.
func (r *Reader) packet(p *Packet, kind uint32, b []byte) error {
	n, data := len(b), dataEPB
	if kind == blockSimple {
		data = dataSPB
	}
	if n < data+4 {
		return r.broken("a block of type %#x that is too short for a packet: %d bytes", kind, n)
	}
	var index, length, orig uint32
	var ticks uint64
	switch kind {
	case blockSimple:
		orig = r.u32(b[8:])
		length = min(orig, uint32(n-data-4))
	case blockPacket:
		index = uint32(r.u16(b[8:]))
		ticks, length, orig = uint64(r.u32(b[12:]))<<32|uint64(r.u32(b[16:])), r.u32(b[20:]), r.u32(b[24:])
	default:
		index = r.u32(b[8:])
		ticks, length, orig = uint64(r.u32(b[12:]))<<32|uint64(r.u32(b[16:])), r.u32(b[20:]), r.u32(b[24:])
	}
	if uint64(index) >= uint64(len(r.ifaces)) {
		return r.broken("a packet of interface %d, and its section has described %d until then", index, len(r.ifaces))
	}
	i := &r.ifaces[index]
	if kind == blockSimple && i.SnapLen != 0 {
		length = min(length, i.SnapLen)
	}
	if length > uint32(n-data-4) {
		return r.broken("a packet of %d bytes in a block of %d", length, n)
	}
	r.count++
	i.Packets++
	end := data + int(length)
	*p = Packet{Data: b[data:end:end], Orig: int(orig), Link: i.Link, Interface: int(index), Section: r.sections - 1,
		Number: r.count, Offset: r.w.at(), FCSLen: i.FCSLen}
	if kind != blockSimple {
		p.TimeNs, p.HasTime = i.time(ticks), true
		if rest := b[(end+3)&^3 : n-4]; len(rest) >= 4 {
			r.packetOptions(p, rest)
		}
	}
	r.w.lo += n
	return nil
}

// Options of packets.
const (
	optEnd     = 0
	optComment = 1
	optFlags   = 2
)

// packetOptions keeps the first comment, the mark of merged packets, and the length of the FCS.
func (r *Reader) packetOptions(p *Packet, b []byte) {
	for len(b) >= 4 {
		code, value, rest := r.option(b)
		switch {
		case code == optEnd:
			return
		case code == optComment && string(value) == mergedMark:
			p.Merged = true
			fallthrough
		case code == optComment:
			if p.Comment == nil {
				p.Comment = value
			}
		case code == optFlags && len(value) == 4:
			if fcs := int(r.u32(value) >> 5 & 15); fcs != 0 {
				p.FCSLen = fcs
			}
		}
		b = rest
	}
}

// option takes the first option apart: at least 4 bytes are there. One that is longer than what is there ends the list.
func (r *Reader) option(b []byte) (code uint16, value, rest []byte) {
	code = r.u16(b)
	n := int(r.u16(b[2:]))
	b = b[4:]
	if n > len(b) {
		return optEnd, nil, nil
	}
	return code, b[:n:n], b[min(len(b), (n+3)&^3):]
}

// describe reads a block that says something about the packets.
func (r *Reader) describe(kind uint32, b []byte) error {
	switch kind {
	case blockSection:
		return r.section(b)
	case blockInterface:
		return r.iface(b)
	}
	r.statistics(b)
	return nil
}

func (r *Reader) section(b []byte) error {
	if len(b) < sectionLen {
		return r.broken("a section header of %d bytes", len(b))
	}
	if major := r.u16(b[12:]); major != pcapngMajor {
		return r.broken("a section of version %d.%d, and only version 1 is read,", major, r.u16(b[14:]))
	}
	keep := min(len(r.ifaces), maxInterfaces-len(r.earlier))
	r.earlier = append(r.earlier, r.ifaces[:keep]...)
	r.dropped += len(r.ifaces) - keep
	r.ifaces = r.ifaces[:0]
	r.sections++
	r.noteOrder()
	return nil
}

// Options of interfaces and of statistics.
const (
	optIfName        = 2
	optIfDescription = 3
	optIfTSResol     = 9
	optIfFilter      = 11
	optIfFCSLen      = 13
	optIfTSOffset    = 14

	optStatReceived  = 4
	optStatDropped   = 5
	optStatOSDropped = 7
)

func (r *Reader) iface(b []byte) error {
	if len(b) < 20 {
		return r.broken("an interface of %d bytes", len(b))
	}
	if len(r.ifaces) == maxInterfaces {
		return r.broken("more than %d interfaces in a section", maxInterfaces)
	}
	i := Interface{Section: r.sections - 1, Index: len(r.ifaces), Link: LinkType(r.u16(b[8:])), SnapLen: unlimited(r.u32(b[12:])), TicksPerSecond: 1e6}
	for o := b[16 : len(b)-4]; len(o) >= 4; {
		code, v, rest := r.option(o)
		if code == optEnd {
			break
		}
		switch {
		case code == optIfName:
			i.Name = text(v)
		case code == optIfDescription:
			i.Description = text(v)
		case code == optIfFilter && len(v) > 1 && v[0] == 0: // 0: as a string of libpcap
			i.Filter = text(v[1:])
		case code == optIfTSResol && len(v) == 1:
			if i.TicksPerSecond = ticksPerSecond(v[0]); i.TicksPerSecond == 0 {
				return r.broken("an interface with a time resolution of %s s, which nothing here can count,", resolutionText(v[0]))
			}
		case code == optIfFCSLen && len(v) == 1:
			if i.FCSLen = int(v[0]); i.FCSLen > 7 { // the draft says bits, its example and Wireshark say bytes
				i.FCSLen /= 8
			}
		case code == optIfTSOffset && len(v) == 8:
			i.OffsetS = int64(r.u64(v))
		}
		o = rest
	}
	r.ifaces = append(r.ifaces, i)
	return nil
}

// statistics keeps the latest of an interface. Blocks that are too short, or are about no interface, say nothing.
func (r *Reader) statistics(b []byte) {
	if len(b) < 24 || uint64(r.u32(b[8:])) >= uint64(len(r.ifaces)) {
		return
	}
	i := &r.ifaces[r.u32(b[8:])]
	var dropped uint64
	var known bool
	for o := b[20 : len(b)-4]; len(o) >= 4; {
		code, v, rest := r.option(o)
		if code == optEnd {
			break
		}
		if len(v) == 8 {
			switch code {
			case optStatReceived:
				i.Received, i.HasReceived = r.u64(v), true
			case optStatDropped, optStatOSDropped:
				dropped, known = dropped+r.u64(v), true
			}
		}
		o = rest
	}
	if known {
		i.Dropped, i.HasDropped = dropped, true
	}
}
