package program

// Frame is one writable buffer. Buf is as long as the buffer; Fill sets Len.
type Frame struct {
	Buf []byte
	Len int // bytes used, without FCS
	// Stream is the index of the stream in the program; set by Fill.
	Stream int
}

// Binding says which part of a program one queue sends in one run.
type Binding struct {
	Run           uint8
	IDBase        uint16
	Queue, Queues int
	TimeKind      byte     // packet.TimeNone, TimeFrame or TimeShared
	FirstSeq      uint64   // of every stream: for tests of the wrap
	LastSeq       []uint64 // by stream: the number that carries the last flag; nil: not known before the end
	Total         uint64   // frames of a Source that are sent, whatever more it has; 0: all
}

// ID is the stream id on the wire.
func (b Binding) ID(stream int) uint16 { return b.IDBase + uint16(stream*b.Queues+b.Queue) }

// Image is a program bound to one queue of one run: the heads with run, flags and stream id in place and their part of
// the sums added. It holds the queue's place in the sequence. Engines that compile the program into something else read
// it, the others call Fill.
type Image struct {
	Program *Program
	Binding
	Streams []ImageStream
	// contains the cursor: see fill.go
	cursor
	play *player // of a sequence; nil: frames are made
}

// ImageStream is a stream of an Image.
type ImageStream struct {
	*Stream
	Heads [][]byte   // by length index, signature's constants in place (copies; the Program's are untouched)
	Base  [][]uint16 // by sum, by length index: Sum.Base plus the signature's constants
	ID    uint16
}

// SplitMix64 is the k-th number (k = 0, 1, ...) of the SplitMix64 sequence of seed.
func SplitMix64(seed, k uint64) uint64 {
	z := seed + (k+1)*0x9e3779b97f4a7c15
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// Pick maps a SplitMix64 number to 0..n-1: the upper 32 bits times n, shifted right by 32, for n up to 2^32. Larger n
// are powers of two (0 is 2^64) and mask the number.
func Pick(r, n uint64) uint64 {
	if n-1 < 1<<32 {
		return r >> 32 * n >> 32
	}
	return r & (n - 1)
}

// MaxLen is the length of the program's longest frame, without FCS.
func (p *Program) MaxLen() (n int) {
	for i := range p.Streams {
		if lens := p.Streams[i].Lens; len(lens) > 0 {
			n = max(n, lens[len(lens)-1])
		}
	}
	if p.Sequence != nil {
		for i := range p.Sequence.Frames {
			n = max(n, int(p.Sequence.Frames[i].Len))
		}
	}
	return n
}
