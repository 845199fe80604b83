package pcaptest

// maxFrame is the longest frame that can be sent, with FCS.
const maxFrame = 16110

// frames is a file of frames that can be sent.
func frames(name string, list ...[]byte) File {
	p := newPcap(little, nano, unlimited, linkEthernet)
	for i, b := range list {
		p.whole(start+int64(i)*1000, b)
	}
	return p.file(name)
}

// sizes around the smallest frame, and large ones, with FCS.
func sizes() []File {
	p := newPcap(little, nano, unlimited, linkEthernet)
	for i, n := range []int{59, 60, 61, 63, 64, 65} {
		if n < minFrame+4 {
			p.add(start+int64(i)*1000, n-4, frame(n-4, i), "below_minimum", Pad)
		} else {
			p.whole(start+int64(i)*1000, frame(n-4, i))
		}
	}
	p.whole(start+6000, ethernet(etherIPv6, udp6(66-4-etherHead, 6)))
	var large [][]byte
	for i, n := range []int{1518, 1519, 9000, 9014, 9018, 9216, 9728, maxFrame} {
		large = append(large, frame(n-4, i))
	}
	large = append(large, ethernet(etherVLAN, tag(1, etherIPv4, udp4(1500, 8))), ethernet(etherQinQ, tag(1, etherVLAN, tag(2, etherIPv4, udp4(1500, 9)))))
	beyond := newPcap(little, nano, unlimited, linkEthernet)
	beyond.whole(start, frame(maxFrame-4, 0))
	beyond.add(start+1000, maxFrame-3, frame(maxFrame-3, 1), "too_long", 0)
	return []File{p.file("small.pcap"), frames("large.pcap", large...), beyond.file("larger.pcap")}
}

// tags: stacks of VLAN tags.
func tags() []File {
	v4 := udp4(60, 0)
	return []File{frames("tags.pcap",
		ethernet(etherIPv4, v4),
		ethernet(etherVLAN, tag(1, etherIPv4, v4)),
		ethernet(etherVLAN, tag(7<<13, etherIPv4, v4)), // a priority only
		ethernet(etherQinQ, tag(100, etherVLAN, tag(200, etherIPv4, v4))),
		ethernet(etherOld, tag(100, etherVLAN, tag(200, etherIPv4, v4))),
		ethernet(etherQinQ, tag(1, etherVLAN, tag(2, etherVLAN, tag(3, etherIPv6, udp6(60, 1))))),
		ethernet(etherVLAN, tag(4095, etherIPv4, v4)),
		append(ethernet(etherVLAN, nil), payload(46, 2)...)[:60], // what follows the tag is nothing known
	)}
}

// label is an MPLS label with its bottom bit and TTL 64.
func label(value uint32, bottom uint32) []byte {
	return be.AppendUint32(nil, value<<12|bottom<<8|64)
}

// stack is n labels, the last of which is the bottom, before what follows.
func stack(n int, rest []byte) (b []byte) {
	for i := range n {
		bottom := uint32(0)
		if i == n-1 {
			bottom = 1
		}
		b = append(b, label(uint32(1000+i), bottom)...)
	}
	return append(b, rest...)
}

// labels: stacks of MPLS labels, right and wrong.
func labels() []File {
	v4, v6 := udp4(60, 0), udp6(80, 1)
	return []File{frames("mpls.pcap",
		ethernet(etherMPLS, stack(1, v4)),
		ethernet(etherMPLS, stack(3, v6)),
		ethernet(etherMPLS, stack(17, v4)),
		ethernet(etherMPLS, stack(2, append([]byte{0, 0, 0, 0}, frame(60, 2)...))), // a control word, then Ethernet
		ethernet(etherMPLS, append(append(label(16, 0), label(17, 0)...), v4...)),  // no bottom: it is looked for within the packet
		ethernet(etherMPLS, append(label(16, 1), append(label(17, 1), v4...)...)),  // two bottoms
	)}
}

// An ext is an IPv6 extension header with a body whose length is a multiple of 8, less 2.
func ext(next byte, body []byte) []byte {
	return append([]byte{next, byte((len(body)+2)/8 - 1)}, body...)
}

// extensions: chains of IPv6 extension headers.
func extensions() []File {
	const hop, routing, fragment, dst = 0, 43, 44, 60
	pad := []byte{1, 4, 0, 0, 0, 0}
	route := []byte{4, 0, 0, 0, 0, 0}
	u := udp(addresses6, 40, 0)
	chain := func(offset uint16, last []byte) []byte {
		frag := append([]byte{dst, 0}, be.AppendUint32(be.AppendUint16(nil, offset), 77)...)
		return append(append(append(ext(routing, pad), ext(fragment, route)...), frag...), append(ext(protoUDP, pad), last...)...)
	}
	lying := ipv6(protoUDP, u)
	be.PutUint16(lying[4:], 2000)
	short := ipv6(protoUDP, u)
	be.PutUint16(short[4:], 4)
	beyond := ipv6(hop, append([]byte{protoUDP, 255}, payload(46, 1)...))
	var long []byte
	for range 12 {
		long = append(long, ext(dst, pad)...)
	}
	return []File{frames("extensions.pcap",
		ethernet(etherIPv6, ipv6(hop, chain(0, u))),      // a fragment that is whole
		ethernet(etherIPv6, ipv6(hop, chain(1, u))),      // the first of several
		ethernet(etherIPv6, ipv6(hop, chain(8<<3|1, u))), // a later one
		ethernet(etherIPv6, ipv6(dst, long)),             // it runs to the end of the data
		ethernet(etherIPv6, beyond),                      // and beyond it
		ethernet(etherIPv6, lying),
		ethernet(etherIPv6, short),
		ethernet(etherIPv6, ipv6(hop, append(ext(protoUDP, pad), u...))),
	)}
}

// oddIPv4: headers of IPv4 that are rare, or wrong.
func oddIPv4() []File {
	u := udp(addresses4, 40, 0)
	change := func(f func(b []byte)) []byte {
		b := ipv4(protoUDP, u)
		f(b)
		be.PutUint16(b[10:], 0)
		be.PutUint16(b[10:], ^fold(sum(b[:ipv4Head])))
		return ethernet(etherIPv4, b)
	}
	return []File{frames("ipv4.pcap",
		ethernet(etherIPv4, ipv4With(protoUDP, make([]byte, 40), 0, u)), // the longest header
		change(func(b []byte) { b[0] = 0x44 }),
		change(func(b []byte) { be.PutUint16(b[2:], 2000) }),
		ethernet(etherIPv4, ipv4With(protoUDP, nil, 0x2000, u)), // the first fragment
		ethernet(etherIPv4, ipv4With(protoUDP, nil, 5, u)),      // a later one
		change(func(b []byte) { be.PutUint16(b[6:], 0x6000) }),
		change(func(b []byte) { b[8] = 0 }),
		change(func(b []byte) { be.PutUint16(b[2:], 10) }),
	)}
}

// udpChecksums: none, one that would be 0, none where there must be one, and a wrong one.
func udpChecksums() []File {
	with := func(addresses string, checksum uint16, f func([]byte)) []byte {
		u := udp(addresses, 40, 0)
		if f != nil {
			f(u)
			return u
		}
		be.PutUint16(u[6:], checksum)
		return u
	}
	zero := func(u []byte) { // the last two bytes make the sum 0xffff
		be.PutUint16(u[6:], 0)
		be.PutUint16(u[38:], 0)
		s := fold(sum([]byte(addresses4)) + sum(u) + protoUDP + uint64(len(u)))
		be.PutUint16(u[38:], 0xffff-s)
		be.PutUint16(u[6:], 0xffff)
	}
	return []File{frames("udp.pcap",
		ethernet(etherIPv4, ipv4(protoUDP, with(addresses4, 0, nil))),
		ethernet(etherIPv4, ipv4(protoUDP, with(addresses4, 0, zero))),
		ethernet(etherIPv6, ipv6(protoUDP, with(addresses6, 0, nil))),
		ethernet(etherIPv4, ipv4(protoUDP, with(addresses4, 0x1234, nil))),
	)}
}
