package stream

import (
	"encoding/binary"
	"fmt"
	"net/netip"
	"slices"

	"github.com/wirespeed/wirespeed/internal/packet"
)

// Default is what is sent when nothing is asked for: IPv4 UDP in frames of 64 bytes with FCS, to the discard port.
func Default() *Set {
	st := Stream{
		Name: "stream1", Weight: 1,
		Layers: []Layer{{Kind: packet.Lookup("eth")}, {Kind: packet.Lookup("ip")}, {Kind: packet.Lookup("udp")}},
		Size:   Sizes{Cycle: []int{64}, Min: 64, Max: 64, Text: "64"},
	}
	return &Set{Streams: []Stream{st}}
}

// NeedsDstMAC reports whether a stream begins with an Ethernet header that has no destination address yet.
func (s *Set) NeedsDstMAC() bool {
	for i := range s.Streams {
		if st := &s.Streams[i]; st.HasEthernet() && !st.Layers[0].Has("dst") {
			return true
		}
	}
	return false
}

// SetMACs gives the outermost Ethernet header of every stream the addresses that its author left open. Headers of Ethernet
// inside tunnels keep what they have, and so does a stream that begins with raw bytes. It changes s: call it before the set
// is compiled.
func (s *Set) SetMACs(src, dst [6]byte) {
	for i := range s.Streams {
		if st := &s.Streams[i]; st.HasEthernet() {
			st.Layers[0].fill("src", macNum(src))
			st.Layers[0].fill("dst", macNum(dst))
		}
	}
}

// SetTTL gives the outermost IP header of every stream this time to live or hop limit, where its author left it open.
func (s *Set) SetTTL(ttl uint8) {
	for i := range s.Streams {
		for j := range s.Streams[i].Layers {
			l := &s.Streams[i].Layers[j]
			field := map[packet.HeaderKind]string{packet.HeaderIPv4: "ttl", packet.HeaderIPv6: "hlim"}[l.Kind.Header]
			if field != "" {
				l.fill(field, packet.Num{Lo: uint64(ttl)})
				break
			}
		}
	}
}

// SetIPs gives the outermost IP header of every stream the addresses that its author left open, where it is of their family.
// The zero Addr is none.
func (s *Set) SetIPs(src, dst netip.Addr) {
	for i := range s.Streams {
		for j := range s.Streams[i].Layers {
			l := &s.Streams[i].Layers[j]
			if l.Kind.Header != packet.HeaderIPv4 && l.Kind.Header != packet.HeaderIPv6 {
				continue
			}
			for field, a := range map[string]netip.Addr{"src": src, "dst": dst} {
				if a.IsValid() && a.Is4() == (l.Kind.Header == packet.HeaderIPv4) {
					l.fill(field, ipNum(a))
				}
			}
			break
		}
	}
}

func ipNum(a netip.Addr) packet.Num {
	var b [16]byte
	copy(b[16-a.BitLen()/8:], a.AsSlice())
	return packet.Num{Hi: binary.BigEndian.Uint64(b[:8]), Lo: binary.BigEndian.Uint64(b[8:])}
}

// Unsupported names what the definition asks for and no engine runs yet; empty where all of it can be sent.
func (s *Set) Unsupported() []string {
	var out []string
	for i := range s.Streams {
		st := &s.Streams[i]
		if st.Rate != nil {
			out = append(out, fmt.Sprintf("stream %q: rate", st.Name))
		}
		if st.StartAfter > 0 {
			out = append(out, fmt.Sprintf("stream %q: start_after", st.Name))
		}
		if st.Burst != nil {
			out = append(out, fmt.Sprintf("stream %q: burst", st.Name))
		}
	}
	return out
}

// Has reports whether the field was given a value.
func (l *Layer) Has(field string) bool {
	return slices.ContainsFunc(l.Fields, func(v FieldValue) bool { return v.Field.Name == field })
}

// fill gives a field a constant unless it has a value, and keeps the fields in the order of the header.
func (l *Layer) fill(field string, v packet.Num) {
	f := l.Kind.Field(field)
	if f == nil || l.Has(field) {
		return
	}
	l.Fields = append(l.Fields, FieldValue{Field: f, Value: Value{Op: Fixed, Start: v}})
	order := func(f *packet.Field) int {
		return slices.IndexFunc(l.Kind.Fields, func(k packet.Field) bool { return k.Name == f.Name })
	}
	slices.SortStableFunc(l.Fields, func(a, b FieldValue) int { return order(a.Field) - order(b.Field) })
}

func macNum(m [6]byte) packet.Num {
	var n packet.Num
	for _, b := range m {
		n.Lo = n.Lo<<8 | uint64(b)
	}
	return n
}
