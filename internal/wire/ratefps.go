package wire

import (
	"errors"
	"fmt"
	"math/big"
)

// MaxFPS is the exact number of frames of meanNum/meanDen bytes (with FCS) on average that a link of linkBps bit/s carries
// per second.
func MaxFPS(meanNum, meanDen, linkBps uint64) (FPS, error) {
	return Rate{Kind: RatePercent, Num: 100, Den: 1}.FPSMean(meanNum, meanDen, linkBps)
}

// FPSMean is the exact number of frames per second that the rate means for frames of meanNum/meanDen bytes (with FCS) on
// average, on a link of linkBps bit/s; 0 where the link has no speed. Max gives the zero FPS. A percentage without a link
// speed and a rate above the line are refused with the mend.
func (r Rate) FPSMean(meanNum, meanDen, linkBps uint64) (FPS, error) {
	if meanNum == 0 || meanDen == 0 {
		return FPS{}, errors.New("a rate needs a mean frame size above 0")
	}
	if r.Kind == RateMax {
		return FPS{}, nil
	}
	if r.Num == 0 || r.Den == 0 {
		return FPS{}, errors.New("a rate must be above 0; ask for more, or for max")
	}
	mean := rat(meanNum, meanDen)
	value := rat(r.Num, r.Den)
	var fps *big.Rat
	switch r.Kind {
	case RateFPS:
		fps = value
	case RateL1:
		fps = value.Quo(value, wireBitsMean(mean))
	case RateL2:
		fps = value.Quo(value, scale(mean, 8))
	case RatePercent:
		if linkBps == 0 {
			return FPS{}, fmt.Errorf("rate %s needs a line rate, and the port has none: declare it with ?speed=1G behind the port, or give the rate in pps", r)
		}
		fps = value.Mul(value, rat(linkBps, 100))
		fps.Quo(fps, wireBitsMean(mean))
	case RateGap:
		fps = new(big.Rat).Quo(rat(nsPerSecond, 1), value)
	default:
		return FPS{}, fmt.Errorf("a rate of the unknown kind %d", r.Kind)
	}
	if linkBps != 0 {
		if err := r.checkLine(fps, mean, linkBps); err != nil {
			return FPS{}, err
		}
	}
	f, err := newFPS(fps)
	if err != nil {
		return FPS{}, fmt.Errorf("rate %s: %w", r, err)
	}
	return f, nil
}

// checkLine refuses more frames than the link carries. The line rate in its message is cut, not rounded, to two decimals,
// so that asking for just that is accepted.
func (r Rate) checkLine(fps, mean *big.Rat, linkBps uint64) error {
	line := new(big.Rat).Quo(rat(linkBps, 1), wireBitsMean(mean))
	if fps.Cmp(line) <= 0 {
		return nil
	}
	return fmt.Errorf("rate %s is %s fps, above the line: %s carries at most %s fps with frames of %s bytes; ask for no more than that, for 100%% or for max",
		r, fps.FloatString(2), FormatBitRate(linkBps), cut2(line), mean.FloatString(decimals(mean)))
}

// wireBitsMean is the time on the wire of a frame of mean bytes (with FCS), in bit times: frame, preamble, start of frame
// delimiter and the smallest gap.
func wireBitsMean(mean *big.Rat) *big.Rat {
	return scale(new(big.Rat).Add(mean, rat(Overhead, 1)), 8)
}

// cut2 prints r with two decimals, rounded down.
func cut2(r *big.Rat) string {
	hundred := scale(r, 100)
	whole := new(big.Int).Quo(hundred.Num(), hundred.Denom())
	return new(big.Rat).SetFrac(whole, big.NewInt(100)).FloatString(2)
}

// decimals is how many of at most two decimals r needs.
func decimals(r *big.Rat) int {
	n, _ := r.FloatPrec()
	return min(n, 2)
}
