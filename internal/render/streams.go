package render

import (
	"fmt"
	"slices"
	"strings"

	"github.com/wirespeed/wirespeed/report"
)

// streams shows what became of each stream.
func (p *page) streams(r *report.Run) {
	if len(r.Streams) == 0 {
		return
	}
	p.definitions(r)
	if streams, _ := received(r); len(streams) == 0 {
		return
	}
	p.arrivals(r)
	p.latency(r)
	p.gaps(r)
	p.sayAbsent()
	p.variation(r)
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
		if why := p.sameReason(path, "lost", "duplicate", "reordered", "late", "corrupt", "bad_seq"); why != "" && s.Rx.Lost == nil {
			g.row(name(s), f.count(path+"frames", s.Rx.Frames), f.noted("unknown", why))
			continue
		}
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
	p.lostFirst(r)
}

// lostFirst says what was lost before the first frame that arrived.
func (p *page) lostFirst(r *report.Run) {
	some := false
	for i := range r.Streams {
		s := &r.Streams[i]
		if s.Rx == nil || s.Rx.LostFirst == nil || *s.Rx.LostFirst == 0 {
			continue
		}
		some = true
		p.sentence("lost before the first arrival: ", fmt.Sprintf("%s of %s, as by a device that learns addresses (ARP, MAC) meanwhile", count(*s.Rx.LostFirst), name(s)))
	}
	if some {
		p.line("")
	}
}

// sameReason is the one reason that all these fields are unknown for; empty where one is known, or for another reason.
func (p *page) sameReason(path string, fields ...string) string {
	why := p.reasons[path+fields[0]]
	for _, f := range fields {
		if p.reasons[path+f] != why {
			return ""
		}
	}
	return why
}

// received are the streams that were received, with their paths.
func received(r *report.Run) (streams []*report.Stream, paths []string) {
	for i := range r.Streams {
		if r.Streams[i].Rx != nil {
			streams = append(streams, &r.Streams[i])
			paths = append(paths, fmt.Sprintf("streams[%d].rx.", i))
		}
	}
	return streams, paths
}

// latency shows the time from stamp to arrival.
func (p *page) latency(r *report.Run) {
	g := p.table([]string{"LATENCY", "min", "mean", "p50", "p90", "p99", "p99.9", "max"})
	g.numbers(8)
	f := p.footnotes()
	var about, clocks []string
	known := false
	streams, paths := received(r)
	for i, s := range streams {
		l := s.Rx.LatencyNs
		if l == nil {
			g.row(name(s), f.unknownOf(name(s), paths[i]+"latency_ns"))
			continue
		}
		known = true
		g.row(name(s), nanoseconds(float64(l.Min)), nanoseconds(l.Mean), f.ns(l.P50), f.ns(l.P90), f.ns(l.P99), f.ns(l.P999), nanoseconds(float64(l.Max)))
		if s.Rx.Frames != nil && *s.Rx.Frames != l.Count {
			about = append(about, fmt.Sprintf("%s: of %s of its frames", name(s), count(l.Count)))
		}
		if l.FloorP50 != nil {
			about = append(about, fmt.Sprintf("%s: the ports alone have a p50 of %s", name(s), nanoseconds(float64(*l.FloorP50))))
		}
		if l.Clock != "" && !slices.Contains(p.clocks, l.Clock) {
			p.clocks = append(p.clocks, l.Clock)
			clocks = append(clocks, l.Clock)
		}
	}
	p.tableOr(known, "latency", g, f)
	for _, s := range about {
		p.sentence("latency of ", s)
	}
	for _, c := range clocks {
		p.sentence("latency clock: ", c)
	}
	if len(about)+len(clocks) > 0 {
		p.line("")
	}
}

// gaps shows the time between arrivals. The share of gaps as asked for is left out where no constant gap was.
func (p *page) gaps(r *report.Run) {
	streams, paths := received(r)
	known, asked := false, false
	for _, s := range streams {
		known = known || s.Rx.GapNs != nil
		asked = asked || s.Rx.GapNs != nil && s.Rx.GapNs.Within5Pct != nil
	}
	header := []string{"GAP", "mean", "stdev", "p1", "p50", "p99", "max"}
	if asked {
		header = append(header, "within 5 %")
	}
	g := p.table(header)
	g.numbers(len(header))
	f := p.footnotes()
	for i, s := range streams {
		v := s.Rx.GapNs
		if v == nil {
			g.row(name(s), f.unknownOf(name(s), paths[i]+"gap_ns"))
			continue
		}
		row := []string{name(s), nanoseconds(v.Mean), nanoseconds(v.Stdev), f.ns(v.P1), f.ns(v.P50), f.ns(v.P99), nanoseconds(float64(v.Max))}
		switch {
		case !asked:
		case v.Within5Pct == nil:
			row = append(row, f.unknown(paths[i]+"gap_ns.within_5pct"))
		default:
			row = append(row, share(*v.Within5Pct))
		}
		g.row(row...)
	}
	p.tableOr(known, "gaps", g, f)
}

// tableOr writes a table and its footnotes; where nothing in it is known, it keeps why for sayAbsent.
func (p *page) tableOr(known bool, what string, g *grid, f *footnotes) {
	if known {
		g.end()
		f.end()
		return
	}
	for _, why := range f.order {
		says := " unknown: " + why
		if len(f.order) > 1 { // one reason alone is that of all
			says = " of " + strings.Join(f.of[why], ", ") + says
		}
		if len(p.absent[says]) == 0 {
			p.absences = append(p.absences, says)
		}
		p.absent[says] = append(p.absent[says], what)
	}
}

// sayAbsent says which tables are missing: once for all that have the same reason.
func (p *page) sayAbsent() {
	for _, says := range p.absences {
		p.sentence("", strings.Join(p.absent[says], " and ")+says)
	}
	if len(p.absences) > 0 {
		p.line("")
	}
}

// variation shows how much the delays of neighbouring frames differ, where it was measured.
func (p *page) variation(r *report.Run) {
	g := p.table([]string{"IPDV (RFC 5481)", "mean", "p50", "p99", "p99.9", "max"})
	g.numbers(6)
	f := p.footnotes()
	some := false
	for i := range r.Streams {
		s := &r.Streams[i]
		if s.Rx == nil || s.Rx.IPDVNs == nil {
			continue
		}
		some = true
		v := s.Rx.IPDVNs
		g.row(name(s), nanoseconds(v.Mean), f.ns(v.P50), f.ns(v.P99), f.ns(v.P999), nanoseconds(float64(v.Max)))
	}
	if some {
		g.end()
		f.end()
	}
}

// order shows the finer measures of reordering where a stream has some.
func (p *page) order(r *report.Run) {
	g := p.table([]string{"ORDER (RFC 4737)", "reordered", "extent", "largest n", "latest", "most bytes ahead"})
	g.numbers(6)
	some := false
	for i := range r.Streams {
		s := &r.Streams[i]
		if s.Rx == nil || s.Rx.Order == nil || s.Rx.Order.Reordered == 0 {
			continue
		}
		some = true
		o := s.Rx.Order
		g.row(name(s), count(o.Reordered), count(o.ExtentMax), count(o.NMax), nanoseconds(float64(o.LateNsMax)), count(o.ByteOffsetMax))
	}
	if some {
		g.end()
	}
}
