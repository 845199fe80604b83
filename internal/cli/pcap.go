package cli

import (
	"errors"
	"fmt"
	"io/fs"

	"github.com/wirespeed/wirespeed/internal/pcapio"
	"github.com/wirespeed/wirespeed/internal/render"
	"github.com/wirespeed/wirespeed/internal/trial"
	"github.com/wirespeed/wirespeed/internal/wire"
	"github.com/wirespeed/wirespeed/report"
)

// PcapCmd is `pcap`.
type PcapCmd struct {
	Info  pcapInfoCmd  `cmd:"" help:"What captures hold. Example: wirespeed pcap info trace.pcapng"`
	Check pcapCheckCmd `cmd:"" help:"Whether all of a capture can be sent: status 0, or 4 where some cannot. Example: wirespeed pcap check trace.pcap --mtu 1500"`
}

// pcapInfoCmd is `pcap info`.
type pcapInfoCmd struct {
	Files []string `arg:"" help:"Capture files, pcap or pcapng, compressed by gzip or not; - is standard input." placeholder:"FILE"`
}

// pcapCheckCmd is `pcap check`.
type pcapCheckCmd struct {
	Files []string `arg:"" help:"Capture files; - is standard input." placeholder:"FILE"`
	MTU   int      `name:"mtu" help:"The port's MTU, 68 to 16092. Default: the longest frame there is." placeholder:"BYTES"`
	Pad   bool     `help:"Fill up packets that are cut or too short, as replay does with --pad."`
	L2    bool     `name:"l2" help:"Make packets of other link types Ethernet, as replay does with --l2."`
}

// captures is the document of both.
type captures struct {
	Schema string            `json:"schema"`
	Files  []*pcapio.Summary `json:"files"`
	Error  *report.Error     `json:"error,omitempty"` // of the first file that is no capture
}

const capturesSchema = "wirespeed.pcap/v1"

func (c *pcapInfoCmd) run(e *env) (int, error) {
	doc, err := e.summaries(c.Files, pcapio.Options{})
	if err != nil {
		return 0, err
	}
	return e.captures(doc, func() error {
		for i, s := range doc.Files {
			if i > 0 {
				fmt.Fprintln(e.stdout)
			}
			if err := render.Capture(e.stdout, s); err != nil {
				return err
			}
		}
		return nil
	})
}

func (c *pcapCheckCmd) run(e *env) (int, error) {
	o, err := c.options()
	if err != nil {
		return 0, err
	}
	doc, err := e.summaries(c.Files, o)
	if err != nil {
		return 0, err
	}
	exit, err := e.captures(doc, func() error {
		for _, s := range doc.Files {
			if err := render.Sendable(e.stdout, s, c.MTU); err != nil {
				return err
			}
		}
		return nil
	})
	if exit != trial.ExitOK || err != nil {
		return exit, err
	}
	for _, s := range doc.Files {
		if s.Sendable < s.Packets || s.Damage != nil {
			return trial.ExitFailed, nil
		}
	}
	return trial.ExitOK, nil
}

// outsideMTU is what a frame has beyond the MTU: its header and FCS. A tag more is let through.
const outsideMTU = 14 + wire.FCS

// minMTU is that of IPv4 (RFC 791).
const minMTU = 68

// options says what can be sent.
func (c *pcapCheckCmd) options() (pcapio.Options, error) {
	o := pcapio.Options{Pad: c.Pad, L2: c.L2}
	const most = wire.MaxFrame - outsideMTU
	switch {
	case c.MTU == 0:
	case c.MTU < minMTU || c.MTU > most:
		return o, trial.Usage(fmt.Sprintf("give a number from %d to %d", minMTU, most), "--mtu %d", c.MTU)
	default:
		o.MaxFrame, o.MaxTag = c.MTU+outsideMTU, wire.VLANTag
	}
	return o, nil
}

// summaries reads all files. Those that are no captures are said to be at once, and the first one in the document.
func (e *env) summaries(files []string, o pcapio.Options) (*captures, error) {
	doc := &captures{Schema: capturesSchema, Files: []*pcapio.Summary{}}
	stdin := false
	for _, name := range files {
		if name == "-" && stdin {
			return nil, trial.Usage("give - once", "standard input cannot be read twice")
		}
		stdin = stdin || name == "-"
		s, err := e.summary(name, o)
		switch {
		case err == nil:
			doc.Files = append(doc.Files, s)
			continue
		case e.ctx.Err() != nil:
			return nil, err
		}
		r := trial.ErrorOf(err)
		if doc.Error == nil {
			doc.Error = r
		}
		if !e.out.machine() {
			e.fail(err)
		}
	}
	return doc, nil
}

// summary reads one file. It does not wait for bytes that do not come when the command is to end: a pipe may have none.
func (e *env) summary(name string, o pcapio.Options) (*pcapio.Summary, error) {
	type outcome struct {
		s   *pcapio.Summary
		err error
	}
	done := make(chan outcome, 1)
	go func() {
		defer func() {
			if r := recover(); r != nil {
				done <- outcome{err: fmt.Errorf("panic: %v", r)}
			}
		}()
		s, err := e.read(name, o)
		done <- outcome{s, err}
	}()
	select {
	case got := <-done:
		return got.s, got.err
	case <-e.ctx.Done():
		return nil, &trial.Refusal{Code: trial.ExitInterrupted, Message: "interrupted"}
	}
}

func (e *env) read(name string, o pcapio.Options) (*pcapio.Summary, error) {
	r, err := pcapio.Open(name, e.stdin)
	if err != nil {
		return nil, unreadableCapture(name, err)
	}
	defer r.Close()
	if name == "-" {
		name = "standard input"
	}
	s, err := pcapio.Summarise(e.ctx, name, r, o)
	switch {
	case err != nil:
		return nil, unreadableCapture(name, err)
	case s.Packets == 0 && s.Damage != nil:
		return nil, trial.Usage("give a capture that is whole", "%s: no packets: %s", name, s.Damage.Message)
	case s.Packets == 0:
		return nil, trial.Usage("give a capture that has some", "%s: no packets", name)
	}
	return s, nil
}

func unreadableCapture(name string, err error) error {
	if _, ok := errors.AsType[*pcapio.FormatError](err); ok {
		return trial.Usage("give a capture in pcap or pcapng, as it is or compressed by gzip", "%s: %v", name, err)
	}
	if p, ok := errors.AsType[*fs.PathError](err); ok {
		return trial.Usage("", "%s: %v", name, p.Err)
	}
	return trial.Usage("", "%s: %v", name, err)
}

// captures prints the document, and returns the status by what could be read.
func (e *env) captures(doc *captures, text func() error) (exit int, err error) {
	if e.out.machine() {
		err = e.document(doc)
	} else {
		err = text()
	}
	if err == nil && doc.Error != nil {
		return doc.Error.Code, nil
	}
	return trial.ExitOK, err
}
