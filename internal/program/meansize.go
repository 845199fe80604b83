package program

import "math/big"

// MeanSize is the mean frame size with FCS over a round of the order, as a rational: what a rate in bit/s is converted
// with. It is exact where 64 bits hold it, and else right to 2^-60. Of a Source it is not known: 0.
func (p *Program) MeanSize() (num, den uint64) {
	switch {
	case p.Sequence != nil:
		return p.Sequence.meanSize()
	case p.Source != nil:
		return 0, 1
	}
	sum := new(big.Rat)
	for _, s := range p.Order {
		sum.Add(sum, p.Streams[s].meanSize())
	}
	sum.Quo(sum, big.NewRat(int64(max(1, len(p.Order))), 1))
	n, d := sum.Num(), sum.Denom()
	if over := max(n.BitLen(), d.BitLen()) - 64; over > 0 {
		n, d = new(big.Int).Rsh(n, uint(over)), new(big.Int).Rsh(d, uint(over))
	}
	return n.Uint64(), max(1, d.Uint64())
}

// meanSize is the mean over one cycle, or over the range of random sizes.
func (s *Stream) meanSize() *big.Rat {
	const fcs = 4
	sum, n := 0, len(s.Cycle)
	for _, j := range s.Cycle {
		sum += s.Lens[j] + fcs
	}
	if n == 0 {
		n = len(s.Lens)
		for _, l := range s.Lens {
			sum += l + fcs
		}
	}
	return big.NewRat(int64(sum), int64(max(1, n)))
}
