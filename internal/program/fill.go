package program

import (
	"github.com/wirespeed/wirespeed/internal/packet"
)

// A cursor is a queue's place in the sequence of the port's frames, and the program laid out for Fill.
type cursor struct {
	order   []uint16
	rank    []uint32 // by place in order: earlier turns of the same stream in the round
	place   uint64   // of the next frame in order
	round   uint64   // rounds before it
	jump    uint64   // places from one frame of the queue to the next, less than a round,
	rounds  uint64   // and whole rounds
	lanes   []lane   // by stream
	touched []uint16 // lanes with frames to write; as long as a chunk
	single  [1]Frame
}

func newCursor(im *Image) cursor {
	order := im.Program.Order
	if len(order) == 0 { // a sequence
		return cursor{}
	}
	n, queues := uint64(len(order)), uint64(im.Queues)
	c := cursor{order: order, rank: make([]uint32, n), lanes: make([]lane, len(im.Streams)),
		place: uint64(im.Queue) % n, round: uint64(im.Queue) / n, jump: queues % n, rounds: queues / n, touched: make([]uint16, chunk)}
	for i := range im.Streams {
		c.lanes[i] = newLane(&im.Streams[i], &im.Binding, i)
	}
	for i, s := range order {
		c.rank[i] = uint32(c.lanes[s].turns)
		c.lanes[s].turns++
	}
	return c
}

// Fill writes the queue's next frames, stamped with the given CLOCK_MONOTONIC time in ns, and returns how many: all,
// unless a buffer is shorter than its frame, which is then still the next, or Ready says that there is no more of a sequence.
// It writes every byte of a frame and sets Len and Stream.
//
// It works in chunks: first each frame goes to its stream, then each stream writes heads, signatures, one modifier after
// the other, and checksums into all of its frames. So what is to be done is decided once per chunk, not per frame.
func (im *Image) Fill(frames []Frame, stamp uint64) int {
	if im.play != nil {
		return im.play.fill(frames, stamp)
	}
	done := 0
	for done < len(frames) {
		part := frames[done:min(done+chunk, len(frames))]
		n := im.cursor.fill(part, stamp)
		done += n
		if n < len(part) {
			break
		}
	}
	return done
}

// fill is Fill for up to a chunk of frames.
func (c *cursor) fill(frames []Frame, stamp uint64) int {
	if len(c.order) == 1 {
		// One stream, the usual case: its index is the port's.
		l := &c.lanes[0]
		done := l.takeAll(frames, c.round, c.rounds)
		c.round += uint64(done) * c.rounds
		l.write(frames, stamp, 0)
		return done
	}
	touched, done := 0, 0
	place, round, size := c.place, c.round, uint64(len(c.order))
	for i := range frames {
		s := c.order[place]
		l := &c.lanes[s]
		if !l.take(&frames[i], i, round*l.turns+uint64(c.rank[place])) {
			break
		}
		frames[i].Stream = int(s)
		if l.n == 1 {
			c.touched[touched] = s
			touched++
		}
		place += c.jump
		round += c.rounds
		if place >= size {
			place -= size
			round++
		}
		done++
	}
	c.place, c.round = place, round
	for _, s := range c.touched[:touched] {
		c.lanes[s].write(frames, stamp, 0)
	}
	return done
}

// FillLast writes one more numbered frame of a stream, with the last flag: its content is that of the stream's next turn
// on this queue. It is false where the queue never sends the stream, or the buffer is too short.
func (im *Image) FillLast(f *Frame, stream int, stamp uint64) bool {
	if im.play != nil {
		return im.play.fillLast(f, stream, stamp)
	}
	c := &im.cursor
	place, round := c.place, c.round
	for range c.order {
		if int(c.order[place]) == stream {
			l := &c.lanes[stream]
			if !l.take(f, 0, round*l.turns+uint64(c.rank[place])) {
				return false
			}
			f.Stream = stream
			c.single[0] = *f
			l.write(c.single[:], stamp, packet.FlagLast)
			return true
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
	if im.play != nil {
		im.play.skip(n)
		return
	}
	c := &im.cursor
	place := c.place + n*c.jump
	c.round += n*c.rounds + place/uint64(len(c.order))
	c.place = place % uint64(len(c.order))
}

// Seq is the sequence number of the stream's next frame on this queue.
func (im *Image) Seq(stream int) uint64 {
	if im.play != nil {
		return im.play.streams[stream].seq
	}
	return im.cursor.lanes[stream].seq
}
