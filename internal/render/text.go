package render

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/wirespeed/wirespeed/report"
)

// portsAbreast is how many ports stand side by side in one table.
const portsAbreast = 2

// Text writes the report of a run for people: what was sent from each port, what arrived at each, what became of each
// stream, and in the end whether the numbers can be trusted.
func Text(w io.Writer, r *report.Run) error {
	p := &page{reasons: r.Reasons}
	p.heading(r)
	p.ports(r)
	p.streams(r)
	p.whyNot(r)
	p.notes(r)
	p.verdict(r)
	return p.write(w)
}

func (p *page) heading(r *report.Run) {
	run := fmt.Sprintf("run %d", r.RunID)
	if why := p.reasons["run_id"]; why != "" {
		run = "run unknown (" + why + ")"
	}
	p.line("%s, wirespeed %s, %s", run, clean(r.Tool.Version), clean(r.Started))
	if r.Host.Kernel != "" {
		p.line("Linux %s, %d cores, %s", clean(r.Host.Kernel), r.Host.Cores, clean(r.Host.CPU))
	}
	if len(r.Command) > 0 {
		p.sentence("", "$ "+strings.Join(r.Command, " "))
	}
	p.line("")
}

// at is a port and its path in the document.
type at struct {
	*report.Port
	path string
}

func (p *page) ports(r *report.Run) {
	var tx, rx []at
	for i := range r.Ports {
		a := at{&r.Ports[i], fmt.Sprintf("ports[%d]", i)}
		if a.Tx != nil {
			tx = append(tx, a)
		}
		if a.Rx != nil {
			rx = append(rx, a)
		}
	}
	for ports := range slices.Chunk(tx, portsAbreast) {
		p.sent(ports)
	}
	for _, a := range tx {
		p.queues(a)
	}
	for ports := range slices.Chunk(rx, portsAbreast) {
		p.received(ports)
	}
}

// side begins a table that has a column for each port.
func (p *page) side(title string, ports []at) (*grid, func(label string, cell func(at) string), func(label string, cell func(at) string)) {
	header := []string{title}
	for _, a := range ports {
		header = append(header, a.Port.Port)
	}
	g := p.table(header)
	values := func(label string, cell func(at) string) []string {
		out := []string{label}
		for _, a := range ports {
			out = append(out, cell(a))
		}
		return out
	}
	row := func(label string, cell func(at) string) { g.row(values(label, cell)...) }
	quiet := func(label string, cell func(at) string) { g.quiet(values(label, cell)...) }
	row("engine", func(a at) string {
		if a.Why == "" {
			return a.Engine
		}
		return a.Engine + ": " + a.Why
	})
	row("link", func(a at) string {
		switch {
		case a.LinkBps == nil:
			return p.unknown(a.path + ".link_bps")
		case a.LinkDeclared:
			return short(float64(*a.LinkBps), "bit/s") + " (declared)"
		}
		return short(float64(*a.LinkBps), "bit/s")
	})
	return g, row, quiet
}

func (p *page) sent(ports []at) {
	g, row, quiet := p.side("SENT", ports)
	row("frames asked for", func(a at) string {
		if a.Tx.Intended == nil {
			return p.because(a.path+".tx.intended", "no number")
		}
		return count(*a.Tx.Intended)
	})
	row("frames sent", func(a at) string { return count(a.Tx.Sent) })
	row("  counted by", func(a at) string { return a.Tx.SentSource })
	row("frames unsent", func(a at) string { return count(a.Tx.Unsent) })
	quiet("  not drained", func(a at) string { return count(a.Tx.Undrained) })
	quiet("  given up behind schedule", func(a at) string { return count(a.Tx.Skipped) })
	row("device counter", func(a at) string { return p.countOr(a.path+".tx.device_frames", a.Tx.DeviceFrames) })
	quiet("  dropped by the device", func(a at) string { return p.countOr(a.path+".tx.device_dropped", a.Tx.DeviceDropped) })
	quiet("  other traffic", func(a at) string { return p.countOr(a.path+".tx.other_traffic", a.Tx.OtherTraffic) })
	row("time", func(a at) string { return nanoseconds(a.Tx.DurationS * 1e9) })
	row("rate asked for", func(a at) string {
		if a.Tx.RequestedFPS == nil {
			return p.because(a.path+".tx.requested_fps", "none")
		}
		return rate(*a.Tx.RequestedFPS)
	})
	row("rate", func(a at) string { return rate(a.Tx.FPS) })
	row("L1 (with preamble and gap)", func(a at) string { return bitRate(a.Tx.L1Bps) })
	row("L2 (frames with FCS)", func(a at) string { return bitRate(a.Tx.L2Bps) })
	row("L2 without FCS", func(a at) string { return bitRate(a.Tx.L2NoFCSBps) })
	row("line share (L1)", func(a at) string { return p.floatOr(a.path+".tx.line_share", a.Tx.LineShare, share) })
	row("mean packet interval", func(a at) string {
		if a.Tx.FPS <= 0 {
			return "unknown (nothing was sent)"
		}
		return nanoseconds(1e9 / a.Tx.FPS)
	})
	quiet("latest behind schedule", func(a at) string {
		if a.Tx.BehindNsMax == 0 {
			return "0"
		}
		return nanoseconds(float64(a.Tx.BehindNsMax))
	})
	quiet("schedule shifted by", func(a at) string {
		if a.Tx.ShiftedNs == 0 {
			return "0"
		}
		return nanoseconds(float64(a.Tx.ShiftedNs))
	})
	row("batch", func(a at) string { return count(a.Tx.Batch) })
	row("doorbells per frame", func(a at) string {
		return p.floatOr(a.path+".tx.doorbells_per_frame", a.Tx.DoorbellsPerFrame, significant)
	})
	row("times ring or queue full", func(a at) string { return count(a.Tx.Backpressure) })
	g.end()
}

// queues shows the queues of a port that has several.
func (p *page) queues(a at) {
	if len(a.Tx.Queues) < 2 {
		return
	}
	g := p.table([]string{"QUEUES of " + a.Port.Port, "core", "handed over", "sent", "latest behind"})
	g.numbers(5)
	for _, q := range a.Tx.Queues {
		core := fmt.Sprint(q.Core)
		if q.Core < 0 {
			core = "any"
		}
		g.row(fmt.Sprint(q.Queue), core, count(q.Submitted), count(q.Sent), nanoseconds(float64(q.BehindNsMax)))
	}
	g.end()
}

func (p *page) received(ports []at) {
	g, row, quiet := p.side("RECEIVED", ports)
	row("frames", func(a at) string { return count(a.Rx.Frames) })
	row("device counter", func(a at) string { return p.countOr(a.path+".rx.device_frames", a.Rx.DeviceFrames) })
	row("bytes (with FCS)", func(a at) string { return count(a.Rx.Bytes) })
	row("time", func(a at) string { return nanoseconds(a.Rx.DurationS * 1e9) })
	row("rate", func(a at) string { return rate(a.Rx.FPS) })
	row("L1 (with preamble and gap)", func(a at) string { return bitRate(a.Rx.L1Bps) })
	row("L2 (frames with FCS)", func(a at) string { return bitRate(a.Rx.L2Bps) })
	row("L2 without FCS", func(a at) string { return bitRate(max(0, a.Rx.L2Bps-a.Rx.FPS*8*4)) })
	row("line share (L1)", func(a at) string {
		if a.LinkBps == nil || *a.LinkBps == 0 {
			return p.unknown(a.path + ".link_bps")
		}
		return share(a.Rx.L1Bps / float64(*a.LinkBps))
	})
	row("L2 share of the line", func(a at) string { return p.floatOr(a.path+".rx.l2_line_share", a.Rx.L2LineShare, share) })
	row("mean packet interval", func(a at) string {
		path := a.path + ".rx.mean_interval_ns"
		if a.Rx.MeanIntervalNs == nil {
			return p.unknown(path)
		}
		return p.because(path, nanoseconds(*a.Rx.MeanIntervalNs))
	})
	row("dropped by the tester", func(a at) string { return p.countOr(a.path+".rx.tester_drops", a.Rx.TesterDrops) })
	row("foreign frames", func(a at) string { return count(a.Rx.Foreign) })
	quiet("frames of another run", func(a at) string { return count(a.Rx.Stale) })
	quiet("of an unknown stream", func(a at) string { return count(a.Rx.BadStream) })
	row("arrival clock", func(a at) string { return a.Rx.Clock })
	g.end()
}

// whyNot says why faster engines were not taken.
func (p *page) whyNot(r *report.Run) {
	some := false
	for _, port := range r.Ports {
		if len(port.WhyNot) == 0 {
			continue
		}
		some = true
		p.line("engines not used at %s:", clean(port.Port))
		p.list(port.WhyNot)
	}
	if some {
		p.line("")
	}
}

func (p *page) list(sentences []string) {
	for _, s := range sentences {
		p.sentence("  - ", s)
	}
}

func (p *page) notes(r *report.Run) {
	if len(r.Notes) == 0 {
		return
	}
	p.line("notes:")
	p.list(r.Notes)
	p.line("")
}

// verdictWords are the plain words of each status.
func verdictWords(status string) string {
	switch status {
	case "valid":
		return "valid: every count agrees, the numbers can be trusted"
	case "suspect":
		return "suspect: something may have falsified the numbers"
	case "invalid":
		return "invalid: do not use these numbers"
	}
	return "unknown (the run recorded none)"
}

func (p *page) verdict(r *report.Run) {
	p.line("verdict: %s", verdictWords(r.Verdict.Status))
	p.list(r.Verdict.Reasons)
	if r.Error != nil {
		p.sentence("error: ", r.Error.Message)
		if r.Error.Mend != "" {
			p.sentence("mend:  ", r.Error.Mend)
		}
	}
}
