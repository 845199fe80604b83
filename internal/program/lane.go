package program

import (
	"encoding/binary"
	"math/bits"

	"github.com/wirespeed/wirespeed/internal/packet"
)

// chunk is the number of frames that Fill works on at a time: enough to spread the cost of each step, few enough to stay in
// the first cache.
const chunk = 32

// beginLen is what is copied at once, without a call: a head that is no longer costs the same whatever it is.
const beginLen = 64

// A lane is what Fill reads and writes for one stream.
type lane struct {
	heads    [][]byte
	lens     []int
	tail     []byte
	begin    [][beginLen]byte // heads and what follows them; nil: they are longer
	cycle    []uint16
	cycleAt  uint64 // k mod len(cycle)
	sizeSeed uint64
	mods     []step
	sums     []laneSum

	turns uint64 // of this stream in a round
	k     uint64 // that cycleAt belongs to
	seq   uint64 // of the next frame
	last  uint64 // the number that carries the last flag
	ends  bool   // last is known
	timed bool   // the time is written
	form  packet.Form
	sig   int    // offset of the signature
	signs uint64 // run, flags and stream of the full signature, and room for the sequence

	// The frames of this chunk that are taken and not written.
	n     int
	frame [chunk]uint8  // index in the chunk
	ks    [chunk]uint64 // their own index
	js    [chunk]uint16 // length index
	// What varies of their signatures comes to.
	varies [chunk]uint64
}

// A laneSum is a Sum and what it comes to in the frames of this chunk.
type laneSum struct {
	off        int
	base       []uint16
	signature  bool
	zeroIsNone bool
	into       uint // later sums that cover this one
	acc        [chunk]uint64
}

func newLane(s *ImageStream, b *Binding, index int) lane {
	l := lane{heads: s.Heads, lens: s.Lens, tail: s.Tail, cycle: s.Cycle, sizeSeed: s.SizeSeed, form: s.Form, sig: s.SigOff,
		seq: b.FirstSeq, timed: s.HasTime && b.TimeKind != packet.TimeNone}
	if s.HeadLen <= beginLen {
		l.begin = make([][beginLen]byte, len(s.Heads))
		for j, h := range s.Heads {
			copy(l.begin[j][copy(l.begin[j][:], h):], s.Tail)
		}
	}
	if s.Form == packet.FormFull {
		l.signs = binary.BigEndian.Uint64(s.Heads[0][s.SigOff+packet.SigRun:])
	}
	if b.LastSeq != nil {
		l.last, l.ends = b.LastSeq[index], true
	}
	for i := range s.Mods {
		l.mods = append(l.mods, newStep(&s.Mods[i]))
	}
	for i, sum := range s.Sums {
		l.sums = append(l.sums, laneSum{off: sum.Off, base: s.Base[i], signature: sum.Signature, zeroIsNone: sum.ZeroIsNone, into: sum.Into})
	}
	return l
}

// take puts frame k of the stream on the lane's list; f is frame number index of the chunk. k never goes back. It is false,
// and nothing has changed, where the buffer is too short.
func (l *lane) take(f *Frame, index int, k uint64) bool {
	i := l.n & (chunk - 1)
	j, at := 0, uint64(0)
	if len(l.lens) > 1 {
		j, at = l.length(k)
	}
	n := l.lens[j]
	if n > len(f.Buf) {
		return false
	}
	f.Len = n
	l.frame[i], l.ks[i], l.js[i] = uint8(index), k, uint16(j)
	l.k, l.cycleAt = k, at
	l.n++
	return true
}

// takeAll takes the frames k, k+by, ... and returns how many have room.
func (l *lane) takeAll(frames []Frame, k, by uint64) int {
	if len(l.lens) > 1 {
		for i := range frames {
			if !l.take(&frames[i], i, k+uint64(i)*by) {
				return i
			}
			frames[i].Stream = 0
		}
		return len(frames)
	}
	n := l.lens[0]
	for i := range frames {
		f := &frames[i]
		if n > len(f.Buf) {
			frames = frames[:i]
			break
		}
		f.Len, f.Stream = n, 0
		l.frame[i&(chunk-1)], l.ks[i&(chunk-1)], l.js[i&(chunk-1)] = uint8(i), k, 0
		k += by
	}
	l.n = len(frames)
	return len(frames)
}

// length is the length index of frame k and its place in the cycle.
func (l *lane) length(k uint64) (index int, at uint64) {
	if n := uint64(len(l.cycle)); n > 0 {
		by := k - l.k
		at = l.cycleAt + by
		if at >= n || at < by {
			at = wrap(l.cycleAt, by, n)
		}
		return int(l.cycle[at]), at
	}
	return int(Pick(SplitMix64(l.sizeSeed, k), uint64(len(l.lens)))), 0
}

// write writes the frames on the list, with the lane's next sequence numbers. flags go into each.
func (l *lane) write(frames []Frame, stamp uint64, flags byte) {
	var room [chunk][]byte
	bufs := room[:l.n]
	js := l.js[:len(bufs)]
	for i, w := range l.frame[:len(bufs)] {
		f := &frames[w]
		b := f.Buf[:f.Len]
		if l.begin != nil && len(f.Buf) >= beginLen {
			*(*[beginLen]byte)(f.Buf) = l.begin[js[i]]
			if len(b) > beginLen {
				copy(b[beginLen:], l.tail[beginLen-len(l.heads[0]):])
			}
			bufs[i] = b
			continue
		}
		head := l.heads[js[i]]
		if copy(b, head); len(b) > len(head) {
			copy(b[len(head):], l.tail)
		}
		bufs[i] = b
	}
	switch l.form {
	case packet.FormFull:
		l.signFull(bufs, stamp, flags)
	case packet.FormShort:
		l.signShort(bufs)
	}
	for n := range l.sums {
		l.sums[n].begin(js, &l.varies)
	}
	l.modify(bufs)
	for n := range l.sums {
		s := &l.sums[n]
		s.end(bufs)
		for into := s.into; into != 0; into &= into - 1 {
			l.sums[bits.TrailingZeros(into)].take(s.off, bufs)
		}
	}
	l.seq += uint64(len(bufs))
	l.n = 0
}

// signFull writes what varies of the full signature.
func (l *lane) signFull(bufs [][]byte, stamp uint64, all byte) {
	if !l.timed {
		stamp = 0
	}
	time := fold32(stamp)
	varies := l.varies[:len(bufs)]
	if n := uint64(len(bufs)); all == 0 && l.seq != 0 && l.seq+n > l.seq && (!l.ends || l.last-l.seq >= n) {
		// Neither the first frame nor the last is among these.
		for i, b := range bufs {
			b = b[l.sig+packet.SigRun:][:packet.FullLen-packet.SigRun]
			seq := uint64(uint32(l.seq) + uint32(i))
			binary.BigEndian.PutUint64(b, l.signs|seq)
			binary.BigEndian.PutUint64(b[packet.SigTime-packet.SigRun:], stamp)
			varies[i] = seq + time
		}
		return
	}
	for i, b := range bufs {
		// Run, flags, stream and sequence are one number of 64 bits.
		b = b[l.sig+packet.SigRun:][:packet.FullLen-packet.SigRun]
		seq := l.seq + uint64(i)
		flags := all
		if seq == 0 {
			flags |= packet.FlagFirst
		}
		if seq == l.last && l.ends {
			flags |= packet.FlagLast
		}
		binary.BigEndian.PutUint64(b, l.signs|uint64(flags)<<48|uint64(uint32(seq)))
		binary.BigEndian.PutUint64(b[packet.SigTime-packet.SigRun:], stamp)
		varies[i] = uint64(flags) + uint64(uint32(seq)) + time
	}
}

// signShort writes what varies of the short signature.
func (l *lane) signShort(bufs [][]byte) {
	for i, b := range bufs {
		seq := uint32(l.seq) + uint32(i)
		binary.BigEndian.PutUint32(b[l.sig+packet.SigShortSeq:], seq)
		l.varies[i&(chunk-1)] = uint64(seq)
	}
}

// modify writes one modifier after the other and adds it to the sums that it counts in.
func (l *lane) modify(bufs [][]byte) {
	var values, unused [chunk]uint64
	for i := range l.mods {
		m := &l.mods[i]
		v := values[:len(bufs)]
		m.values(v, l.ks[:len(bufs)])
		if m.cut != nil {
			for i, x := range v {
				v[i] = m.cut.place(x)
			}
		}
		// Two sums, the usual number, are taken along.
		first, second, sums := &unused, &unused, m.sums
		if sums != 0 {
			first, sums = &l.sums[bits.TrailingZeros(sums)].acc, sums&(sums-1)
		}
		if sums != 0 {
			second, sums = &l.sums[bits.TrailingZeros(sums)].acc, sums&(sums-1)
		}
		m.store(v, bufs, first, second)
		for ; sums != 0; sums &= sums - 1 {
			acc := l.sums[bits.TrailingZeros(sums)].acc[:len(v)]
			for i, x := range v {
				acc[i] += fold32(x)
			}
		}
	}
}

// begin sets the sums to what does not vary, and the signature.
func (s *laneSum) begin(js []uint16, varies *[chunk]uint64) {
	acc := s.acc[:len(js)]
	if !s.signature {
		for i, j := range js {
			acc[i] = uint64(s.base[j])
		}
		return
	}
	more := varies[:len(js)]
	for i, j := range js {
		acc[i] = uint64(s.base[j]) + more[i]
	}
}

// end writes the checksums.
func (s *laneSum) end(bufs [][]byte) {
	acc := s.acc[:len(bufs)]
	for i, b := range bufs {
		sum := ^packet.Fold(acc[i])
		if sum == 0 && s.zeroIsNone {
			sum = 0xffff
		}
		binary.BigEndian.PutUint16(b[s.off:], sum)
	}
}

// take adds the checksum that was written at the offset.
func (s *laneSum) take(off int, bufs [][]byte) {
	acc := s.acc[:len(bufs)]
	for i, b := range bufs {
		acc[i] += uint64(binary.BigEndian.Uint16(b[off:]))
	}
}

// wrap is (at + by) mod n, also where the sum has more than 64 bits; at is less than n.
func wrap(at, by, n uint64) uint64 {
	by %= n
	if left := n - at; by >= left {
		return by - left
	}
	return at + by
}

// fold32 adds the halves: congruent modulo 65535, and small enough that sums of it do not overflow.
func fold32(v uint64) uint64 { return v>>32 + v&0xffffffff }
