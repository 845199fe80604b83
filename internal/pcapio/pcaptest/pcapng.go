package pcaptest

import "math"

// Block types.
const (
	blockInterface  = 1
	blockPacket     = 2
	blockSimple     = 3
	blockNames      = 4
	blockStatistics = 5
	blockEnhanced   = 6
	blockSecrets    = 10
	blockCustom     = 0xbad
	blockCustomKeep = 0x40000bad
	blockSection    = 0x0a0d0d0a
)

// A pcapng is a file in the making.
type pcapng struct {
	order   byteOrder
	bytes   []byte
	section int
	links   []uint32
	fcs     []int
	packets []Packet
}

func newPcapng(order byteOrder) *pcapng {
	p := &pcapng{section: -1}
	p.begin(order)
	return p
}

// begin begins a section.
func (p *pcapng) begin(order byteOrder, options ...option) {
	p.order, p.links, p.fcs = order, nil, nil
	p.section++
	b := order.AppendUint32(nil, 0x1a2b3c4d)
	b = order.AppendUint16(order.AppendUint16(b, 1), 0)
	b = order.AppendUint64(b, math.MaxUint64)
	p.block(blockSection, append(b, p.options(options)...))
}

// An option of a block.
type option struct {
	code  uint16
	value []byte
}

func (p *pcapng) options(list []option) (b []byte) {
	for _, o := range list {
		b = p.order.AppendUint16(p.order.AppendUint16(b, o.code), uint16(len(o.value)))
		b = pad4(append(b, o.value...))
	}
	if len(list) > 0 {
		b = append(b, 0, 0, 0, 0)
	}
	return b
}

func pad4(b []byte) []byte {
	for len(b)%4 != 0 {
		b = append(b, 0)
	}
	return b
}

// block appends a block, which is filled up to a multiple of 4.
func (p *pcapng) block(kind uint32, body []byte) {
	body = pad4(body)
	n := uint32(len(body) + 12)
	p.bytes = p.order.AppendUint32(p.order.AppendUint32(p.bytes, kind), n)
	p.bytes = p.order.AppendUint32(append(p.bytes, body...), n)
}

// interfaceOf appends the description of an interface.
func (p *pcapng) interfaceOf(link uint32, snapLen uint32, options []option) *pcapng {
	b := p.order.AppendUint16(p.order.AppendUint16(nil, uint16(link)), 0)
	p.block(blockInterface, append(p.order.AppendUint32(b, snapLen), p.options(options)...))
	fcs := 0
	for _, o := range options {
		if o.code == 13 {
			fcs = int(o.value[0])
		}
	}
	p.links, p.fcs = append(p.links, link), append(p.fcs, fcs)
	return p
}

// packet notes what a reader finds.
func (p *pcapng) packet(q Packet) *Packet {
	q.Link, q.Section, q.FCSLen = p.links[q.Interface], p.section, p.fcs[q.Interface]
	p.packets = append(p.packets, q)
	return &p.packets[len(p.packets)-1]
}

// enhanced appends a packet with its time in the interface's own ticks.
func (p *pcapng) enhanced(ticks uint64, q Packet, options ...option) *Packet {
	o := p.order
	b := o.AppendUint32(o.AppendUint32(o.AppendUint32(nil, uint32(q.Interface)), uint32(ticks>>32)), uint32(ticks))
	b = o.AppendUint32(o.AppendUint32(b, uint32(len(q.Data))), uint32(q.Orig))
	p.block(blockEnhanced, append(pad4(append(b, q.Data...)), p.options(options)...))
	return p.packet(q)
}

// old appends a packet in the block that the enhanced one replaced.
func (p *pcapng) old(ticks uint64, q Packet) {
	o := p.order
	b := o.AppendUint16(o.AppendUint16(nil, uint16(q.Interface)), math.MaxUint16)
	b = o.AppendUint32(o.AppendUint32(b, uint32(ticks>>32)), uint32(ticks))
	b = o.AppendUint32(o.AppendUint32(b, uint32(len(q.Data))), uint32(q.Orig))
	p.block(blockPacket, pad4(append(b, q.Data...)))
	p.packet(q)
}

// simple appends a packet without a time.
func (p *pcapng) simple(q Packet) {
	p.block(blockSimple, append(p.order.AppendUint32(nil, uint32(q.Orig)), q.Data...))
	q.Untimed = true
	p.packet(q)
}

func (p *pcapng) file(name string) File { return File{Name: name, Bytes: p.bytes, Packets: p.packets} }

// sent is a whole packet of interface i that can be sent.
func sent(i int, timeNs int64, data []byte) Packet {
	return Packet{Data: data, Orig: len(data), TimeNs: timeNs, Interface: i}
}

// Option codes.
const (
	optComment  = 1
	optName     = 2
	optResol    = 9
	optFilter   = 11
	optFCSLen   = 13
	optOffset   = 14
	optFlags    = 2
	optReceived = 4
	optDropped  = 5
)

func resolution(v byte) []option { return []option{{optResol, []byte{v}}} }

// twoInterfaces: of two link types, snapshot lengths and resolutions; and of all resolutions.
func twoInterfaces() []File {
	p := newPcapng(little)
	p.interfaceOf(linkEthernet, 96, nil)
	p.interfaceOf(linkSLL, 0, resolution(9))
	const us = start / 1000
	p.enhanced(us, sent(0, us*1000, frame(60, 0)))
	p.enhanced(start+500, Packet{Data: sll(etherIPv4, udp4(60, 1)), Orig: 76, TimeNs: start + 500, Interface: 1, Why: "link_type", Mend: L2})
	p.enhanced(us+2, Packet{Data: frame(200, 2)[:96], Orig: 200, TimeNs: us*1000 + 2000, Why: "truncated", Mend: Pad})
	p.enhanced(us+3, sent(0, us*1000+3000, frame(96, 3)))

	q := newPcapng(big)
	for i, r := range []struct {
		resol byte
		ticks uint64
		ns    int64
	}{
		{6, us, us * 1000}, {9, start, start}, {0, 1_600_000_000, 1_600_000_000_000_000_000}, {3, 1_600_000_000_123, 1_600_000_000_123_000_000},
		{12, start, start / 1000}, {19, 5e18, 5e8}, {0x80 | 20, 1_600_000_000<<20 | 1<<19, 1_600_000_000_500_000_000},
		{0x80 | 32, 1_600_000_000<<32 | 1<<30, 1_600_000_000_250_000_000}, {0x80 | 63, 1<<62 | 1<<61, 750_000_000}, {0x80, 1_600_000_000, 1_600_000_000_000_000_000},
	} {
		q.interfaceOf(linkEthernet, 0, resolution(r.resol))
		q.enhanced(r.ticks, sent(i, r.ns, frame(60+i, i)))
	}
	return []File{p.file("two-interfaces.pcapng"), q.file("resolutions.pcapng")}
}

// allBlocks: every kind of block there is, in three sections of both byte orders.
func allBlocks() []File {
	p := newPcapng(little)
	custom := func(kind uint32, n int) { p.block(kind, append(p.order.AppendUint32(nil, 32119), payload(n, n)...)) }
	p.interfaceOf(linkEthernet, 0, append(resolution(9), option{optName, []byte("eth0")}, option{optFilter, []byte("\x00udp port 9")}, option{optComment, []byte("first")}))
	p.enhanced(start, sent(0, start, frame(60, 0)), option{optComment, []byte("hello")})
	p.names("\xc6\x12\x00\x01", "tester")
	p.simple(sent(0, 0, frame(61, 1)))
	p.secrets("CLIENT_RANDOM 00 00\n")
	p.old(start+1000, sent(0, start+1000, frame(62, 2)))
	custom(blockCustom, 4)
	custom(blockCustomKeep, 400)
	p.block(0x80000001, nil)
	p.enhanced(start+2000, sent(0, start+2000, frame(63, 3)), option{optFlags, p.order.AppendUint32(nil, 1)}, option{0x8001, payload(5, 0)})
	merged := p.enhanced(start+3000, Packet{Data: frame(1000, 4), Orig: 1000, TimeNs: start + 3000, Why: "merged"}, option{optComment, []byte("wirespeed: merged")})
	merged.Merged = true
	p.statistics(start+4000, 7, 2)

	p.begin(big, option{optComment, []byte("the second section")})
	p.interfaceOf(linkEthernet, 70, nil)
	p.simple(Packet{Data: frame(100, 5)[:70], Orig: 100, Why: "truncated", Mend: Pad})
	p.enhanced(start/1000, sent(0, start/1000*1000, frame(65, 6)))
	p.old(start/1000+5, sent(0, start/1000*1000+5000, frame(66, 7)))

	p.begin(little)
	custom(blockCustom, 1)
	p.interfaceOf(linkEthernet, math.MaxUint32, resolution(9))
	p.interfaceOf(linkEthernet, 0, append(resolution(9), option{optFCSLen, []byte{4}}))
	p.enhanced(start+1e9, sent(1, start+1e9, append(frame(60, 8), 1, 2, 3, 4)))
	withFlags := p.enhanced(start+2e9, sent(0, start+2e9, append(frame(60, 9), 1, 2, 3, 4)), option{optFlags, p.order.AppendUint32(nil, 4<<5)})
	withFlags.FCSLen = 4
	return []File{p.file("all-blocks.pcapng")}
}

// names appends the name of an IPv4 address.
func (p *pcapng) names(address, name string) {
	record := address + name + "\x00"
	b := p.order.AppendUint16(p.order.AppendUint16(nil, 1), uint16(len(record)))
	p.block(blockNames, append(pad4(append(b, record...)), 0, 0, 0, 0))
}

// secrets appends a log of TLS keys.
func (p *pcapng) secrets(log string) {
	b := p.order.AppendUint32(p.order.AppendUint32(nil, 0x544c534b), uint32(len(log)))
	p.block(blockSecrets, append(b, log...))
}

// statistics appends what interface 0 has received and dropped.
func (p *pcapng) statistics(ticks, received, dropped uint64) {
	o := p.order
	b := o.AppendUint32(o.AppendUint32(o.AppendUint32(nil, 0), uint32(ticks>>32)), uint32(ticks))
	p.block(blockStatistics, append(b, p.options([]option{{optReceived, o.AppendUint64(nil, received)}, {optDropped, o.AppendUint64(nil, dropped)}})...))
}

// offsets: added seconds, below 0 too, and the two ways of saying that there is no snapshot length.
func offsets() []File {
	p := newPcapng(little)
	for i, r := range []struct {
		snap   uint32
		offset int64
	}{{0, 1_600_000_000}, {math.MaxUint32, -100}, {0x7fffffff, 0}} {
		p.interfaceOf(linkEthernet, r.snap, append(resolution(9), option{optOffset, p.order.AppendUint64(nil, uint64(r.offset))}))
		p.enhanced(200_000_000_123, sent(i, 200_000_000_123+r.offset*1e9, frame(1514, i)))
	}
	return []File{p.file("offsets.pcapng")}
}

// cutBlock is a file that ends n bytes after the beginning of its last block.
func cutBlock(name string, n int) File {
	p := newPcapng(big).interfaceOf(linkEthernet, 0, resolution(9))
	p.enhanced(start, sent(0, start, frame(60, 0)))
	at := len(p.bytes)
	p.enhanced(start, sent(0, start, frame(200, 1)))
	return File{Name: name, Bytes: p.bytes[:at+n], Packets: p.packets[:1], Damage: &Damage{Offset: int64(at), Cut: true, What: "truncated"}}
}

// bogusBlocks: one good packet, then a block with lengths that cannot be.
func bogusBlocks() (files []File) {
	for _, c := range []struct {
		name, what string
		cut        bool
		spoil      func(o byteOrder, b []byte) // the block
	}{
		{"block-of-0", "claims 0 bytes", false, func(o byteOrder, b []byte) { o.PutUint32(b[4:], 0) }},
		{"block-of-13", "claims 13 bytes", false, func(o byteOrder, b []byte) { o.PutUint32(b[4:], 13) }},
		{"block-of-4gib", "claims 4294967292 bytes", false, func(o byteOrder, b []byte) { o.PutUint32(b[4:], 0xfffffffc) }},
		{"other-block-of-4gib", "truncated", true, func(o byteOrder, b []byte) { o.PutUint32(b, 0xabcd); o.PutUint32(b[4:], 0xfffffffc) }},
		{"lengths-differ", "at its beginning and 16 at its end", false, func(o byteOrder, b []byte) { o.PutUint32(b[len(b)-4:], 16) }},
		{"packet-of-4gib", "a packet of 4294967295 bytes", false, func(o byteOrder, b []byte) { o.PutUint32(b[20:], math.MaxUint32) }},
		{"packet-beyond-block", "a packet of 61 bytes in a block of 92", false, func(o byteOrder, b []byte) { o.PutUint32(b[20:], 61) }},
		{"no-such-interface", "interface 1", false, func(o byteOrder, b []byte) { o.PutUint32(b[8:], 1) }},
		{"section-without-order", "without a byte order", false, func(o byteOrder, b []byte) { o.PutUint32(b, blockSection) }},
	} {
		p := newPcapng(little).interfaceOf(linkEthernet, 0, resolution(9))
		p.enhanced(start, sent(0, start, frame(60, 0)))
		at := len(p.bytes)
		p.enhanced(start, sent(0, start, frame(60, 1)))
		p.packets = p.packets[:1]
		c.spoil(p.order, p.bytes[at:])
		f := p.file(c.name + ".pcapng")
		f.Damage = &Damage{Offset: int64(at), Cut: c.cut, What: c.what}
		files = append(files, f)
	}
	p := newPcapng(little)
	at := len(p.bytes)
	p.interfaceOf(linkEthernet, 0, resolution(25))
	f := p.file("resolution-25.pcapng")
	f.Damage = &Damage{Offset: int64(at), What: "10^-25"}
	return append(files, f)
}
