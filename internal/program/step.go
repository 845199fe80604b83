package program

import (
	"encoding/binary"

	"github.com/wirespeed/wirespeed/stream"
)

// A step is a Modifier that keeps k mod Count, so that no frame needs a division.
type step struct {
	op               stream.Op
	whole            bool
	width            int
	shift            uint
	off              int
	k                uint64 // that at belongs to
	at, count        uint64 // of Inc, Dec and List: k mod count
	start, by        uint64 // by is negative for Dec
	seed, rangeWidth uint64
	list             []uint64 // cut and shifted
	sums             uint
	cut              *Modifier // Inc, Dec and Rand of which a part is stored: its place cuts and shifts the values
}

func newStep(m *Modifier) step {
	st := step{op: m.Op, width: m.Width, whole: m.Whole, shift: m.Shift, off: m.Off, count: m.Count,
		start: m.Start, by: m.Step, seed: m.Seed, rangeWidth: m.Range, sums: m.Sums}
	if m.Mask != 0 {
		st.cut, st.shift = m, 0
	}
	switch m.Op {
	case stream.Dec:
		st.by = -m.Step
	case stream.List:
		// The number from 0 on that Inc makes is the place in the list.
		st.start, st.by, st.count, st.shift, st.cut = 0, 1, uint64(len(m.List)), 0, nil
		for _, v := range m.List {
			st.list = append(st.list, m.place(v))
		}
	}
	return st
}

// values computes the modifier for the frames ks, ascending, shifted to its place in the container.
func (m *step) values(v, ks []uint64) {
	ks = ks[:len(v)]
	if m.op == stream.Rand {
		m.random(v, ks)
		return
	}
	at, last, count, start, step, shift := m.at, m.k, m.count, m.start, m.by, m.shift&63
	for i, k := range ks {
		by := k - last
		next := at + by
		if next >= count || next < by {
			next = wrap(at, by, count)
		}
		at, last = next, k
		v[i] = (start + step*at) << shift
	}
	m.at, m.k = at, last
	if m.op == stream.List {
		for i, n := range v {
			v[i] = m.list[n]
		}
	}
}

// random is values of Rand.
func (m *step) random(v, ks []uint64) {
	seed, start, n, shift := m.seed, m.start, m.rangeWidth, m.shift&63
	if n-1 >= 1<<32 {
		for i, k := range ks {
			v[i] = (start + Pick(SplitMix64(seed, k), n)) << shift
		}
		return
	}
	// Pick without its question.
	for i, k := range ks {
		v[i] = (start + SplitMix64(seed, k)>>32*n>>32) << shift
	}
}

// store puts the values into their containers, and adds them to two sums. Another modifier may have been in the same container
// before, or a constant.
func (m *step) store(v []uint64, bufs [][]byte, first, second *[chunk]uint64) {
	bufs = bufs[:len(v)]
	one, two := first[:len(v)], second[:len(v)]
	switch {
	case m.width == 2 && m.whole:
		for i, x := range v {
			binary.BigEndian.PutUint16(bufs[i][m.off:], uint16(x))
			one[i] += x
			two[i] += x
		}
	case m.width == 2:
		for i, x := range v {
			w := bufs[i][m.off:]
			binary.BigEndian.PutUint16(w, binary.BigEndian.Uint16(w)|uint16(x))
			one[i] += x
			two[i] += x
		}
	case m.width == 4 && m.whole:
		for i, x := range v {
			binary.BigEndian.PutUint32(bufs[i][m.off:], uint32(x))
			one[i] += x
			two[i] += x
		}
	case m.width == 4:
		for i, x := range v {
			w := bufs[i][m.off:]
			binary.BigEndian.PutUint32(w, binary.BigEndian.Uint32(w)|uint32(x))
			one[i] += x
			two[i] += x
		}
	default:
		for i, x := range v {
			w := bufs[i][m.off:]
			binary.BigEndian.PutUint64(w, binary.BigEndian.Uint64(w)|x)
			one[i] += fold32(x)
			two[i] += fold32(x)
		}
	}
}
