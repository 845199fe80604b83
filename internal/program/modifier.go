package program

import (
	"fmt"
	"math/bits"

	"github.com/wirespeed/wirespeed/internal/packet"
	"github.com/wirespeed/wirespeed/stream"
)

// modifiers makes the flat table of what varies.
func (c *compiler) modifiers() error {
	for i, l := range c.in.Layers {
		for _, v := range l.Fields {
			name := l.Kind.Wireshark(v.Field)
			if err := check(v.Field, v.Value); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
			if _, ok := constant(v.Value); ok {
				continue
			}
			bit := c.at[i]*8 + v.Field.Bit
			if v.Field.Bits <= 64 {
				if err := c.modifier(name, bit, v.Field.Bits, v.Value, half(v.Value.List, false)); err != nil {
					return err
				}
				continue
			}
			low := bit + v.Field.Bits - 64
			if v.Value.Op == stream.List {
				if _, same := sameHi(v.Value.List); !same {
					if err := c.modifier(name, bit, v.Field.Bits-64, v.Value, half(v.Value.List, true)); err != nil {
						return err
					}
				}
			}
			if err := c.modifier(name, low, 64, v.Value, half(v.Value.List, false)); err != nil {
				return err
			}
		}
	}
	return nil
}

// half is the upper or lower half of a list's values.
func half(list []packet.Num, upper bool) []uint64 {
	var r []uint64
	for _, n := range list {
		if upper {
			r = append(r, n.Hi)
		} else {
			r = append(r, n.Lo)
		}
	}
	return r
}

// modifier adds a row for width bits from bit on.
func (c *compiler) modifier(name string, bit, width int, v stream.Value, list []uint64) error {
	m := Modifier{Name: name, Op: v.Op, List: list, Start: v.Start.Lo, Step: v.Step.Lo, Count: v.Count, Seed: v.Seed}
	if v.Op == stream.Rand {
		m.Range = v.Max.Lo - v.Start.Lo + 1
	}
	// The smallest container that holds the bits, begins at an even offset and ends within the head.
	for m.Width = 2; m.Width <= 8; m.Width *= 2 {
		m.Off = min(bit/8, c.out.HeadLen-m.Width) &^ 1
		if m.Off >= 0 && (m.Off+m.Width)*8 >= bit+width {
			break
		}
	}
	if m.Width > 8 {
		return fmt.Errorf("%s cannot vary: its bits lie across more than eight bytes", name)
	}
	m.Shift = uint((m.Off+m.Width)*8 - bit - width)
	m.Whole = width == m.Width*8
	c.out.Mods = append(c.out.Mods, m)
	return nil
}

// check says whether every value of v fits the field.
func check(f *packet.Field, v stream.Value) error {
	limit := f.Max()
	tooBig := func(n packet.Num) error {
		return fmt.Errorf("%s does not fit: the field has %d bits, 0 to %s", packet.FormatNum(f, n), f.Bits, packet.FormatNum(f, limit))
	}
	if limit.Less(v.Start) {
		return tooBig(v.Start)
	}
	switch v.Op {
	case stream.Inc, stream.Dec:
		return checkSteps(f, v)
	case stream.Rand:
		if limit.Less(v.Max) {
			return tooBig(v.Max)
		}
		n := v.Max.Lo - v.Start.Lo + 1
		switch {
		case v.Max.Less(v.Start):
			return fmt.Errorf("rand from %s to %s: the smallest comes first", packet.FormatNum(f, v.Start), packet.FormatNum(f, v.Max))
		case v.Max.Hi != v.Start.Hi:
			return fmt.Errorf("rand changes the low 64 bits only: give two values with the same upper 64")
		case n-1 >= 1<<32 && n&(n-1) != 0:
			return fmt.Errorf("a rand over more than 2^32 values must have a power of two of them, this has %d", n)
		}
	case stream.List:
		if len(v.List) == 0 {
			return fmt.Errorf("the list is empty: give at least one value")
		}
		for _, n := range v.List {
			if limit.Less(n) {
				return tooBig(n)
			}
		}
	}
	return nil
}

func checkSteps(f *packet.Field, v stream.Value) error {
	if v.Count == 0 {
		return fmt.Errorf("a count of 0 has no first value: give 1 or more")
	}
	if v.Step.Hi != 0 {
		return fmt.Errorf("the step has more than 64 bits")
	}
	over, way := bits.Mul64(v.Step.Lo, v.Count-1)
	var carry uint64
	if v.Op == stream.Inc {
		_, carry = bits.Add64(v.Start.Lo, way, 0)
		if f.Bits < 64 && v.Start.Lo+way > f.Max().Lo {
			carry = 1
		}
	} else {
		_, carry = bits.Sub64(v.Start.Lo, way, 0)
	}
	if over != 0 || carry != 0 {
		return fmt.Errorf("%d steps of %d from %s run out of the field's low %d bits: use a smaller count or step",
			v.Count-1, v.Step.Lo, packet.FormatNum(f, v.Start), min(f.Bits, 64))
	}
	return nil
}

// Value is the modifier's value in the stream's frame k, not shifted.
func (m *Modifier) Value(k uint64) uint64 {
	switch m.Op {
	case stream.Inc:
		return m.Start + m.Step*(k%m.Count)
	case stream.Dec:
		return m.Start - m.Step*(k%m.Count)
	case stream.Rand:
		return m.Start + Pick(SplitMix64(m.Seed, k), m.Range)
	case stream.List:
		return m.List[k%uint64(len(m.List))]
	default:
		return m.Start
	}
}
