package pcapio

import (
	"context"
	"errors"
	"io"

	"github.com/wirespeed/wirespeed/internal/wire"
)

// A Summary is what a capture holds and what of it could be sent. Pointers are nil where something is not known; Reasons
// says why, by the field's name.
type Summary struct {
	File             string             `json:"file"`
	Format           string             `json:"format"`     // pcap, pcapng
	Compressed       bool               `json:"compressed"` // by gzip
	ByteOrder        string             `json:"byte_order"` // little, big, mixed
	Sections         int                `json:"sections"`
	Interfaces       []InterfaceSummary `json:"interfaces"`
	MoreInterfaces   int                `json:"more_interfaces"` // that are left out of the list
	OtherBlocks      uint64             `json:"other_blocks"`    // without packets, of pcapng
	Packets          uint64             `json:"packets"`
	OriginalBytes    uint64             `json:"original_bytes"` // that the packets had, as the capture says
	CapturedBytes    uint64             `json:"captured_bytes"` // of these, that are in the capture
	FirstNs          *int64             `json:"first_ns"`       // since 1970, the earliest time
	LastNs           *int64             `json:"last_ns"`        // the latest one
	SpanNs           *uint64            `json:"span_ns"`
	Untimed          uint64             `json:"untimed"`        // packets without a time
	Backwards        uint64             `json:"backwards"`      // packets whose time is before that of the one before
	LongestGapNs     *uint64            `json:"longest_gap_ns"` // between neighbours
	LongestGapBefore uint64             `json:"longest_gap_before_packet"`
	Frames           *Sizes             `json:"frames"` // of the Ethernet frames
	Sendable         uint64             `json:"sendable"`
	Unsendable       []Unsendable       `json:"unsendable"`
	Damage           *DamageSummary     `json:"damage"`
	Reasons          map[string]string  `json:"reasons,omitempty"`

	// What is counted while packets come.
	last              int64
	timed             bool
	first, latest     int64
	gap               uint64
	frames            uint64
	frameBytes        uint64
	smallest, longest int
	classes           [len(classEnds)]uint64
	unsendable        [reasons]Unsendable
	judge             Options
}

// An InterfaceSummary is one interface of a capture.
type InterfaceSummary struct {
	Section        int     `json:"section"`
	Index          int     `json:"index"`
	Name           string  `json:"name,omitempty"`
	Description    string  `json:"description,omitempty"`
	Filter         string  `json:"filter,omitempty"`
	LinkType       string  `json:"link_type"`
	LinkTypeNumber uint32  `json:"link_type_number"`
	SnapLenBytes   uint32  `json:"snaplen_bytes"` // 0: unlimited
	TicksPerSecond uint64  `json:"ticks_per_second"`
	OffsetS        int64   `json:"offset_s"`
	FCSBytes       int     `json:"fcs_bytes"` // that every packet ends with
	Packets        uint64  `json:"packets"`
	Received       *uint64 `json:"received"` // as the capture says; null: it does not
	Dropped        *uint64 `json:"dropped"`
}

// Sizes are those of Ethernet frames, in bytes with FCS, as they were on the wire.
type Sizes struct {
	Frames    uint64  `json:"frames"`
	Bytes     uint64  `json:"bytes"`
	MinBytes  int     `json:"min_bytes"`
	MeanBytes float64 `json:"mean_bytes"`
	MaxBytes  int     `json:"max_bytes"`
	Histogram []Class `json:"histogram"`
}

// A Class is a range of sizes; MaxBytes is nil in the last one.
type Class struct {
	MinBytes int    `json:"min_bytes"`
	MaxBytes *int   `json:"max_bytes"`
	Frames   uint64 `json:"frames"`
}

// Unsendable are packets that cannot be sent for one reason.
type Unsendable struct {
	Reason  string    `json:"reason"`
	Packets uint64    `json:"packets"`
	First   []Example `json:"first"`
	Mend    string    `json:"mend"`
}

// An Example is one of them.
type Example struct {
	Packet        uint64 `json:"packet"`
	LinkType      string `json:"link_type"`
	SizeBytes     *int   `json:"size_bytes"`     // of an Ethernet frame, with FCS; null: it is none
	OriginalBytes int    `json:"original_bytes"` // without FCS
	CapturedBytes int    `json:"captured_bytes"` // without FCS
	// Problem is why an Ethernet header before the packet makes no frame of it; empty where none was asked for, or it would.
	Problem string `json:"problem,omitempty"`
}

// DamageSummary is where the capture cannot be read on.
type DamageSummary struct {
	OffsetBytes int64  `json:"offset_bytes"`
	AfterPacket uint64 `json:"after_packet"`
	Cut         bool   `json:"cut"`
	Message     string `json:"message"`
}

// maxExamples is how many packets are named for each reason.
const maxExamples = 10

// classEnds are the largest sizes of the classes, those of RFC 2819; 0: no end.
var classEnds = [...]int{wire.MinFrame - 1, 64, 127, 255, 511, 1023, 1518, 0}

// Summarise reads a capture to its end. A capture that is damaged has a summary of what is before; other errors come from
// what it is read from, and from ctx.
func Summarise(ctx context.Context, name string, r *Reader, judge Options) (*Summary, error) {
	s := &Summary{File: name, Format: r.format.String(), Compressed: r.gzip, judge: judge}
	var p Packet
	for {
		err := r.Next(&p)
		if err == nil {
			if s.add(&p); s.Packets&0xffff == 0 && ctx.Err() != nil {
				return nil, ctx.Err()
			}
			continue
		}
		if d, ok := errors.AsType[*Damage](err); ok {
			s.Damage = &DamageSummary{OffsetBytes: d.Offset, AfterPacket: d.After, Cut: d.Cut, Message: d.Error()}
		} else if err != io.EOF {
			return nil, err
		}
		s.finish(r)
		return s, nil
	}
}

// add counts a packet.
func (s *Summary) add(p *Packet) {
	s.Packets++
	s.OriginalBytes += uint64(p.Orig)
	s.CapturedBytes += uint64(len(p.Data))
	if !p.HasTime {
		s.Untimed++
	} else {
		s.at(p)
	}
	if p.Link == LinkEthernet {
		s.frame(p.FrameLen() + wire.FCS)
	}
	if reason := Judge(p, s.judge); reason != 0 {
		s.unsent(p, reason)
	}
}

func (s *Summary) at(p *Packet) {
	t := p.TimeNs
	switch {
	case !s.timed:
		s.timed, s.first, s.latest = true, t, t
	case t < s.last:
		s.Backwards++
		s.first = min(s.first, t)
	default:
		if gap := uint64(t) - uint64(s.last); gap > s.gap {
			s.gap, s.LongestGapBefore = gap, p.Number
		}
		s.latest = max(s.latest, t)
	}
	s.last = t
}

func (s *Summary) frame(size int) {
	if s.frames == 0 {
		s.smallest = size
	}
	s.frames++
	s.frameBytes += uint64(size)
	s.smallest, s.longest = min(s.smallest, size), max(s.longest, size)
	class := 0
	for class < len(classEnds)-1 && size > classEnds[class] {
		class++
	}
	s.classes[class]++
}

func (s *Summary) unsent(p *Packet, reason Reason) {
	u := &s.unsendable[reason]
	if u.Packets++; len(u.First) == maxExamples {
		return
	}
	e := Example{Packet: p.Number, LinkType: p.Link.String(), OriginalBytes: p.FrameLen(), CapturedBytes: len(p.Frame())}
	if reason == LinkTypeReason && s.judge.L2 {
		e.Problem = p.LinkProblem()
	}
	if p.Link == LinkEthernet {
		size := e.OriginalBytes + wire.FCS
		e.SizeBytes = &size
	}
	u.First = append(u.First, e)
}

// finish fills in what is known at the end.
func (s *Summary) finish(r *Reader) {
	s.Sections, s.MoreInterfaces, s.OtherBlocks = r.sections, r.dropped, r.skipped
	s.ByteOrder = r.ByteOrder()
	s.Reasons = map[string]string{}
	s.Interfaces = []InterfaceSummary{}
	for _, i := range r.Interfaces() {
		s.Interfaces = append(s.Interfaces, i.summary())
		for name, known := range map[string]bool{"interfaces[].received": i.HasReceived, "interfaces[].dropped": i.HasDropped} {
			if !known {
				s.Reasons[name] = "the capture does not say"
			}
		}
	}
	if s.timed {
		span := uint64(s.latest) - uint64(s.first)
		s.FirstNs, s.LastNs, s.SpanNs, s.LongestGapNs = &s.first, &s.latest, &span, &s.gap
	} else {
		for _, name := range []string{"first_ns", "last_ns", "span_ns", "longest_gap_ns"} {
			s.Reasons[name] = "no packet has a time"
		}
	}
	if s.frames > 0 {
		s.Frames = s.sizes()
	} else {
		s.Reasons["frames"] = "no packet is an Ethernet frame"
	}
	s.Sendable, s.Unsendable = s.Packets, []Unsendable{}
	for reason := Reason(1); reason < reasons; reason++ {
		if u := s.unsendable[reason]; u.Packets > 0 {
			u.Reason, u.Mend = reason.String(), reason.Mend(s.judge)
			s.Unsendable = append(s.Unsendable, u)
			s.Sendable -= u.Packets
		}
	}
}

func (s *Summary) sizes() *Sizes {
	out := &Sizes{Frames: s.frames, Bytes: s.frameBytes, MinBytes: s.smallest, MeanBytes: float64(s.frameBytes) / float64(s.frames), MaxBytes: s.longest}
	from := 0
	for i, n := range s.classes {
		c := Class{MinBytes: from, Frames: n}
		if end := classEnds[i]; end != 0 {
			c.MaxBytes = &end
			from = end + 1
		}
		out.Histogram = append(out.Histogram, c)
	}
	return out
}

func (i *Interface) summary() InterfaceSummary {
	out := InterfaceSummary{Section: i.Section, Index: i.Index, Name: i.Name, Description: i.Description, Filter: i.Filter, LinkType: i.Link.String(),
		LinkTypeNumber: uint32(i.Link), SnapLenBytes: i.SnapLen, TicksPerSecond: i.TicksPerSecond, OffsetS: i.OffsetS, FCSBytes: i.FCSLen, Packets: i.Packets}
	if i.HasReceived {
		out.Received = &i.Received
	}
	if i.HasDropped {
		out.Dropped = &i.Dropped
	}
	return out
}
