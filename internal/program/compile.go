package program

import (
	"fmt"
	"slices"

	"github.com/wirespeed/wirespeed/internal/packet"
	"github.com/wirespeed/wirespeed/internal/wire"
	"github.com/wirespeed/wirespeed/stream"
)

// Compile makes a program of a stream set. The set must stay unchanged as long as the program is used. An error is one
// sentence that names the stream, what does not go together, and what would.
func Compile(set *stream.Set) (*Program, error) {
	if len(set.Streams) == 0 {
		return nil, fmt.Errorf("there is no stream to send: define at least one")
	}
	order, err := spread(set.Streams)
	if err != nil {
		return nil, err
	}
	p := &Program{Streams: make([]Stream, len(set.Streams)), Order: order}
	for i := range set.Streams {
		c := compiler{in: &set.Streams[i], out: &p.Streams[i]}
		if err := c.compile(); err != nil {
			return nil, fmt.Errorf("stream %q: %w", set.Streams[i].Name, err)
		}
	}
	return p, nil
}

// A compiler makes one stream.
type compiler struct {
	in  *stream.Stream
	out *Stream
	at  []int // offset of each layer
	hdr int   // bytes of all headers
	// tails are the sums of the tails, by length; made when the first is asked for.
	tails []uint16
	fill  []byte // what lies behind the signature in the longest frame
}

func (c *compiler) compile() error {
	c.out.Name, c.out.Set = c.in.Name, c.in
	for _, step := range []func() error{c.sizes, c.layers, c.modifiers} {
		if err := step(); err != nil {
			return err
		}
	}
	c.payload()
	c.heads()
	return c.sums()
}

// layers finds where everything lies, and checks that it goes together.
func (c *compiler) layers() error {
	if err := c.in.Validate(); err != nil {
		return err
	}
	c.at = c.in.Offsets()
	c.hdr = c.at[len(c.in.Layers)]
	form := c.in.Form()
	c.out.Form, c.out.HasTime = form, form == packet.FormFull
	c.out.SigOff = c.hdr
	n := c.hdr + form.Len()
	for _, v := range c.in.Modify {
		n = max(n, c.hdr+(v.Field.Bit+v.Field.Bits+7)/8)
	}
	c.out.HeadLen = min(n+n&1, c.out.Lens[0]) // even, so that containers can end there
	return nil
}

// sizes makes Lens and Cycle.
func (c *compiler) sizes() error {
	s, out := &c.in.Size, c.out
	var sizes []int
	switch {
	case s.Op == stream.SizeRandom && (s.Min > s.Max || s.Max > wire.MaxFrame):
		return fmt.Errorf("random sizes from %d to %d: the smallest comes first, and %d is the largest there is", s.Min, s.Max, wire.MaxFrame)
	case s.Op == stream.SizeRandom:
		out.SizeSeed = s.Seed
		for n := s.Min; n <= s.Max; n++ {
			sizes = append(sizes, n)
		}
	default:
		sizes = slices.Clone(s.Cycle)
		slices.Sort(sizes)
		sizes = slices.Compact(sizes)
	}
	if len(sizes) == 0 {
		return fmt.Errorf("it has no frame size: give one, as in size: 64")
	}
	if top := sizes[len(sizes)-1]; top > wire.MaxFrame {
		return fmt.Errorf("size %d is larger than any device takes: %d is the largest", top, wire.MaxFrame)
	}
	for _, n := range sizes {
		out.Lens = append(out.Lens, n-wire.FCS)
	}
	if s.Op == stream.SizeCycle {
		for _, n := range s.Cycle {
			j, _ := slices.BinarySearch(sizes, n)
			out.Cycle = append(out.Cycle, uint16(j))
		}
	}
	return nil
}

// payload makes what lies behind the signature, long enough for the longest frame: its first bytes are part of every head,
// the others are the tail.
func (c *compiler) payload() {
	p := &c.in.Payload
	t := make([]byte, c.out.Lens[len(c.out.Lens)-1]-c.hdr-c.out.Form.Len())
	for j := range t {
		switch p.Fill {
		case stream.FillByte:
			t[j] = p.Byte
		case stream.FillInc:
			t[j] = byte(j)
		case stream.FillRandom:
			t[j] = byte(SplitMix64(p.Seed, uint64(j/8)) >> (56 - 8*(j%8)))
		case stream.FillData:
			if len(p.Data) > 0 {
				t[j] = p.Data[j%len(p.Data)]
			}
		}
	}
	c.fill = t
	c.out.Tail = t[c.out.HeadLen-c.hdr-c.out.Form.Len():]
}

// LenIndex is the index into Lens of the stream's frame k.
func (s *Stream) LenIndex(k uint64) int {
	if n := uint64(len(s.Cycle)); n > 0 {
		return int(s.Cycle[k%n])
	}
	return int(Pick(SplitMix64(s.SizeSeed, k), uint64(len(s.Lens))))
}
