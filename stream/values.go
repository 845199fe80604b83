package stream

import (
	"errors"
	"fmt"
	"math/big"

	"github.com/wirespeed/wirespeed/internal/packet"
)

// Constant is the value that every frame has, where there is one.
func (v *Value) Constant() (packet.Num, bool) {
	switch v.Op {
	case Fixed:
		return v.Start, true
	case Inc, Dec:
		return v.Start, v.Count == 1 || v.Step == packet.Num{}
	case Rand:
		return v.Start, v.Start == v.Max
	default:
		return v.List[0], len(v.List) == 1
	}
}

// At is the value of Inc, Dec, List and Fixed in the stream's frame k; of Rand it is the smallest.
func (v *Value) At(k uint64) packet.Num {
	switch v.Op {
	case Inc:
		return v.Start.Add(v.Step.Mul(k % v.Count))
	case Dec:
		return v.Start.Sub(v.Step.Mul(k % v.Count))
	case List:
		return v.List[k%uint64(len(v.List))]
	default:
		return v.Start
	}
}

// Window finds 64 neighbouring bits of the field that all steps of an Inc or Dec stay in: low bits are behind them. It is
// false where a carry runs further. Bits at an even place of an address are found before others: they are made in one piece.
func (v *Value) Window() (low int, ok bool) {
	last := v.At(v.Count - 1)
	zeros := v.Step.TrailingZeros()
	for _, low := range [...]int{0, 64, zeros &^ 15, zeros} {
		if low <= min(zeros, 64) && v.Start.Right(low).Hi == last.Right(low).Hi {
			return low, true
		}
	}
	return 0, false
}

// Check says whether every value fits the field and can be made in every engine.
func (v *Value) Check(f *packet.Field) error {
	if bad := v.check(f); bad != nil {
		return errors.New(bad.message + "; " + bad.mend)
	}
	return nil
}

func (v *Value) check(f *packet.Field) *fault {
	switch v.Op {
	case Inc, Dec:
		return firstFault(checkFits(f, v.Start), func() *fault { return v.checkSteps(f) })
	case Rand:
		return firstFault(checkFits(f, v.Start), func() *fault { return checkFits(f, v.Max) }, v.checkRange)
	case List:
		if len(v.List) == 0 || len(v.List) > maxList {
			return &fault{fmt.Sprintf("a list of %d values", len(v.List)), fmt.Sprintf("give 1 to %d", maxList)}
		}
		for _, n := range v.List {
			if bad := checkFits(f, n); bad != nil {
				return bad
			}
		}
		return nil
	default:
		return checkFits(f, v.Start)
	}
}

func firstFault(bad *fault, more ...func() *fault) *fault {
	for _, m := range more {
		if bad != nil {
			return bad
		}
		bad = m()
	}
	return bad
}

func checkFits(f *packet.Field, n packet.Num) *fault {
	if limit := f.Max(); limit.Less(n) {
		return &fault{fmt.Sprintf("%s does not fit", packet.FormatNum(f, n)), fmt.Sprintf("the field has %d bits, 0 to %s", f.Bits, packet.FormatNum(f, limit))}
	}
	return nil
}

func (v *Value) checkSteps(f *packet.Field) *fault {
	if v.Count == 0 {
		return &fault{"a count of 0 has no first value", "give 1 or more"}
	}
	if _, same := v.Constant(); same {
		return nil
	}
	room := bigNum(v.Start)
	if v.Op == Inc {
		room = room.Sub(bigNum(f.Max()), room)
	}
	// How many values fit: room in the direction, divided by the step, and the start itself.
	fits := room.Div(room, bigNum(v.Step))
	fits.Add(fits, big.NewInt(1))
	if fits.Cmp(new(big.Int).SetUint64(v.Count)) < 0 {
		return &fault{fmt.Sprintf("%s leaves the field's %d bits after %s of its %d values", v.Op, f.Bits, fits, v.Count),
			fmt.Sprintf("a count of up to %s fits", fits)}
	}
	if _, ok := v.Window(); !ok && v.Count > maxList {
		return &fault{fmt.Sprintf("a carry of %s runs through more than 64 bits, and it has more than %d values", v.Op, maxList),
			fmt.Sprintf("give a count of up to %d, or a step that ends with as many zero bits as the carry is longer", maxList)}
	}
	return nil
}

// checkRange holds a Rand to what is made from 64-bit numbers: a range of more than 2^64 values is two, its upper half and
// every lower half.
func (v *Value) checkRange() *fault {
	if v.Max.Less(v.Start) {
		return &fault{"the smallest value is above the largest", "write " + modifierForms[Rand]}
	}
	n, what := v.Max.Lo-v.Start.Lo+1, "range"
	if v.Start.Hi != v.Max.Hi {
		if v.Start.Lo != 0 || v.Max.Lo != ^uint64(0) {
			return &fault{"the range crosses the lower 64 bits of the field", "let the upper 64 bits stay as they are, or begin with the lower 64 all zeros and end with all ones"}
		}
		n, what = v.Max.Hi-v.Start.Hi+1, "range of the upper 64 bits"
	}
	if n-1 >= 1<<32 && n&(n-1) != 0 {
		return &fault{fmt.Sprintf("a %s of %d values is wider than 2^32 and no power of two", what, n),
			fmt.Sprintf("a range of 2^%d values works", new(big.Int).SetUint64(n).BitLen()-1)}
	}
	return nil
}

func bigNum(n packet.Num) *big.Int {
	b := new(big.Int).SetUint64(n.Hi)
	return b.Lsh(b, 64).Or(b, new(big.Int).SetUint64(n.Lo))
}
