package program

import (
	"errors"
	"fmt"
	"math"
	"math/bits"
	"time"

	"github.com/wirespeed/wirespeed/internal/packet"
)

// A Sequence is frames that are sent as they are, but for a signature where they have room for one. It is not changed once
// it is part of a Program.
type Sequence struct {
	Bytes  []byte // the frames, without FCS, each at a multiple of 8
	Frames []SequenceFrame
	// Period is the time from the first frame of one round to that of the next, in ns.
	Period uint64
	// Rounds is how often the sequence is sent; 0: again and again.
	Rounds uint64
	// Final: this is the last piece of a Source. Where it is not known before, the stream's last frame has no last flag.
	Final bool
}

// SequenceFrame is one frame of a Sequence.
type SequenceFrame struct {
	At     int    // in Bytes
	Due    uint64 // ns behind the first frame of the round
	Len    uint16 // without FCS
	Stream uint16 // in Program.Streams
	// Sig is where the signature lies, 0: the frame has none. Run, flags, stream, sequence and time are zero there, the magic
	// is set. Sum is the place of the one checksum that covers it, 0: none, and Base what it covers comes to without those and
	// without itself, as Sum.Base of a Stream.
	Sig, Sum, Base uint16
	ZeroIsNone     bool
}

// A Source hands over a sequence that is not in memory as a whole, piece by piece.
type Source interface {
	// Next returns the next piece. It never waits and allocates nothing: SourceLater says that the piece is not there yet.
	// Frames of all pieces follow one another; Due counts from the first frame of the first piece, Rounds is 1. The piece
	// before may be overwritten. It is called by one goroutine at a time.
	Next() (*Sequence, SourceState)
	// Err is why the source ended early; nil: it ended where the capture does.
	Err() error
}

// SourceState says what Next returned.
type SourceState uint8

// The states of a source.
const (
	SourceReady SourceState = iota
	SourceLater
	SourceEnd
)

// CheckSequence refuses a sequence or a source that cannot be played on so many queues; other programs are fine.
func (p *Program) CheckSequence(queues int) error {
	s := p.Sequence
	switch {
	case s == nil && p.Source == nil:
		return nil
	case s == nil && queues > 1:
		return errors.New("a capture that is read while it is sent goes through one queue: give --queues 1, or --preload")
	case s == nil:
		return nil
	case len(s.Frames) == 0:
		return errors.New("the sequence has no frames")
	}
	for i := range s.Frames {
		f := &s.Frames[i]
		if f.At < 0 || f.At+int(f.Len) > len(s.Bytes) || f.Len == 0 || int(f.Stream) >= len(p.Streams) {
			return fmt.Errorf("frame %d of the sequence is not one: %d bytes at %d of %d, stream %d", i, f.Len, f.At, len(s.Bytes), f.Stream)
		}
		form := p.Streams[f.Stream].Form
		if f.Sig != 0 && form != packet.FormNone && (int(f.Sig)+form.Len() > int(f.Len) || int(f.Sum)+2 > int(f.Len)) {
			return fmt.Errorf("frame %d of the sequence has no room for its signature", i)
		}
	}
	return nil
}

// FramesIn is how many frames are due before a time has passed since the first; 0 where there is no end to them.
func (s *Sequence) FramesIn(d time.Duration) uint64 {
	ns, frames := uint64(max(d, 0)), uint64(len(s.Frames))
	within := func(ns uint64) (n uint64) {
		for n < frames && s.Frames[n].Due < ns {
			n++
		}
		return n
	}
	if s.Rounds == 1 {
		return within(ns)
	}
	if s.Period == 0 {
		return s.total()
	}
	hi, n := bits.Mul64(ns/s.Period, frames)
	n, carry := bits.Add64(n, within(ns%s.Period), 0)
	if hi+carry != 0 {
		n = math.MaxUint64
	}
	if all := s.total(); all > 0 {
		n = min(n, all)
	}
	return n
}

// total is how many frames all rounds have; 0: no end.
func (s *Sequence) total() uint64 {
	hi, n := bits.Mul64(s.Rounds, uint64(len(s.Frames)))
	if hi != 0 {
		return math.MaxUint64
	}
	return n
}

// Total is how many frames all rounds of the program's sequence have; 0: there is no end, or it is not known.
func (p *Program) Total() uint64 {
	if p.Sequence == nil {
		return 0
	}
	return p.Sequence.total()
}

// meanSize is the mean size with FCS.
func (s *Sequence) meanSize() (num, den uint64) {
	const fcs = 4
	for i := range s.Frames {
		num += uint64(s.Frames[i].Len) + fcs
	}
	den = uint64(max(1, len(s.Frames)))
	g := uint64(max(1, gcd(int(num), int(den))))
	return num / g, den / g
}
