package render

import (
	"fmt"

	"github.com/wirespeed/wirespeed/report"
)

// footnotes number the reasons of a table whose cells are too narrow for them.
type footnotes struct {
	page  *page
	order []string
	index map[string]int
}

func (p *page) footnotes() *footnotes { return &footnotes{page: p, index: map[string]int{}} }

// unknown prints a null with the number of its reason.
func (f *footnotes) unknown(path string) string {
	why := f.page.reasons[path]
	if why == "" {
		why = "no reason was recorded"
	}
	if f.index[why] == 0 {
		f.order = append(f.order, why)
		f.index[why] = len(f.order)
	}
	return fmt.Sprintf("unknown (%d)", f.index[why])
}

func (f *footnotes) count(path string, v *uint64) string {
	if v == nil {
		return f.unknown(path)
	}
	return count(*v)
}

// ns prints a time; a percentile that is null had too few samples, which needs no reason of its own.
func (f *footnotes) ns(v *uint64) string {
	if v == nil {
		return "too few"
	}
	return nanoseconds(float64(*v))
}

// end writes the reasons below the table, where the table left an empty line.
func (f *footnotes) end() {
	for i, why := range f.order {
		f.page.sentence(fmt.Sprintf("(%d) ", i+1), why)
	}
	if len(f.order) > 0 {
		f.page.line("")
	}
}

// streams shows what became of each stream.
func (p *page) streams(r *report.Run) {
	if len(r.Streams) == 0 {
		return
	}
	p.definitions(r)
	received := false
	for i := range r.Streams {
		received = received || r.Streams[i].Rx != nil
	}
	if !received {
		return
	}
	p.arrivals(r)
	p.times(r)
	p.order(r)
}

// name is what a stream is called in tables.
func name(s *report.Stream) string {
	if s.Name == "" {
		return fmt.Sprintf("stream %d", s.ID)
	}
	return s.Name
}

func (p *page) definitions(r *report.Run) {
	g := p.table([]string{"STREAM", "id", "size (with FCS)", "signature", "sent"})
	g.numbers(5)
	for i := range r.Streams {
		s := &r.Streams[i]
		sent := "unknown (sent elsewhere)"
		if s.Tx != nil {
			sent = count(s.Tx.Frames)
		}
		g.row(name(s), fmt.Sprint(s.ID), s.FrameSize, s.Signature, sent)
	}
	g.end()
}

func (p *page) arrivals(r *report.Run) {
	g := p.table([]string{"ARRIVED", "frames", "lost", "duplicate", "reordered", "late", "corrupt", "bad seq"})
	g.numbers(8)
	f := p.footnotes()
	for i := range r.Streams {
		s := &r.Streams[i]
		if s.Rx == nil {
			continue
		}
		path := fmt.Sprintf("streams[%d].rx.", i)
		lost := ""
		if s.Rx.Lost == nil {
			lost = f.unknown(path + "lost")
		} else {
			lost = count(*s.Rx.Lost)
		}
		g.row(name(s), f.count(path+"frames", s.Rx.Frames), lost, f.count(path+"duplicate", s.Rx.Duplicate),
			f.count(path+"reordered", s.Rx.Reordered), f.count(path+"late", s.Rx.Late),
			f.count(path+"corrupt", s.Rx.Corrupt), f.count(path+"bad_seq", s.Rx.BadSeq))
	}
	g.end()
	f.end()
}

// times shows latency and gaps.
func (p *page) times(r *report.Run) {
	latency := p.table([]string{"LATENCY", "frames", "min", "mean", "p50", "p90", "p99", "p99.9", "max", "floor p50"})
	latency.numbers(10)
	gaps := p.table([]string{"GAP", "gaps", "mean", "stdev", "p1", "p50", "p99", "max", "within 5 %"})
	gaps.numbers(9)
	fl, fg := p.footnotes(), p.footnotes()
	var clocks []string
	for i := range r.Streams {
		s := &r.Streams[i]
		if s.Rx == nil {
			continue
		}
		path := fmt.Sprintf("streams[%d].rx.", i)
		if l := s.Rx.LatencyNs; l == nil {
			latency.row(name(s), fl.unknown(path+"latency_ns"))
		} else {
			floor := fl.floor(path+"latency_ns.floor_p50", l.FloorP50)
			latency.row(name(s), count(l.Count), nanoseconds(float64(l.Min)), nanoseconds(l.Mean), fl.ns(l.P50), fl.ns(l.P90),
				fl.ns(l.P99), fl.ns(l.P999), nanoseconds(float64(l.Max)), floor)
			if l.Clock != "" && (len(clocks) == 0 || clocks[len(clocks)-1] != l.Clock) {
				clocks = append(clocks, l.Clock)
			}
		}
		if v := s.Rx.GapNs; v == nil {
			gaps.row(name(s), fg.unknown(path+"gap_ns"))
		} else {
			within := ""
			if v.Within5Pct == nil {
				within = fg.unknown(path + "gap_ns.within_5pct")
			} else {
				within = share(*v.Within5Pct)
			}
			gaps.row(name(s), count(v.Count), nanoseconds(v.Mean), nanoseconds(v.Stdev), fg.ns(v.P1), fg.ns(v.P50), fg.ns(v.P99),
				nanoseconds(float64(v.Max)), within)
		}
	}
	latency.end()
	fl.end()
	for _, c := range clocks {
		p.sentence("latency clock: ", c)
		p.line("")
	}
	gaps.end()
	fg.end()
}

// floor prints what the port pair itself adds to the latency.
func (f *footnotes) floor(path string, v *uint64) string {
	if v == nil {
		return f.unknown(path)
	}
	return nanoseconds(float64(*v))
}

// order shows the finer measures of reordering where a stream has some.
func (p *page) order(r *report.Run) {
	g := p.table([]string{"ORDER (RFC 4737)", "reordered", "largest extent", "largest n", "latest"})
	g.numbers(5)
	some := false
	for i := range r.Streams {
		s := &r.Streams[i]
		if s.Rx == nil || s.Rx.Order == nil || s.Rx.Order.Reordered == 0 {
			continue
		}
		some = true
		o := s.Rx.Order
		g.row(name(s), count(o.Reordered), count(o.ExtentMax), count(o.NMax), nanoseconds(float64(o.LateNsMax)))
	}
	if some {
		g.end()
	}
}
