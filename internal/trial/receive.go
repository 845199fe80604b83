package trial

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/wirespeed/wirespeed/internal/capture"
	"github.com/wirespeed/wirespeed/internal/engine"
	"github.com/wirespeed/wirespeed/internal/host"
	"github.com/wirespeed/wirespeed/report"
)

// ReceiveSpec is what a receiver on its own is to do: it learns the run from the frames.
type ReceiveSpec struct {
	Rx       engine.Target
	Duration time.Duration // 0: until ctx ends, which is the normal end
	Count    uint64        // ends when that many frames of the run have arrived, or with Capture were written; 0: no limit
	Capture  *capture.Spec // write what arrives; nil: only count
	// SameClock says that the sender reads this machine's clock, or one that agrees with it; else latency is unknown.
	SameClock bool
	MaxLoss   *float64
	Strict    bool
	Command   []string
}

// filters reports whether frames of the run may be kept from the analysis.
func (s *ReceiveSpec) filters() bool { return s.Capture != nil && len(s.Capture.Filter) > 0 }

// receivePoll is how often a receiver on its own looks whether its count has been reached.
const receivePoll = 20 * time.Millisecond

// Receive counts and analyses until it has what was asked for, or ctx ends.
func (r *Runner) Receive(ctx context.Context, s ReceiveSpec) (*Outcome, error) {
	u, rec, err := r.listen(ctx, s)
	defer u.close()
	switch {
	case err != nil && ctx.Err() != nil: // it may have failed for that
		return nil, errInterrupted("the receiver listened")
	case err != nil:
		return nil, err
	}
	u.stage("running")
	u.watch(ctx, s, rec)
	u.stage("settling")
	u.settle()
	u.readAfter()
	u.stage("done")
	return u.received(s), nil
}

// listen opens and starts the receiver. What it opened is closed by the run's close, also after an error.
func (r *Runner) listen(ctx context.Context, s ReceiveSpec) (*run, *capture.Recorder, error) {
	u := &run{Runner: r, spec: Spec{MaxLoss: s.MaxLoss, Strict: s.Strict, Command: s.Command}, began: time.Now()}
	if s.MaxLoss != nil && s.filters() {
		return u, nil, Usage("leave one of the two out", "--max-loss together with --filter: frames that the filter keeps out could not be told from lost ones")
	}
	x := &receiver{target: s.Rx}
	rec, err := u.createCapture(s.Capture)
	if err != nil {
		return u, nil, err
	}
	if err := u.facts1(ctx, s.Rx, true, &x.link, &x.lock); err != nil {
		return u, nil, err
	}
	u.rx = []*receiver{x}
	expect := engine.Expect{Learn: true, Capture: rec != nil}
	if x.chosen, err = u.chooseReceiver(ctx, s.Rx, expect); err != nil {
		return u, nil, err
	}
	x.recv, err = x.chosen.engine.(engine.ReceiverEngine).OpenReceiver(ctx, s.Rx, u.config(false))
	if err != nil {
		return u, nil, EnvironmentOf(err)
	}
	u.atEnd(x.recv.Close, "close "+s.Rx.String())
	if err := x.recv.Load(expect); err != nil {
		return u, nil, EnvironmentOf(err)
	}
	if err := x.record(rec); err != nil {
		return u, nil, err
	}
	if err := u.readBefore(); err != nil {
		return u, nil, err
	}
	if err := x.recv.Start(); err != nil {
		return u, nil, EnvironmentOf(err)
	}
	return u, rec, nil
}

// watch returns when the receiver has what was asked for.
func (u *run) watch(ctx context.Context, s ReceiveSpec, rec *capture.Recorder) {
	u.beginNs = host.Monotonic()
	if s.Duration > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, s.Duration)
		defer cancel()
	}
	poll := time.NewTicker(receivePoll)
	defer poll.Stop()
	last, next := u.moment(), time.Now().Add(tickEvery)
	for {
		select {
		case <-ctx.Done():
			return
		case <-poll.C:
		}
		if rec.Over() {
			return
		}
		if (s.Count == 0 || rec != nil) && time.Now().Before(next) {
			continue
		}
		now := u.moment()
		if time.Now().After(next) {
			next = next.Add(tickEvery)
			if u.Tick != nil {
				u.Tick(interval(u.beginNs, last, now))
			}
			last = now
		}
		if rec == nil && s.Count > 0 && now.rx >= s.Count {
			return
		}
	}
}

// received makes the document of a receiver on its own.
func (u *run) received(s ReceiveSpec) *Outcome {
	x := u.rx[0]
	j := &judge{reasons: map[string]string{}}
	doc := &report.Run{
		Schema: report.SchemaRun, Tool: u.Runner.Tool, Host: u.Runner.Host, Command: s.Command,
		Started: u.began.UTC().Format(time.RFC3339Nano), RunID: int(x.got.Run), Streams: []report.Stream{}, Reasons: j.reasons,
	}
	doc.Ports = []report.Port{receivedPort(x, j, "ports[0]", 0)}
	if !x.got.RunKnown {
		j.unknown("run_id", "no frame with a signature arrived")
	}
	var lost, sent int64
	for i := range x.got.Streams {
		g := &x.got.Streams[i]
		st := u.learned(g, s, j, fmt.Sprintf("streams[%d]", len(doc.Streams)))
		if st.Rx.Lost != nil {
			lost += *st.Rx.Lost
			sent += *st.Rx.Lost + int64(g.Frames)
		}
		doc.Streams = append(doc.Streams, st)
	}
	if s.Capture != nil {
		doc.Ports[0].Rx.Capture = captured(x, s.Capture, j)
	} else if x.got.Frames == 0 {
		j.fails(ExitShort, "nothing of a test run arrived on %s (%d other frames passed by)", x.target, x.got.Foreign)
	}
	u.limit(j, lost, sent)
	return u.conclude(doc, j)
}

// limit judges --max-loss of a receiver on its own: lost of what was sent, as far as the last frames that arrived tell.
func (u *run) limit(j *judge, lost, sent int64) {
	if u.spec.MaxLoss == nil || sent == 0 {
		return
	}
	over := float64(lost)/float64(sent) > *u.spec.MaxLoss
	drops := u.rx[0].got.TesterDrops
	switch {
	case over && drops > 0:
		j.isInvalid("lost %d of %d, over the limit of %s, but up to %d of them were dropped by the tester itself", lost, sent, percent(*u.spec.MaxLoss), drops)
	case over:
		j.fails(ExitFailed, "lost %d of %d frames, more than the limit of %s", lost, sent, percent(*u.spec.MaxLoss))
	case drops > 0 && slices.ContainsFunc(u.rx[0].got.Streams, func(g engine.StreamReceived) bool { return !g.LastSeen }):
		j.isInvalid("--max-loss cannot be judged: the last frame did not arrive, and %d frames were dropped by the tester itself", drops)
	}
}

// learned makes the document of one stream id. What the sender sent is known as far as the last frame says so.
func (u *run) learned(g *engine.StreamReceived, s ReceiveSpec, j *judge, path string) report.Stream {
	var m merged
	timed := g.Latency != nil
	if !s.SameClock {
		g.Latency = nil
	}
	merge(&m, g)
	st := report.Stream{Name: fmt.Sprintf("id %d", g.ID), ID: int(g.ID), Signature: g.Form.String()}
	st.Rx = m.streamRx(j, path+".rx", u.rx[0].got.Clock, false)
	if timed && !s.SameClock {
		j.unknown(path+".rx.latency_ns", "whether the sender's clock agrees with this one is unknown; --clock same or --clock ptp says so")
	}
	if s.filters() {
		const why = "the filter kept frames of the run out, or may have"
		j.unknown(path+".rx.lost", why)
		j.unknown(path+".rx.lost_first", why)
		st.Rx.LostFirst = nil
		return st
	}
	sent := g.Next
	if g.LastSeen {
		sent = g.LastSeq + 1
	} else {
		j.unknown(path+".rx.lost", "no frame with the last flag arrived: what was lost behind the highest number seen is not counted")
	}
	lost := int64(sent) - int64(g.Frames)
	st.Rx.Lost = &lost
	if lost < 0 {
		j.isInvalid("stream id %d: %d more frames arrived than were numbered", g.ID, -lost)
	}
	return st
}
