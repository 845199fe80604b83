package trial

import (
	"fmt"

	"github.com/wirespeed/wirespeed/internal/packet"
	"github.com/wirespeed/wirespeed/report"
)

// streams makes the document's streams: in the order of definition, queues and ports added up.
func (u *run) streams(doc *report.Run, j *judge) []report.Stream {
	out := []report.Stream{}
	for i := range u.tx[0].plan.Program.Streams {
		st := &u.tx[0].plan.Program.Streams[i]
		path := fmt.Sprintf("streams[%d]", i)
		tx, inexact := u.streamSent(doc, i)
		s := report.Stream{
			Name: st.Name, ID: int(u.tx[0].plan.IDBase) + i*u.tx[0].plan.Queues, FrameSize: st.Set.Size.Text,
			Signature: st.Form.String(), Tx: &report.StreamTx{Frames: tx},
		}
		switch {
		case len(u.rx) == 0:
		case st.Form == packet.FormNone:
			s.Rx = u.unsignedRx(j, path)
		default:
			s.Rx = u.streamReceived(i, j, path)
			lost(&s, inexact, j, path)
		}
		out = append(out, s)
	}
	return out
}

// streamSent is how many frames of a stream were sent, and why that is not exact; empty: it is.
func (u *run) streamSent(doc *report.Run, i int) (n uint64, inexact string) {
	for k, x := range u.tx {
		p := doc.Ports[k].Tx
		if x.gone != nil {
			inexact = fmt.Sprintf("%s went away during the run: how many of its frames left is unknown", x.target)
		}
		if x.leaving {
			inexact = "frames were still leaving the queue below while the counters were read"
		}
		if p.Sent != p.Submitted && len(x.plan.Program.Streams) == 1 {
			n += p.Sent
			continue
		}
		if p.Sent != p.Submitted {
			inexact = "some of the port's frames were not sent, and of which stream they were is unknown"
		}
		for _, q := range x.counters.Queues {
			if i < len(q.Streams) {
				n += q.Streams[i]
			}
		}
	}
	return n, inexact
}

func (u *run) streamReceived(i int, j *judge, path string) *report.StreamRx {
	var m merged
	clock := ""
	gapAsked := false
	for _, r := range u.rx {
		for k := range r.got.Streams {
			s := &r.got.Streams[k]
			for _, x := range u.tx {
				p := &x.plan
				at := int(s.ID) - int(p.IDBase)
				if at >= 0 && at < len(p.Program.Streams)*p.Queues && at/p.Queues == i {
					merge(&m, s)
					clock = r.got.Clock
				}
			}
		}
		gapAsked = gapAsked || len(u.tx) == 1 && len(u.tx[0].plan.Program.Streams) == 1 && !u.tx[0].plan.Rate.IsZero()
	}
	return m.streamRx(j, path+".rx", clock, gapAsked)
}

// unsignedRx is the receive side of a stream without a signature: only a port's only stream has a count, the port's.
func (u *run) unsignedRx(j *judge, path string) *report.StreamRx {
	const why = "the frames carry no signature: compare the ports' counts"
	rx := &report.StreamRx{}
	for _, f := range []string{"lost", "lost_first", "duplicate", "reordered", "late", "corrupt", "bad_seq", "latency_ns", "gap_ns"} {
		j.unknown(path+".rx."+f, why)
	}
	if len(u.tx) > 1 || len(u.tx[0].plan.Program.Streams) > 1 {
		j.unknown(path+".rx.frames", why)
		return rx
	}
	var n uint64
	for _, r := range u.rx {
		n += r.got.Frames
	}
	rx.Frames = &n
	return rx
}

// lost is what was sent and did not arrive whole.
func lost(s *report.Stream, inexact string, j *judge, path string) {
	if inexact != "" {
		j.unknown(path+".rx.lost", "%s", inexact)
		return
	}
	n := int64(s.Tx.Frames) - int64(*s.Rx.Frames)
	s.Rx.Lost = &n
	if n < 0 {
		j.isInvalid("stream %q: %d more frames arrived than were sent", s.Name, -n)
	}
}
