package program

import (
	"github.com/wirespeed/wirespeed/internal/packet"
	"github.com/wirespeed/wirespeed/stream"
)

// A Program is a stream set made ready: pure data, the same on every machine. It is not changed after Compile and may be
// shared by any number of goroutines.
//
// Frame i of the port (0, 1, ...) belongs to stream Order[i mod len(Order)] and goes to queue i mod N. Streams count their
// own frames with index k, from which every modifier and size is computed; the sequence number in the signature counts
// the frames of one stream on one queue.
type Program struct {
	Streams []Stream
	Order   []uint16 // one round of the weights, spread evenly

	// A replay sends whole frames instead: of Sequence, which is complete, or piece by piece from Source. Streams then only
	// says what the frames are counted as (Lens, Form, Name and Set are valid) and Order is empty.
	Sequence *Sequence
	Source   Source
}

// Stream is one compiled stream. All offsets are from the start of the frame; all lengths without FCS.
type Stream struct {
	Name string
	Set  *stream.Stream
	Form packet.Form

	// Lens are the distinct frame lengths (without FCS), ascending. Heads[j] is what begins a frame of Lens[j]: every header,
	// the signature and the payload as far as a modifier reaches, variable bits and checksums zero, the signature's magic set.
	// All Heads have the same length HeadLen, which is even unless the shortest frame ends there.
	Lens    []int
	Heads   [][]byte
	HeadLen int
	SigOff  int // where the signature lies, or would lie: behind the last header
	// Tail is the payload behind the head, long enough for the longest frame.
	Tail []byte

	// Cycle gives the index into Lens of frame k: Cycle[k mod len(Cycle)]. Where it is empty sizes are random:
	// Lens[rand(SizeSeed, k) in 0..len(Lens)-1].
	Cycle    []uint16
	SizeSeed uint64

	Mods []Modifier
	Sums []Sum

	HasTime bool // the signature has room for a time stamp
}

// A Modifier changes up to 64 bits of a container of Width bytes (2, 4 or 8) at the even offset Off: the container's big
// endian number has the modifier's value, cut by Right and Mask where Mask is not 0 and then shifted left by Shift, in the
// bits that the head leaves zero. A container lies within the head whole, and may overlap those of other modifiers.
type Modifier struct {
	Op    stream.Op // Inc, Dec, Rand or List
	Off   int
	Width int
	Shift uint
	// Right and Mask cut a field that no container holds whole into several rows, which have all else but Off, Width, Shift and
	// Sums in common: the bits stored are value >> Right & Mask. Mask 0 is all bits, and Right is 0 then.
	Right uint
	Mask  uint64
	Whole bool // the value fills the container: it may be stored without looking at what is there
	// Inc and Dec: Start +- Step*(k mod Count). Rand: Start + (SplitMix64(Seed, k) mapped to Range); Range 0 is 2^64.
	Start, Step, Count uint64
	Seed, Range        uint64
	List               []uint64
	Sums               uint // bit n: the container counts in Sums[n]
	Name               string
}

// Sum is one checksum that is made anew for every frame. Base[j] is the ones' complement sum, folded to 16 bits, in big
// endian words, of all that it covers in a frame of Lens[j], variable bits, the signature's run, flags, stream, sequence and
// time, and the checksum itself taken as zero. The checksum is the complement of Base plus all variable words.
type Sum struct {
	Off        int // where it is written
	Base       []uint16
	Signature  bool // covers the signature
	ZeroIsNone bool
	// Into: bit n: this checksum's own two bytes, once known, count in Sums[n], which covers them. Sums are in the order in
	// which they are made, the innermost header's first, so n is always higher than its own index.
	Into uint
	// Wire bits of a deliberately wrong checksum are not a Sum: they are constants in the head.
}
