package pcaptest

import (
	"bytes"
	"compress/gzip"
)

// sll puts a Linux cooked header before what follows it, as if it came from an Ethernet port.
func sll(protocol uint16, payload []byte) []byte {
	b := be.AppendUint16(be.AppendUint16(be.AppendUint16(nil, 0), 1), 6)
	b = append(append(b, srcMAC...), 0, 0)
	return append(be.AppendUint16(b, protocol), payload...)
}

// sll2 is the same of the second kind.
func sll2(protocol uint16, payload []byte) []byte {
	b := be.AppendUint16(be.AppendUint16(nil, protocol), 0)
	b = be.AppendUint16(be.AppendUint32(b, 3), 1)
	b = append(append(b, 0, 6), srcMAC...)
	return append(append(b, 0, 0), payload...)
}

// superFrames: what offloads make of many frames.
func superFrames() []File {
	p := newPcap(little, nano, 262144, linkEthernet)
	p.whole(start, frame(1514, 0))
	for i, n := range []int{16 << 10, 64<<10 - 1, 256 << 10} {
		b := frame(1514, i)
		p.add(start+int64(i+1)*1000, n, append(b, payload(n-len(b), i)...), "too_long", 0)
	}
	return []File{p.file("super-frames.pcap")}
}

func linkTypes() (files []File) {
	v4, v6 := udp4(60, 1), udp6(80, 2)
	for _, l := range []struct {
		name string
		link uint32
		mend Mend
		data [][]byte
	}{
		{"sll", linkSLL, L2, [][]byte{sll(etherIPv4, v4), sll(etherIPv6, v6), sll(etherVLAN, tag(5, etherIPv4, v4))}},
		{"sll2", linkSLL2, L2, [][]byte{sll2(etherIPv4, v4), sll2(etherIPv6, v6)}},
		{"raw", linkRaw, L2, [][]byte{v4, v6}},
		{"raw-ipv4", linkIPv4, L2, [][]byte{v4}},
		{"raw-ipv6", linkIPv6, L2, [][]byte{v6}},
		{"null", linkNull, L2, [][]byte{append([]byte{2, 0, 0, 0}, v4...), append([]byte{0, 0, 0, 2}, v4...), append([]byte{30, 0, 0, 0}, v6...)}},
		{"loop", linkLoop, L2, [][]byte{append([]byte{0, 0, 0, 2}, v4...), append([]byte{0, 0, 0, 24}, v6...)}},
		{"radiotap", linkRadiotap, 0, [][]byte{append([]byte{0, 0, 8, 0, 0, 0, 0, 0}, payload(80, 1)...)}},
		{"wifi", linkWiFi, 0, [][]byte{payload(80, 1)}},
	} {
		p := newPcap(little, nano, unlimited, l.link)
		for i, b := range l.data {
			p.add(start+int64(i)*1000, len(b), b, "link_type", l.mend)
		}
		files = append(files, p.file(l.name+".pcap"))
	}
	netlink := sll(0, payload(80, 1))
	be.PutUint16(netlink[2:], 824)
	p := newPcap(little, nano, unlimited, linkSLL)
	p.add(start, len(netlink), netlink, "link_type", 0)
	p.add(start+1000, 100, netlink[:15], "link_type", 0)
	p.add(start+2000, 46, sll(etherIPv4, udp4(30, 1)), "link_type", L2|Pad)

	fcs := newPcap(little, nano, unlimited, 2<<28|1<<26|linkEthernet)
	fcs.whole(start, append(frame(60, 0), 1, 2, 3, 4))
	fcs.add(start+1000, 63, frame(63, 1), "below_minimum", Pad)
	return append(files, p.file("sll-odd.pcap"), fcs.file("fcs.pcap"))
}

// lengthFrames: frames with a length instead of an EtherType, and types that are neither.
func lengthFrames() []File {
	p := newPcap(little, nano, unlimited, linkEthernet)
	llc := append([]byte{0x42, 0x42, 3}, payload(43, 1)...)
	snap := append([]byte{0xaa, 0xaa, 3, 0, 0, 0, 8, 0}, udp4(60, 2)...)
	p.whole(start, ethernet(uint16(len(llc)), llc))
	p.whole(start+1000, ethernet(uint16(len(snap)), snap))
	p.whole(start+2000, ethernet(5, payload(46, 3)))      // padded behind its length
	p.whole(start+3000, ethernet(0x05ff, payload(46, 4))) // neither a length nor a type
	p.whole(start+4000, ethernet(0, payload(46, 5)))
	return []File{p.file("llc.pcap")}
}

// compressed: by gzip, whole and cut, and of two members.
func compressed() []File {
	o := ordinary(little, nano)
	whole := o.file("ns-little.pcap.gz")
	whole.Bytes = zip(o.bytes)
	all := allBlocks()[0]
	two := all
	two.Name = "all-blocks.pcapng.gz"
	two.Bytes = append(zip(all.Bytes[:300]), zip(all.Bytes[300:])...)

	half := File{Name: "cut.pcap.gz", Bytes: append(stored(o.bytes[:len(o.bytes)-100]), 0), Packets: o.packets[:4], Damage: &Damage{Offset: int64(len(o.bytes) - 606), Cut: true, What: "compressed data ends"}}
	return []File{whole, two, half, {Name: "header-cut.pcap.gz", Bytes: whole.Bytes[:6], Refused: "gzip"}}
}

func zip(b []byte) []byte {
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	w.Write(b)
	w.Close()
	return out.Bytes()
}

// stored is the beginning of a file compressed by gzip: what follows b is missing.
func stored(b []byte) []byte {
	var out bytes.Buffer
	w, _ := gzip.NewWriterLevel(&out, gzip.NoCompression)
	w.Write(b)
	w.Flush()
	return out.Bytes()
}
