package wire

import (
	"math/big"
	"time"
)

// ethernetHeader is the bytes of a frame outside its layer 3 packet, with FCS and without VLAN tags.
const ethernetHeader = 14 + FCS

// VLANTag is the bytes that one VLAN tag takes.
const VLANTag = 4

// Layers are the bit rates of one flow of frames, each with its own idea of what a frame is. They differ by up to a
// factor of two for small frames, so they are always shown together, named.
type Layers struct {
	FPS        float64 // frames/s
	L1Bps      float64 // bit/s with preamble, start of frame delimiter and gap
	L2Bps      float64 // bit/s of frames with FCS
	L2NoFCSBps float64 // bit/s of frames without FCS: what the kernel's own counters mean by bytes
	L3Bps      float64 // bit/s of packets, from the network header on, padding included
}

// LayersAt is what f frames per second of meanNum/meanDen bytes (with FCS) on average, with tags VLAN tags each, amount to.
func LayersAt(f FPS, meanNum, meanDen uint64, tags int) Layers {
	return layers(f.rat(), rat(meanNum, max(meanDen, 1)), tags)
}

// LayersMeasured is what frames of bytes in all (with FCS) in the time d amount to; zero where d is not above 0.
func LayersMeasured(frames, bytes uint64, d time.Duration, tags int) Layers {
	if d <= 0 || frames == 0 {
		return Layers{}
	}
	perSecond := rat(nsPerSecond, uint64(d))
	return layers(perSecond.Mul(perSecond, rat(frames, 1)), rat(bytes, frames), tags)
}

// LineShare is the occupied part of a link of linkBps bit/s, 0 to 1: L1 by definition. linkBps must not be 0.
func (l Layers) LineShare(linkBps uint64) float64 { return l.L1Bps / float64(linkBps) }

// L2LineShare is the same counted without preamble and gap, as some analysers do: at most 0.762 for 64-byte frames.
func (l Layers) L2LineShare(linkBps uint64) float64 { return l.L2Bps / float64(linkBps) }

func layers(fps, mean *big.Rat, tags int) Layers {
	bps := func(extra int64) float64 {
		size := new(big.Rat).Add(mean, new(big.Rat).SetInt64(extra))
		if size.Sign() < 0 {
			return 0
		}
		v, _ := scale(size.Mul(size, fps), 8).Float64()
		return v
	}
	n, _ := fps.Float64()
	return Layers{
		FPS:        n,
		L1Bps:      bps(Overhead),
		L2Bps:      bps(0),
		L2NoFCSBps: bps(-FCS),
		L3Bps:      bps(-int64(ethernetHeader + VLANTag*tags)),
	}
}
