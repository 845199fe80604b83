package stream

import (
	"math"
	"slices"

	"github.com/wirespeed/wirespeed/internal/packet"
)

// MaxSums is the largest number of checksums that vary in one stream.
const MaxSums = 8

// A Span is a range of bytes of a frame, [From, To).
type Span struct{ From, To int }

// Has reports whether the byte at the offset is inside.
func (s Span) Has(off int) bool { return s.From <= off && off < s.To }

// A Checksum is one that a stream's frames have and that its author left open.
type Checksum struct {
	*packet.Checksum
	Layer int  // in Layers
	Off   int  // of its two bytes in the frame
	Body  Span // what it covers besides the pseudo header: to the end of the frame where To is larger than any
	// Addresses are those of the pseudo header: source and destination, usually one behind the other.
	Addresses []Span
	// Unknown says why it cannot be computed; its bytes stay 0 then. Empty: it can.
	Unknown string
	// Shifts: what it covers changes from frame to frame by a field that it does not cover itself.
	Shifts bool
}

// Covers reports whether the byte at the offset counts in it.
func (c *Checksum) Covers(off int) bool {
	for _, a := range c.Addresses {
		if a.Has(off) {
			return true
		}
	}
	return c.Body.Has(off)
}

// Offsets are where the headers begin, in bytes from the start of the frame; one more is where the payload does.
func (st *Stream) Offsets() []int {
	out := make([]int, len(st.Layers)+1)
	for i, l := range st.Layers {
		out[i+1] = out[i] + l.Kind.Len
	}
	return out
}

// Headers are all headers of a frame of n bytes without FCS: defaults, then what the headers say of each other, then the
// data and the fields that the user gave. So a given length or checksum wins, right or wrong. Modifiers have the value of
// the first frame, checksums that are computed are 0.
func (st *Stream) Headers(n int) []byte {
	at := st.Offsets()
	h := make([]byte, at[len(st.Layers)])
	for i, l := range st.Layers {
		for j := range l.Kind.Fields {
			// A default of 0 is not written: it would clear what overlaps it.
			if f := &l.Kind.Fields[j]; f.Default != (packet.Num{}) {
				f.Put(h, at[i], f.Default)
			}
		}
		copy(h[at[i+1]-len(l.Data):], l.Data)
	}
	for i, l := range st.Layers {
		if l.Kind.Finish == nil {
			continue
		}
		var next *packet.Kind
		if i+1 < len(st.Layers) {
			next = st.Layers[i+1].Kind
		}
		l.Kind.Finish(h[at[i]:at[i+1]], next, n-at[i+1])
	}
	for i, l := range st.Layers {
		for _, v := range l.Fields {
			v.Field.Put(h, at[i], v.Value.At(0))
		}
	}
	return h
}

// Checksums lists what is computed, the innermost first: what stands further out may cover it.
func (st *Stream) Checksums() []Checksum {
	at := st.Offsets()
	var headers []byte
	var out []Checksum
	for i := len(st.Layers) - 1; i >= 0; i-- {
		l := &st.Layers[i]
		if l.Kind.Checksum == nil || l.Has(l.Kind.Checksum.Field) {
			continue
		}
		c := Checksum{Checksum: l.Kind.Checksum, Layer: i, Off: at[i] + l.Kind.Checksum.Off, Body: Span{at[i], math.MaxInt}}
		if c.HeaderOnly {
			c.Body.To = at[i+1]
		} else if st.fragments(i) {
			c.Unknown = "the packet is a fragment, and the rest of it is elsewhere"
		}
		if c.Pseudo != 0 {
			if headers == nil {
				headers = st.Headers(at[len(st.Layers)])
			}
			st.pseudo(&c, at, headers)
		}
		out = append(out, c)
	}
	return out
}

// pseudo finds the addresses of the pseudo header: of the nearest IP header, and those of a routing header between.
func (st *Stream) pseudo(c *Checksum, at []int, headers []byte) {
	final := Span{}
	for i := c.Layer - 1; i >= 0; i-- {
		l := &st.Layers[i]
		if l.Kind.FinalDst != nil && final.To == 0 {
			if off, ok := l.Kind.FinalDst(headers[at[i]:at[i+1]]); ok {
				final = Span{at[i] + off, at[i] + off + 16}
			}
			if f := varying(l, "type", "segleft"); f != "" {
				c.Unknown = l.Kind.Wireshark(l.Kind.Field(f)) + " changes, and with it the destination that counts"
				c.Shifts = true
			}
		}
		if l.Kind.Header != packet.HeaderIPv4 && l.Kind.Header != packet.HeaderIPv6 {
			continue
		}
		src, dst := addressSpan(l, at[i], "src"), addressSpan(l, at[i], "dst")
		if final.To != 0 && l.Kind.Header == packet.HeaderIPv6 {
			dst = final
		}
		c.Addresses = []Span{src, dst}
		return
	}
	c.Unknown = "no IP header with addresses stands below it"
}

func addressSpan(l *Layer, at int, field string) Span {
	f := l.Kind.Field(field)
	return Span{at + f.Bit/8, at + (f.Bit+f.Bits)/8}
}

// varying is the first of the fields that changes from frame to frame; empty where none does.
func varying(l *Layer, fields ...string) string {
	for _, name := range fields {
		for i := range l.Fields {
			if v := &l.Fields[i]; v.Field.Name == name {
				if _, same := v.Value.Constant(); !same {
					return name
				}
			}
		}
	}
	return ""
}

// fragments reports whether a header below layer i says, in any frame, that the packet is a fragment.
func (st *Stream) fragments(i int) bool {
	names := map[packet.HeaderKind][]string{packet.HeaderIPv4: {"flags.mf", "frag_offset"}, packet.HeaderFragment: {"more", "offset"}}
	for j := range i {
		l := &st.Layers[j]
		for _, name := range names[l.Kind.Header] {
			for k := range l.Fields {
				v := &l.Fields[k]
				if v.Field.Name != name {
					continue
				}
				if n, same := v.Value.Constant(); !same || n != (packet.Num{}) {
					return true
				}
			}
		}
	}
	return false
}

// Form is the form of the signature: the asked one, or the largest that fits the smallest frame. None is chosen where it
// would lie at an odd offset, or count in a checksum that begins at one: not every engine keeps such a checksum right; and
// none behind bytes that receivers do not know. Frames without a size of their own have room for the full one.
func (st *Stream) Form() packet.Form {
	switch st.Signature {
	case "full":
		return packet.FormFull
	case "short":
		return packet.FormShort
	case "none":
		return packet.FormNone
	}
	hdr := st.headerLen()
	if hdr%2 != 0 || st.oddSum() >= 0 || st.unknown() {
		return packet.FormNone
	}
	room := st.smallest() - hdr
	switch {
	case room >= packet.FullLen || st.smallest() < 0:
		return packet.FormFull
	case room >= packet.ShortLen:
		return packet.FormShort
	default:
		return packet.FormNone
	}
}

// unknown reports whether there are bytes among the headers that receivers take for payload, so that they look for the
// signature there. What the given fields make of it is not looked at.
func (st *Stream) unknown() bool {
	return slices.ContainsFunc(st.Layers, func(l Layer) bool {
		return l.Kind.Header == 0 || l.Kind.Header == packet.HeaderICMPv6 && len(l.Data) > 0
	})
}

// smallest is the length of the smallest frame without FCS; below 0 where no size is known.
func (st *Stream) smallest() int {
	n := st.Size.Min
	for _, c := range st.Size.Cycle {
		if n == 0 || c < n {
			n = c
		}
	}
	return n - 4
}

// oddSum is a layer whose checksum covers the payload and begins at an odd offset; -1: none.
func (st *Stream) oddSum() int {
	for _, c := range st.Checksums() {
		if !c.HeaderOnly && c.Unknown == "" && c.Body.From%2 != 0 {
			return c.Layer
		}
	}
	return -1
}

// HasEthernet reports whether the frames begin with an Ethernet header that is described as one, so that their addresses
// are known.
func (st *Stream) HasEthernet() bool {
	return len(st.Layers) > 0 && st.Layers[0].Kind.Header == packet.HeaderEth
}
