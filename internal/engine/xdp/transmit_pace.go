package xdp

import (
	"fmt"
	"math/bits"

	"github.com/wirespeed/wirespeed/internal/wire"
)

// pace is the gap between two frames of one queue, exact: whole + rest/den ns. Nothing is rounded, so nothing adds up.
type pace struct {
	whole, rest, den uint64
	half             uint64 // half a gap
	// A gap is at most ceil / 2^shift ns, and hardly less.
	ceil  uint64
	shift uint32
	// The queue's first frame is due offset + offsetRest/den ns behind frame 0 of the port.
	offset, offsetRest uint64
}

// skipShift is how finely a time is divided by the gap. Times up to 2^(64-skipShift) ns can be.
const skipShift = 20

// maxDen keeps maxSkip * rest within 64 bits. A larger denominator is cut: an error of 2^-43 ns a frame.
const maxDen = 1 << 43

// newPace is the pace of one queue of a port with the given rate. Queues take turns: frame n of queue q is due at
// (q + n*queues) gaps.
func newPace(rate wire.FPS, queue, queues int) (*pace, error) {
	num, den := rate.Num, max(1, rate.Den)
	for num >= maxDen {
		num, den = num>>1, den>>1
	}
	if den == 0 {
		return nil, fmt.Errorf("a rate of %d/%d frames/s is beyond any device", rate.Num, rate.Den)
	}
	// ns = seconds * 10^9 = times*den*10^9/num
	split := func(times int) (whole, rest uint64, ok bool) {
		hi, lo := bits.Mul64(uint64(times)*1e9, den)
		if hi >= num {
			return 0, 0, false
		}
		whole, rest = bits.Div64(hi, lo, num)
		return whole, rest, whole < 1<<62
	}
	p := &pace{den: num}
	var ok, ok2 bool
	p.whole, p.rest, ok = split(queues)
	p.offset, p.offsetRest, ok2 = split(queue)
	if !ok || !ok2 {
		return nil, fmt.Errorf("a rate of %d/%d frames/s is less than one frame in a hundred years", rate.Num, rate.Den)
	}
	if p.whole == 0 {
		return nil, fmt.Errorf("a rate of %d/%d frames/s is more than one frame per ns on each queue", rate.Num, rate.Den)
	}
	p.half = p.whole / 2
	p.ceil = p.whole + 1
	if p.rest == 0 {
		p.ceil = p.whole
	} else if p.whole < 1<<40 {
		p.shift = skipShift
		p.ceil = p.whole<<skipShift + p.rest<<skipShift/p.den + 1 // rest is below maxDen
	}
	return p, nil
}

// The frames/s of one queue up to which a paced run hands over 1, 4 and 16 frames at once. A call of the kernel's
// transmit function costs as much as several frames do; what is left is margin for catching up.
const (
	maxFPSBatch1  = 1_000_000
	maxFPSBatch4  = 3_000_000
	maxFPSBatch16 = 6_000_000

	// bestBatch: a veth poll takes 64 frames. With more, the rest stays in the ring when another thread wants the CPU, and
	// the next batch finds it full; nothing is gained above 64.
	bestBatch = 64
	maxBatch  = 256
)

// batchFor is the smallest batch that holds a gap of so many ns on one queue; 0: as fast as possible.
func batchFor(gap uint64) int {
	switch {
	case gap >= 1_000_000_000/maxFPSBatch1:
		return 1
	case gap >= 1_000_000_000/maxFPSBatch4:
		return 4
	case gap >= 1_000_000_000/maxFPSBatch16:
		return 16
	default:
		return bestBatch
	}
}
