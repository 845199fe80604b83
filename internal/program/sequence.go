package program

// A Sequence is frames that are sent as they are, but for a signature where they have room for one. It is not changed once
// it is part of a Program.
type Sequence struct {
	Bytes  []byte // the frames, without FCS, each at a multiple of 8
	Frames []SequenceFrame
	// Period is the time from the first frame of one round to that of the next, in ns.
	Period uint64
	// Rounds is how often the sequence is sent; 0: again and again.
	Rounds uint64
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
