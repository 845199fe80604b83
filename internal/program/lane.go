package program

import (
	"encoding/binary"

	"github.com/wirespeed/wirespeed/internal/packet"
	"github.com/wirespeed/wirespeed/stream"
)

// put writes frame k of the lane with the lane's next sequence number. k never goes back. It is false, and nothing has
// changed, where the buffer is too short.
func (l *lane) put(f *Frame, k, stamp uint64, flags byte) bool {
	by := k - l.k
	j, at := l.length(k, by)
	n := l.lens[j]
	if n > len(f.Buf) {
		return false
	}
	l.k, l.cycleAt = k, at
	b := f.Buf[:n]
	head := l.heads[j]
	copy(b, head)
	if len(b) > len(head) {
		copy(b[len(head):], l.tail)
	}
	var acc [MaxSums]uint64
	if len(l.mods) > 0 {
		acc[0], acc[1], acc[2], acc[3] = l.modify(b, k, by)
	}
	var sig uint64
	if l.form != packet.FormNone {
		sig = l.sign(b, stamp, flags)
	}
	for i := range l.sums {
		s := &l.sums[i]
		v := acc[i&(MaxSums-1)] + uint64(s.base[j])
		if s.signature {
			v += sig
		}
		sum := ^packet.Fold(v)
		if sum == 0 && s.zeroIsNone {
			sum = 0xffff
		}
		binary.BigEndian.PutUint16(b[s.off:], sum)
	}
	f.Len = n
	l.seq++
	return true
}

// length is the length index of frame k, by frames behind the one before, and its place in the cycle.
func (l *lane) length(k, by uint64) (index int, at uint64) {
	if len(l.cycle) == 1 {
		return int(l.cycle[0]), 0
	}
	if n := uint64(len(l.cycle)); n > 0 {
		if at = l.cycleAt + by; at >= n {
			at %= n
		}
		return int(l.cycle[at]), at
	}
	return int(Pick(SplitMix64(l.sizeSeed, k), uint64(len(l.lens)))), 0
}

// modify writes all that varies into b and returns what it adds to each of the MaxSums sums: four variables, since an
// array would go through memory for every row.
func (l *lane) modify(b []byte, k, by uint64) (sum0, sum1, sum2, sum3 uint64) {
	for i := range l.mods {
		m := &l.mods[i]
		var v uint64
		if m.op == stream.Rand {
			v = m.start + Pick(SplitMix64(m.seed, k), m.rangeWidth)
		} else {
			at := m.at + by
			if at >= m.count || at < by {
				at = m.wrap(by)
			}
			m.at = at
			if m.op == stream.List {
				v = m.list[at]
			} else {
				v = m.start + m.by*at
			}
		}
		v <<= m.shift
		half := v>>32 + v&0xffffffff
		sum0 += half & m.counts[0]
		sum1 += half & m.counts[1]
		sum2 += half & m.counts[2]
		sum3 += half & m.counts[3]
		w := b[m.off:]
		switch m.width {
		case 2:
			if !m.whole {
				v |= uint64(binary.BigEndian.Uint16(w))
			}
			binary.BigEndian.PutUint16(w, uint16(v))
		case 4:
			if !m.whole {
				v |= uint64(binary.BigEndian.Uint32(w))
			}
			binary.BigEndian.PutUint32(w, uint32(v))
		default:
			if !m.whole {
				v |= binary.BigEndian.Uint64(w)
			}
			binary.BigEndian.PutUint64(w, v)
		}
	}
	return sum0, sum1, sum2, sum3
}

// wrap is (at + by) mod count, also where the sum has more than 64 bits.
func (m *step) wrap(by uint64) uint64 {
	by %= m.count
	if left := m.count - m.at; by >= left {
		return by - left
	}
	return m.at + by
}

// sign writes what varies of the signature and returns its sum.
func (l *lane) sign(b []byte, stamp uint64, flags byte) uint64 {
	seq := uint32(l.seq)
	w := b[l.sig:]
	if l.form == packet.FormShort {
		binary.BigEndian.PutUint32(w[packet.SigShortSeq:], seq)
		return uint64(seq)
	}
	if l.seq == 0 {
		flags |= packet.FlagFirst
	}
	w = w[:packet.FullLen]
	w[packet.SigFlags] |= flags
	binary.BigEndian.PutUint32(w[packet.SigSeq:], seq)
	sum := uint64(flags) + uint64(seq)
	if l.timed {
		binary.BigEndian.PutUint64(w[packet.SigTime:], stamp)
		sum += stamp>>32 + stamp&0xffffffff
	}
	return sum
}
