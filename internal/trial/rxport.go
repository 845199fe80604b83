package trial

import (
	"fmt"
	"time"

	"github.com/wirespeed/wirespeed/internal/engine"
	"github.com/wirespeed/wirespeed/internal/packet"
	"github.com/wirespeed/wirespeed/internal/wire"
	"github.com/wirespeed/wirespeed/report"
)

func (u *run) rxPort(x *receiver, j *judge, index int) report.Port {
	path := fmt.Sprintf("ports[%d]", index)
	var sending float64
	for _, s := range u.tx {
		t := s.counters.Total()
		sending = max(sending, seconds(&t, &s.plan))
	}
	return receivedPort(x, j, path, sending)
}

// receivedPort makes the document of a receive port. sending is how many seconds it took to send; it is used where no arrival
// was stamped.
func receivedPort(x *receiver, j *judge, path string, sending float64) report.Port {
	p := port(x.target, x.link, x.chosen)
	noLine(x.link, j, path, "rx.l2_line_share")
	g := &x.got
	drops := g.TesterDrops
	rx := &report.Rx{
		Frames: g.Frames, Bytes: g.Bytes, Foreign: g.Foreign, Stale: g.Stale, BadStream: g.BadStream,
		TesterDrops: &drops, Clock: g.Clock, Window: g.Window,
	}
	p.Rx = rx
	if x.hasDevice {
		if n, ok := delta(x.before.RxFrames, x.after.RxFrames); ok {
			rx.DeviceFrames = &n
		}
	}
	if x.gone != nil {
		j.isSuspect("%s: its counters cannot be read any more: %v", x.target, x.gone)
	}
	if x.err != nil {
		j.isInvalid("%s: the receiver failed, so not all that arrived is counted: %v", x.target, x.err)
	}
	if x.hasDevice && rx.DeviceFrames == nil {
		j.isSuspect("%s: the device's counters went backwards: they were reset during the run", x.target)
		j.unknown(path+".rx.device_frames", "the device's counters were reset during the run")
	} else if rx.DeviceFrames == nil {
		j.unknown(path+".rx.device_frames", "no device counter could be read")
	}
	rx.DurationS = sending
	if g.Frames > 1 && g.LastNs > g.FirstNs && g.FirstNs != 0 {
		span := float64(g.LastNs - g.FirstNs)
		mean := span / float64(g.Frames-1)
		rx.MeanIntervalNs = &mean
		rx.DurationS = (span + mean) / 1e9
	} else if g.Frames > 1 && sending > 0 {
		mean := sending * 1e9 / float64(g.Frames)
		rx.MeanIntervalNs = &mean
		j.unknown(path+".rx.mean_interval_ns", "no arrival was stamped: the time of sending divided by the frames that arrived")
	} else {
		j.unknown(path+".rx.mean_interval_ns", "fewer than two frames arrived, or none was stamped")
	}
	l := wire.LayersMeasured(g.Frames, g.Bytes, time.Duration(rx.DurationS*1e9), 0)
	rx.FPS, rx.L1Bps, rx.L2Bps = l.FPS, l.L1Bps, l.L2Bps
	if x.link.SpeedBps > 0 {
		v := rx.L2Bps / float64(x.link.SpeedBps)
		rx.L2LineShare = &v
	}
	if drops > 0 {
		j.isSuspect("%s: the tester itself dropped %d frames: up to %d of the lost were ours", x.target, drops, drops)
	}
	if g.BadStream > 0 {
		j.isSuspect("%s: %d frames with this run's id have a stream id that nobody here sends", x.target, g.BadStream)
	}
	return p
}

// merged are the counts of one stream of the definition: all its ids, on all receive ports.
type merged struct{ engine.StreamReceived }

func merge(into *merged, s *engine.StreamReceived) {
	into.Form = s.Form
	into.Frames += s.Frames
	into.Bytes += s.Bytes
	into.Duplicate += s.Duplicate
	into.Reordered += s.Reordered
	into.Late += s.Late
	into.Corrupt += s.Corrupt
	into.BadSeq += s.BadSeq
	into.LostFirst += s.LostFirst
	into.GapInside += s.GapInside
	into.Latency = mergeHistogram(into.Latency, s.Latency)
	into.Gap = mergeHistogram(into.Gap, s.Gap)
	into.Variation = mergeHistogram(into.Variation, s.Variation)
	into.Order = mergeOrder(into.Order, s.Order)
}

func mergeHistogram(into, h *engine.Histogram) *engine.Histogram {
	if h == nil {
		return into
	}
	if into == nil {
		into = &engine.Histogram{}
	}
	into.Merge(h)
	return into
}

func mergeOrder(into, o *engine.Order) *engine.Order {
	if o == nil {
		return into
	}
	if into == nil {
		into = &engine.Order{RD: map[int]uint64{}, RBD: map[int]uint64{}}
	}
	into.Reordered += o.Reordered
	into.ExtentMax = max(into.ExtentMax, o.ExtentMax)
	into.NMax = max(into.NMax, o.NMax)
	into.LateNsMax = max(into.LateNsMax, o.LateNsMax)
	into.ByteOffsetMax = max(into.ByteOffsetMax, o.ByteOffsetMax)
	for d, n := range o.RD {
		into.RD[d] += n
	}
	for d, n := range o.RBD {
		into.RBD[d] += n
	}
	return into
}

// streamRx makes the document's receive side of a stream, without lost.
func (m *merged) streamRx(j *judge, path, clock string, gapAsked bool) *report.StreamRx {
	rx := &report.StreamRx{
		Frames: &m.Frames, Duplicate: &m.Duplicate, Reordered: &m.Reordered, Late: &m.Late, Corrupt: &m.Corrupt, BadSeq: &m.BadSeq,
	}
	if rx.LostFirst = &m.LostFirst; m.Frames == 0 {
		rx.LostFirst = nil
		j.unknown(path+".lost_first", "no frame arrived whole, so there was no first one")
	}
	if h := m.Latency; h != nil && h.Count > 0 {
		rx.LatencyNs = &report.Latency{
			Count: h.Count, Min: h.Min, Mean: h.Mean(), Max: h.Max, Negative: h.Negative, Clock: clock,
			P50: quantile(h, .5), P90: quantile(h, .9), P99: quantile(h, .99), P999: quantile(h, .999),
		}
		l := rx.LatencyNs
		j.fewSamples(path+".latency_ns", map[string]*uint64{"p50": l.P50, "p90": l.P90, "p99": l.P99, "p999": l.P999})
		j.unknown(path+".latency_ns.floor_p50", "the floor of this port pair has not been measured")
	}
	if h := m.Latency; h != nil && h.Negative > 0 {
		j.isInvalid("%d frames arrived before they were sent: the clocks of sender and receiver do not agree", h.Negative)
	}
	if h := m.Gap; h != nil && h.Count > 0 {
		rx.GapNs = &report.Gap{
			Count: h.Count, Mean: h.Mean(), Stdev: h.Stdev(), Max: h.Max,
			P1: quantile(h, .01), P50: quantile(h, .5), P99: quantile(h, .99),
		}
		j.fewSamples(path+".gap_ns", map[string]*uint64{"p1": rx.GapNs.P1, "p50": rx.GapNs.P50, "p99": rx.GapNs.P99})
		if gapAsked {
			share := float64(m.GapInside) / float64(h.Count)
			rx.GapNs.Within5Pct = &share
		} else {
			j.unknown(path+".gap_ns.within_5pct", "no constant gap of this stream was asked for")
		}
	} else {
		j.unknown(path+".gap_ns", "%s", noClock(m))
	}
	if rx.LatencyNs == nil {
		j.unknown(path+".latency_ns", "%s", noClock(m))
	}
	rx.Order = orderDoc(m.Order)
	if h := m.Variation; h != nil && h.Count > 0 {
		v := &report.IPDV{Count: h.Count, Mean: h.Mean(), Max: h.Max, P50: quantile(h, .5), P99: quantile(h, .99), P999: quantile(h, .999)}
		rx.IPDVNs = v
		j.fewSamples(path+".ipdv_ns", map[string]*uint64{"p50": v.P50, "p99": v.P99, "p999": v.P999})
	}
	return rx
}

func noClock(m *merged) string {
	if m.Frames < 2 {
		return "too few frames arrived"
	}
	if m.Form == packet.FormShort {
		why := "the short form of the signature has no time"
		if m.Gap == nil {
			why += ", and this receiver reads no clock for it"
		}
		return why
	}
	return "no clock was read for this stream: its frames carry no time, or the receiver shares one clock read between frames"
}

// quantile is null where fewer than ten samples lie beyond it: such a number would be chance.
func quantile(h *engine.Histogram, q float64) *uint64 {
	if float64(h.Count)*min(q, 1-q) < 10 {
		return nil
	}
	v := h.Quantile(q)
	return &v
}

// fewSamples gives the reason of the percentiles that are null.
func (j *judge) fewSamples(path string, percentiles map[string]*uint64) {
	for name, v := range percentiles {
		if v == nil {
			j.unknown(path+"."+name, "fewer than ten samples lie beyond it")
		}
	}
}

func orderDoc(o *engine.Order) *report.Order {
	if o == nil {
		return nil
	}
	return &report.Order{
		Reordered: o.Reordered, ExtentMax: o.ExtentMax, NMax: o.NMax, LateNsMax: o.LateNsMax, ByteOffsetMax: o.ByteOffsetMax,
		RD: density(o.RD), RBD: density(o.RBD),
	}
}

func density(m map[int]uint64) map[string]float64 {
	var n uint64
	for _, v := range m {
		n += v
	}
	out := make(map[string]float64, len(m))
	for d, v := range m {
		out[fmt.Sprint(d)] = float64(v) / float64(n)
	}
	return out
}
