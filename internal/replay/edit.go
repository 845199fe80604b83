package replay

import (
	"encoding/binary"
	"fmt"
	"net/netip"

	"github.com/wirespeed/wirespeed/internal/packet"
	"github.com/wirespeed/wirespeed/stream"
)

// An edit is one change that was asked for: of the alternatives the outermost header that a frame has.
type edit struct {
	flag    string
	alts    []alternative
	missing uint64 // frames that have no such header
	// address, port, ttl: it changes an address of IP, a field of layer 4, a field of IP that no other checksum covers.
	ip, address bool
}

type alternative struct {
	kind  packet.HeaderKind
	field *packet.Field
	value stream.Value
}

// compileEdits joins neighbours of the same flag. The id of a VLAN tag is left to tag.
func compileEdits(in []stream.Edit) (out []edit, vlan *stream.Value, err error) {
	for i := range in {
		e := &in[i]
		kind := e.Kind.Header
		switch kind {
		case packet.HeaderEth, packet.HeaderIPv4, packet.HeaderIPv6, packet.HeaderUDP, packet.HeaderTCP:
		case packet.HeaderVLAN:
			vlan = &e.Value
			continue
		default:
			return nil, nil, fmt.Errorf("fields of %s cannot be changed in a replay: those of eth, vlan, ip, ipv6, udp and tcp can", e.Kind.Name)
		}
		a := alternative{kind, e.Field, e.Value}
		if n := len(out); n > 0 && out[n-1].flag == e.Flag {
			out[n-1].alts = append(out[n-1].alts, a)
			continue
		}
		ip := kind == packet.HeaderIPv4 || kind == packet.HeaderIPv6
		out = append(out, edit{flag: e.Flag, alts: []alternative{a}, ip: ip, address: ip && (e.Field.Name == "src" || e.Field.Name == "dst")})
	}
	return out, vlan, nil
}

// apply changes the frame of the capture's index k. The layout and the covers are those of b. why is empty, or says why the
// change cannot be made rightly.
func (m *maker) apply(e *edit, b []byte, k uint64) (why string) {
	for i := range m.layout.Stack[:m.layout.Depth] {
		h := &m.layout.Stack[i]
		for j := range e.alts {
			a := &e.alts[j]
			if a.kind != h.Kind {
				continue
			}
			if why := m.sound(b, i, e.address); why != "" {
				return why
			}
			return m.put(b, int(h.Off), a, k)
		}
	}
	if e.ip {
		if why := m.hiddenIP(e); why != "" {
			return why
		}
	}
	e.missing++
	return ""
}

// put writes the field, whose bits begin within the header at off.
func (m *maker) put(b []byte, off int, a *alternative, k uint64) string {
	from, to := off+a.field.Bit/8, off+(a.field.Bit+a.field.Bits+7)/8
	var with [32]byte
	n, v := copy(with[:], b[from:to]), valueAt(&a.value, k)
	if a.field.Bit&7 == 0 && a.field.Bits&7 == 0 {
		var all [16]byte
		binary.BigEndian.PutUint64(all[:], v.Hi)
		binary.BigEndian.PutUint64(all[8:], v.Lo)
		copy(with[:n], all[16-n:])
	} else {
		shifted := *a.field
		shifted.Bit &= 7
		shifted.Put(with[:], 0, v)
	}
	m.write(b, from, with[:n])
	return ""
}

// hiddenIP tells a malformed IP header from none: the EtherType announces one, and the walk did not take it for one.
func (m *maker) hiddenIP(e *edit) string {
	for j := range e.alts {
		kind := e.alts[j].kind
		if kind == packet.HeaderIPv4 && m.layout.EtherType == packet.EtherIPv4 || kind == packet.HeaderIPv6 && m.layout.EtherType == packet.EtherIPv6 {
			return "its IP header is malformed"
		}
	}
	return ""
}

// sound says why a field of header i, or of the IP header that carries it, cannot be changed rightly; empty: it can.
func (m *maker) sound(b []byte, i int, address bool) string {
	for ; i >= 0; i-- {
		h := &m.layout.Stack[i]
		off := int(h.Off)
		switch h.Kind {
		case packet.HeaderIPv4:
			total := int(binary.BigEndian.Uint16(b[off+2:]))
			if h.Len < 20 || total < int(h.Len) || off+total > len(b) {
				return "its IPv4 header is malformed: its lengths do not fit the frame"
			}
			if address {
				return m.checksumKnown(b, i, b[off+9], binary.BigEndian.Uint16(b[off+6:])&0x3fff)
			}
			return ""
		case packet.HeaderIPv6:
			plen := int(binary.BigEndian.Uint16(b[off+4:]))
			if off+40+plen > len(b) || plen == 0 && b[off+6] == 0 {
				return "its IPv6 header is malformed: its length does not fit the frame"
			}
			if address {
				return m.checksumKnown(b, i, b[off+6], 0)
			}
			return ""
		case packet.HeaderEth:
			return ""
		}
	}
	return ""
}

// Protocols with checksums over the addresses that the walk does not know, and one that protects addresses by other means.
const (
	protoDCCP     = 33
	protoAH       = 51
	protoOSPF     = 89
	protoPIM      = 103
	protoMobility = 135
	protoUDPLite  = 136
)

// checksumKnown says why the checksums over the addresses of IP header i cannot all be brought along. frag are the flag More
// Fragments and the offset.
func (m *maker) checksumKnown(b []byte, i int, next uint8, frag uint16) string {
	v6 := m.layout.Stack[i].Kind == packet.HeaderIPv6
	for i++; i < m.layout.Depth; i++ {
		h := &m.layout.Stack[i]
		off := int(h.Off)
		switch h.Kind {
		case packet.HeaderHopOpts, packet.HeaderRouting, packet.HeaderDstOpts:
		case packet.HeaderFragment:
			frag = binary.BigEndian.Uint16(b[off+2:])
			frag = frag&1<<13 | frag>>3
		default:
			return "" // its checksum, if there is one, is known
		}
		next = b[off]
	}
	switch {
	case frag&0x1fff != 0:
		return "" // the checksum was in the first fragment
	case frag != 0 && next == packet.ProtoTCP:
		return "its TCP checksum lies in a later fragment"
	case next == protoAH:
		return "IPsec AH protects its addresses"
	case next == protoDCCP, next == protoUDPLite, v6 && (next == protoOSPF || next == protoPIM || next == protoMobility):
		return fmt.Sprintf("protocol %d has a checksum over the addresses whose place is not known here", next)
	case v6 && (next == packet.ProtoHopOpts || next == packet.ProtoRouting || next == packet.ProtoFragment || next == packet.ProtoDstOpts):
		return "its extension headers run to the end of the data, so the place of its checksum is not known"
	}
	return ""
}

// mapped puts addresses of the outermost IP headers and of ARP into other prefixes.
func (m *maker) mapped(b []byte) (why string) {
	var seen [2]bool // IPv4, IPv6
	for i := range m.layout.Stack[:m.layout.Depth] {
		h := &m.layout.Stack[i]
		off := int(h.Off)
		switch {
		case h.Kind == packet.HeaderIPv4 && !seen[0]:
			seen[0] = true
			why = m.mapAt(b, i, why, off+12, 4)
			why = m.mapAt(b, i, why, off+16, 4)
		case h.Kind == packet.HeaderIPv6 && !seen[1]:
			seen[1] = true
			why = m.mapAt(b, i, why, off+8, 16)
			why = m.mapAt(b, i, why, off+24, 16)
		case h.Kind == packet.HeaderARP && arpIPv4(b, off):
			hlen := int(b[off+4])
			why = m.mapAt(b, -1, why, off+8+hlen, 4)
			why = m.mapAt(b, -1, why, off+12+2*hlen, 4)
		}
	}
	return why
}

// arpIPv4 reports whether an ARP packet (RFC 826) speaks of IPv4 addresses, and is there as a whole.
func arpIPv4(b []byte, off int) bool {
	return off+8 <= len(b) && binary.BigEndian.Uint16(b[off+2:]) == packet.EtherIPv4 && b[off+5] == 4 && off+16+2*int(b[off+4]) <= len(b)
}

// mapAt maps one address of header i, which is n bytes long; i below 0: of ARP, which has no checksum.
func (m *maker) mapAt(b []byte, i int, why string, off, n int) string {
	if why != "" || off+n > len(b) {
		return why
	}
	a, _ := netip.AddrFromSlice(b[off : off+n])
	for j := range m.maps {
		p := &m.maps[j]
		if !p.From.Contains(a) {
			continue
		}
		m.hits[j]++
		if i >= 0 {
			if why := m.sound(b, i, true); why != "" {
				return why
			}
		}
		var with [16]byte
		copy(with[:], b[off:off+n])
		to := p.To.Addr().As16()
		high := to[16-n:]
		for bit := range p.To.Bits() {
			mask := byte(0x80) >> (bit & 7)
			with[bit>>3] = with[bit>>3]&^mask | high[bit>>3]&mask
		}
		m.write(b, off, with[:n])
		return ""
	}
	return ""
}
