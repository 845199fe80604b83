package pcaptest

import (
	"encoding/binary"
	"math"
)

// Magic numbers.
const (
	micro    = 0xa1b2c3d4
	nano     = 0xa1b23c4d
	modified = 0xa1b2cd34
)

// linkEthernet and the other link types, by their numbers.
const (
	linkNull     = 0
	linkEthernet = 1
	linkRaw      = 101
	linkWiFi     = 105
	linkLoop     = 108
	linkSLL      = 113
	linkRadiotap = 127
	linkIPv4     = 228
	linkIPv6     = 229
	linkSLL2     = 276
)

type byteOrder interface {
	binary.ByteOrder
	binary.AppendByteOrder
}

var (
	little byteOrder = binary.LittleEndian
	big    byteOrder = binary.BigEndian
)

// start is the time of the first packet of most files, ns since 1970.
const start = 1_600_000_000_123_456_789

// A pcap is a file in the making.
type pcap struct {
	order   byteOrder
	nsTick  int64
	link    uint32
	fcs     int
	longer  bool // records of the modified kind
	bytes   []byte
	packets []Packet
}

func newPcap(order byteOrder, magic uint32, snapLen, link uint32) *pcap {
	p := &pcap{order: order, nsTick: 1000, link: link & 0xffff, longer: magic == modified}
	if magic == nano {
		p.nsTick = 1
	}
	if link&(1<<26) != 0 {
		p.fcs = int(link>>28) * 2
	}
	b := order.AppendUint32(nil, magic)
	b = order.AppendUint16(order.AppendUint16(b, 2), 4)
	b = order.AppendUint64(b, 0)
	p.bytes = order.AppendUint32(order.AppendUint32(b, snapLen), link)
	return p
}

// add appends a record; a reader finds in it a packet that cannot be sent because of why.
func (p *pcap) add(timeNs int64, orig int, data []byte, why string, mend Mend) {
	p.record(timeNs, uint32(len(data)), uint32(orig), data)
	p.packets = append(p.packets, Packet{Data: data, Orig: orig, TimeNs: timeNs / p.nsTick * p.nsTick, Link: p.link, FCSLen: p.fcs, Why: why, Mend: mend})
}

// whole appends a record with a whole packet that can be sent.
func (p *pcap) whole(timeNs int64, data []byte) { p.add(timeNs, len(data), data, "", 0) }

// record appends a record that may lie.
func (p *pcap) record(timeNs int64, length, orig uint32, data []byte) {
	o := p.order
	p.bytes = o.AppendUint32(p.bytes, uint32(timeNs/1e9))
	p.bytes = o.AppendUint32(p.bytes, uint32(timeNs%1e9/p.nsTick))
	p.bytes = o.AppendUint32(o.AppendUint32(p.bytes, length), orig)
	if p.longer {
		p.bytes = append(p.bytes, 1, 0, 0, 0, 8, 0, 0, 0) // interface, protocol, direction
	}
	p.bytes = append(p.bytes, data...)
}

func (p *pcap) file(name string) File { return File{Name: name, Bytes: p.bytes, Packets: p.packets} }

// unlimited is the snapshot length of most files.
const unlimited = 262144

// ordinary is a file of five frames of several sizes with gaps of 10, 20, 30 and 40 us and some ns.
func ordinary(order byteOrder, magic uint32) *pcap {
	p := newPcap(order, magic, unlimited, linkEthernet)
	t := int64(start)
	for i, n := range []int{60, 124, 1514, 61, 590} {
		p.whole(t, frame(n, i))
		t += int64(i+1) * 10_007
	}
	return p
}

func microseconds() []File {
	return []File{ordinary(little, micro).file("us-little.pcap"), ordinary(big, micro).file("us-big.pcap"), ordinary(little, modified).file("modified-little.pcap"), ordinary(big, modified).file("modified-big.pcap")}
}

func nanoseconds() []File {
	return []File{ordinary(little, nano).file("ns-little.pcap"), ordinary(big, nano).file("ns-big.pcap")}
}

func snapped() []File {
	p := newPcap(little, micro, 96, linkEthernet)
	for i, n := range []int{60, 96, 97, 1514} {
		data := frame(n, i)
		if n > 96 {
			p.add(start+int64(i)*1e6, n, data[:96], "truncated", Pad)
		} else {
			p.whole(start+int64(i)*1e6, data)
		}
	}
	return []File{p.file("snaplen-96.pcap")}
}

func tooShort() []File {
	p := newPcap(little, nano, unlimited, linkEthernet)
	p.whole(start, frame(60, 0))
	for i, n := range []int{0, 1, 13} {
		p.add(start+int64(i+1)*1000, n, frame(60, i)[:n], "too_short", 0)
	}
	p.add(start+4000, 60, frame(60, 4)[:13], "too_short", 0)
	p.add(start+5000, 14, frame(60, 5)[:14], "below_minimum", Pad)
	p.add(start+6000, 42, frame(42, 6), "below_minimum", Pad)
	p.add(start+7000, 59, frame(59, 7), "below_minimum", Pad)
	p.whole(start+8000, frame(60, 8))
	return []File{p.file("too-short.pcap")}
}

func cut() []File {
	whole := ordinary(little, micro)
	last := len(whole.bytes) - 590
	at := func(name string, n int, what string) File {
		return File{Name: name, Bytes: whole.bytes[:n], Packets: whole.packets[:4], Damage: &Damage{Offset: int64(last - 16), Cut: true, What: what}}
	}
	return []File{
		at("cut-in-record.pcap", last-7, "truncated"), at("cut-in-packet.pcap", last+200, "truncated"), at("cut-before-packet.pcap", last, "truncated"),
		at("cut-by-one.pcap", len(whole.bytes)-1, "truncated"), cutBlock("cut-in-block.pcapng", 100), cutBlock("cut-in-block-head.pcapng", 5),
	}
}

func noPackets() []File {
	head := newPcap(little, micro, unlimited, linkEthernet).bytes
	return []File{
		{Name: "header-only.pcap", Bytes: head},
		{Name: "header-only.pcapng", Bytes: newPcapng(little).interfaceOf(linkEthernet, 0, nil).bytes},
		{Name: "section-only.pcapng", Bytes: newPcapng(big).bytes},
		{Name: "empty.pcap", Bytes: []byte{}, Refused: "empty"},
		{Name: "23-bytes.pcap", Bytes: head[:23], Refused: "23 of 24 bytes"},
		{Name: "3-bytes.pcap", Bytes: head[:3], Refused: "3 bytes"},
		{Name: "text.pcap", Bytes: []byte("This is no capture, but it has some length to it.\n"), Refused: "neither pcap nor pcapng"},
		{Name: "snoop.pcap", Bytes: []byte("snoop\x00\x00\x00\x00\x00\x00\x02\x00\x00\x00\x04\x00\x00\x00\x00"), Refused: "snoop"},
		{Name: "version-3.pcap", Bytes: append(append([]byte{}, head[:4]...), append([]byte{3, 0, 0, 0}, head[8:]...)...), Refused: "version 3.0"},
	}
}

func bogus() []File {
	good := frame(60, 0)
	all := newPcap(little, micro, unlimited, linkEthernet)
	all.record(start, math.MaxUint32, math.MaxUint32, good)
	first := all.file("bogus-first.pcap")
	first.Damage = &Damage{Offset: 24, What: "4294967295 bytes"}

	later := newPcap(big, nano, unlimited, linkEthernet)
	later.whole(start, good)
	at := int64(len(later.bytes))
	later.record(start+1000, 0x7fffffff, 60, good)
	second := later.file("bogus-second.pcap")
	second.Damage = &Damage{Offset: at, What: "2147483647 bytes"}

	long := newPcap(little, nano, unlimited, linkEthernet)
	long.whole(start, good)
	at = int64(len(long.bytes))
	long.record(start+1000, 1<<20, 1<<20, good)
	beyond := long.file("longer-than-the-file.pcap")
	beyond.Damage = &Damage{Offset: at, Cut: true, What: "truncated"}
	return append([]File{first, second, beyond}, bogusBlocks()...)
}

// times go backwards, stand still, and leap 30 years.
func times() []File {
	p := newPcap(little, nano, unlimited, linkEthernet)
	const year = int64(365 * 86400 * 1e9)
	t := int64(1_000_000_000 * 1e9)
	for i, d := range []int64{0, 1000, -500_000, 0, 0, 1000, 30 * year, 1000} {
		t += d
		p.whole(t, frame(60, i))
	}
	return []File{p.file("times.pcap")}
}
