package program

import (
	"fmt"

	"github.com/wirespeed/wirespeed/stream"
)

// MaxOrder is the largest number of frames in one round of the weights.
const MaxOrder = 1 << 18

// spread makes one round of the weights, divided by their greatest common divisor, each stream's turns as even as they
// can be: every turn each stream gains its weight, the one that has most is taken and pays the sum of all. A weight of 0
// counts as 1.
func spread(streams []stream.Stream) ([]uint16, error) {
	if len(streams) > 1<<16 {
		return nil, fmt.Errorf("there are %d streams: 65536 is the most", len(streams))
	}
	weights := make([]int, len(streams))
	div, total := 0, 0
	for i := range streams {
		weights[i] = max(1, streams[i].Weight)
		div = gcd(weights[i], div)
	}
	for i := range weights {
		weights[i] /= div
		total += weights[i]
	}
	if total > MaxOrder {
		return nil, fmt.Errorf("the weights come to %d frames a round, %d is the most: use smaller weights, or weights with a common divisor", total, MaxOrder)
	}
	order := make([]uint16, total)
	has := make([]int, len(weights))
	for n := range order {
		best := 0
		for i, w := range weights {
			if has[i] += w; has[i] > has[best] {
				best = i
			}
		}
		has[best] -= total
		order[n] = uint16(best)
	}
	return order, nil
}

func gcd(a, b int) int {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

// Shares is the number of frames of each stream that a queue sends of the first count frames of the port. Those of a Source
// are not known: they are 0.
func (p *Program) Shares(count uint64, queue, queues int) []uint64 {
	shares := make([]uint64, len(p.Streams))
	if count <= uint64(queue) {
		return shares
	}
	mine := (count-uint64(queue)-1)/uint64(queues) + 1
	n, stream := len(p.Order), func(place uint64) uint16 { return p.Order[place] }
	switch {
	case p.Sequence != nil:
		n, stream = len(p.Sequence.Frames), func(place uint64) uint16 { return p.Sequence.Frames[place].Stream }
	case p.Source != nil:
		return shares // what comes is not known
	}
	period := uint64(n / gcd(n, queues)) // frames of this queue until its pattern comes again
	for j := range period {
		times := mine / period
		if j < mine%period {
			times++
		}
		shares[stream((uint64(queue)+j*uint64(queues))%uint64(n))] += times
	}
	return shares
}
