package replay

import (
	"fmt"

	"github.com/wirespeed/wirespeed/internal/packet"
	"github.com/wirespeed/wirespeed/internal/pcapio"
	"github.com/wirespeed/wirespeed/internal/program"
	"github.com/wirespeed/wirespeed/internal/wire"
	"github.com/wirespeed/wirespeed/stream"
)

// A maker makes a frame of each packet. It is used by one goroutine; what it returns is valid until it makes the next one.
type maker struct {
	replay *stream.Replay
	limits Limits
	judge  pcapio.Options
	form   packet.Form
	edits  []edit
	vlan   *stream.Value
	maps   []stream.PrefixMap
	hits   []uint64 // addresses that each map has changed

	facts  *Facts
	timing timing
	layout packet.Layout
	covers []cover
	buf    []byte
}

// room is what one frame may need while it is made: the largest there is, an Ethernet header and a tag more.
const room = wire.MaxFrame + 64

// minNoFCS and fcs turn sizes with FCS into lengths in memory.
const (
	fcs      = wire.FCS
	minNoFCS = wire.MinFrame - wire.FCS
)

func newMaker(r *stream.Replay, l Limits, f *Facts) (*maker, error) {
	edits, vlan, err := compileEdits(r.Edits)
	if err != nil {
		return nil, err
	}
	m := &maker{replay: r, limits: l, edits: edits, vlan: vlan, maps: r.Maps, hits: make([]uint64, len(r.Maps)), facts: f,
		timing: newTiming(r, f), covers: make([]cover, 0, packet.MaxStack), buf: make([]byte, room)}
	m.judge = pcapio.Options{Pad: r.Pad != stream.PadNone, L2: r.L2 != nil}
	switch r.Signature {
	case "full":
		m.form = packet.FormFull
	case "short":
		m.form = packet.FormShort
	}
	return m, nil
}

// make makes the frame of a packet and says when it is due. It is nil where the packet cannot be sent, which is counted.
func (m *maker) make(p *pcapio.Packet, f *program.SequenceFrame) []byte {
	m.facts.Packets++
	if reason := pcapio.Judge(p, m.judge); reason != 0 {
		m.facts.skip(reason.String(), p.Number, reason.Mend(m.judge), func() string { return m.detail(p, reason) })
		return nil
	}
	b, padded := m.ethernet(p)
	if m.replay.Untag {
		b = untag(b)
	}
	if m.vlan != nil {
		b = tag(b, uint16(valueAt(m.vlan, p.Number-1).Lo))
	}
	if len(b) < minNoFCS {
		if m.replay.Pad == stream.PadNone {
			m.facts.skip(pcapio.BelowMinimum.String(), p.Number, pcapio.BelowMinimum.Mend(m.judge), func() string {
				return fmt.Sprintf("%d bytes with FCS, and Ethernet has at least %d", len(b)+fcs, wire.MinFrame)
			})
			return nil
		}
		b, padded = m.pad(b, minNoFCS, p.Number), true
	}
	if most := m.limits.most(b); len(b)+fcs > most {
		m.facts.skip(pcapio.TooLong.String(), p.Number, pcapio.TooLong.Mend(m.judge), func() string {
			return m.limits.tooLong(len(b)+fcs, most)
		})
		return nil
	}
	m.layout.Walk(b) // a frame that ends in its tags has no more than what was found until there
	if why := m.rewrite(b, p.Number-1); why != "" {
		m.facts.skip("edit_refused", p.Number, "leave the edit out for such frames", func() string { return why })
		return nil
	}
	*f = program.SequenceFrame{Len: uint16(len(b)), Due: m.timing.next(p.TimeNs, p.HasTime, p.Number), Stream: unsigned}
	if m.sign(b, f) {
		f.Stream = signed
	}
	m.note(b, f, padded)
	return b
}

// The entries of Program.Streams before those that have no frames are taken out.
const (
	signed = iota
	unsigned
)

// rewrite applies maps and edits to the frame with index k of the capture.
func (m *maker) rewrite(b []byte, k uint64) (why string) {
	if len(m.edits) == 0 && len(m.maps) == 0 {
		return ""
	}
	m.findCovers(b)
	if len(m.maps) > 0 {
		if why := m.mapped(b); why != "" {
			return why
		}
	}
	for i := range m.edits {
		if why := m.apply(&m.edits[i], b, k); why != "" {
			return fmt.Sprintf("--%s: %s", flagName(m.edits[i].flag), why)
		}
	}
	return ""
}

// pad fills the frame up to n bytes.
func (m *maker) pad(b []byte, n int, number uint64) []byte {
	from := len(b)
	b = b[:n]
	fill := b[from:]
	if m.replay.Pad != stream.PadRandom {
		clear(fill)
		return b
	}
	for i := range fill {
		fill[i] = byte(program.SplitMix64(number, uint64(i/8)) >> (56 - 8*(i%8)))
	}
	return b
}

// note counts the frame.
func (m *maker) note(b []byte, f *program.SequenceFrame, padded bool) {
	n := &m.facts.Frames
	*n++
	size := len(b) + fcs
	if *n == 1 || size < m.facts.Smallest {
		m.facts.Smallest = size
	}
	m.facts.Largest = max(m.facts.Largest, size)
	m.facts.Bytes += uint64(size)
	m.facts.Span = f.Due
	m.facts.VLANs = max(m.facts.VLANs, m.layout.VLANs)
	if padded {
		m.facts.Padded++
	}
	if m.lastHop(b) {
		m.facts.LastHop++
	}
	if f.Stream == signed {
		m.facts.Signed++
		return
	}
	m.facts.seen([6]byte(b[6:12]), m.layout.EtherType)
}

// lastHop reports whether a router drops the frame for its time to live.
func (m *maker) lastHop(b []byte) bool {
	for i := range m.layout.Stack[:m.layout.Depth] {
		switch h := &m.layout.Stack[i]; h.Kind {
		case packet.HeaderIPv4:
			return b[h.Off+8] <= 1
		case packet.HeaderIPv6:
			return b[h.Off+7] <= 1
		}
	}
	return false
}

// seen keeps what a receiver knows frames without a signature by.
func (f *Facts) seen(src [6]byte, etherType uint16) {
	if n := len(f.SrcMACs); n == 0 || f.SrcMACs[f.lastMAC] != src {
		i, ok := f.macs[src]
		switch {
		case ok:
			f.lastMAC = i
		case n >= maxMACs:
			f.ManyMACs = true
		default:
			if f.macs == nil {
				f.macs = map[[6]byte]int{}
			}
			f.macs[src], f.lastMAC = n, n
			f.SrcMACs = append(f.SrcMACs, src)
		}
	}
	if f.types[etherType>>6]>>(etherType&63)&1 == 0 {
		f.types[etherType>>6] |= 1 << (etherType & 63)
		f.EtherTypes = append(f.EtherTypes, etherType)
	}
}

// finish fills in what is known when the capture ends.
func (m *maker) finish() {
	f := m.facts
	if f.Frames > 1 {
		f.Period = f.Span + f.Span/(f.Frames-1)
	}
	f.Edits, f.Unused = nil, nil
	for i := range m.edits {
		if e := &m.edits[i]; e.missing > 0 {
			f.Edits = append(f.Edits, Missing{e.flag, e.missing})
		}
	}
	for i, n := range m.hits {
		if n == 0 {
			f.Unused = append(f.Unused, m.maps[i].From.String())
		}
	}
}

// valueAt is the value of an edit in frame k.
func valueAt(v *stream.Value, k uint64) packet.Num {
	if v.Op != stream.Rand {
		return v.At(k)
	}
	n := v.Start
	n.Lo += program.Pick(program.SplitMix64(v.Seed, k), v.Max.Lo-v.Start.Lo+1)
	if v.Start.Hi != v.Max.Hi {
		n.Hi += program.Pick(program.SplitMix64(^v.Seed, k), v.Max.Hi-v.Start.Hi+1)
	}
	return n
}
