package trial

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/bits"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/wirespeed/wirespeed/internal/engine"
	"github.com/wirespeed/wirespeed/internal/packet"
	"github.com/wirespeed/wirespeed/internal/replay"
	"github.com/wirespeed/wirespeed/internal/wire"
	"github.com/wirespeed/wirespeed/report"
)

// Bytes that a device takes beyond its MTU: Ethernet header and FCS, and the outermost 802.1Q tag.
const (
	beyondMTU = 14 + wire.FCS
	oneTag    = 4
)

// muchToRead is how large a capture is whose reading takes so long that somebody wants to know why nothing happens. Bytes.
const muchToRead = 2e9

// openReplay reads the capture that the port is to send.
func (u *run) openReplay(ctx context.Context, x *sender) error {
	s := &u.spec
	r := u.addressed(s.Set).Replay
	if r.File == "-" && len(s.Tx) > 1 {
		return Usage("give a file, or one port", "standard input can be sent from one port only")
	}
	if info, err := os.Stat(r.File); err == nil && info.Size() > muchToRead && info.Mode().IsRegular() && len(u.tx) == 0 {
		u.note("%s: its %.1f GB are read once before the first frame leaves; `--pcap - < FILE` sends them as they are read", r.Name(), float64(info.Size())/1e9)
	}
	l := replay.Limits{Port: x.target.String(), Stdin: s.Stdin}
	if x.link.MTU > 0 {
		l.MaxFrame, l.MaxTag = x.link.MTU+beyondMTU, oneTag
	}
	c, err := replay.Open(ctx, r, l)
	if err != nil {
		if ctx.Err() != nil {
			return errInterrupted("anything was sent")
		}
		if bad, ok := errors.AsType[*replay.Error](err); ok {
			return Usage(bad.Mend, "%s", bad.Message)
		}
		return UsageOf(err)
	}
	u.atEnd(c.Close, "close "+r.Name())
	x.set, x.replay, x.plan.Program, x.plan.Recorded = s.Set, c, c.Program, r.Recorded
	if !c.Preloaded() && u.portless(x.target) && sameFile(r.File, x.target.Device) {
		return Usage("write to another file, or preload it (--preload)", "%s would be overwritten while it is read", r.Name())
	}
	if !c.Preloaded() && s.Queues > 1 {
		return Usage("preload it (--preload), or give one queue", "%s is read while it is sent, which %d queues cannot do together", r.Name(), s.Queues)
	}
	if !c.Scanned && len(s.Rx) > 0 {
		return Usage("preload it (--preload)", "which frames of a pipe a receiver would have to look for is known only when all of it has been read")
	}
	f := c.Facts()
	if len(s.Rx) > 0 && f.ManyMACs {
		return Usage("give one to all of them, as in --src-mac 02:00:00:00:00:01", "the capture has more than %d source addresses, by which a receiver would have to know its frames", len(f.SrcMACs))
	}
	if len(u.tx) == 0 { // once, whatever the number of ports
		u.describe(c, &f)
	}
	return nil
}

// sameFile reports whether two paths are one file that is there.
func sameFile(a, b string) bool {
	x, err := os.Stat(a)
	if err != nil {
		return false
	}
	y, err := os.Stat(b)
	return err == nil && os.SameFile(x, y)
}

// describe says before anything is sent what there is.
func (u *run) describe(c *replay.Capture, f *replay.Facts) {
	name := c.Replay.Name()
	if !c.Scanned {
		u.note("%s: a pipe, read while it is sent: what it holds is not known before", name)
		return
	}
	what := "1 frame"
	if n := f.SkippedFrames(); n > 0 {
		what = fmt.Sprintf("%d of %d frames", f.Frames, f.Packets)
	} else if f.Frames > 1 {
		what = fmt.Sprintf("%d frames", f.Frames)
	}
	sizes := fmt.Sprintf("%d bytes", f.Smallest)
	if f.Largest != f.Smallest {
		sizes = fmt.Sprintf("%d to %d bytes", f.Smallest, f.Largest)
	}
	span := ""
	if c.Replay.Recorded {
		span = fmt.Sprintf(", %v from the first to the last", time.Duration(f.Span))
	}
	how := "preloaded"
	if !c.Preloaded() {
		how = "read while it is sent"
	}
	u.note("%s: %s of %s with FCS%s, %s", name, what, sizes, span, how)
	for _, s := range f.Skipped {
		u.note("%s: left out: %s", name, s)
	}
	for _, e := range f.Edits {
		u.note("%s: --%s found nothing to change in %d frames", name, strings.ReplaceAll(e.Flag, "_", "-"), e.Count)
	}
	for _, m := range f.Unused {
		u.note("%s: --map-ip: no address lies in %s", name, m)
	}
	if f.Damage != "" {
		u.note("%s: %s: what is before is sent", name, f.Damage)
	}
	if f.Padded > 0 {
		u.note("%s: %d frames are filled up", name, f.Padded)
	}
	if c.Replay.Signature != "none" && f.Signed < f.Frames {
		u.note("%s: %d of %d frames have no room for a signature", name, f.Frames-f.Signed, f.Frames)
	}
	if f.LastHop > 0 && u.gatewayMAC != nil {
		u.note("%s: %d of %d frames have a time to live of 1 or less, and a router does not forward those: --ttl 64 gives all another", name, f.LastHop, f.Frames)
	}
	if c.Replay.Recorded {
		u.describeTimes(name, f)
	}
}

// loudGap is the gap from which on it is said how long nothing will leave.
const loudGap = 10 * time.Second

func (u *run) describeTimes(name string, f *replay.Facts) {
	if f.Untimed > 0 {
		u.note("%s: %d frames have no time: they leave back to back", name, f.Untimed)
	}
	if f.Backwards > 0 {
		u.note("%s: the time of %d frames is before that of a frame before: they leave back to back", name, f.Backwards)
	}
	switch gap := time.Duration(f.RecordedGap); {
	case f.Shortened > 0:
		u.note("%s: %d gaps are shortened by --max-gap, the longest from %v before packet %d", name, f.Shortened, gap, f.RecordedGapAt)
	case gap >= loudGap:
		u.note("%s: nothing leaves for %v before packet %d; --max-gap shortens such gaps", name, gap, f.RecordedGapAt)
	}
}

// replayRate resolves the asked rate; a mean size is known of what was read in full.
func (s *sender) replayRate() error {
	f := s.replay.Facts()
	num, den := f.Bytes, f.Frames
	if !s.replay.Scanned {
		num, den = wire.MinFrame, 1
		if k := s.set.Rate.Kind; k == wire.RateL1 || k == wire.RateL2 || k == wire.RatePercent {
			return Usage("give it in frames/s, such as 100kpps, or preload the pipe (--preload)", "--rate %s needs the mean size of the frames, which is not known of a pipe", s.set.Rate)
		}
	}
	fps, err := s.set.Rate.FPSMean(num, den, s.link.SpeedBps)
	if err != nil {
		return UsageOf(fmt.Errorf("%s: %w", s.target, err))
	}
	s.plan.Rate = fps
	return nil
}

// replayAmount is the end of a replay: the first reached of its rounds, the count and the duration. Zeros: none.
func (u *run) replayAmount(c *replay.Capture) (count uint64, d time.Duration, err error) {
	s := &u.spec
	f := c.Facts()
	if c.Rounds() == 0 && s.Count == 0 && s.Duration == 0 && !s.Forever {
		return 0, 0, Usage("add --count, --duration or --forever", "--loop 0 has no end of its own")
	}
	if c.Scanned && c.Replay.Recorded && c.Rounds() == 0 && f.Span == 0 && s.Count == 0 {
		return 0, 0, Usage("give --rate, or --count", "--loop 0: the frames of %s have one time, so that no time passes from round to round", c.Replay.Name())
	}
	if !c.Scanned || c.Rounds() == 0 {
		return s.Count, s.Duration, nil
	}
	high, total := bits.Mul64(f.Frames, c.Rounds())
	if high != 0 {
		return 0, 0, Usage("--loop 0 is again and again", "--loop %d: no run sends that many frames", c.Rounds())
	}
	if s.Count > total {
		return 0, 0, Usage("add --loop 0 to send it again and again", "--count %d is more than the %d frames that %s comes to", s.Count, total, c.Replay.Name())
	}
	return cmp.Or(s.Count, total), s.Duration, nil
}

// expectReplay tells the receivers what the frames without a signature are known by.
func expectReplay(e *engine.Expect, x *sender) {
	f := x.replay.Facts()
	e.VLANs = max(e.VLANs, f.VLANs)
	for i, s := range x.plan.Program.Streams {
		if s.Form == packet.FormNone {
			continue
		}
		for q := range x.plan.Queues {
			e.Streams = append(e.Streams, engine.ExpectStream{ID: x.plan.IDBase + uint16(i*x.plan.Queues+q), Form: s.Form})
		}
	}
	e.SrcMACs, e.EtherTypes = appendNews(e.SrcMACs, f.SrcMACs), appendNews(e.EtherTypes, f.EtherTypes)
}

// appendNews adds what is not there yet. Several ports that send the same capture have the same.
func appendNews[T comparable](all, more []T) []T {
	if len(all) == 0 || slices.Equal(all, more) {
		return append(all[:0:0], more...)
	}
	for _, v := range more {
		all = appendNew(all, v)
	}
	return all
}

// replayDoc is what the document says of a replay, and judges what reading it came to.
func (u *run) replayDoc(x *sender, tx *report.Tx, j *judge, path string) {
	c := x.replay
	if c == nil {
		return
	}
	f := c.Facts()
	d := &report.Replay{
		File: c.Replay.File, Packets: f.Packets, Frames: f.Frames, Padded: f.Padded, Signed: f.Signed, Skipped: map[string]uint64{},
		EditsWithoutTarget: f.Missed(), Backwards: f.Backwards, Untimed: f.Untimed, Recorded: c.Replay.Recorded, Speed: c.Replay.Speed,
		SpanNs: f.Span, LongestGapNs: f.RecordedGap, GapsShortened: f.Shortened, Preloaded: c.Preloaded(),
	}
	for _, s := range f.Skipped {
		d.Skipped[s.Reason] = s.Count
	}
	if n := c.Rounds(); n > 0 {
		d.Loop = &n
	} else {
		j.unknown(path+".tx.replay.loop", "again and again")
	}
	tx.Replay = d
	if !c.Scanned && f.Frames > 0 { // their sizes are known only now
		for i := range x.plan.Program.Streams {
			x.plan.Program.Streams[i].Set.Size.Text = f.Sizes()
		}
	}
	if tx.Intended == nil {
		why := "as many as are due in the given time, which is known before of a preloaded sequence only"
		if !c.Scanned {
			why = "as many as come through the pipe"
		}
		if c.Scanned && !x.plan.Recorded {
			why = "as many as possible in the given time"
		}
		j.unknown(path+".tx.intended", "%s", why)
	}
	if x.plan.Recorded {
		j.unknown(path+".tx.requested_fps", "frames are due as they were recorded")
		if s := float64(tx.ShiftedNs) / 1e9; s > rateTolerance*(tx.DurationS-s) && !u.interrupted {
			j.mend = "a lower --speed leaves more time, --rate max asks for none; or give the sender cores that nothing else uses (--cores)"
			j.fails(ExitShort, "%s: the recorded gaps were not kept: stalls made it %v longer", x.target, time.Duration(tx.ShiftedNs))
		}
	}
	if err := c.Err(); err != nil {
		if bad, ok := errors.AsType[*replay.Error](err); ok {
			j.mend = bad.Mend
			err = errors.New(bad.Message)
		}
		j.fails(ExitShort, "%s: %v; %d frames were sent until then", x.target, err, tx.Sent)
	}
}

// compareUnsigned holds what arrived at the receive ports against what was sent where only counts and bytes can be compared.
func (u *run) compareUnsigned(doc *report.Run) {
	if len(u.rx) == 0 || u.tx[0].replay == nil || slices.ContainsFunc(u.tx, func(x *sender) bool { return x.gone != nil || x.leaving }) {
		return
	}
	var sent, sentBytes, got, gotBytes uint64
	for k, x := range u.tx {
		t := x.counters.Total()
		sent += doc.Ports[k].Tx.Sent
		sentBytes += t.Bytes
		if doc.Ports[k].Tx.Sent != t.Submitted {
			return // whose bytes are missing is not known, and that frames are is said already
		}
	}
	for _, x := range u.rx {
		got += x.got.Frames
		gotBytes += x.got.Bytes
	}
	if sent != got || sentBytes != gotBytes {
		u.note("sent and arrived differ: %d frames of %d bytes with FCS were sent, %d of %d bytes arrived", sent, sentBytes, got, gotBytes)
	}
}

// replayGap is the mean gap that the last frame of a recorded round is followed by, in seconds; 0 where it is not known.
func replayGap(p *engine.Plan) float64 {
	if s := p.Program.Sequence; p.Recorded && s != nil && len(s.Frames) > 0 {
		return float64(s.Period) / float64(len(s.Frames)) / 1e9
	}
	return 0
}

// recordedIn is how many frames of a recorded sequence are due in the plan's duration; false where that is not known.
func recordedIn(p *engine.Plan) (uint64, bool) {
	if s := p.Program.Sequence; s != nil {
		n := s.FramesIn(p.Duration)
		return n, n > 0
	}
	return 0, false
}
