package engine

import "math"

// Paced reports whether frames wait until they are due.
func (p *Plan) Paced() bool { return !p.Rate.IsZero() || p.Recorded }

// Frames is how many frames the port is to send, where that is known before: by Count, by Duration of a paced plan, and by the
// rounds of a sequence.
func (p *Plan) Frames() (n uint64, known bool) {
	n = math.MaxUint64
	limit := func(by uint64) { n, known = min(n, by), true }
	if p.Count > 0 {
		limit(p.Count)
	}
	if p.Duration > 0 && !p.Rate.IsZero() {
		limit(p.Rate.FramesIn(p.Duration))
	}
	if all := p.Program.Total(); all > 0 {
		limit(all)
	}
	if s := p.Program.Sequence; s != nil && p.Recorded && p.Duration > 0 {
		if due := s.FramesIn(p.Duration); due > 0 {
			limit(due)
		}
	}
	if !known {
		return 0, false
	}
	return n, true
}
