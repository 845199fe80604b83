package wire

// Overheads in bytes (IEEE 802.3; RFC 5180 appendix A.1).
const (
	FCS      = 4
	Overhead = 20 // preamble 7, start of frame delimiter 1, inter-frame gap 12
	MinFrame = 64
	MaxFrame = 16110 // the largest frame that any known MAC takes
)

// FPS is an exact number of frames per second: Num/Den. The zero value means "no rate given".
type FPS struct{ Num, Den uint64 }

// IsZero reports whether no rate is given.
func (f FPS) IsZero() bool { return f.Num == 0 }

// RateKind is the way in which a rate was asked for.
type RateKind uint8

// The kinds of rates.
const (
	RateMax     RateKind = iota // as fast as possible
	RateFPS                     // frames per second: 1.2Mpps
	RateL1                      // bit/s with preamble and gap: 500Mbps@L1, and the meaning of a bare 500Mbps
	RateL2                      // bit/s of frames with FCS: 500Mbps@L2
	RatePercent                 // of the line: 87.5%
	RateGap                     // start to start of frames: gap=10us
)

// Rate is a rate as it was asked for, exact. The zero value is max.
type Rate struct {
	Kind RateKind
	// Num/Den in the unit of the kind: frames/s, bit/s, percent, or ns for RateGap.
	Num, Den uint64
	Bare     bool // bit/s without a layer: L1, and the report says so
}
