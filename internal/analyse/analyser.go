package analyse

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"

	"github.com/wirespeed/wirespeed/internal/engine"
	"github.com/wirespeed/wirespeed/internal/packet"
	"github.com/wirespeed/wirespeed/internal/wire"
)

// MaxStreams is how many stream ids one Analyser follows. Each costs about 110 KiB.
const MaxStreams = 4096

// An Analyser counts and judges the frames of one run.
type Analyser struct {
	run        uint8
	runKnown   bool
	any        bool // every id is taken: learning, and none was announced
	signed     bool // signatures are looked for
	streams    []*stream
	byID       []*stream // by id on the wire; as long as the largest announced
	srcMACs    []uint64
	etherTypes []uint16
	gap        gapRange

	frames, bytes, foreign, stale, badStream uint64
	firstNs, lastNs                          int64

	layout packet.Layout // of the frame at hand
}

// gapRange is what counts as "within 5 % of the expected gap".
type gapRange struct{ ref, low, high uint64 }

// stream is one stream id on the wire.
type stream struct {
	seq   sequence
	order *order
	id    uint16
	form  packet.Form

	frames, duplicate, reordered, late, corrupt, badSeq, bytes uint64

	lastSeen     bool
	lastSeq      uint64
	latency, gap engine.Histogram
	variation    variation
	gapInside    uint64
	before       int64 // arrival of the frame before; 0: none yet
}

// New makes an Analyser for what is expected. It refuses more than MaxStreams ids.
func New(e engine.Expect) (*Analyser, error) {
	a := &Analyser{run: e.Run, runKnown: !e.Learn, etherTypes: e.EtherTypes}
	a.gap.low = 1 // nothing is within 5 % of a gap that is not known
	if e.GapNs > 0 {
		a.gap = gapRange{ref: uint64(math.Round(e.GapNs)), low: uint64(math.Ceil(e.GapNs * 0.95)), high: uint64(e.GapNs * 1.05)}
	}
	for _, m := range e.SrcMACs {
		a.srcMACs = append(a.srcMACs, macNumber(m[:]))
	}
	a.any = e.Learn && len(e.Streams) == 0
	if a.any {
		a.byID = make([]*stream, 1<<16)
	}
	for _, s := range e.Streams {
		if s.Form == packet.FormNone {
			continue // matched by its addresses
		}
		if len(a.streams) == MaxStreams {
			return nil, fmt.Errorf("%d stream ids (streams times queues) to receive: at most %d can be told apart; use fewer queues or streams", len(e.Streams), MaxStreams)
		}
		if n := int(s.ID) + 1; n > len(a.byID) {
			a.byID = append(a.byID, make([]*stream, n-len(a.byID))...)
		}
		if a.byID[s.ID] != nil {
			return nil, fmt.Errorf("stream id %d is expected twice", s.ID)
		}
		a.add(s.ID, s.Form, s.First)
	}
	a.signed = a.any || len(a.streams) > 0
	return a, nil
}

func (a *Analyser) add(id uint16, form packet.Form, first uint64) *stream {
	s := &stream{id: id, form: form, order: newOrder(threshold)}
	s.seq.start(first)
	s.gap.Ref = a.gap.ref
	a.streams = append(a.streams, s)
	a.byID[id] = s
	return s
}

// Frame takes one frame as it lies in memory (no FCS, VLAN tags in place) and the CLOCK_MONOTONIC ns of its arrival; 0
// where no clock was read.
func (a *Analyser) Frame(frame []byte, ns int64) {
	if len(a.srcMACs) == 0 && bytes.IndexByte(frame, packet.MagicFull>>8) < 0 { // most of what is not ours: no look at its headers
		a.foreign++
		return
	}
	l := &a.layout
	if !l.Walk(frame) {
		a.foreign++
		return
	}
	if a.signed && !l.Fragment { // a part of a datagram is no frame of the run
		end := l.End
		if l.BadLength { // the signature may lie behind an end that is wrong
			end = len(frame)
		}
		if sig, ok := packet.ParseSignature(frame[l.Payload:end]); ok || sig.Form != packet.FormNone && !intact(frame, l) {
			a.signature(frame, l, &sig, ns)
			return
		}
	}
	if len(a.srcMACs) > 0 && a.matches(frame, l.EtherType) {
		a.ours(frame, ns)
		return
	}
	a.foreign++
}

// signature counts a frame that carries one.
func (a *Analyser) signature(frame []byte, l *packet.Layout, sig *packet.Signature, ns int64) {
	if !a.runKnown {
		a.run, a.runKnown = sig.Run, true
	}
	if sig.Run != a.run {
		a.stale++
		return
	}
	var s *stream
	if int(sig.Stream) < len(a.byID) {
		s = a.byID[sig.Stream]
	}
	if s == nil && a.any && len(a.streams) < MaxStreams && intact(frame, l) {
		s = a.add(sig.Stream, sig.Form, learnedFirst(sig.Seq))
	}
	if s == nil || s.form != sig.Form {
		a.badStream++
		return
	}
	a.ours(frame, ns)
	if !intact(frame, l) {
		s.corrupt++
		return
	}
	s.take(sig, len(frame)+wire.FCS, l.End-l.Payload, ns, &a.gap)
}

// learnedFirst is the first number to be expected of a stream that was not announced: 0, so that what was lost before the
// first arrival counts, unless the stream has run for so long that the distance to 0 would be no number at all.
func learnedFirst(low uint32) uint64 {
	if low >= engine.MaxJump-1 {
		return uint64(low)
	}
	return 0
}

// intact is whether length and L4 checksum are right.
func intact(frame []byte, l *packet.Layout) bool {
	return !l.BadLength && packet.VerifyL4(frame, l)
}

func (a *Analyser) ours(frame []byte, ns int64) {
	a.frames++
	a.bytes += uint64(len(frame) + wire.FCS)
	if ns != 0 {
		if a.firstNs == 0 {
			a.firstNs = ns
		}
		a.lastNs = max(a.lastNs, ns)
	}
}

// matches is whether a frame has a source address and an EtherType of the run.
func (a *Analyser) matches(frame []byte, etherType uint16) bool {
	found := false
	for _, t := range a.etherTypes {
		found = found || t == etherType
	}
	if !found {
		return false
	}
	src := macNumber(frame[6:12])
	for _, m := range a.srcMACs {
		if m == src {
			return true
		}
	}
	return false
}

func macNumber(b []byte) uint64 {
	return uint64(binary.BigEndian.Uint16(b))<<32 | uint64(binary.BigEndian.Uint32(b[2:]))
}

// take counts a whole frame of the stream.
func (s *stream) take(sig *packet.Signature, size, payload int, ns int64, gap *gapRange) {
	seq, what := s.seq.accept(sig.Seq)
	switch what {
	case badNumber:
		s.badSeq++
		return
	case late:
		s.late++
		return
	case duplicate:
		s.duplicate++
		return
	case outOfOrder:
		s.reordered++
	}
	s.frames++
	s.bytes += uint64(size)
	if sig.Flags&packet.FlagLast != 0 {
		s.lastSeen, s.lastSeq = true, seq
	}
	s.order.add(seq, what == inOrder, ns, payload)
	if ns == 0 {
		s.before = 0 // the next gap would be that of two
		return
	}
	if sig.Flags&packet.TimeMask == packet.TimeFrame { // a shared time says nothing of a single frame
		s.variation.add(seq, ns-int64(sig.Time))
	}
	s.times(sig, ns, gap)
}

// times records latency, and the gap to the arrival before: of frames that are counted, in the order of arrival.
func (s *stream) times(sig *packet.Signature, ns int64, gap *gapRange) {
	if sig.Flags&packet.TimeMask != packet.TimeNone {
		if d := ns - int64(sig.Time); d < 0 {
			s.latency.Negative++
		} else {
			s.latency.Record(uint64(d))
		}
	}
	if s.before != 0 && ns >= s.before {
		d := uint64(ns - s.before)
		s.gap.Record(d)
		if gap.low <= d && d <= gap.high {
			s.gapInside++
		}
	}
	s.before = ns
}
