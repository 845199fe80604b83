package program

import (
	"github.com/wirespeed/wirespeed/internal/packet"
	"github.com/wirespeed/wirespeed/stream"
)

// A cursor is a queue's place in the sequence of the port's frames, and the program laid out for one pass per frame.
type cursor struct {
	order  []uint16
	rank   []uint32 // by place in order: earlier turns of the same stream in the round
	place  uint64   // of the next frame in order
	round  uint64   // rounds before it
	jump   uint64   // places from one frame of the queue to the next, less than a round,
	rounds uint64   // and whole rounds
	lanes  []lane   // by stream
}

// A lane is what Fill reads and writes for one stream.
type lane struct {
	heads    [][]byte
	lens     []int
	tail     []byte
	cycle    []uint16
	cycleAt  uint64 // k mod len(cycle)
	sizeSeed uint64
	mods     []step
	sums     []laneSum

	turns uint64 // of this stream in a round
	k     uint64 // the frame that cycleAt and the steps stand at
	seq   uint64 // of the next frame
	last  uint64 // the number that carries the last flag
	ends  bool   // last is known
	timed bool   // the time is written
	form  packet.Form
	sig   int // offset of the signature
}

// A step is a Modifier that knows k mod Count, so that no frame needs a division.
type step struct {
	op               stream.Op
	width            uint8
	whole            bool
	shift            uint8
	off              int
	at, count        uint64 // of Inc, Dec and List
	start, by        uint64 // by is negative for Dec
	seed, rangeWidth uint64
	list             []uint64
	counts           [MaxSums]uint64 // all ones for each sum that it counts in
}

type laneSum struct {
	off        int
	base       []uint16
	signature  bool
	zeroIsNone bool
}

func newCursor(im *Image) cursor {
	order := im.Program.Order
	n, queues := uint64(len(order)), uint64(im.Queues)
	c := cursor{order: order, rank: make([]uint32, n), lanes: make([]lane, len(im.Streams)),
		place: uint64(im.Queue) % n, round: uint64(im.Queue) / n, jump: queues % n, rounds: queues / n}
	for i := range im.Streams {
		c.lanes[i] = newLane(&im.Streams[i], &im.Binding, i)
	}
	for i, s := range order {
		c.rank[i] = uint32(c.lanes[s].turns)
		c.lanes[s].turns++
	}
	return c
}

func newLane(s *ImageStream, b *Binding, index int) lane {
	l := lane{heads: s.Heads, lens: s.Lens, tail: s.Tail, cycle: s.Cycle, sizeSeed: s.SizeSeed, form: s.Form, sig: s.SigOff,
		seq: b.FirstSeq, timed: s.HasTime && b.TimeKind != packet.TimeNone}
	if b.LastSeq != nil {
		l.last, l.ends = b.LastSeq[index], true
	}
	for i := range s.Mods {
		m := &s.Mods[i]
		st := step{op: m.Op, width: uint8(m.Width), whole: m.Whole, shift: uint8(m.Shift), off: m.Off, count: m.Count,
			start: m.Start, by: m.Step, seed: m.Seed, rangeWidth: m.Range, list: m.List}
		switch m.Op {
		case stream.Dec:
			st.by = -m.Step
		case stream.List:
			st.count = uint64(len(m.List))
		}
		for n := range st.counts {
			if m.Sums>>n&1 != 0 {
				st.counts[n] = ^uint64(0)
			}
		}
		l.mods = append(l.mods, st)
	}
	for i, sum := range s.Sums {
		l.sums = append(l.sums, laneSum{off: sum.Off, base: s.Base[i], signature: sum.Signature, zeroIsNone: sum.ZeroIsNone})
	}
	return l
}

// Fill writes the queue's next frames, stamped with the given CLOCK_MONOTONIC time in ns, and returns how many: all,
// unless a buffer is shorter than its frame, which is then still the next. It writes every byte of a frame and sets Len and
// Stream.
func (im *Image) Fill(frames []Frame, stamp uint64) int {
	c := &im.cursor
	for i := range frames {
		s := c.order[c.place]
		l := &c.lanes[s]
		var flags byte
		if l.ends && l.seq == l.last {
			flags = packet.FlagLast
		}
		if !l.put(&frames[i], c.round*l.turns+uint64(c.rank[c.place]), stamp, flags) {
			return i
		}
		frames[i].Stream = int(s)
		c.place += c.jump
		c.round += c.rounds
		if c.place >= uint64(len(c.order)) {
			c.place -= uint64(len(c.order))
			c.round++
		}
	}
	return len(frames)
}

// FillLast writes one more numbered frame of a stream, with the last flag: its content is that of the stream's next turn
// on this queue. It is false where the queue never sends the stream, or the buffer is too short.
func (im *Image) FillLast(f *Frame, stream int, stamp uint64) bool {
	c := &im.cursor
	place, round := c.place, c.round
	for range c.order {
		if int(c.order[place]) == stream {
			f.Stream = stream
			l := &c.lanes[stream]
			return l.put(f, round*l.turns+uint64(c.rank[place]), stamp, packet.FlagLast)
		}
		place += c.jump
		round += c.rounds
		if place >= uint64(len(c.order)) {
			place -= uint64(len(c.order))
			round++
		}
	}
	return false
}

// Skip leaves out the queue's next n turns, n up to 2^40: what varies moves on, sequence numbers do not.
func (im *Image) Skip(n uint64) {
	c := &im.cursor
	place := c.place + n*c.jump
	c.round += n*c.rounds + place/uint64(len(c.order))
	c.place = place % uint64(len(c.order))
}

// Seq is the sequence number of the stream's next frame on this queue.
func (im *Image) Seq(stream int) uint64 { return im.cursor.lanes[stream].seq }
