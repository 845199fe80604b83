package trial

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/wirespeed/wirespeed/internal/capture"
	"github.com/wirespeed/wirespeed/internal/engine"
	"github.com/wirespeed/wirespeed/internal/host"
	"github.com/wirespeed/wirespeed/internal/program"
	"github.com/wirespeed/wirespeed/internal/replay"
	"github.com/wirespeed/wirespeed/internal/tune"
	"github.com/wirespeed/wirespeed/internal/wire"
	"github.com/wirespeed/wirespeed/stream"
)

// sender is one transmit port of a run.
type sender struct {
	target engine.Target
	link   engine.Link
	lock   func()
	set    *stream.Set
	replay *replay.Capture // nil: streams are sent
	plan   engine.Plan
	chosen chosen
	port   engine.Port

	mayMend       bool
	before, after engine.DeviceCounters
	hasDevice     bool
	gone          error // why after could not be read; hasDevice is false then
	counters      engine.Counters
	leaving       bool // frames still left while counters were read
	err           error
	wasUp         bool
}

// receiver is one receive port of a run.
type receiver struct {
	target  engine.Target
	link    engine.Link
	lock    func()
	chosen  chosen
	recv    engine.Receiver
	capture capture.Receiver // nil: nothing is written

	before, after engine.DeviceCounters
	hasDevice     bool
	gone          error // why after could not be read; hasDevice is false then
	got           engine.Received
	err           error // why got may not be all
}

// chosen is the engine that was taken for a port, and why.
type chosen struct {
	engine engine.Engine
	caps   engine.Caps
	why    string
	whyNot []string
}

// candidates are the engines that the target leaves open, in order of speed.
func (r *Runner) candidates(t engine.Target, receive bool) ([]engine.Engine, error) {
	var out []engine.Engine
	for _, e := range r.Engines {
		if t.Engine != "" && e.Name() != t.Engine {
			continue
		}
		if _, ok := e.(engine.Portless); ok && t.Engine == "" {
			continue
		}
		if _, ok := e.(engine.ReceiverEngine); receive && !ok {
			if t.Engine != "" {
				return nil, Usage("give a receive port without an engine, or one that receives", "engine %q cannot receive", t.Engine)
			}
			continue
		}
		out = append(out, e)
	}
	if len(out) == 0 {
		return nil, Usage("", "no engine for port %q", t.Text)
	}
	return out, nil
}

// portless reports whether the target is a port of an engine that has no devices.
func (r *Runner) portless(t engine.Target) bool {
	return slices.ContainsFunc(r.Engines, func(e engine.Engine) bool {
		_, ok := e.(engine.Portless)
		return ok && e.Name() == t.Engine
	})
}

// checkOptions refuses options that no engine knows; an engine that does not know one is left out of the choice.
func checkOptions(t engine.Target, engines []engine.Engine, receive bool) (fit []engine.Engine, left []string, err error) {
	for name, values := range t.Options {
		if len(values) > 1 {
			return nil, nil, Usage("give it once", "port %q has option %q %d times", t.Text, name, len(values))
		}
	}
	for _, e := range engines {
		known := []string{"speed"}
		if o, ok := e.(engine.OptionLister); ok {
			tx, rx := o.Options()
			if receive {
				tx = rx
			}
			known = append(known, tx...)
		}
		bad := ""
		for name := range t.Options {
			if !slices.Contains(known, name) {
				bad = name
			}
		}
		if bad == "" {
			fit = append(fit, e)
			continue
		}
		left = append(left, fmt.Sprintf("%s: has no option %q (it has %s)", e.Name(), bad, strings.Join(known, ", ")))
	}
	if len(fit) == 0 {
		return nil, nil, Usage("leave the option out, or take one that the engine has", "port %q: %s", t.Text, strings.Join(left, "; "))
	}
	return fit, left, nil
}

// facts asks the first engine that can answer what device is behind the target.
func (r *Runner) facts(ctx context.Context, t engine.Target, receive bool) (engine.Link, error) {
	engines, err := r.candidates(t, receive)
	if err != nil {
		return engine.Link{}, err
	}
	engines, _, err = checkOptions(t, engines, receive)
	if err != nil {
		return engine.Link{}, err
	}
	var errs []error
	for _, e := range engines {
		c, err := probe(ctx, e, t, receive)
		if err == nil {
			return declareSpeed(t, c.Link)
		}
		errs = append(errs, err)
	}
	return engine.Link{}, EnvironmentOf(errs[0])
}

func probe(ctx context.Context, e engine.Engine, t engine.Target, receive bool) (engine.Caps, error) {
	if receive {
		return e.(engine.ReceiverEngine).ProbeReceive(ctx, t)
	}
	return e.Probe(ctx, t)
}

// declareSpeed applies ?speed=: a line rate for a port that has none of its own.
func declareSpeed(t engine.Target, l engine.Link) (engine.Link, error) {
	if s := t.Options.Get("speed"); t.Options.Has("speed") {
		bps, err := wire.ParseBitRate(s)
		if err != nil {
			return l, UsageOf(fmt.Errorf("port %q: option speed: %w", t.Text, err))
		}
		l.SpeedBps, l.SpeedDeclared = bps, true
	}
	return l, nil
}

// guard refuses ports that other work depends on.
func guard(t engine.Target, l engine.Link, allow bool) error {
	if allow {
		return nil
	}
	for what, is := range map[string]bool{"the default route": l.DefaultRoute, "this terminal's SSH session": l.SSH} {
		if is {
			return Usage("take another port, or give --allow-live-port if test frames on this one hurt nobody", "%s carries %s", t, what)
		}
	}
	return nil
}

// lockPort keeps a second wirespeed from the port.
func lockPort(t engine.Target, l engine.Link, side string) (func(), error) {
	if l.Index == 0 {
		return func() {}, nil
	}
	ns, err := host.OpenNS(t.Netns)
	if err != nil {
		return nil, EnvironmentOf(err)
	}
	defer ns.Close()
	release, err := tune.LockPort(ns, l.Index, side)
	if errors.Is(err, tune.ErrLocked) {
		verb := map[string]string{"tx": "sends", "rx": "receives"}[side]
		return nil, Environment("wait for it to end, or stop it", "another wirespeed %s on %s", verb, t)
	}
	if err != nil {
		return nil, EnvironmentOf(err)
	}
	return release, nil
}

// chooseReceiver takes the first engine that can receive at the target what is expected.
func (r *Runner) chooseReceiver(ctx context.Context, t engine.Target, expect engine.Expect) (chosen, error) {
	engines, err := r.candidates(t, true)
	if err != nil {
		return chosen{}, err
	}
	engines, left, err := checkOptions(t, engines, true)
	if err != nil {
		return chosen{}, err
	}
	no := notTaken{texts: left, reasons: slices.Clone(left)}
	for _, e := range engines {
		c, err := probe(ctx, e, t, true)
		if err == nil {
			err = c.CarriesReceive(expect)
		}
		if err == nil {
			return chosen{e, c, whyChosen(t, no.texts), no.texts}, nil
		}
		no.add(c, err)
	}
	return chosen{}, no.refusal("cannot receive on " + t.String())
}

// chooseSender takes the first engine that carries the plan. refused are those that refused to load it, by name.
func (r *Runner) chooseSender(ctx context.Context, s *sender, refused map[string]error) error {
	engines, err := r.candidates(s.target, false)
	if err != nil {
		return err
	}
	engines, left, err := checkOptions(s.target, engines, false)
	if err != nil {
		return err
	}
	no := notTaken{texts: left, reasons: slices.Clone(left)}
	for _, e := range engines {
		if err := refused[e.Name()]; err != nil {
			no.add(engine.Caps{Engine: e.Name()}, err)
			continue
		}
		c, err := probe(ctx, e, s.target, false)
		if err == nil {
			if s.mayMend {
				c.Problems = slices.DeleteFunc(c.Problems, func(p engine.Problem) bool { return p.Mendable })
			}
			c.Link.SpeedBps, c.Link.SpeedDeclared = s.link.SpeedBps, s.link.SpeedDeclared
			err = c.Carries(s.plan)
		}
		if err == nil {
			s.chosen = chosen{e, c, whyChosen(s.target, no.texts), no.texts}
			return nil
		}
		no.add(c, err)
	}
	return no.refusal("cannot send on " + s.target.String())
}

// mayNotSend is why no engine can send at the target, whatever it be; nil where one could, or could be made to.
func (r *Runner) mayNotSend(ctx context.Context, t engine.Target) error {
	engines, err := r.candidates(t, false)
	if err != nil {
		return err
	}
	no := notTaken{}
	for _, e := range engines {
		c, err := probe(ctx, e, t, false)
		if err == nil && (len(c.Problems) == 0 || slices.ContainsFunc(c.Problems, func(p engine.Problem) bool { return p.Mendable })) {
			return nil
		}
		no.add(c, err)
	}
	return no.refusal("cannot send on " + t.String())
}

// notTaken gathers why engines were not taken.
type notTaken struct {
	texts          []string // one for each engine, with mends
	reasons, mends []string
}

// add takes what was found out about one engine. Its problems come first; without any, err says why.
func (n *notTaken) add(c engine.Caps, err error) {
	if len(c.Problems) == 0 {
		n.texts, n.reasons = append(n.texts, err.Error()), append(n.reasons, err.Error())
		return
	}
	n.texts = append(n.texts, c.CarriesReceive(engine.Expect{}).Error()) // the problems alone
	var reasons []string
	for _, p := range c.Problems {
		reasons = append(reasons, p.Reason)
		if p.Mend != "" && !slices.Contains(n.mends, p.Mend) {
			n.mends = append(n.mends, p.Mend)
		}
	}
	n.reasons = append(n.reasons, c.Engine+": "+strings.Join(reasons, ", "))
}

func (n *notTaken) refusal(what string) error {
	return Environment(strings.Join(n.mends, "; "), "%s: %s", what, strings.Join(once(n.reasons), "; "))
}

// once gives a reason that all engines share a single time, without the engines' names.
func once(reasons []string) []string {
	if len(reasons) < 2 {
		return reasons
	}
	_, first, _ := strings.Cut(reasons[0], ": ")
	for _, r := range reasons {
		if _, text, ok := strings.Cut(r, ": "); !ok || text != first {
			return reasons
		}
	}
	return []string{first}
}

func whyChosen(t engine.Target, whyNot []string) string {
	switch {
	case t.Engine != "":
		return "asked for"
	case len(whyNot) == 0:
		return "the fastest engine, and it carries this stream on this port"
	default:
		return "the fastest engine that carries this stream on this port"
	}
}

// compile makes the port's program: the set with this port's addresses.
func (s *sender) compile(set *stream.Set, dst *[6]byte) error {
	s.set = set.Clone()
	if s.set.NeedsDstMAC() && dst == nil {
		return Usage("give --dst-mac (ff:ff:ff:ff:ff:ff to flood on purpose), or --rx with the receiving port",
			"no destination address for %s: none given, no --rx port, and no veth peer found", s.target)
	}
	to := [6]byte{}
	if dst != nil {
		to = *dst
	}
	s.set.SetMACs(s.link.MAC, to)
	p, err := program.Compile(s.set)
	if err != nil {
		return UsageOf(err)
	}
	s.plan.Program = p
	return nil
}

// rate resolves the asked rate against the line.
func (s *sender) rate() error {
	if s.replay != nil {
		return s.replayRate()
	}
	num, den := s.plan.Program.MeanSize()
	f, err := s.set.Rate.FPSMean(num, den, s.link.SpeedBps)
	if err != nil {
		return UsageOf(fmt.Errorf("%s: %w", s.target, err))
	}
	s.plan.Rate = f
	return nil
}
