package xdp

import (
	"encoding/binary"

	"github.com/wirespeed/wirespeed/internal/packet"
	"github.com/wirespeed/wirespeed/internal/program"
)

// sequenceLayout is the layout of a replay's state. The program finds a stream's words by its number, so those of one sort lie
// behind one another.
func sequenceLayout(img *program.Image) layout {
	l := layout{single: len(img.Streams) == 1, first: img.FirstSeq, size: int(headerSize)}
	words := func(to *[]int16) {
		for range img.Streams {
			*to = append(*to, int16(l.size))
			l.size += 8
		}
	}
	if !l.single {
		words(&l.seq)
	}
	words(&l.last)
	l.id = int16(l.size)
	l.size += 8 * len(img.Streams)
	return l
}

// rewind puts a replay to its beginning: the port's frame 0 is due at start.
func (u *unit) rewind(start uint64) {
	n, queue := uint64(len(u.sequence.Frames)), uint64(u.img.Queue)
	u.state.set(offPos, queue%n)
	u.state.set(offBase, start+queue/n*u.sequence.Period)
	for i := range u.img.Streams {
		s := &u.img.Streams[i]
		b := [8]byte{u.img.Run}
		switch s.Form {
		case packet.FormFull:
			b[packet.SigFlags-packet.SigRun] = packet.FlagVersion | u.opt.timeKind&packet.TimeMask
			binary.BigEndian.PutUint16(b[packet.SigStream-packet.SigRun:], s.ID)
		case packet.FormShort:
			b[packet.SigShortStream-packet.SigRun] = byte(s.ID)
		}
		u.state.set(u.layout.id+int16(8*i), binary.LittleEndian.Uint64(b[:]))
	}
}

// seek makes the queue's next frame one of the given stream, with the last flag: the stream's next from a place on. It is due
// when the frame would have been that was next. It is false where the queue never sends that stream.
func (u *unit) seek(stream int, from place) bool {
	frames := u.sequence.Frames
	n := uint64(len(frames))
	pos := from.pos
	for range frames {
		if f := &frames[pos]; int(f.Stream) == stream && f.Sig != 0 {
			due := u.state.load(offBase) + frames[u.state.load(offPos)].Due
			u.state.set(u.layout.last[stream], u.seq(stream))
			u.state.set(offPos, pos)
			u.state.set(offBase, due-frames[pos].Due)
			return true
		}
		pos = (pos + uint64(u.img.Queues)) % n
	}
	return false
}

// paced reports whether frames wait until they are due.
func (u *unit) paced() bool { return u.opt.pace != nil || u.recorded() }

func (u *unit) recorded() bool { return u.sequence != nil && u.sequence.due > 0 }

// due is when the next frame may leave.
func (u *unit) due() uint64 {
	left := u.state.load(offLeft)
	if !u.recorded() {
		return max(u.state.load(offNext), left+u.opt.pace.half)
	}
	due := u.state.load(offBase) + u.sequence.Frames[u.state.load(offPos)].Due
	return max(due, left+(due-u.state.load(offPrev))/2)
}

// lookAhead is how many frames are looked at for a gap that is worth a sleep.
const lookAhead = 64

// passes is how often the program runs in one call: until it has sent what is due before the next gap that is worth a sleep, up
// to left frames. A slot lasts slotNs where there is something to wait for.
func (u *unit) passes(left uint64, now int64) uint32 {
	const most = callNs / slotNs
	s, queues := u.sequence, uint64(u.img.Queues)
	n := uint64(len(s.Frames))
	place := u.state.load(offPos)
	due := func() uint64 { return u.state.load(offBase) + place/n*s.Period + s.Frames[place%n].Due }
	end, frames := due(), uint64(1)
	for ; frames < min(left, lookAhead); frames++ {
		place += queues
		next := due()
		if next-end > sleepFrom {
			break
		}
		end = next
	}
	if frames == lookAhead {
		return most
	}
	return uint32(min(most, frames+uint64(max(0, int64(end)-now))/slotNs+1))
}

// dueAt makes the next frame due at a time, and what has left before does not matter.
func (u *unit) dueAt(now uint64) {
	u.state.set(offLeft, 0)
	u.state.set(offNext, now)
	if u.recorded() {
		u.state.set(offPrev, 0)
		u.state.set(offBase, now-u.sequence.Frames[u.state.load(offPos)].Due)
	}
}

// meanGap is the mean gap between the queue's frames, in ns; 0: as fast as possible.
func (u *unit) meanGap() uint64 {
	switch {
	case u.opt.pace != nil:
		return u.opt.pace.whole
	case !u.recorded():
		return 0
	}
	s, queues := u.sequence, uint64(u.img.Queues)
	n := uint64(len(s.Frames))
	if s.Rounds == 1 && n > 1 {
		return s.Frames[n-1].Due / (n - 1) * queues
	}
	return s.Period / n * queues
}
