package render

import (
	"fmt"
	"slices"

	"github.com/wirespeed/wirespeed/report"
)

// portsAbreast is how many ports stand side by side in one table: as many as 80 columns hold.
const portsAbreast = 2

// shortWhy is how long a reason may be to stand in its cell.
const shortWhy = 12

// at is a port and its path in the document.
type at struct {
	*report.Port
	path string
}

// ports shows all ports of the run, the senders first.
func (p *page) ports(r *report.Run) {
	var all []at
	for i := range r.Ports {
		all = append(all, at{&r.Ports[i], fmt.Sprintf("ports[%d]", i)})
	}
	for abreast := range slices.Chunk(all, portsAbreast) {
		p.abreast(abreast)
	}
	for _, a := range all {
		p.queues(a)
	}
}

// portTable has a column for each port. A cell is empty where a port has no such number.
type portTable struct {
	*grid
	f     *footnotes
	ports []at
}

// row adds a row, and leaves it out where every cell is empty.
func (t *portTable) row(label string, cell func(at) string) {
	values, some := []string{label}, false
	for _, a := range t.ports {
		v := cell(a)
		values, some = append(values, v), some || v != ""
	}
	if some {
		t.grid.row(values...)
	}
}

// tx adds a row that only senders have. The path is that of the sender's part.
func (t *portTable) tx(label string, cell func(path string, a at) string) {
	t.row(label, func(a at) string {
		if a.Tx == nil {
			return ""
		}
		return cell(a.path+".tx.", a)
	})
}

// rx adds a row that only receivers have. The path is that of the receiver's part.
func (t *portTable) rx(label string, cell func(path string, a at) string) {
	t.row(label, func(a at) string {
		if a.Rx == nil {
			return ""
		}
		return cell(a.path+".rx.", a)
	})
}

// txOrRx adds a row that both have.
func (t *portTable) txOrRx(label string, tx func(path string, tx *report.Tx) string, rx func(path string, rx *report.Rx) string) {
	t.row(label, func(a at) string {
		switch {
		case a.Tx != nil:
			return tx(a.path+".tx.", a.Tx)
		case a.Rx != nil:
			return rx(a.path+".rx.", a.Rx)
		}
		return ""
	})
}

// unlessZero leaves a count out that says nothing.
func unlessZero(n uint64) string {
	if n == 0 {
		return ""
	}
	return count(n)
}

// abreast shows ports side by side.
func (p *page) abreast(ports []at) {
	header := []string{"PORTS"}
	for _, a := range ports {
		header = append(header, title(a))
	}
	t := &portTable{p.table(header), p.footnotes(), ports}
	t.narrow(len(header))
	t.row("engine", func(a at) string {
		switch {
		case a.Why == "":
			return a.Engine
		case len(a.Why) <= shortWhy:
			return fmt.Sprintf("%s (%s)", a.Engine, a.Why)
		}
		return t.f.noted(a.Engine, a.Why)
	})
	t.row("link", func(a at) string {
		switch {
		case a.LinkBps == nil:
			return t.f.unknown(a.path + ".link_bps")
		case a.LinkDeclared:
			return short(float64(*a.LinkBps), "bit/s") + " (declared)"
		}
		return short(float64(*a.LinkBps), "bit/s")
	})
	t.frames()
	t.rates()
	t.handover()
	t.end()
	t.f.end()
	p.arrivalClocks(ports)
}

func title(a at) string {
	switch {
	case a.Tx != nil:
		return "sent from " + a.Port.Port
	case a.Rx != nil:
		return "received at " + a.Port.Port
	}
	return a.Port.Port
}

// frames are the counts of both sides.
func (t *portTable) frames() {
	f := t.f
	t.tx("frames asked for", func(_ string, a at) string {
		if a.Tx.Intended == nil {
			return "as many as possible"
		}
		return count(*a.Tx.Intended)
	})
	t.txOrRx("frames", func(_ string, tx *report.Tx) string {
		if tx.SentSource == "" {
			return count(tx.Sent)
		}
		return f.noted(count(tx.Sent), "counted by: "+tx.SentSource)
	}, func(_ string, rx *report.Rx) string { return count(rx.Frames) })
	t.tx("unsent", func(_ string, a at) string { return count(a.Tx.Unsent) })
	t.tx("  not drained", func(_ string, a at) string { return unlessZero(a.Tx.Undrained) })
	t.tx("  given up, behind schedule", func(_ string, a at) string { return unlessZero(a.Tx.Skipped) })
	t.txOrRx("device counter", func(path string, tx *report.Tx) string { return f.count(path+"device_frames", tx.DeviceFrames) },
		func(path string, rx *report.Rx) string { return f.count(path+"device_frames", rx.DeviceFrames) })
	t.tx("  dropped by the device", func(path string, a at) string {
		return f.countUnlessZero(path+"device_dropped", a.Tx.DeviceDropped)
	})
	t.tx("  other traffic", func(path string, a at) string { return f.countUnlessZero(path+"other_traffic", a.Tx.OtherTraffic) })
	t.rx("dropped by the tester", func(path string, a at) string { return f.count(path+"tester_drops", a.Rx.TesterDrops) })
	t.rx("foreign frames", func(_ string, a at) string { return count(a.Rx.Foreign) })
	t.rx("frames of another run", func(_ string, a at) string { return unlessZero(a.Rx.Stale) })
	t.rx("of an unknown stream", func(_ string, a at) string { return unlessZero(a.Rx.BadStream) })
	t.rx("bytes (with FCS)", func(_ string, a at) string { return count(a.Rx.Bytes) })
	t.captured()
}

// captured are the counts of what was written to files.
func (t *portTable) captured() {
	row := func(label string, cell func(c *report.Capture) string) {
		t.rx(label, func(_ string, a at) string {
			if a.Rx.Capture == nil {
				return ""
			}
			return cell(a.Rx.Capture)
		})
	}
	row("written to", func(c *report.Capture) string {
		switch n := len(c.Files); {
		case n == 0:
			return "no file"
		case n > 1 || c.Removed > 0:
			return fmt.Sprintf("%d files to %s", n, c.Files[n-1])
		default:
			return c.Files[0]
		}
	})
	row("frames written", func(c *report.Capture) string { return count(c.Frames) })
	row("  merged by the kernel", func(c *report.Capture) string { return unlessZero(c.Merged) })
	row("  truncated", func(c *report.Capture) string { return unlessZero(c.Truncated) })
	row("  files removed again", func(c *report.Capture) string { return unlessZero(uint64(c.Removed)) })
}

// rates are how fast frames left and arrived. The shares of the line are left out where there is no line: the row of the
// link says why.
func (t *portTable) rates() {
	f := t.f
	t.txOrRx("time", func(_ string, tx *report.Tx) string { return seconds(tx.DurationS) },
		func(_ string, rx *report.Rx) string { return seconds(rx.DurationS) })
	t.tx("rate asked for", func(_ string, a at) string {
		switch r := a.Tx.Replay; {
		case a.Tx.RequestedFPS != nil:
			return rate(*a.Tx.RequestedFPS)
		case r != nil && r.Recorded && r.Speed != 1:
			return fmt.Sprintf("as recorded, x %g", r.Speed)
		case r != nil && r.Recorded:
			return "as recorded"
		default:
			return "max"
		}
	})
	t.txOrRx("rate", func(_ string, tx *report.Tx) string { return rate(tx.FPS) }, func(_ string, rx *report.Rx) string { return rate(rx.FPS) })
	bits := func(label string, tx func(*report.Tx) float64, rx func(*report.Rx) float64) {
		t.txOrRx(label, func(_ string, v *report.Tx) string { return short(tx(v), "bit/s") }, func(_ string, v *report.Rx) string { return short(rx(v), "bit/s") })
	}
	bits("L1 (with preamble and gap)", func(v *report.Tx) float64 { return v.L1Bps }, func(v *report.Rx) float64 { return v.L1Bps })
	bits("L2 (frames with FCS)", func(v *report.Tx) float64 { return v.L2Bps }, func(v *report.Rx) float64 { return v.L2Bps })
	bits("L2 without FCS", func(v *report.Tx) float64 { return v.L2NoFCSBps }, func(v *report.Rx) float64 { return max(0, v.L2Bps-v.FPS*8*4) })
	t.row("line share (L1)", func(a at) string {
		switch {
		case a.LinkBps == nil || *a.LinkBps == 0:
			return ""
		case a.Rx != nil:
			return share(a.Rx.L1Bps / float64(*a.LinkBps))
		case a.Tx == nil:
			return ""
		case a.Tx.LineShare == nil:
			return f.unknown(a.path + ".tx.line_share")
		}
		return share(*a.Tx.LineShare)
	})
	t.rx("L2 share of the line", func(path string, a at) string {
		switch {
		case a.LinkBps == nil:
			return ""
		case a.Rx.L2LineShare == nil:
			return f.unknown(path + "l2_line_share")
		}
		return share(*a.Rx.L2LineShare)
	})
	t.txOrRx("mean packet interval", func(_ string, tx *report.Tx) string {
		if tx.FPS <= 0 {
			return f.noted("unknown", "nothing was sent")
		}
		return nanoseconds(1e9 / tx.FPS)
	}, func(path string, rx *report.Rx) string {
		if rx.MeanIntervalNs == nil {
			return f.unknown(path + "mean_interval_ns")
		}
		return f.noted(nanoseconds(*rx.MeanIntervalNs), f.page.reasons[path+"mean_interval_ns"])
	})
}

// handover is how frames went to the device.
func (t *portTable) handover() {
	t.tx("latest behind schedule", func(_ string, a at) string { return unlessZeroNs(a.Tx.BehindNsMax) })
	t.tx("schedule shifted by", func(_ string, a at) string { return unlessZeroNs(a.Tx.ShiftedNs) })
	t.tx("batch", func(_ string, a at) string { return count(a.Tx.Batch) })
	t.tx("doorbells per frame", func(path string, a at) string {
		if a.Tx.DoorbellsPerFrame == nil {
			return t.f.unknown(path + "doorbells_per_frame")
		}
		return perFrame(*a.Tx.DoorbellsPerFrame)
	})
	t.tx("times ring or queue full", func(_ string, a at) string { return unlessZero(a.Tx.Backpressure) })
}

func unlessZeroNs(ns uint64) string {
	if ns == 0 {
		return ""
	}
	return nanoseconds(float64(ns))
}

// seconds prints a time with as many digits as let count and rate be checked against each other.
func seconds(s float64) string {
	if s < 1 && s != 0 {
		return fmt.Sprintf("%.4f ms", s*1e3)
	}
	return fmt.Sprintf("%.6f s", s)
}

// arrivalClocks say by what the times of arrival were taken: once for ports that agree.
func (p *page) arrivalClocks(ports []at) {
	var seen []string
	for _, a := range ports {
		if a.Rx == nil || a.Rx.Clock == "" || slices.Contains(seen, a.Rx.Clock) {
			continue
		}
		seen = append(seen, a.Rx.Clock)
		p.sentence("arrival clock: ", a.Rx.Clock)
	}
	p.clocks = append(p.clocks, seen...)
	if len(seen) > 0 {
		p.line("")
	}
}

// queues shows the queues of a port that has several.
func (p *page) queues(a at) {
	if a.Tx == nil || len(a.Tx.Queues) < 2 {
		return
	}
	g := p.table([]string{"QUEUES of " + a.Port.Port, "core", "handed over", "sent", "latest behind"})
	g.numbers(5)
	for _, q := range a.Tx.Queues {
		core := fmt.Sprint(q.Core)
		if q.Core < 0 {
			core = "any"
		}
		sent := "unknown"
		if q.Sent != nil {
			sent = count(*q.Sent)
		}
		g.row(fmt.Sprint(q.Queue), core, count(q.Submitted), sent, nanoseconds(float64(q.BehindNsMax)))
	}
	g.end()
}
