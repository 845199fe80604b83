package program

import (
	"encoding/binary"

	"github.com/wirespeed/wirespeed/stream"
)

// values computes the modifier for the frames ks, ascending, shifted to its place in the container.
func (m *step) values(v, ks []uint64) {
	ks = ks[:len(v)]
	if m.op == stream.Rand {
		for i, k := range ks {
			v[i] = (m.start + Pick(SplitMix64(m.seed, k), m.rangeWidth)) << m.shift
		}
		return
	}
	// First k mod count, then the value.
	at, last, count := m.at, m.k, m.count
	for i, k := range ks {
		by := k - last
		next := at + by
		if next >= count || next < by {
			next = wrap(at, by, count)
		}
		at, last = next, k
		v[i] = at
	}
	m.at, m.k = at, last
	if m.op == stream.List {
		for i, n := range v {
			v[i] = m.list[n] << m.shift
		}
		return
	}
	for i, n := range v {
		v[i] = (m.start + m.by*n) << m.shift
	}
}

// store puts the values into their containers. Another modifier may have been in the same container before, or a constant.
func (m *step) store(v []uint64, which []uint8, frames []Frame) {
	which = which[:len(v)]
	switch {
	case m.width == 2 && m.whole:
		for i, x := range v {
			binary.BigEndian.PutUint16(frames[which[i]].Buf[m.off:], uint16(x))
		}
	case m.width == 2:
		for i, x := range v {
			w := frames[which[i]].Buf[m.off:]
			binary.BigEndian.PutUint16(w, binary.BigEndian.Uint16(w)|uint16(x))
		}
	case m.width == 4 && m.whole:
		for i, x := range v {
			binary.BigEndian.PutUint32(frames[which[i]].Buf[m.off:], uint32(x))
		}
	case m.width == 4:
		for i, x := range v {
			w := frames[which[i]].Buf[m.off:]
			binary.BigEndian.PutUint32(w, binary.BigEndian.Uint32(w)|uint32(x))
		}
	default:
		for i, x := range v {
			w := frames[which[i]].Buf[m.off:]
			binary.BigEndian.PutUint64(w, binary.BigEndian.Uint64(w)|x)
		}
	}
}
