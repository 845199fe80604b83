package program

import (
	"encoding/binary"

	"github.com/wirespeed/wirespeed/internal/packet"
)

// A player is a queue's place in a sequence, or in the pieces of a source. Frames are copied whole; of those with a signature
// only that and its checksum are written.
type player struct {
	piece  *Sequence // nil: no piece of the source has come yet
	source Source    // nil: the sequence is complete
	ended  bool      // the source has no more
	place  int       // of the queue's next frame in the piece
	round  uint64    // rounds before it
	jump   int       // places from one frame of the queue to the next, less than a round,
	rounds uint64    // and whole rounds
	owed   uint64    // frames of the source to leave out that have not come yet
	left   uint64    // frames of the source until the end that is known, from the beginning of the piece

	streams []played
}

// played is one stream of a player.
type played struct {
	form     packet.Form
	run      byte
	flags    byte // version and kind of time
	id       uint16
	constant uint64 // what run, flags and id come to in a checksum
	seq      uint64 // of the next frame
	last     uint64 // the number that carries the last flag
	ends     bool   // last is known
	timed    bool   // the time is written
	done     bool   // the last flag has been written
	// final is one more than the place in the piece of the stream's last frame; 0: it is not in this piece, or not known.
	final int
}

// newPlayer is nil where the program makes its frames itself.
func newPlayer(im *Image) *player {
	prog := im.Program
	if prog.Sequence == nil && prog.Source == nil {
		return nil
	}
	p := &player{piece: prog.Sequence, source: prog.Source, jump: 1, left: im.Total, streams: make([]played, len(im.Streams))}
	if p.piece != nil {
		n, queues := uint64(len(p.piece.Frames)), uint64(im.Queues)
		p.source = nil
		p.place, p.round = int(uint64(im.Queue)%n), uint64(im.Queue)/n
		p.jump, p.rounds = int(queues%n), queues/n
	}
	for i := range p.streams {
		s := &im.Streams[i]
		f := played{form: s.Form, run: im.Run, flags: packet.FlagVersion | im.TimeKind&packet.TimeMask, id: s.ID, seq: im.FirstSeq,
			timed: s.HasTime && im.TimeKind != packet.TimeNone}
		if im.LastSeq != nil {
			f.last, f.ends = im.LastSeq[i], true
		}
		f.constant = f.signs()
		p.streams[i] = f
	}
	return p
}

// signs is what run, flags and id of a signature come to in a checksum.
func (s *played) signs() uint64 {
	b := make([]byte, s.form.Len())
	sig := packet.Signature{Form: s.form, Run: s.run, Flags: s.flags, Stream: s.id}
	if len(b) == 0 {
		return 0
	}
	sig.Put(b)
	clear(b[:2]) // the magic is in the frame's base already
	return packet.Sum(0, b)
}

// Ready says whether the queue's next frame of a sequence is there. It asks the source for the next piece where the one
// before is used up, and never waits. A program that makes its frames itself is always ready.
func (im *Image) Ready() SourceState {
	p := im.play
	switch {
	case p == nil || p.ready():
		return SourceReady
	case p.source != nil && !p.ended:
		return SourceLater
	}
	return SourceEnd
}

// Here reports whether the queue's next frame of a sequence is in the piece that is there. Unlike Ready it does not ask the
// source, which may have more since it was asked last.
func (im *Image) Here() bool { return im.play != nil && im.play.here() }

// Due is when the queue's next frame is due, in ns after the first frame of the first round. Ready was SourceReady.
func (im *Image) Due() uint64 { return im.play.due() }

// DueBy is how many of the queue's next frames are due by a time, most at most and those of the piece that is there.
func (im *Image) DueBy(ns uint64, most int) (n int) {
	p := *im.play
	for n < most && p.here() && p.due() <= ns {
		p.step()
		n++
	}
	return n
}

// SkipDue leaves out the queue's next frames that are due before a time, most at most and those that are there, and returns
// how many. Sequence numbers do not move on. Of a sequence whose rounds take no time it leaves out one round at most: all of
// them are always due.
func (im *Image) SkipDue(ns, most uint64) (n uint64) {
	if p := im.play; p.source == nil {
		if p.piece.Period == 0 {
			most = min(most, uint64(len(p.piece.Frames)))
		} else if over := ns / p.piece.Period; over > p.round+2 {
			n = p.skipRounds(over-p.round-2, most)
		}
	}
	for n < most && im.play.ready() && im.play.due() < ns {
		im.play.step()
		n++
	}
	return n
}

// skipRounds leaves out what the queue has in up to so many rounds, most frames at most, and returns how many it are: frame by
// frame, rounds that are shorter than that takes would never be caught up with.
func (p *player) skipRounds(rounds, most uint64) uint64 {
	size := uint64(len(p.piece.Frames))
	queues := p.rounds*size + uint64(p.jump)
	n := min(rounds/queues, most/size) // in as many rounds as there are queues each has as many frames as a round has
	p.round += n * queues
	return n * size
}

// here says whether the next frame is in the piece.
func (p *player) here() bool {
	return p.piece != nil && p.place < len(p.piece.Frames) && (p.piece.Rounds == 0 || p.round < p.piece.Rounds)
}

// ready brings the next frame here.
func (p *player) ready() bool {
	for p.owed > 0 || !p.here() {
		if p.here() {
			n := min(p.owed, uint64(len(p.piece.Frames)-p.place))
			p.owed -= n
			p.place += int(n)
			continue
		}
		if p.source == nil || p.ended || !p.next() {
			return false
		}
	}
	return true
}

// next takes the source's next piece.
func (p *player) next() bool {
	if p.piece != nil {
		p.left -= min(p.left, uint64(len(p.piece.Frames)))
		p.piece = nil
	}
	piece, state := p.source.Next()
	if state != SourceReady {
		p.ended = state == SourceEnd
		return false
	}
	p.piece, p.place = piece, 0
	p.findLast()
	return true
}

// findLast finds the last frame of each stream where the last frame of all is in the piece.
func (p *player) findLast() {
	for i := range p.streams {
		p.streams[i].final = 0
	}
	n := len(p.piece.Frames)
	switch {
	case p.left > 0 && p.left <= uint64(n):
		n = int(p.left)
	case !p.piece.Final:
		return
	}
	for i := n - 1; i >= 0; i-- {
		if s := &p.streams[p.piece.Frames[i].Stream]; s.final == 0 {
			s.final = i + 1
		}
	}
}

// due is when the next frame is due.
func (p *player) due() uint64 { return p.round*p.piece.Period + p.piece.Frames[p.place].Due }

// step goes to the queue's next frame.
func (p *player) step() {
	p.place += p.jump
	p.round += p.rounds
	if p.source == nil && p.place >= len(p.piece.Frames) {
		p.place -= len(p.piece.Frames)
		p.round++
	}
}

// skip leaves out n turns.
func (p *player) skip(n uint64) {
	if p.source != nil {
		p.owed += n
		return
	}
	size := uint64(len(p.piece.Frames))
	place := uint64(p.place) + n*uint64(p.jump)
	p.round += n*p.rounds + place/size
	p.place = int(place % size)
}

// fill writes the queue's next frames and returns how many: fewer where a buffer is too short, the sequence is at its end or
// the source's next piece is not there.
func (p *player) fill(frames []Frame, stamp uint64) int {
	for i := range frames {
		if !p.here() || p.owed > 0 {
			if !p.ready() {
				return i
			}
		}
		if !p.put(&frames[i], stamp, 0) {
			return i
		}
		p.step()
	}
	return len(frames)
}

// put copies the next frame and signs it. It is false where the buffer is too short.
func (p *player) put(f *Frame, stamp uint64, flags byte) bool {
	e := &p.piece.Frames[p.place]
	n := int(e.Len)
	if n > len(f.Buf) {
		return false
	}
	copy(f.Buf, p.piece.Bytes[e.At:][:n])
	f.Len, f.Stream = n, int(e.Stream)
	s := &p.streams[e.Stream]
	if e.Sig != 0 && s.form != packet.FormNone {
		if s.final == p.place+1 {
			flags |= packet.FlagLast
		}
		s.sign(f.Buf[:n], e, stamp, flags)
	}
	s.seq++
	return true
}

// sign writes what the frame's signature lacks, and its checksum.
func (s *played) sign(b []byte, e *SequenceFrame, stamp uint64, flags byte) {
	sig := b[e.Sig:]
	acc := uint64(e.Base) + s.constant
	if s.form == packet.FormShort {
		sig = sig[:packet.ShortLen]
		sig[packet.SigRun], sig[packet.SigShortStream] = s.run, byte(s.id)
		binary.BigEndian.PutUint32(sig[packet.SigShortSeq:], uint32(s.seq))
		acc += uint64(uint32(s.seq))
	} else {
		if !s.timed {
			stamp = 0
		}
		if s.seq == 0 {
			flags |= packet.FlagFirst
		}
		if s.seq == s.last && s.ends {
			flags |= packet.FlagLast
		}
		s.done = s.done || flags&packet.FlagLast != 0
		sig = sig[:packet.FullLen]
		sig[packet.SigRun], sig[packet.SigFlags] = s.run, s.flags|flags
		binary.BigEndian.PutUint16(sig[packet.SigStream:], s.id)
		binary.BigEndian.PutUint32(sig[packet.SigSeq:], uint32(s.seq))
		binary.BigEndian.PutUint64(sig[packet.SigTime:], stamp)
		acc += uint64(flags) + uint64(uint32(s.seq)) + fold32(stamp)
	}
	if e.Sum == 0 {
		return
	}
	sum := ^packet.Fold(acc)
	if sum == 0 && e.ZeroIsNone {
		sum = 0xffff
	}
	binary.BigEndian.PutUint16(b[e.Sum:], sum)
}

// fillLast writes the stream's next frame on this queue with the last flag, of a source the next in its piece. It is false
// where there is none, or the flag has been written. What follows is the end: the place does not move on.
func (p *player) fillLast(f *Frame, stream int, stamp uint64) (ok bool) {
	if p.streams[stream].done || p.source != nil && !p.ready() {
		return false
	}
	place, round := p.place, p.round
	for range p.piece.Frames {
		if p.place >= len(p.piece.Frames) { // of a source's piece
			break
		}
		if e := &p.piece.Frames[p.place]; int(e.Stream) == stream && e.Sig != 0 {
			ok = p.put(f, stamp, packet.FlagLast)
			break
		}
		p.step()
	}
	p.place, p.round = place, round
	return ok
}
