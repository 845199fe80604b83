package program

import (
	"fmt"

	"github.com/wirespeed/wirespeed/internal/packet"
	"github.com/wirespeed/wirespeed/stream"
)

// modifiers makes the flat table of what varies: in the headers, then in the payload.
func (c *compiler) modifiers() error {
	for i, l := range c.in.Layers {
		for _, v := range l.Fields {
			if err := c.vary(l.Kind.Wireshark(v.Field), c.at[i]*8, v.Field, v.Value); err != nil {
				return err
			}
		}
	}
	for _, v := range c.in.Modify {
		if err := c.vary(v.Field.Name, c.hdr*8, v.Field, v.Value); err != nil {
			return err
		}
	}
	return nil
}

// vary adds the rows of one field; at is the bit where its header begins.
func (c *compiler) vary(name string, at int, f *packet.Field, v stream.Value) error {
	for _, w := range windows(f, v) {
		w.row.Name = name
		if err := c.rows(w.row, at+f.Bit+f.Bits-w.low-w.width, w.width); err != nil {
			return err
		}
	}
	return nil
}

// rows adds the rows for width bits from bit on, of which row says all but the place. Where no container holds them whole,
// the first holds as many as eight bytes can, and another the rest.
func (c *compiler) rows(row Modifier, bit, width int) error {
	for left := width; left > 0; {
		m, n := row, left
		var ok bool
		if m.Off, m.Width, ok = c.container(bit, n); !ok {
			m.Off, m.Width = bit/8&^1, 8
			n = (m.Off+m.Width)*8 - bit
			if n >= left { // what stands in the way is the end of the head
				return fmt.Errorf("%s cannot vary: it lies in the last byte of frames of odd length; use a larger smallest size", row.Name)
			}
		}
		left -= n
		m.Shift = uint((m.Off+m.Width)*8 - bit - n)
		m.Whole = n == m.Width*8
		if n < width {
			m.Right, m.Mask = uint(left), packet.MaxNum(n).Lo
		}
		bit += n
		c.out.Mods = append(c.out.Mods, m)
	}
	return nil
}

// container is the smallest that holds the bits, begins at an even offset and ends within the head.
func (c *compiler) container(bit, width int) (off, size int, ok bool) {
	for size = 2; size <= 8; size *= 2 {
		off = min(bit/8, c.out.HeadLen-size) &^ 1
		if off >= 0 && (off+size)*8 >= bit+width {
			return off, size, true
		}
	}
	return 0, 0, false
}

// Value is the modifier's value in the stream's frame k, not cut and not shifted.
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

// Bits are the bits that the modifier puts into its container in the stream's frame k, in their place.
func (m *Modifier) Bits(k uint64) uint64 { return m.place(m.Value(k)) }

// place cuts a value and shifts it to its place in the container.
func (m *Modifier) place(v uint64) uint64 {
	if m.Mask != 0 {
		v = v >> m.Right & m.Mask
	}
	return v << m.Shift
}
