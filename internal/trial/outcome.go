package trial

import (
	"cmp"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/wirespeed/wirespeed/internal/packet"
	"github.com/wirespeed/wirespeed/report"
)

// rateTolerance is the share by which the rate may miss what was asked for.
const rateTolerance = 0.001

// judge gathers what the numbers say about themselves.
type judge struct {
	invalid, suspect []string
	exit             int
	why              []string
	mend             string
	reasons          map[string]string
}

func (j *judge) isInvalid(format string, args ...any) {
	j.invalid = append(j.invalid, fmt.Sprintf(format, args...))
}

func (j *judge) isSuspect(format string, args ...any) {
	j.suspect = append(j.suspect, fmt.Sprintf(format, args...))
}

// fails sets an exit status; of several the first given stands, the sentences are all kept.
func (j *judge) fails(exit int, format string, args ...any) {
	if j.exit == 0 {
		j.exit = exit
	}
	j.why = append(j.why, fmt.Sprintf(format, args...))
}

// unknown gives the reason of a null.
func (j *judge) unknown(path, format string, args ...any) {
	j.reasons[path] = fmt.Sprintf(format, args...)
}

// outcome reconciles all counts into the document.
func (u *run) outcome() *Outcome {
	j := &judge{reasons: map[string]string{}}
	doc := &report.Run{
		Schema: report.SchemaRun, Tool: u.Runner.Tool, Host: u.Runner.Host, Command: u.spec.Command,
		Started: u.began.UTC().Format(time.RFC3339Nano), RunID: int(u.runID),
		Ports: []report.Port{}, Streams: []report.Stream{}, Reasons: j.reasons,
	}
	for _, x := range u.tx {
		doc.Ports = append(doc.Ports, u.txPort(x, j, len(doc.Ports)))
	}
	for _, x := range u.rx {
		doc.Ports = append(doc.Ports, u.rxPort(x, j, len(doc.Ports)))
	}
	doc.Streams = u.streams(doc, j)
	u.compareUnsigned(doc)
	u.judgeWhole(doc, j)
	o := u.conclude(doc, j)
	if u.interrupted {
		o.Exit, o.Why = ExitInterrupted, "interrupted: this is what happened until then"
		doc.Error = &report.Error{Code: o.Exit, Message: o.Why}
	}
	return o
}

// conclude adds the verdict and decides the exit status.
func (u *run) conclude(doc *report.Run, j *judge) *Outcome {
	doc.Verdict = j.verdict()
	u.noteMu.Lock()
	doc.Notes = append([]string{}, u.notes...)
	u.noteMu.Unlock()

	o := &Outcome{Report: doc, Exit: j.exit, Why: strings.Join(j.why, "; ")}
	switch {
	case o.Exit == 0 && doc.Verdict.Status == "invalid":
		o.Exit, o.Why = ExitFailed, "the numbers are invalid: "+strings.Join(j.invalid, "; ")
	case o.Exit == 0 && doc.Verdict.Status == "suspect" && u.spec.Strict:
		o.Exit, o.Why = ExitFailed, "suspect, and --strict: "+strings.Join(j.suspect, "; ")
	}
	if o.Exit != 0 {
		doc.Error = &report.Error{Code: o.Exit, Message: o.Why, Mend: j.mend}
	}
	return o
}

func (j *judge) verdict() report.Verdict {
	v := report.Verdict{Status: "valid", Reasons: append(append([]string{}, j.invalid...), j.suspect...)}
	if len(j.suspect) > 0 {
		v.Status = "suspect"
	}
	if len(j.invalid) > 0 {
		v.Status = "invalid"
	}
	return v
}

// judgeWhole applies what concerns the run as a whole: nothing sent, loss limits.
func (u *run) judgeWhole(doc *report.Run, j *judge) {
	var sent uint64
	for _, p := range doc.Ports {
		if p.Tx != nil {
			sent += p.Tx.Sent
		}
	}
	if sent == 0 {
		j.fails(ExitShort, "nothing was sent")
	}
	u.noteSilence(sent)
	if u.spec.MaxLoss == nil || sent == 0 {
		return
	}
	lost, why := u.lostInAll(doc, sent)
	if why != "" {
		j.isInvalid("--max-loss cannot be judged: %s", why)
		return
	}
	share := float64(lost) / float64(sent)
	if share <= *u.spec.MaxLoss {
		return
	}
	var ours uint64
	for _, x := range u.rx {
		ours += x.got.TesterDrops
	}
	if ours > 0 {
		j.isInvalid("lost %d of %d, over the limit of %s, but up to %d of them were dropped by the tester itself", lost, sent, percent(*u.spec.MaxLoss), ours)
		return
	}
	j.fails(ExitFailed, "lost %d of %d frames (%s), more than the limit of %s", lost, sent, percent(share), percent(*u.spec.MaxLoss))
}

// lostInAll is what was lost of all streams, by the signatures where there are some. What was lost of streams without one, in
// a run where others have one, is the rest of what was sent and did not arrive by the ports' counts. Where that cannot be known
// it says why.
func (u *run) lostInAll(doc *report.Run, sent uint64) (lost int64, why string) {
	rest := int64(sent) // of streams without a signature: sent, and not arrived
	for _, x := range u.rx {
		rest -= int64(x.got.Frames)
	}
	signed := false
	for i := range doc.Streams {
		s := &doc.Streams[i]
		path := fmt.Sprintf("streams[%d].rx.lost", i)
		switch {
		case s.Rx != nil && s.Rx.Lost != nil:
			signed = true
			lost += *s.Rx.Lost
			rest -= int64(s.Tx.Frames) - int64(*s.Rx.Frames+*s.Rx.Duplicate+*s.Rx.Late+*s.Rx.Corrupt+*s.Rx.BadSeq)
		case s.Signature == packet.FormNone.String():
			why = cmp.Or(why, doc.Reasons[path])
		default:
			return 0, doc.Reasons[path]
		}
	}
	switch {
	case !signed || why == "":
		return lost, why
	case rest < 0:
		return 0, fmt.Sprintf("%d more frames without a signature arrived than were sent", -rest)
	}
	return lost + rest, ""
}

// noteSilence says where to look when nothing at all arrived.
func (u *run) noteSilence(sent uint64) {
	var got uint64
	for _, x := range u.rx {
		got += x.got.Frames
	}
	if sent > 0 && got == 0 && len(u.rx) > 0 {
		u.note("nothing of the run arrived at %s; usual causes: it is not what %s is connected to, the destination MAC address (--dst-mac) is nobody's there or a bridge sends it elsewhere, or a switch does not carry the VLAN (--vlan)", u.rx[0].target, u.tx[0].target)
	}
}

func percent(share float64) string { return fmt.Sprintf("%.4g %%", 100*share) }

// missed reports whether a rate misses what was asked for.
func missed(got, asked float64) bool {
	return asked > 0 && math.Abs(got-asked) > rateTolerance*asked
}
