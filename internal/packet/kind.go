package packet

// A Kind is one sort of header: one file in this package (ethernet.go, vlan.go, ...) and one row of Kinds.
// Field names are Wireshark's display filter names without the protocol prefix ("ttl" for ip.ttl), so that what a
// user types here is what he filters for there.
type Kind struct {
	Name   string  // the key in a stream file: "eth", "vlan", "ip", "ipv6", "udp", "tcp"
	Prefix string  // Wireshark's protocol prefix where it differs from Name, else empty
	Len    int     // bytes
	Fields []Field // in the order of the header
	// Follows lists the kinds below which this one may stand; empty: it may only be the outermost.
	Follows []string
	// Finish writes what the header says about its neighbours: next protocol, lengths, header length. A field for which
	// set reports true was given by the user and is left alone. h is this header, next the header above it (nil: the payload),
	// after the number of bytes behind this header.
	Finish func(h []byte, next *Kind, after int, set func(field string) bool)
	// Checksum describes the header's checksum; nil where it has none.
	Checksum *Checksum
}

// Checksum says where an Internet checksum (RFC 1071) lies and what it covers.
type Checksum struct {
	Field      string // its name in Fields
	Off        int    // byte offset in the header, even
	HeaderOnly bool   // covers this header alone (IPv4); else this header and everything behind it
	Pseudo     uint8  // protocol number in the pseudo header of the IP header below (6, 17); 0: no pseudo header
	ZeroIsNone bool   // a computed 0 is written as 0xffff (UDP, RFC 768, RFC 8200 8.1)
}

// A Field lies Bit bits behind the start of its header (bit 0 is the most significant bit of the first byte) and is
// Bits wide, big endian.
type Field struct {
	Name    string
	Bit     int
	Bits    int // 1 to 128
	Type    Type
	Default Num
	// Auto fields are computed by Finish or as a checksum when the user does not give them.
	Auto bool
	// Values names what a user may write instead of a number ("syn", "udp"); nil: numbers only.
	Values map[string]uint64
	Doc    string // one line for the schema
}

// Type says how a field's values are written.
type Type uint8

// The notations of field values.
const (
	Uint Type = iota // decimal, or 0x hexadecimal
	MAC              // 02:00:00:00:00:01
	IPv4             // 198.18.0.1
	IPv6             // 2001:2::1
)

// Num is an unsigned number of up to 128 bits.
type Num struct{ Hi, Lo uint64 }
