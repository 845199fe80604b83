package render

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/wirespeed/wirespeed/report"
)

// interrupted is the exit status of a run that was ended by a signal.
const interrupted = 5

// Text writes the report of a run for people: what was sent from each port, what arrived at each, what became of each
// stream, and in the end whether the numbers can be trusted.
func Text(w io.Writer, r *report.Run) error {
	p := &page{reasons: r.Reasons, absent: map[string][]string{}}
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
	p.line("%s, wirespeed %s, %s", run, clean(r.Tool.Version), clean(toSecond(r.Started)))
	if r.Host.Kernel != "" {
		p.line("Linux %s, %d cores, %s", clean(r.Host.Kernel), r.Host.Cores, clean(r.Host.CPU))
	}
	if len(r.Command) > 0 {
		p.sentence("", "$ "+strings.Join(r.Command, " "))
	}
	p.line("")
}

// toSecond leaves the fraction of a second out of a time.
func toSecond(rfc3339 string) string {
	t, err := time.Parse(time.RFC3339Nano, rfc3339)
	if err != nil {
		return rfc3339
	}
	return t.Format(time.RFC3339)
}

// whyNot says why faster engines were not taken: once where it is the same at several ports.
func (p *page) whyNot(r *report.Run) {
	var order []string
	ports := map[string][]string{}
	for _, port := range r.Ports {
		why := strings.Join(port.WhyNot, "\n")
		if why == "" {
			continue
		}
		if ports[why] == nil {
			order = append(order, why)
		}
		ports[why] = append(ports[why], port.Port)
	}
	for _, why := range order {
		p.sentence("", "engines not used at "+strings.Join(ports[why], ", ")+":")
		p.list(strings.Split(why, "\n"))
	}
	if len(order) > 0 {
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

// verdictWords are the plain words of each status. A valid run may have lost everything, or not know what it lost.
func verdictWords(r *report.Run) string {
	switch r.Verdict.Status {
	case "valid":
		switch {
		case silent(r):
			return "valid: the counts agree that nothing of the run arrived"
		case lossUnknown(r):
			return "valid: no count contradicts another, but not every loss is known"
		}
		return "valid: every count agrees, the numbers can be trusted"
	case "suspect":
		return "suspect: something may have falsified the numbers"
	case "invalid":
		return "invalid: do not use these numbers"
	}
	return "unknown (the run recorded none)"
}

// silent reports whether something was sent, as far as is known here, and nothing of it arrived at any port.
func silent(r *report.Run) bool {
	received, sent := false, true
	for i := range r.Ports {
		p := &r.Ports[i]
		if p.Tx != nil {
			sent = sent && p.Tx.Sent > 0
		}
		if p.Rx == nil {
			continue
		}
		if p.Rx.Frames > 0 || p.Rx.Capture != nil && p.Rx.Capture.Frames > 0 {
			return false
		}
		received = true
	}
	return received && sent
}

// lossUnknown reports whether a stream was received of which nobody can say what was lost.
func lossUnknown(r *report.Run) bool {
	return slices.ContainsFunc(r.Streams, func(s report.Stream) bool { return s.Rx != nil && s.Rx.Lost == nil })
}

func (p *page) verdict(r *report.Run) {
	p.line("verdict: %s", verdictWords(r))
	p.list(r.Verdict.Reasons)
	if r.Error != nil && r.Error.Code == interrupted {
		p.sentence("", r.Error.Message) // the user's own wish is no error
	} else if r.Error != nil {
		p.sentence("error: ", r.Error.Message)
		if r.Error.Mend != "" {
			p.sentence("mend:  ", r.Error.Mend)
		}
	}
}
