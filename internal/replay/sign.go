package replay

import (
	"encoding/binary"

	"github.com/wirespeed/wirespeed/internal/packet"
	"github.com/wirespeed/wirespeed/internal/program"
)

// sign puts the constant part of the signature into a frame that has room for it, and fills in where it lies and what its
// checksum starts from. It is false, and nothing has changed, where there is no room: no UDP or TCP header directly on the
// only IP header, a fragment, a payload that is too short, lengths that contradict each other, or a checksum that is wrong
// already, by which a receiver would take the frame for corrupt.
func (m *maker) sign(b []byte, f *program.SequenceFrame) bool {
	l := &m.layout
	if m.form == packet.FormNone || l.L4 == 0 || l.Fragment || l.BadLength || l.End-l.Payload < m.form.Len() || (l.Payload-l.L4)&1 != 0 || !m.plain() || !packet.VerifyL4(b, l) {
		return false
	}
	place := l.L4 + 16
	if l.Proto == packet.ProtoUDP {
		place = l.L4 + 6
	}
	sig := b[l.Payload : l.Payload+m.form.Len()]
	clear(sig)
	magic := uint16(packet.MagicFull)
	if m.form == packet.FormShort {
		magic = packet.MagicShort
	}
	binary.BigEndian.PutUint16(sig, magic)
	f.Sig = uint16(l.Payload)
	if l.Proto == packet.ProtoUDP && b[place]|b[place+1] == 0 {
		return true // it has no checksum, and gets none
	}
	b[place], b[place+1] = 0, 0
	addrs := b[l.L3+12 : l.L3+20]
	if l.Version == 6 {
		addrs = b[l.L3+8 : l.L3+40]
	}
	acc := packet.PseudoSum(addrs, l.Proto, l.End-l.L4)
	f.Sum, f.Base = uint16(place), packet.Fold(packet.Sum(acc, b[l.L4:l.End]))
	f.ZeroIsNone = l.Proto == packet.ProtoUDP
	return true
}

// plain reports whether the frame is Ethernet, tags, one IP header and UDP or TCP: what every receiver reads, with one
// checksum over the payload.
func (m *maker) plain() bool {
	for i, h := range m.layout.Stack[:m.layout.Depth] {
		switch h.Kind {
		case packet.HeaderVLAN:
		case packet.HeaderEth:
			if i != 0 {
				return false
			}
		case packet.HeaderIPv4, packet.HeaderIPv6:
			if i != m.layout.Depth-2 {
				return false
			}
		case packet.HeaderUDP, packet.HeaderTCP:
			if i != m.layout.Depth-1 {
				return false
			}
		default:
			return false
		}
	}
	return true
}
