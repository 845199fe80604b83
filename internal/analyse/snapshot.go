package analyse

import (
	"cmp"
	"slices"

	"github.com/wirespeed/wirespeed/internal/engine"
)

// Snapshot is what has arrived so far, a copy that belongs to the caller. TesterDrops, Queues and Clock are for the
// receiver to fill in.
func (a *Analyser) Snapshot() engine.Received {
	r := engine.Received{
		Frames: a.frames, Bytes: a.bytes, Foreign: a.foreign, Stale: a.stale, BadStream: a.badStream,
		Run: a.run, RunKnown: a.runKnown, FirstNs: a.firstNs, LastNs: a.lastNs, Window: window,
	}
	for _, s := range a.streams {
		if s.seen() {
			r.Streams = append(r.Streams, s.received())
		}
	}
	slices.SortFunc(r.Streams, func(x, y engine.StreamReceived) int { return cmp.Compare(x.ID, y.ID) })
	return r
}

func (s *stream) seen() bool {
	return s.frames|s.duplicate|s.late|s.corrupt|s.badSeq != 0
}

func (s *stream) received() engine.StreamReceived {
	r := engine.StreamReceived{
		ID: s.id, Form: s.form,
		Frames: s.frames, Duplicate: s.duplicate, Reordered: s.reordered, Late: s.late, Corrupt: s.corrupt, BadSeq: s.badSeq,
		LostFirst: s.seq.missing, Bytes: s.bytes, Next: s.seq.next, LastSeen: s.lastSeen, LastSeq: s.lastSeq,
		GapInside: s.gapInside, Order: s.order.result(),
	}
	if s.latency.Count+s.latency.Negative > 0 {
		h := s.latency
		r.Latency = &h
	}
	if s.gap.Count > 0 {
		h := s.gap
		r.Gap = &h
	}
	if s.variation.values.Count > 0 {
		h := s.variation.values
		r.Variation = &h
	}
	return r
}
