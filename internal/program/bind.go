package program

import (
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/wirespeed/wirespeed/internal/packet"
)

// CheckBinding says whether the program can be bound: the queue exists and every stream id, those of the other queues
// too, fits the stream's form of the signature.
func (p *Program) CheckBinding(b Binding) error {
	if b.Queues < 1 || b.Queue < 0 || b.Queue >= b.Queues {
		return fmt.Errorf("queue %d of %d does not exist", b.Queue, b.Queues)
	}
	if err := p.CheckSequence(b.Queues); err != nil {
		return err
	}
	if b.LastSeq != nil && len(b.LastSeq) != len(p.Streams) {
		return fmt.Errorf("%d last numbers for %d streams", len(b.LastSeq), len(p.Streams))
	}
	for i := range p.Streams {
		s := &p.Streams[i]
		most := 1 << 16
		switch s.Form {
		case packet.FormNone:
			continue
		case packet.FormShort:
			most = 1 << 8
		}
		if last := int(b.IDBase) + i*b.Queues + b.Queues - 1; last >= most {
			return fmt.Errorf("stream %q would have id %d, its signature has room for %d ids: use fewer streams or queues, or larger frames for the full signature", s.Name, last, most)
		}
	}
	return nil
}

// Bind makes the image of one queue in one run. CheckBinding says whether b is right; Bind takes that as given.
func (p *Program) Bind(b Binding) *Image {
	b.LastSeq = slices.Clone(b.LastSeq)
	im := &Image{Program: p, Binding: b, Streams: make([]ImageStream, len(p.Streams))}
	for i := range p.Streams {
		im.Streams[i] = p.Streams[i].bind(b, b.ID(i))
	}
	im.cursor, im.play = newCursor(im), newPlayer(im)
	return im
}

// bind puts the constants of the signature into copies of heads and bases.
func (s *Stream) bind(b Binding, id uint16) ImageStream {
	is := ImageStream{Stream: s, ID: id}
	sig := packet.Signature{Form: s.Form, Run: b.Run, Flags: packet.FlagVersion | b.TimeKind&packet.TimeMask, Stream: id}
	for _, h := range s.Heads {
		h = slices.Clone(h)
		sig.Put(h[s.SigOff:])
		is.Heads = append(is.Heads, h)
	}
	// The magic is in Sum.Base already.
	magic := make([]byte, s.Form.Len())
	sig.Put(magic)
	if len(magic) > 0 {
		binary.BigEndian.PutUint16(magic, 0)
	}
	more := packet.Sum(0, magic)
	for _, sum := range s.Sums {
		base := slices.Clone(sum.Base)
		if sum.Signature {
			for j := range base {
				base[j] = packet.Fold(uint64(base[j]) + more)
			}
		}
		is.Base = append(is.Base, base)
	}
	return is
}
