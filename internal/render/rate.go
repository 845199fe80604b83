package render

import (
	"fmt"
	"io"

	"github.com/wirespeed/wirespeed/internal/wire"
)

// Rate writes the arithmetic of a rate as text.
func Rate(w io.Writer, r wire.RateReport) error {
	p := &page{reasons: r.Reasons}
	p.line("frames of %s bytes with FCS, rate %s", sizeText(r), r.Rate)
	p.line("")
	t := p.table([]string{"", ""})
	link := p.unknown("link_bps")
	if r.LinkBps != nil {
		link = short(float64(*r.LinkBps), "bit/s")
	}
	t.row("link", link)
	ofLine := func(label, path string, v *float64, format func(float64) string) {
		if v == nil && r.LinkBps == nil && p.why(path) == p.why("link_bps") {
			return // the row of the link says it
		}
		t.row(label, p.floatOr(path, v, format))
	}
	ofLine("line rate", "fps_max", r.FPSMax, linePPS)
	t.row("frames/s", linePPS(r.FPS))
	t.row("L1 (with preamble and gap)", bitRate(r.L1Bps))
	t.row("L2 (frames with FCS)", bitRate(r.L2Bps))
	t.row("L2 without FCS", bitRate(r.L2NoFCSBps))
	t.row("L3 (packets)", bitRate(r.L3Bps))
	ofLine("line share (L1)", "line_share", r.LineShare, share)
	ofLine("L2 share of the line", "l2_line_share", r.L2LineShare, share)
	t.row("packet interval", p.floatOr("gap_ns", r.GapNs, nanoseconds))
	t.end()
	return p.write(w)
}

// linePPS prints frames/s with two decimals: a line rate is seldom whole.
func linePPS(v float64) string {
	if v < 1000 {
		return rate(v)
	}
	whole := fmt.Sprintf("%.2f", v)
	return fmt.Sprintf("%s (%s%s)", short(v, "pps"), group(whole[:len(whole)-3]), whole[len(whole)-3:])
}

func sizeText(r wire.RateReport) string {
	if mean := significant(r.Size); mean != r.Sizes {
		return fmt.Sprintf("%s (mean %s)", r.Sizes, mean)
	}
	return r.Sizes
}
