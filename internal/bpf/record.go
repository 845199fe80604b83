package bpf

import (
	"github.com/wirespeed/wirespeed/internal/engine"
	"github.com/wirespeed/wirespeed/internal/packet"
)

// Record is what the analyser keeps of one stream id, as it lies in the map (struct stream of analyse.bpf.c). Counts mean
// what the fields of engine.StreamReceived mean; times are CLOCK_MONOTONIC ns.
type Record struct {
	Lock, Form                                  uint32
	Base, Next                                  uint64
	Frames, Bytes                               uint64
	FirstNs, LastNs                             uint64 // 0: no frame with a stamp yet
	Duplicate, Reordered, Late, Corrupt, BadSeq uint64
	LostFirst                                   uint64 // as of engine.StreamReceived
	LastSeen, LastSeq                           uint64
	GapInside                                   uint64
	Latency, Gap                                engine.Histogram
	Window                                      [engine.WindowSize / 32]uint64
}

// CPU is what the analyser keeps of one CPU, as it lies in the map (struct cpu).
type CPU struct {
	Frames                    uint64 // of the run, not those of bad streams
	OtherBytes                uint64 // of those frames that are in no Record's Bytes
	Foreign, Stale, BadStream uint64
	GivenUp                   uint64 // not counted: another CPU never let go of the stream
	Now, GroupStamp, Left     uint64
}

// seen says whether anything of the stream arrived.
func (r *Record) seen() bool {
	return r.Frames|r.Duplicate|r.Late|r.Corrupt|r.BadSeq != 0
}

// decode makes the counts of the stream. Histograms of which nothing was recorded are left out; gapRef is the reference
// that the program took the gaps' squares around.
func (r *Record) decode(id uint16, gapRef uint64) engine.StreamReceived {
	s := engine.StreamReceived{
		ID: id, Form: packet.Form(r.Form),
		Frames: r.Frames, Duplicate: r.Duplicate, Reordered: r.Reordered, Late: r.Late, Corrupt: r.Corrupt, BadSeq: r.BadSeq,
		LostFirst: r.LostFirst, Bytes: r.Bytes, Next: r.Next, LastSeen: r.LastSeen != 0, LastSeq: r.LastSeq, GapInside: r.GapInside,
	}
	if r.Latency.Count|r.Latency.Negative != 0 {
		h := r.Latency
		s.Latency = &h
	}
	if r.Gap.Count != 0 {
		h := r.Gap
		h.Ref = gapRef
		s.Gap = &h
	}
	return s
}
