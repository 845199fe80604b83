package analyse

import "github.com/wirespeed/wirespeed/internal/engine"

// window is the number of sequence numbers remembered, a power of two.
const window = engine.WindowSize

// arrival says what one sequence number turned out to be.
type arrival uint8

const (
	inOrder    arrival = iota // higher than all before
	outOfOrder                // first seen, after a higher number
	duplicate                 // seen before, inside the window
	late                      // older than the window: a duplicate or reordered, which cannot be told
	badNumber                 // no number that this stream can have sent by now
)

// sequence follows the sequence numbers of one stream id. It widens their low 32 bits to 64 and remembers with one bit
// each which of the last 65,536 numbers were seen.
type sequence struct {
	first uint64 // the first number of the stream
	next  uint64 // highest seen + 1; first: none yet
	// missing are the numbers below the lowest that was seen; 0 where none was.
	missing uint64
	seen    [window / 64]uint64
}

// start forgets everything; first is the stream's first number.
func (s *sequence) start(first uint64) { *s = sequence{first: first, next: first} }

// accept takes the low half of a number, and returns it whole.
//
// The number is the one nearest to the highest seen: exact while the true distance is below 2^31. Distances of
// engine.MaxJump and more ahead, and numbers below the first, are no numbers of this stream.
func (s *sequence) accept(low uint32) (seq uint64, a arrival) {
	d := int64(int32(low - uint32(s.next-1)))
	seq = s.next - 1 + uint64(d)
	switch {
	case d >= engine.MaxJump:
		return seq, badNumber
	case d > 0:
		s.advance(seq)
		return seq, inOrder
	case uint64(-d) >= s.next-s.first: // below the first
		return seq, badNumber
	case -d >= window:
		return seq, late
	}
	word, bit := &s.seen[seq%window/64], uint64(1)<<(seq%64)
	if *word&bit != 0 {
		return seq, duplicate
	}
	*word |= bit
	s.missing = min(s.missing, seq-s.first)
	return seq, outOfOrder
}

// advance moves the window's head to seq, which lies beyond it, and marks it seen.
func (s *sequence) advance(seq uint64) {
	skipped := seq - s.next
	if skipped > 0 && s.next == s.first {
		s.missing = skipped
	}
	switch {
	case skipped == 0:
	case skipped >= window:
		clear(s.seen[:])
	default:
		s.forget(s.next, seq)
	}
	s.seen[seq%window/64] |= 1 << (seq % 64)
	s.next = seq + 1
}

// forget clears the bits of from to to-1, fewer than a whole window.
func (s *sequence) forget(from, to uint64) {
	for from < to {
		n := min(64-from%64, to-from)
		s.seen[from%window/64] &^= (^uint64(0) >> (64 - n)) << (from % 64)
		from += n
	}
}
