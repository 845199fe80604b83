package program

import (
	"github.com/wirespeed/wirespeed/internal/packet"
	"github.com/wirespeed/wirespeed/stream"
)

// A window is up to 64 neighbouring bits of a field that vary together: low bits of the field are behind it. row says how
// they vary, not where they are.
type window struct {
	low, width int
	row        Modifier
}

// windows takes a value apart into what 64 bits can count; none where it is the same in every frame.
func windows(f *packet.Field, v stream.Value) []window {
	if _, same := v.Constant(); same {
		return nil
	}
	switch v.Op {
	case stream.Rand:
		return randWindows(f, v)
	case stream.List:
		return listWindows(f, v.List)
	}
	low, ok := v.Window()
	if !ok {
		// A carry runs through more than 64 bits: the values are written out.
		all := make([]packet.Num, v.Count)
		for k := range all {
			all[k] = v.At(uint64(k))
		}
		return listWindows(f, all)
	}
	return []window{{low, min(64, f.Bits-low), Modifier{Op: v.Op, Start: v.Start.Right(low).Lo, Step: v.Step.Right(low).Lo, Count: v.Count}}}
}

func randWindows(f *packet.Field, v stream.Value) []window {
	low := window{0, min(64, f.Bits), Modifier{Op: stream.Rand, Start: v.Start.Lo, Range: v.Max.Lo - v.Start.Lo + 1, Seed: v.Seed}}
	if v.Start.Hi == v.Max.Hi {
		return []window{low}
	}
	high := Modifier{Op: stream.Rand, Start: v.Start.Hi, Range: v.Max.Hi - v.Start.Hi + 1, Seed: ^v.Seed}
	return []window{{64, f.Bits - 64, high}, low}
}

// listWindows leaves out a half that is the same in all values.
func listWindows(f *packet.Field, list []packet.Num) []window {
	var high, low []uint64
	sameHigh, sameLow := true, true
	for _, n := range list {
		high, low = append(high, n.Hi), append(low, n.Lo)
		sameHigh, sameLow = sameHigh && n.Hi == list[0].Hi, sameLow && n.Lo == list[0].Lo
	}
	var out []window
	if !sameHigh {
		out = append(out, window{64, f.Bits - 64, Modifier{Op: stream.List, List: high}})
	}
	if !sameLow {
		out = append(out, window{0, min(64, f.Bits), Modifier{Op: stream.List, List: low}})
	}
	return out
}

// constantBits is the part of a value that is the same in every frame; the bits that vary are zero.
func constantBits(f *packet.Field, v stream.Value) packet.Num {
	n := v.At(0)
	for _, w := range windows(f, v) {
		n = n.Clear(w.low, w.width)
	}
	return n
}
