package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/wirespeed/wirespeed/internal/engine"
	"github.com/wirespeed/wirespeed/internal/host"
	"github.com/wirespeed/wirespeed/internal/lab"
	"github.com/wirespeed/wirespeed/internal/render"
	"github.com/wirespeed/wirespeed/internal/trial"
	"github.com/wirespeed/wirespeed/internal/tune"
	"github.com/wirespeed/wirespeed/internal/wire"
)

// PortsCmd is `ports`: what there is to send from and receive on, and what works there. It sends and changes nothing.
type PortsCmd struct {
	Ports []string `arg:"" optional:"" name:"port" help:"Only these ports: device[@netns]. Default: those of this namespace and of the labs."`
}

// portsDoc is the JSON document of `ports`.
type portsDoc struct {
	Ports []portFacts `json:"ports"`
	labs  []string    // namespaces of wirespeed's labs
	// portless are the engines that need no device.
	portless []string
}

// portFacts is one device.
type portFacts struct {
	Port         string      `json:"port"` // as the other verbs take it
	Device       string      `json:"device"`
	Netns        string      `json:"netns"`
	Index        int         `json:"ifindex"`
	Kind         string      `json:"kind"`
	Driver       string      `json:"driver"`
	Bus          *string     `json:"bus"` // null: no hardware
	MTU          int         `json:"mtu"`
	MAC          string      `json:"mac"`
	Up           bool        `json:"up"`
	Carrier      bool        `json:"carrier"`
	LinkBps      *uint64     `json:"link_bps"` // null: no speed of its own
	TxQueues     int         `json:"tx_queues"`
	RxQueues     int         `json:"rx_queues"`
	DefaultRoute bool        `json:"default_route"`
	SSH          bool        `json:"ssh"`
	Engines      []engineFit `json:"engines"`
}

// engineFit is what one engine can do at the device.
type engineFit struct {
	Engine  string `json:"engine"`
	Send    fit    `json:"send"`
	Receive fit    `json:"receive"`
}

// fit is one direction.
type fit struct {
	Works    bool         `json:"works"`
	Problems []problemDoc `json:"problems"`
	Unknown  []string     `json:"unknown"` // what only a run can tell
}

type problemDoc struct {
	Reason string `json:"reason"`
	Mend   string `json:"mend"`
	// Mendable: the engine mends it itself with --rx at the veth's peer, or in a lab of wirespeed.
	Mendable bool `json:"mendable"`
}

func (c *PortsCmd) run(e *env) (int, error) {
	doc, err := listPorts(e.ctx, engines(), c.Ports)
	if err != nil {
		return 0, err
	}
	if e.out.machine() {
		return 0, e.document(doc)
	}
	return 0, doc.text(e.stdout)
}

// listPorts asks every engine about every port; with names only about these.
func listPorts(ctx context.Context, engines []engine.Engine, names []string) (portsDoc, error) {
	doc := portsDoc{Ports: []portFacts{}, labs: labNamespaces()}
	for _, e := range engines {
		if p, ok := e.(engine.Portless); ok {
			doc.portless = append(doc.portless, p.Portless())
		}
	}
	links, err := chosenLinks(names)
	if err != nil {
		return doc, err
	}
	for _, l := range links {
		p := factsOf(l)
		for _, e := range engines {
			if _, ok := e.(engine.Portless); ok {
				continue
			}
			if err := ctx.Err(); err != nil {
				return doc, &trial.Refusal{Code: trial.ExitInterrupted, Message: "interrupted"}
			}
			p.Engines = append(p.Engines, fitOf(ctx, e, engine.Target{Device: l.Name, Netns: l.Netns, Text: p.Port}))
		}
		doc.Ports = append(doc.Ports, p)
	}
	return doc, nil
}

// chosenLinks are the named devices, or all of this namespace and of the labs.
func chosenLinks(names []string) ([]host.Link, error) {
	if len(names) == 0 {
		return allLinks()
	}
	targets, err := targets(names)
	if err != nil {
		return nil, err
	}
	var links []host.Link
	for _, t := range targets {
		ns, err := host.OpenNS(t.Netns)
		if err != nil {
			return nil, trial.EnvironmentOf(err)
		}
		l, err := ns.Link(t.Device)
		_ = ns.Close()
		if errors.Is(err, fs.ErrNotExist) {
			return nil, trial.Environment("`wirespeed ports` lists those there are", "no device %q", t)
		}
		if err != nil {
			return nil, trial.EnvironmentOf(err)
		}
		links = append(links, l)
	}
	return links, nil
}

func allLinks() (links []host.Link, err error) {
	for _, netns := range append([]string{""}, labNamespaces()...) {
		ns, err := host.OpenNS(netns)
		if err != nil && netns != "" {
			continue // taken down meanwhile
		}
		if err != nil {
			return nil, trial.EnvironmentOf(err)
		}
		here, err := ns.Links()
		_ = ns.Close()
		if err != nil {
			return nil, trial.EnvironmentOf(err)
		}
		links = append(links, slices.DeleteFunc(here, func(l host.Link) bool { return l.Name == "lo" })...)
	}
	return links, nil
}

// labNamespaces are those that can be seen; a listing does without them.
func labNamespaces() (names []string) {
	j, err := tune.Open(tune.StateDir())
	if err != nil {
		return nil
	}
	labs, err := lab.List(j)
	if err != nil {
		return nil
	}
	for _, l := range labs {
		if l.State != lab.StateStale {
			names = append(names, l.Namespaces...)
		}
	}
	return names
}

func factsOf(l host.Link) portFacts {
	p := portFacts{
		Port: engine.Target{Device: l.Name, Netns: l.Netns}.String(), Device: l.Name, Netns: l.Netns, Index: l.Index, Kind: l.Kind,
		Driver: l.Driver, MTU: l.MTU, MAC: net.HardwareAddr(l.MAC[:]).String(), Up: l.Up, Carrier: l.Carrier,
		TxQueues: l.TxQueues, RxQueues: l.RxQueues, DefaultRoute: l.DefaultRoute, SSH: l.SSH, Engines: []engineFit{},
	}
	if l.Bus != "" {
		p.Bus = &l.Bus
	}
	if l.SpeedBps != 0 {
		p.LinkBps = &l.SpeedBps
	}
	return p
}

func fitOf(ctx context.Context, e engine.Engine, t engine.Target) engineFit {
	f := engineFit{Engine: e.Name(), Send: fitFrom(e.Probe(ctx, t))}
	if r, ok := e.(engine.ReceiverEngine); ok {
		f.Receive = fitFrom(r.ProbeReceive(ctx, t))
	} else {
		f.Receive = fit{Problems: []problemDoc{{Reason: "this engine does not receive"}}, Unknown: []string{}}
	}
	return f
}

func fitFrom(c engine.Caps, err error) fit {
	f := fit{Problems: []problemDoc{}, Unknown: append([]string{}, c.Unknown...)}
	if err != nil {
		f.Problems = append(f.Problems, problemDoc{Reason: err.Error()})
	}
	for _, p := range c.Problems {
		f.Problems = append(f.Problems, problemDoc{p.Reason, p.Mend, p.Mendable})
	}
	f.Works = len(f.Problems) == 0
	return f
}

func (d portsDoc) text(w io.Writer) error {
	if len(d.Ports) == 0 {
		_, err := fmt.Fprintln(w, "no ports; `wirespeed lab up pair --name x` makes two")
		return err
	}
	var out strings.Builder
	t := tabwriter.NewWriter(&out, 0, 8, 2, ' ', 0)
	head := []string{"PORT", "LINK", "SPEED", "DRIVER", "BUS", "QUEUES"}
	for _, e := range d.Ports[0].Engines {
		head = append(head, strings.ToUpper(e.Engine))
	}
	fmt.Fprintln(t, strings.Join(head, "\t"))
	for _, p := range d.Ports {
		row := []string{p.Port, linkWord(p), "none", p.Driver, "none", fmt.Sprintf("%d/%d", p.TxQueues, p.RxQueues)}
		if p.LinkBps != nil {
			row[2] = wire.FormatBitRate(*p.LinkBps)
		}
		if p.Bus != nil {
			row[4] = *p.Bus
		}
		for _, e := range p.Engines {
			row = append(row, fitWord(e))
		}
		fmt.Fprintln(t, strings.Join(row, "\t"))
	}
	if err := t.Flush(); err != nil {
		return err
	}
	if strings.Contains(out.String(), "*") {
		out.WriteString("* wirespeed mends what is missing: with --rx at the veth's peer, and in its own labs\n")
	}
	d.whyNot(&out)
	if len(d.portless) > 0 {
		out.WriteString("\nwithout a device, where it is named:\n  " + strings.Join(d.portless, "\n  ") + "\n")
	}
	_, err := io.WriteString(w, out.String())
	return err
}

func linkWord(p portFacts) string {
	words := []string{"up"}
	switch {
	case !p.Up:
		words[0] = "down"
	case !p.Carrier:
		words[0] = "no carrier"
	}
	if p.DefaultRoute {
		words = append(words, "default route")
	}
	if p.SSH {
		words = append(words, "SSH")
	}
	return strings.Join(words, ", ")
}

func fitWord(e engineFit) string {
	var words []string
	for _, d := range []struct {
		word string
		fit
	}{{"send", e.Send}, {"receive", e.Receive}} {
		switch {
		case d.Works && len(d.Unknown) > 0:
			words = append(words, d.word+"?")
		case d.Works:
			words = append(words, d.word)
		case !slices.ContainsFunc(d.Problems, func(p problemDoc) bool { return !p.Mendable }):
			words = append(words, d.word+"*")
		}
	}
	if len(words) == 0 {
		return "-"
	}
	return strings.Join(words, "+")
}

// whyNot prints each reason once, with the engines and the ports it holds for. What is not known about a port that is down
// is of no use yet, and what wirespeed mends in its own labs the line below the table says.
func (d portsDoc) whyNot(w *strings.Builder) {
	type reason struct{ direction, text, mend string }
	var order []reason
	engines, ports := map[reason][]string{}, map[reason][]string{}
	for _, p := range d.Ports {
		for _, e := range p.Engines {
			for text, direction := range e.reasons {
				r := reason{direction, text.Reason, text.Mend}
				if direction == notKnown && !p.Up || text.Mendable && slices.Contains(d.labs, p.Netns) {
					continue
				}
				if engines[r] == nil {
					order = append(order, r)
				}
				engines[r], ports[r] = appendNew(engines[r], e.Engine), appendNew(ports[r], p.Port)
			}
		}
	}
	for _, r := range order {
		w.WriteString("\n" + render.Sentence("", fmt.Sprintf("%s: %s at %s: %s", strings.Join(engines[r], ", "), r.direction, strings.Join(ports[r], ", "), r.text)))
		if r.mend != "" {
			fmt.Fprintf(w, "  mend: %s\n", r.mend) // a command is not broken: it is there to be copied
		}
	}
}

func appendNew(s []string, v string) []string {
	if slices.Contains(s, v) {
		return s
	}
	return append(s, v)
}

// notKnown is what reasons says of a fact that could not be found out.
const notKnown = "not known"

// reasons gives every reason once, with what does not work for it.
func (e engineFit) reasons(yield func(problemDoc, string) bool) {
	for _, p := range e.Send.Problems {
		direction := "send does not work"
		if slices.Contains(e.Receive.Problems, p) {
			direction = "neither send nor receive works"
		}
		if !yield(p, direction) {
			return
		}
	}
	for _, p := range e.Receive.Problems {
		if !slices.Contains(e.Send.Problems, p) && !yield(p, "receive does not work") {
			return
		}
	}
	for _, u := range e.Send.Unknown {
		if !yield(problemDoc{Reason: u}, notKnown) {
			return
		}
	}
	for _, u := range e.Receive.Unknown {
		if !slices.Contains(e.Send.Unknown, u) && !yield(problemDoc{Reason: u}, notKnown) {
			return
		}
	}
}
