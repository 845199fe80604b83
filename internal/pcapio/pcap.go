package pcapio

import (
	"compress/flate"
	"encoding/binary"
	"errors"
	"math"
)

// The magic numbers of pcap files (draft-ietf-opsawg-pcap), and of the variant with more in its records that some Linux
// distributions of the nineties wrote.
const (
	magicMicro    = 0xa1b2c3d4
	magicNano     = 0xa1b23c4d
	magicModified = 0xa1b2cd34
)

const (
	pcapHead         = 24
	recordHead       = 16
	recordHeadLonger = 24 // magicModified: then interface, protocol, direction
)

// foreign are files that people take for captures of these kinds, by how they begin.
var foreign = []struct{ begins, what string }{
	{"snoop\x00\x00\x00", "it is a snoop file; `editcap` makes pcapng of it"},
	{"\x28\xb5\x2f\xfd", "it is compressed by zstd; pipe it through `zstd -dc`"},
	{"\x04\x22\x4d\x18", "it is compressed by lz4; pipe it through `lz4 -dc`"},
	{"\xfd7zXZ", "it is compressed by xz; pipe it through `xz -dc`"},
	{"BZh", "it is compressed by bzip2; pipe it through `bzip2 -dc`"},
	{"PK\x03\x04", "it is a zip archive; pipe it through `unzip -p`"},
	{"GMBU", "it is a file of Network Monitor; `editcap` makes pcapng of it"},
	{"RTSS", "it is a file of Network Monitor 1; `editcap` makes pcapng of it"},
	{"TRSNIFF", "it is a Sniffer file; `editcap` makes pcapng of it"},
}

func foreignFormat(b []byte) error {
	for _, f := range foreign {
		if len(b) >= len(f.begins) && string(b[:len(f.begins)]) == f.begins {
			return notCapture("%s", f.what)
		}
	}
	return notCapture("it begins with % x, and neither pcap nor pcapng does", b[:min(len(b), 4)])
}

// pcapHeader reads the head of a file. b are its bytes, fewer where the file has no more.
func (r *Reader) pcapHeader(b []byte) error {
	magic := binary.LittleEndian.Uint32(b)
	switch binary.BigEndian.Uint32(b) {
	case magicMicro, magicNano, magicModified:
		r.big = true
		magic = binary.BigEndian.Uint32(b)
	}
	r.recordHead, r.nsPerTick = recordHead, 1000
	switch magic {
	case magicMicro:
	case magicNano:
		r.nsPerTick = 1
	case magicModified:
		r.recordHead = recordHeadLonger
	default:
		return foreignFormat(b)
	}
	if len(b) < pcapHead {
		return notCapture("it is cut within the header, after %d of %d bytes", len(b), pcapHead)
	}
	if major := r.u16(b[4:]); major != 2 {
		return notCapture("pcap of version %d.%d, and only version 2 is read", major, r.u16(b[6:]))
	}
	link := r.u32(b[20:])
	i := Interface{Link: LinkType(link & 0xffff), SnapLen: unlimited(r.u32(b[16:])), TicksPerSecond: uint64(1e9 / r.nsPerTick)}
	if link&(1<<26) != 0 { // the length of the FCS is known, in units of 16 bits
		i.FCSLen = int(link>>28) * 2
	}
	r.ifaces, r.sections = []Interface{i}, 1
	r.noteOrder()
	r.w.skip(pcapHead)
	return nil
}

// unlimited makes of the lengths that mean no limit 0.
func unlimited(snapLen uint32) uint32 {
	if snapLen >= math.MaxInt32 {
		return 0
	}
	return snapLen
}

func (r *Reader) nextRecord(p *Packet) error {
	head := r.recordHead
	b := r.w.peek(head)
	if len(b) < head {
		return r.end(len(b), "within the head of a record")
	}
	var sec, frac, length, orig uint32
	if r.big {
		sec, frac, length, orig = binary.BigEndian.Uint32(b), binary.BigEndian.Uint32(b[4:]), binary.BigEndian.Uint32(b[8:]), binary.BigEndian.Uint32(b[12:])
	} else {
		sec, frac, length, orig = binary.LittleEndian.Uint32(b), binary.LittleEndian.Uint32(b[4:]), binary.LittleEndian.Uint32(b[8:]), binary.LittleEndian.Uint32(b[12:])
	}
	if length > MaxRecord {
		return r.broken("a packet of %d bytes", length)
	}
	total := head + int(length)
	if b = r.w.peek(total); len(b) < total {
		return r.end(len(b), "within a packet")
	}
	r.count++
	i := &r.ifaces[0]
	i.Packets++
	*p = Packet{Data: b[head:total:total], Orig: int(orig), TimeNs: int64(sec)*1e9 + int64(frac)*r.nsPerTick, HasTime: true, Link: i.Link,
		Number: r.count, Offset: r.w.at(), FCSLen: i.FCSLen}
	r.w.lo += total
	return nil
}

func isCorrupt(err error) bool {
	_, ok := errors.AsType[flate.CorruptInputError](err)
	return ok
}
