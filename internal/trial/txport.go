package trial

import (
	"fmt"
	"math"
	"time"

	"github.com/wirespeed/wirespeed/internal/engine"
	"github.com/wirespeed/wirespeed/internal/wire"
	"github.com/wirespeed/wirespeed/report"
)

// seconds is the time that the sent frames took. A paced run's last frame fills its slot too, so that n frames at a gap
// take n gaps.
func seconds(t *engine.QueueCounters, p *engine.Plan) float64 {
	if t.BeginNs == 0 || t.EndNs <= t.BeginNs {
		if p.Rate.IsZero() || t.Sent == 0 {
			return 0
		}
		return float64(t.Sent) * float64(p.Rate.Den) / float64(p.Rate.Num)
	}
	s := float64(t.EndNs-t.BeginNs) / 1e9
	if !p.Rate.IsZero() {
		s += float64(p.Rate.Den) / float64(p.Rate.Num)
	}
	return s + replayGap(p)
}

// intended is how many frames were asked for; nil: as many as possible.
func intended(p *engine.Plan, t *engine.QueueCounters, interrupted bool) *uint64 {
	var n *uint64
	if p.Count > 0 {
		n = &p.Count
	}
	due, known := p.Rate.FramesIn(p.Duration), p.Duration > 0 && !p.Rate.IsZero()
	if p.Recorded && p.Duration > 0 {
		due, known = recordedIn(p)
	}
	if known && (n == nil || due < *n) {
		n = &due
	}
	if n != nil && p.Duration > 0 && !known && t.Submitted < *n && !interrupted {
		return nil // the duration ended the run first, as asked
	}
	if n == nil {
		return nil
	}
	v := *n
	return &v
}

func (u *run) txPort(x *sender, j *judge, index int) report.Port {
	p := port(x.target, x.link, x.chosen)
	path := fmt.Sprintf("ports[%d]", index)
	noLine(x.link, j, path, "tx.line_share")
	c := &x.counters
	t := c.Total()
	tx := &report.Tx{
		Submitted: t.Submitted, Sent: t.Sent, SentSource: c.SentSource, BehindNsMax: t.BehindNsMax, ShiftedNs: t.ShiftedNs,
		Skipped: t.Skipped, Batch: c.Batch, Backpressure: t.Backpressure, Undrained: c.Undrained, Queues: []report.TxQueue{},
	}
	p.Tx = tx
	u.device(x, tx, j, path)
	tx.Intended = intended(&x.plan, &t, u.interrupted)
	switch {
	case tx.Intended != nil && *tx.Intended > tx.Sent:
		tx.Unsent = *tx.Intended - tx.Sent
	case tx.Submitted > tx.Sent:
		tx.Unsent = tx.Submitted - tx.Sent
	}
	if tx.Intended == nil {
		j.unknown(path+".tx.intended", "as many as possible in the given time")
	}
	tx.DurationS = seconds(&t, &x.plan)
	bytes := t.Bytes
	if t.Submitted > 0 && tx.Sent != t.Submitted {
		bytes = uint64(float64(t.Bytes) / float64(t.Submitted) * float64(tx.Sent))
	}
	l := wire.LayersMeasured(tx.Sent, bytes, time.Duration(tx.DurationS*1e9), 0)
	tx.FPS, tx.L1Bps, tx.L2Bps, tx.L2NoFCSBps = l.FPS, l.L1Bps, l.L2Bps, l.L2NoFCSBps
	tx.LineShare = lineShare(tx.L1Bps, x.link)
	if !x.plan.Rate.IsZero() {
		f := x.plan.Rate.Float()
		tx.RequestedFPS = &f
	} else {
		j.unknown(path+".tx.requested_fps", "no rate was asked for: as fast as possible")
	}
	if t.Submitted > 0 && t.Doorbells > 0 {
		d := float64(t.Doorbells) / float64(t.Submitted)
		tx.DoorbellsPerFrame = &d
	} else {
		j.unknown(path+".tx.doorbells_per_frame", "the engine does not count its doorbells")
	}
	tx.Queues = txQueues(c, tx.Sent, j, path)
	u.replayDoc(x, tx, j, path)
	u.judgeTx(x, tx, &t, j)
	return p
}

// txQueues are the shares of the queues, which add up to what the port sent.
func txQueues(c *engine.Counters, sent uint64, j *judge, path string) []report.TxQueue {
	out := []report.TxQueue{}
	var own uint64
	for _, q := range c.Queues {
		own += q.Sent
	}
	for i, q := range c.Queues {
		n := &c.Queues[i].Sent
		switch {
		case sent >= own:
		case len(c.Queues) == 1: // what the device lacks can only be this queue's
			n = &sent
		default:
			n = nil
			j.unknown(fmt.Sprintf("%s.tx.queues[%d].sent", path, i), "the device counted fewer frames than the queues handed over, and whose they were is unknown")
		}
		out = append(out, report.TxQueue{Queue: q.Queue, Core: q.Core, Submitted: q.Submitted, Sent: n, BehindNsMax: q.BehindNsMax})
	}
	return out
}

// device compares the engine's own count with the device's: sent is the smaller.
func (u *run) device(x *sender, tx *report.Tx, j *judge, path string) {
	if x.gone != nil {
		j.isSuspect("%s: its counters cannot be read any more: %v", x.target, x.gone)
	}
	if !x.hasDevice {
		for _, f := range []string{"device_frames", "device_dropped", "other_traffic"} {
			j.unknown(path+".tx."+f, "no device counter could be read")
		}
		return
	}
	frames, ok := delta(x.before.TxFrames, x.after.TxFrames)
	dropped, ok2 := delta(x.before.TxDropped, x.after.TxDropped)
	if !ok || !ok2 {
		j.isSuspect("%s: the device's counters went backwards: they were reset during the run", x.target)
		for _, f := range []string{"device_frames", "device_dropped", "other_traffic"} {
			j.unknown(path+".tx."+f, "the device's counters were reset during the run")
		}
		return
	}
	tx.DeviceFrames, tx.DeviceDropped = &frames, &dropped
	own := tx.Sent
	var other uint64
	switch {
	case frames > own:
		other = frames - own
	case frames < own:
		tx.Sent = frames
		if own > frames+dropped {
			j.isSuspect("%s: the engine handed over %d frames, the device knows of %d (sent %d, dropped %d)", x.target, own, frames+dropped, frames, dropped)
		}
	}
	tx.OtherTraffic = &other
	if other > 0 {
		u.note("%s: other traffic: the device counted %d frames that are not the run's", x.target, other)
	}
	if x.after.CarrierChanges != x.before.CarrierChanges || x.wasUp && !x.after.Up {
		j.isSuspect("%s: the link changed its state during the run", x.target)
	}
}

// delta of a counter that only grows.
func delta(before, after uint64) (uint64, bool) {
	if after < before {
		return 0, false
	}
	return after - before, true
}

// wakeSlack is how late the thread that sends may wake up for the first frame, or the last, without the schedule between them
// being to blame: of a run of a few ms it is more than the rate may be off by.
const wakeSlack = 200 * time.Microsecond

// offSchedule reports whether the frames took so much longer, or shorter, than the asked rate gives them.
func offSchedule(tx *report.Tx) bool {
	return math.Abs(tx.DurationS - float64(tx.Sent) / *tx.RequestedFPS) > wakeSlack.Seconds()
}

// judgeTx decides whether the port did what was asked for.
func (u *run) judgeTx(x *sender, tx *report.Tx, t *engine.QueueCounters, j *judge) {
	reason := x.counters.Reason
	if x.err != nil {
		reason = x.err.Error()
	}
	if n := x.counters.Undrained; n > 0 {
		u.note("%s: %d frames were not drained: they may leave later, and are stale then", x.target, n)
	}
	if tx.Unsent > 0 {
		what := fmt.Sprintf("%s: %d frames unsent", x.target, tx.Unsent)
		if tx.Intended != nil {
			what = fmt.Sprintf("%s: %d of %d frames unsent", x.target, tx.Unsent, *tx.Intended)
		}
		if c := x.counters.Undrained; c > 0 {
			what += fmt.Sprintf(", %d of them not drained", c)
		}
		if d := tx.DeviceDropped; d != nil && *d > 0 {
			what += fmt.Sprintf(", %d dropped by the device", *d)
		}
		if reason != "" {
			what += ": " + reason
		}
		// With a duration and no rate nobody asked for a number: frames that the device dropped are in the report.
		if tx.Intended != nil || reason != "" || tx.Sent == 0 || x.counters.Undrained > 0 {
			j.fails(ExitShort, "%s", what)
		} else {
			u.note("%s", what)
		}
	} else if x.err != nil || reason != "" && tx.Intended == nil && (x.replay == nil || x.replay.Err() == nil) { // a replay's is said with it
		j.fails(ExitShort, "%s: %s", x.target, reason)
	}
	if tx.RequestedFPS != nil && tx.Sent > 1 && missed(tx.FPS, *tx.RequestedFPS) && offSchedule(tx) && !u.interrupted {
		why := ""
		if t.BehindNsMax > 0 {
			why = fmt.Sprintf(" (the latest frame was %.1f ms behind its schedule)", float64(t.BehindNsMax)/1e6)
		}
		j.mend = "ask for a lower --rate, or give the sender cores that nothing else uses (--cores)"
		if u.spec.Count == 0 {
			j.mend += "; --catch-up makes up for longer stalls"
		}
		j.fails(ExitShort, "%s: rate not achieved: %.0f frames/s asked for, %.0f sent%s", x.target, *tx.RequestedFPS, tx.FPS, why)
	}
}

func port(t engine.Target, l engine.Link, c chosen) report.Port {
	p := report.Port{Port: t.Text, Device: t.String(), Why: c.why, WhyNot: append([]string{}, c.whyNot...), LinkDeclared: l.SpeedDeclared}
	if c.engine != nil {
		p.Engine = c.engine.Name()
	}
	if l.SpeedBps > 0 {
		v := l.SpeedBps
		p.LinkBps = &v
	}
	return p
}

func noLine(l engine.Link, j *judge, path string, share string) {
	if l.SpeedBps == 0 {
		const why = "the device has no line rate of its own; declare one with ?speed=1G"
		j.unknown(path+".link_bps", why)
		j.unknown(path+"."+share, why)
	}
}
