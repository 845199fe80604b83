package pcapio

import "fmt"

// A LinkType says what the bytes of a packet begin with; the numbers are those of
// https://www.tcpdump.org/linktypes.html.
type LinkType uint32

// Link types that are treated in a way of their own.
const (
	LinkNull     LinkType = 0   // a family of 4 bytes in the byte order of the host that captured
	LinkEthernet LinkType = 1   // a frame
	LinkRaw      LinkType = 101 // an IP packet
	LinkLoop     LinkType = 108 // a family of 4 bytes, big endian
	LinkSLL      LinkType = 113 // Linux "any", 16 bytes
	LinkIPv4     LinkType = 228 // an IPv4 packet
	LinkIPv6     LinkType = 229 // an IPv6 packet
	LinkSLL2     LinkType = 276 // Linux "any", 20 bytes
)

// Systems that wrote their own number of raw IP into files.
const (
	linkRawBSD     LinkType = 12
	linkRawOpenBSD LinkType = 14
)

var linkNames = map[LinkType]string{
	LinkNull: "NULL", LinkEthernet: "ETHERNET", LinkRaw: "RAW", LinkLoop: "LOOP", LinkSLL: "LINUX_SLL", LinkIPv4: "IPV4", LinkIPv6: "IPV6",
	LinkSLL2: "LINUX_SLL2", linkRawBSD: "RAW", linkRawOpenBSD: "RAW",
	6: "IEEE802_5", 8: "SLIP", 9: "PPP", 10: "FDDI", 50: "PPP_HDLC", 51: "PPP_ETHER", 100: "ATM_RFC1483", 104: "C_HDLC", 105: "IEEE802_11",
	107: "FRELAY", 117: "PFLOG", 119: "IEEE802_11_PRISM", 127: "IEEE802_11_RADIOTAP", 143: "DOCSIS", 147: "USER0", 163: "IEEE802_11_AVS",
	187: "BLUETOOTH_HCI_H4", 189: "USB_LINUX", 192: "PPI", 195: "IEEE802_15_4_WITHFCS", 201: "BLUETOOTH_HCI_H4_WITH_PHDR", 220: "USB_LINUX_MMAPPED",
	227: "CAN_SOCKETCAN", 239: "NFLOG", 249: "USBPCAP", 253: "NETLINK", 256: "BLUETOOTH_LE_LL_WITH_PHDR", 274: "ETHERNET_MPACKET",
}

// String is the name in the list, without its prefix LINKTYPE_.
func (l LinkType) String() string {
	if n, ok := linkNames[l]; ok {
		return n
	}
	return fmt.Sprintf("LINKTYPE_%d", uint32(l))
}

// Convertible reports whether an Ethernet header can be put before what packets of this type carry.
func (l LinkType) Convertible() bool {
	switch l {
	case LinkNull, LinkRaw, LinkLoop, LinkSLL, LinkIPv4, LinkIPv6, LinkSLL2, linkRawBSD, linkRawOpenBSD:
		return true
	}
	return false
}
