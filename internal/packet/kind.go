package packet

// A Kind is one sort of header: one file in this package (ethernet.go, vlan.go, ...) and one row of Kinds.
// Field names are Wireshark's display filter names without the protocol prefix ("ttl" for ip.ttl), so that what a
// user types here is what he filters for there.
type Kind struct {
	Name   string  // the key in a stream file: "eth", "vlan", "ip", "hopopts", "udp"
	Prefix string  // Wireshark's protocol prefix where it differs from Name, else empty
	Len    int     // bytes, with all optional fields and no Data; of a shaped kind what this layer has, its Data included
	Fields []Field // in the order of the header, all optional ones too; of a shaped kind those that are there
	// Header is what Walk calls this kind; 0: Walk does not know it, and what it holds counts as payload there.
	Header HeaderKind
	// Follows lists the kinds on which this one may stand; Outermost says whether it may be the first of a frame, also
	// where Follows is not empty.
	Follows   []string
	Outermost bool
	// EtherType, Proto and Port are how an Ethernet (VLAN, GRE, SNAP), IP or UDP header announces this kind; 0: it cannot.
	// Finish of the header below writes them. IPv6's hop-by-hop options are the one kind that is announced by a protocol
	// number of 0.
	EtherType uint16
	Proto     uint8
	Port      uint16
	// Data describes the bytes that a user may give behind the fields (options, addresses, anything); nil: none.
	Data *Data
	// Shape makes the kind that one layer of a stream has: which optional fields are there, and how many bytes of Data follow,
	// decide its Len and where its fields lie. given says whether the user gave a field. The shaped kind's Shape is nil; its
	// fields are found by name again, and its Data.Bytes are what to put at its end. The error is one sentence. Nil: the
	// kind always has the same shape.
	Shape func(given func(field string) bool, data []byte) (*Kind, error)
	// Finish writes what the header says about its neighbours: next protocol and lengths. h is this header, next the header
	// above it (nil: the payload), after the number of bytes behind this header. What the user gave is written afterwards
	// and so wins. Nil where there is nothing to write.
	Finish func(h []byte, next *Kind, after int)
	// Checksum describes the header's checksum; nil where it has none.
	Checksum *Checksum
	// FinalDst is of IPv6's routing header: where in the header h the address lies that pseudo headers of what stands above
	// take for the destination, instead of the one in the IPv6 header below (RFC 8200 8.1, RFC 8754 2). False where that is
	// the IPv6 header's, because no segments are left or the type is unknown. It reads h as it is sent, given values
	// included: where the type or segments left change from frame to frame, such a checksum cannot be made.
	FinalDst func(h []byte) (off int, ok bool)
}

// Data are the bytes of variable number at the end of a header. They are kept as given: Finish makes lengths say what there
// is, padding to what the header counts in is the shape's.
type Data struct {
	Name string // the key in a stream file: "options", "addresses", "data"
	Type Type   // Uint: bytes; IPv6: addresses, 16 bytes each
	Max  int    // bytes
	Doc  string
	// Bytes are of a shaped kind: what the user gave, padded; the last len(Bytes) bytes of the header.
	Bytes []byte
}

// Checksum says where an Internet checksum (RFC 1071) lies and what it covers. IPv4 covers its header alone, options
// included; ICMP and GRE cover themselves and all that follows (Pseudo 0), GRE only where the word is there (a shaped GRE
// without it has no Checksum); UDP, TCP and ICMPv6 (58) have a pseudo header, see Kind.FinalDst for its destination.
type Checksum struct {
	Field      string // its name in Fields
	Off        int    // byte offset in the header, even
	HeaderOnly bool   // covers this header alone (IPv4); else this header and everything behind it
	Pseudo     uint8  // protocol number in the pseudo header of the nearest IP header below (6, 17, 58); 0: no pseudo header
	ZeroIsNone bool   // a computed 0 is written as 0xffff (UDP, RFC 768, RFC 8200 8.1)
}

// A Field lies Bit bits behind the start of its header (bit 0 is the most significant bit of the first byte) and is
// Bits wide, big endian. Bit is negative where the field lies in the header below: a VLAN tag's TPID is the EtherType of
// what stands before it. Fields of one kind may overlap ("dsfield" and "dsfield.dscp"); a stream gives one of them.
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
	Uint  Type = iota // decimal, or 0x hexadecimal
	MAC               // 02:00:00:00:00:01
	IPv4              // 198.18.0.1
	IPv6              // 2001:2::1
	Words             // bytes, kept in units of 4 (header lengths), so that 20 is kept as 5
)

// Num is an unsigned number of up to 128 bits.
type Num struct{ Hi, Lo uint64 }

// Kinds lists every kind of header, in the order of the layers. Each call makes new values: compare kinds and fields by
// name, and keep those of one call where pointers matter. It is for the time of preparation, not for every frame.
func Kinds() []*Kind {
	all := []*Kind{
		ethernet(), vlan(), llc(), snap(), mpls(), arp(), ip(), ipv6(), hopOpts(), routing(), fragment(), dstOpts(),
		udp(), tcp(), icmp(), icmpv6(), gre(), vxlan(),
	}
	bytes := raw()
	for _, k := range all {
		bytes.Follows = append(bytes.Follows, k.Name)
		k.Follows = append(k.Follows, bytes.Name) // raw bytes may stand in for whatever header is not known here
	}
	bytes.Follows = append(bytes.Follows, bytes.Name)
	return append(all, bytes)
}

// Lookup finds a kind by its name; nil where there is none.
func Lookup(name string) *Kind {
	for _, k := range Kinds() {
		if k.Name == name {
			return k
		}
	}
	return nil
}

// Field finds a field of the kind by its name; nil where there is none.
func (k *Kind) Field(name string) *Field {
	for i := range k.Fields {
		if k.Fields[i].Name == name {
			return &k.Fields[i]
		}
	}
	return nil
}

// Wireshark is the display filter name of the field.
func (k *Kind) Wireshark(f *Field) string {
	if k.Prefix != "" {
		return k.Prefix + "." + f.Name
	}
	return k.Name + "." + f.Name
}

// Max is the largest number of the field.
func (f *Field) Max() Num { return MaxNum(f.Bits) }

// Put writes the number into the field. frame holds everything from the outermost header on, at is the offset of the
// field's header in it.
func (f *Field) Put(frame []byte, at int, n Num) {
	bit := at*8 + f.Bit
	for i := f.Bits - 1; i >= 0; i-- {
		mask := byte(0x80) >> ((bit + i) & 7)
		if n.Lo&1 != 0 {
			frame[(bit+i)>>3] |= mask
		} else {
			frame[(bit+i)>>3] &^= mask
		}
		n.Lo = n.Lo>>1 | n.Hi<<63
		n.Hi >>= 1
	}
}

// Get reads the field from frame; see Put.
func (f *Field) Get(frame []byte, at int) Num {
	bit := at*8 + f.Bit
	var n Num
	for i := range f.Bits {
		n.Hi = n.Hi<<1 | n.Lo>>63
		n.Lo = n.Lo<<1 | uint64(frame[(bit+i)>>3]>>(7-(bit+i)&7)&1)
	}
	return n
}
