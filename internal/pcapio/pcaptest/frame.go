package pcaptest

import "encoding/binary"

// Addresses of all frames.
const (
	dstMAC = "\x02\x00\x00\x00\x00\x02"
	srcMAC = "\x02\x00\x00\x00\x00\x01"
)

var be = binary.BigEndian

// Ether types.
const (
	etherIPv4  = 0x0800
	etherIPv6  = 0x86dd
	etherVLAN  = 0x8100
	etherQinQ  = 0x88a8
	etherOld   = 0x9100
	etherMPLS  = 0x8847
	protoUDP   = 17
	minFrame   = 60 // without FCS
	udpHead    = 8
	etherHead  = 14
	ipv4Head   = 20
	ipv6Head   = 40
	smallestV4 = etherHead + ipv4Head + udpHead
)

// ethernet puts a header before what follows it.
func ethernet(etherType uint16, payload []byte) []byte {
	b := be.AppendUint16([]byte(dstMAC+srcMAC), etherType)
	return append(b, payload...)
}

// tag is what stands behind an EtherType of a VLAN tag.
func tag(vid uint16, etherType uint16, payload []byte) []byte {
	return append(be.AppendUint16(be.AppendUint16(nil, vid), etherType), payload...)
}

// payload are n bytes that differ from frame to frame.
func payload(n, i int) []byte {
	b := make([]byte, n)
	for j := range b {
		b[j] = byte(i*31 + j)
	}
	return b
}

// udp4 is an IPv4 packet of n bytes.
func udp4(n, i int) []byte { return ipv4(protoUDP, udp(addresses4, n-ipv4Head, i)) }

// udp6 is an IPv6 packet of n bytes.
func udp6(n, i int) []byte { return ipv6(protoUDP, udp(addresses6, n-ipv6Head, i)) }

// frame is an Ethernet frame of n bytes without FCS.
func frame(n, i int) []byte { return ethernet(etherIPv4, udp4(n-etherHead, i)) }

const (
	addresses4 = "\xc6\x12\x00\x01\xc6\x13\x00\x01"
	addresses6 = "\x20\x01\x00\x02\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x01" +
		"\x20\x01\x00\x02\x00\x00\x00\x01\x00\x00\x00\x00\x00\x00\x00\x01"
)

// udp is a datagram of n bytes with its checksum.
func udp(addresses string, n, i int) []byte {
	b := be.AppendUint16(be.AppendUint16(nil, uint16(1024+i)), 9)
	b = be.AppendUint16(be.AppendUint16(b, uint16(n)), 0)
	b = append(b, payload(n-udpHead, i)...)
	c := ^fold(sum([]byte(addresses)) + sum(b) + protoUDP + uint64(n))
	if c == 0 {
		c = 0xffff
	}
	be.PutUint16(b[6:], c)
	return b
}

func ipv4(proto byte, payload []byte) []byte { return ipv4With(proto, nil, 0, payload) }

// ipv4With has options, whose length is a multiple of 4, and flags with the fragment's offset.
func ipv4With(proto byte, options []byte, fragment uint16, payload []byte) []byte {
	n := ipv4Head + len(options)
	b := []byte{byte(0x40 | n/4), 0}
	b = be.AppendUint16(b, uint16(n+len(payload)))
	b = be.AppendUint16(b, 0x1234)
	b = be.AppendUint16(b, fragment)
	b = append(b, 1, proto, 0, 0)
	b = append(append(b, addresses4...), options...)
	be.PutUint16(b[10:], ^fold(sum(b)))
	return append(b, payload...)
}

func ipv6(next byte, payload []byte) []byte {
	b := be.AppendUint16([]byte{0x60, 0, 0, 0}, uint16(len(payload)))
	b = append(append(b, next, 1), addresses6...)
	return append(b, payload...)
}

func sum(b []byte) (s uint64) {
	for i := 0; i+1 < len(b); i += 2 {
		s += uint64(be.Uint16(b[i:]))
	}
	if len(b)%2 == 1 {
		s += uint64(b[len(b)-1]) << 8
	}
	return s
}

func fold(s uint64) uint16 {
	for s > 0xffff {
		s = s>>16 + s&0xffff
	}
	return uint16(s)
}
