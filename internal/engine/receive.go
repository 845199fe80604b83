package engine

import (
	"math"

	"github.com/wirespeed/wirespeed/internal/packet"
)

// Expect tells a receiver what will arrive.
type Expect struct {
	Run   uint8
	Learn bool // take the run id from the first signature that arrives
	// Streams by id on the wire. Ids that are not listed count as BadStream. Empty with Learn: every id up to MaxStreams.
	Streams []ExpectStream
	// Without a signature: frames with one of these source addresses and EtherTypes (behind VLAN tags) are the run's.
	SrcMACs    [][6]byte
	EtherTypes []uint16
	VLANs      int     // the most tags that a frame of the run has; 0 with Learn: not known
	GapNs      float64 // expected gap of one stream id's frames, for GapInside and the deviation; 0: unknown
	Cores      []int   // for receivers in user space
	Capture    bool    // frames are to be written to a file
}

// ExpectStream is one stream id on the wire.
type ExpectStream struct {
	ID    uint16
	Form  packet.Form
	First uint64 // first sequence number; above 2^32 for tests of the wrap
}

// WindowSize is the number of sequence numbers in which a receiver tells duplicates from late frames.
const WindowSize = 65536

// MaxJump: a sequence number this far ahead or more is no loss but a wrong number.
const MaxJump = 1 << 30

// Received is what has arrived.
type Received struct {
	Frames, Bytes uint64 // frames with this run's signature, whole or not, duplicates too; or matching addresses where there is none. Bytes with FCS
	Foreign       uint64 // no signature (of ours), seen and passed on
	Stale         uint64 // signature of another run
	BadStream     uint64 // this run's signature, a stream id that nobody sends
	TesterDrops   uint64 // dropped by this receiver or its device's ring
	Queues        int    // receive queues or CPUs that took part
	Run           uint8  // the run id, learned or given; valid where RunKnown
	RunKnown      bool
	Streams       []StreamReceived // ascending by ID; only ids of which something was seen
	FirstNs       int64            // CLOCK_MONOTONIC of the first and last frame of the run; 0 where no clock was read
	LastNs        int64
	Window        int    // numbers in the window that this receiver really has
	Clock         string // what stamped the arrival: "xdp program, CLOCK_MONOTONIC, every frame" and the like
}

// StreamReceived are the counts of one stream id on the wire, as docs/accounting.md defines them.
type StreamReceived struct {
	ID                                                  uint16
	Form                                                packet.Form
	Frames, Duplicate, Reordered, Late, Corrupt, BadSeq uint64
	LostFirst                                           uint64     // numbers below the lowest one in Frames: lost before anything arrived
	Bytes                                               uint64     // of Frames, with FCS
	Next                                                uint64     // highest sequence number seen + 1
	LastSeen                                            bool       // a frame with the last flag arrived
	LastSeq                                             uint64     // its number
	Latency, Gap                                        *Histogram // nil where no clock was read
	GapInside                                           uint64     // gaps within 5 % of Expect.GapNs
	Order                                               *Order     // nil where the receiver does not measure it
	Variation                                           *Histogram // |IPDV| of RFC 5481; nil where the receiver does not measure it
}

// Order are the finer measures of reordering of RFC 4737 and RFC 5236.
type Order struct {
	Reordered uint64 // RFC 4737 Type-P-Reordered
	ExtentMax uint64
	NMax      uint64 // largest n for which a frame is n-reordered
	LateNsMax uint64 // largest LateTime offset
	// ByteOffsetMax is the largest number of payload bytes that came before a frame and belong behind it.
	ByteOffsetMax uint64
	RD            map[int]uint64 // RFC 5236 reorder density: displacement -> frames
	RBD           map[int]uint64 // reorder buffer-occupancy density
}

// Histogram buckets: values below 2^SubBits have a bucket each, every further octave 2^SubBits buckets.
const (
	SubBits = 5
	Buckets = 1024
)

// Histogram counts values in ns, log-linear, at most 1/32 wide; count, sum, min and max are exact.
type Histogram struct {
	Counts     [Buckets]uint64
	Count, Sum uint64
	Min, Max   uint64
	SquareHi   uint64 // sum of squares of the distance to Ref, 128 bits
	SquareLo   uint64
	Ref        uint64
	Negative   uint64 // arrived before it was sent: the clocks do not agree
}

// Bucket is the index of a value. Values beyond the last bucket are counted in it.
func Bucket(v uint64) int {
	if v < 1<<SubBits {
		return int(v)
	}
	e := 63 - leadingZeros(v)
	i := (e-SubBits+1)<<SubBits | int(v>>(e-SubBits))&(1<<SubBits-1)
	return min(i, Buckets-1)
}

// BucketRange is the smallest value of bucket i and its width.
func BucketRange(i int) (low, width uint64) {
	if i < 1<<SubBits {
		return uint64(i), 1
	}
	e := i>>SubBits - 1
	return uint64(1<<SubBits|i&(1<<SubBits-1)) << e, 1 << e
}

// Record adds one value.
func (h *Histogram) Record(v uint64) {
	if h.Count == 0 || v < h.Min {
		h.Min = v
	}
	h.Max = max(h.Max, v)
	h.Counts[Bucket(v)]++
	h.Count++
	h.Sum += v
	d := v - h.Ref
	if v < h.Ref {
		d = h.Ref - v
	}
	h.addSquare(d)
}

// Merge adds another histogram with the same Ref.
func (h *Histogram) Merge(o *Histogram) {
	if o.Count > 0 && (h.Count == 0 || o.Min < h.Min) {
		h.Min = o.Min
	}
	h.Max = max(h.Max, o.Max)
	for i, n := range o.Counts {
		h.Counts[i] += n
	}
	h.Count += o.Count
	h.Sum += o.Sum
	h.Negative += o.Negative
	h.Ref = o.Ref
	var carry uint64
	h.SquareLo, carry = add64(h.SquareLo, o.SquareLo)
	h.SquareHi += o.SquareHi + carry
}

// Mean is NaN-free: 0 where nothing was counted.
func (h *Histogram) Mean() float64 {
	if h.Count == 0 {
		return 0
	}
	return float64(h.Sum) / float64(h.Count)
}

// Stdev is the standard deviation of the values.
func (h *Histogram) Stdev() float64 {
	if h.Count == 0 {
		return 0
	}
	square := math.Ldexp(float64(h.SquareHi), 64) + float64(h.SquareLo)
	d := h.Mean() - float64(h.Ref)
	return math.Sqrt(max(0, square/float64(h.Count)-d*d))
}

// Quantile is the smallest value at or below which the share q of the values lies (RFC 2330 11.3), to the width of a
// bucket: its middle, never outside Min and Max.
func (h *Histogram) Quantile(q float64) uint64 {
	if h.Count == 0 {
		return 0
	}
	need := max(1, uint64(math.Ceil(q*float64(h.Count))))
	var seen uint64
	for i, n := range h.Counts {
		if seen += n; seen >= need {
			low, width := BucketRange(i)
			return min(max(low+width/2, h.Min), h.Max)
		}
	}
	return h.Max
}
