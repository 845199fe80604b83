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
}

func (c *compiler) compile() error {
	c.out.Name, c.out.Set = c.in.Name, c.in
	for _, step := range []func() error{c.layers, c.sizes, c.signature, c.modifiers} {
		if err := step(); err != nil {
			return err
		}
	}
	c.heads()
	c.payload()
	return c.sums()
}

// layers finds the offset of each layer and checks that the stack and its fields go together.
func (c *compiler) layers() error {
	if len(c.in.Layers) == 0 {
		return fmt.Errorf("it has no layers: begin with eth")
	}
	below := ""
	for i, l := range c.in.Layers {
		switch follows := l.Kind.Follows; {
		case i == 0 && !l.Kind.Outermost:
			return fmt.Errorf("layer %s cannot be the outermost: begin with eth", l.Kind.Name)
		case i > 0 && !slices.Contains(follows, below):
			return fmt.Errorf("layer %s cannot stand behind %s", l.Kind.Name, below)
		}
		c.at = append(c.at, c.hdr)
		c.hdr += l.Kind.Len
		below = l.Kind.Name
		if l.Kind.Checksum != nil && l.Kind.Checksum.Pseudo != 0 {
			c.out.L4 = l.Kind.Checksum.Pseudo
		}
	}
	return c.overlaps()
}

// overlaps refuses two given fields that share bits, also of neighbours: a tag's tpid is the EtherType of the layer below.
func (c *compiler) overlaps() error {
	taken := make([]string, c.hdr*8)
	for i, l := range c.in.Layers {
		for _, v := range l.Fields {
			name := l.Kind.Wireshark(v.Field)
			for bit := range v.Field.Bits {
				at := &taken[c.at[i]*8+v.Field.Bit+bit]
				if *at != "" {
					return fmt.Errorf("%s and %s share bits: give one of them", *at, name)
				}
				*at = name
			}
		}
	}
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
	if low := c.hdr + wire.FCS; sizes[0] < low {
		return fmt.Errorf("size %d is smaller than its headers: %d bytes and 4 of FCS need a size of at least %d", sizes[0], c.hdr, max(low, wire.MinFrame))
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

// signature chooses the form: the largest that fits the smallest frame where none was asked for.
func (c *compiler) signature() error {
	room := c.out.Lens[0] - c.hdr
	form := packet.FormNone
	switch c.in.Signature {
	case "none":
	case "full":
		form = packet.FormFull
	case "short":
		form = packet.FormShort
	case "":
		if room >= packet.FullLen {
			form = packet.FormFull
		} else if room >= packet.ShortLen {
			form = packet.FormShort
		}
	default:
		return fmt.Errorf("signature %q is none of full, short, none", c.in.Signature)
	}
	if form.Len() > room {
		return fmt.Errorf("signature %s needs frames of at least %d bytes behind these headers, the smallest has %d: use a larger size or signature none",
			c.in.Signature, c.hdr+form.Len()+wire.FCS, c.out.Lens[0]+wire.FCS)
	}
	c.out.Form, c.out.HasTime = form, form == packet.FormFull
	c.out.SigOff = c.hdr
	return c.headLen()
}

// headLen makes the head reach over the last payload field, and to an even length, where containers can end.
func (c *compiler) headLen() error {
	n, have := c.hdr+c.out.Form.Len(), c.out.Lens[0]
	for _, v := range c.in.Modify {
		from, to := c.hdr+v.Field.Bit/8, c.hdr+(v.Field.Bit+v.Field.Bits+7)/8
		switch {
		case from < c.out.SigOff+c.out.Form.Len():
			return fmt.Errorf("%s lies in the signature, the payload's first %d bytes: begin at offset %d, or use a shorter signature or none", v.Field.Name, c.out.Form.Len(), c.out.Form.Len())
		case to > have:
			return fmt.Errorf("%s ends %d bytes behind the smallest frame of %d bytes: use a size of at least %d", v.Field.Name, to-have, have+wire.FCS, to+wire.FCS)
		}
		n = max(n, to)
	}
	c.out.HeadLen = min(n+n&1, have)
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
	at := c.hdr + c.out.Form.Len()
	for _, h := range c.out.Heads {
		copy(h[at:], t)
		for _, v := range c.in.Modify {
			v.Field.Put(h, c.hdr, constantBits(v.Field, v.Value))
		}
	}
	c.out.Tail = t[c.out.HeadLen-at:]
}

// LenIndex is the index into Lens of the stream's frame k.
func (s *Stream) LenIndex(k uint64) int {
	if n := uint64(len(s.Cycle)); n > 0 {
		return int(s.Cycle[k%n])
	}
	return int(Pick(SplitMix64(s.SizeSeed, k), uint64(len(s.Lens))))
}
