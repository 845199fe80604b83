package trial

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/wirespeed/wirespeed/internal/engine"
	"github.com/wirespeed/wirespeed/internal/host"
	"github.com/wirespeed/wirespeed/internal/neighbour"
	"github.com/wirespeed/wirespeed/internal/packet"
)

// Limits of a run's phases.
const (
	settleQuiet = 200 * time.Millisecond // nothing moved for this long: all is in
	settleMax   = 2 * time.Second
	settlePoll  = 20 * time.Millisecond
	tickEvery   = time.Second
	// startAhead is how far ahead the common start of several ports is set, for each port: loading one takes a part of it.
	startAhead = 250 * time.Millisecond
)

// run is one run under way.
type run struct {
	*Runner
	spec    Spec
	runID   uint8
	tx      []*sender
	rx      []*receiver
	began   time.Time
	beginNs int64
	endNs   int64
	// interrupted: ctx ended before the schedule did.
	interrupted bool
	cleanup     []func()

	txNode, rxNode           *neighbour.Node // nil: the port has no address of its own
	gatewayMAC, rxGatewayMAC *[6]byte        // nil: not asked for
	destinationMAC           *[6]byte        // of a destination on the sending port's network; nil: not asked for
	notes                    []string
	noteMu                   sync.Mutex
}

// Run runs one trial. An error means that nothing was sent; whatever happened after the start is in the Outcome.
func (r *Runner) Run(ctx context.Context, spec Spec) (*Outcome, error) {
	u := &run{Runner: r, spec: spec, began: time.Now()}
	defer u.close()
	err := u.open(ctx)
	if ctx.Err() != nil { // then what failed may have failed for that
		err = errInterrupted("anything was sent")
	}
	if err != nil {
		return nil, err
	}
	u.send(ctx)
	u.stage("settling")
	u.settle()
	u.readAfter()
	u.stage("done")
	return u.outcome(), nil
}

// open does everything up to the first frame.
func (u *run) open(ctx context.Context) error {
	for _, step := range []func(context.Context) error{u.prepare, u.openReceivers, u.openSenders} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	return u.readBefore()
}

func errInterrupted(before string) error {
	return &Refusal{Code: ExitInterrupted, Message: "interrupted before " + before}
}

func (u *run) stage(s string) {
	if u.Stage != nil {
		u.Stage(s)
	}
}

func (u *run) note(format string, args ...any) {
	s := fmt.Sprintf(format, args...)
	u.noteMu.Lock()
	u.notes = append(u.notes, s)
	u.noteMu.Unlock()
	u.Note(s)
}

// close releases in the opposite order of opening, so that the receiver's program goes last: without it a veth is deaf.
func (u *run) close() {
	for i := len(u.cleanup) - 1; i >= 0; i-- {
		u.cleanup[i]()
	}
}

func (u *run) atEnd(f func() error, what string) {
	u.cleanup = append(u.cleanup, func() {
		if err := f(); err != nil {
			u.Note(fmt.Sprintf("%s: %v", what, err))
		}
	})
}

// prepare reads the facts of every port, locks them and compiles what each is to send.
func (u *run) prepare(ctx context.Context) error {
	s := &u.spec
	if err := s.validate(); err != nil {
		return err
	}
	if s.RunID != nil {
		u.runID = *s.RunID
	} else {
		u.runID = drawRunID(u.StateDir)
	}
	for _, t := range s.Rx {
		x := &receiver{target: t}
		if err := u.facts1(ctx, t, true, &x.link, &x.lock); err != nil {
			return err
		}
		u.rx = append(u.rx, x)
	}
	ids := 0
	for _, t := range s.Tx {
		x := &sender{target: t}
		if err := u.facts1(ctx, t, false, &x.link, &x.lock); err != nil {
			return err
		}
		if len(u.rx) > 0 && u.portless(t) {
			return Usage("leave out --rx, or send from a device", "nothing leaves %s, so nothing can arrive with --rx", t)
		}
		if err := u.addresses(ctx, x); err != nil {
			return err
		}
		if err := u.askDestination(ctx, x); err != nil {
			return err
		}
		if err := u.plan(ctx, x, ids); err != nil {
			return err
		}
		if err := u.throughRouter(x); err != nil {
			return err
		}
		if len(u.rx) > 0 && x.replay == nil { // of a capture only frames that would be recognised are signed
			if err := x.recognisable(); err != nil {
				return err
			}
		}
		ids += len(x.plan.Program.Streams) * s.Queues
		u.tx = append(u.tx, x)
	}
	if err := u.placeQueues(); err != nil {
		return err
	}
	return u.checkIDs(ids)
}

// facts1 asks for a port's facts, refuses a live one and locks it.
func (u *run) facts1(ctx context.Context, t engine.Target, receive bool, link *engine.Link, lock *func()) (err error) {
	if *link, err = u.facts(ctx, t, receive); err != nil {
		return err
	}
	side := "rx"
	if !receive {
		side = "tx"
		if err := guard(t, *link, u.spec.AllowLivePort); err != nil {
			return err
		}
	}
	if *lock, err = lockPort(t, *link, side); err != nil {
		return err
	}
	u.cleanup = append(u.cleanup, *lock)
	return nil
}

// plan fills in what the port is to send.
func (u *run) plan(ctx context.Context, x *sender, idBase int) error {
	s := &u.spec
	if err := u.program(ctx, x); err != nil {
		return err
	}
	if err := x.rate(); err != nil {
		return err
	}
	if s.Set.Rate.Bare {
		u.note("%s: the rate in bit/s is taken as L1: frames with preamble and gap", x.target)
	}
	x.mayMend = s.MayMend || u.OursNS != nil && u.OursNS(x.target.Netns)
	for _, r := range u.rx {
		x.mayMend = x.mayMend || x.link.PeerMAC != nil && *x.link.PeerMAC == r.link.MAC
	}
	count, d := s.amount()
	if x.replay != nil {
		var err error
		if count, d, err = u.replayAmount(x.replay); err != nil {
			return err
		}
	}
	p := &x.plan
	p.Run, p.IDBase, p.Stamp = u.runID, uint16(idBase), s.Stamp
	p.Queues, p.Cores, p.Batch = s.Queues, s.Cores, s.Batch
	p.Count, p.Duration, p.CatchUp, p.BestEffort = count, d, s.CatchUp, s.BestEffort
	p.Unsupported = s.Set.Unsupported()
	return nil
}

// program makes what the port is to send: of a capture, or of streams with the addresses of this port.
func (u *run) program(ctx context.Context, x *sender) error {
	if u.spec.Set.Replay != nil {
		return u.openReplay(ctx, x)
	}
	dst := x.link.PeerMAC
	if len(u.rx) > 0 {
		dst = &u.rx[len(u.tx)%len(u.rx)].link.MAC
	}
	if x.link.Index == 0 && dst == nil { // reaches no network
		dst = &[6]byte{2, 0, 0, 0, 0, 2}
	}
	if asked := cmp.Or(u.gatewayMAC, u.destinationMAC); asked != nil {
		dst = asked
	}
	err := x.compile(u.addressed(u.spec.Set), dst)
	if err != nil && dst == nil { // what forbids sending may have hidden the peer too
		return cmp.Or(u.mayNotSend(ctx, x.target), err)
	}
	return err
}

// checkIDs refuses more stream ids than the signature's field holds, and signatures that cannot be received.
func (u *run) checkIDs(ids int) error {
	for _, x := range u.tx {
		for _, st := range x.plan.Program.Streams {
			if st.Form == packet.FormShort && ids > 256 {
				return Usage("larger frames (--size) carry the full signature, which has 65,536 ids", "%d streams times queues, but the short signature of stream %q has 256 ids", ids, st.Name)
			}
			if st.Form == packet.FormNone && len(u.rx) > 0 && st.Set.Signature == "" {
				return Usage("a larger --size, or --signature none: loss and latency are then unknown, not guessed",
					"stream %q has no room for a signature in its smallest frame, so --rx could not tell what was lost", st.Name)
			}
		}
	}
	if ids > 1<<16 {
		return Usage("fewer streams or queues", "%d streams times queues; the signature has 65,536 ids", ids)
	}
	return nil
}

func (s *Spec) validate() error {
	for side, ports := range map[string][]engine.Target{"to send from": s.Tx, "with --rx": s.Rx} {
		for i, t := range ports {
			if slices.ContainsFunc(ports[:i], func(o engine.Target) bool { return o.Device == t.Device && o.Netns == t.Netns }) {
				return Usage("name each port once", "%s is given twice as a port %s", t, side)
			}
		}
	}
	switch {
	case len(s.Tx) == 0:
		return Usage("name one: wirespeed send PORT", "no port to send from")
	case s.Queues < 1:
		return Usage("give 1 or more", "--queues %d", s.Queues)
	case s.Cores != nil && len(s.Cores) != s.Queues*len(s.Tx):
		return Usage("give one core for each queue of each port", "%d cores for %d queues", len(s.Cores), s.Queues*len(s.Tx))
	case s.Batch < 0:
		return Usage("give 1 or more", "--batch %d", s.Batch)
	case s.Duration < 0:
		return Usage("give a positive duration such as 10s", "--duration %v", s.Duration)
	case s.CatchUp < 0:
		return Usage("give 0 or a positive duration such as 10ms", "--catch-up %v", s.CatchUp)
	case s.Forever && (s.Count > 0 || s.Duration > 0):
		return Usage("give one or the other", "--forever together with --count or --duration")
	case s.MaxLoss != nil && len(s.Rx) == 0:
		return Usage("add --rx PORT", "--max-loss needs a receiver")
	}
	return s.Layer3.check(s)
}

// openReceivers comes before the transmit ports are probed: an XDP receiver on a veth is what makes live frames work.
func (u *run) openReceivers(ctx context.Context) error {
	expect := u.expect()
	for _, x := range u.rx {
		c, err := u.chooseReceiver(ctx, x.target, expect)
		if err != nil {
			return err
		}
		x.chosen = c
		x.recv, err = c.engine.(engine.ReceiverEngine).OpenReceiver(ctx, x.target, u.config(false))
		if err != nil {
			return EnvironmentOf(err)
		}
		u.atEnd(x.recv.Close, "close "+x.target.String())
		if err := x.recv.Load(expect); err != nil {
			return EnvironmentOf(err)
		}
		if err := x.recv.Start(); err != nil {
			return EnvironmentOf(err)
		}
	}
	return nil
}

func (u *run) config(mayMend bool) engine.Config {
	return engine.Config{MayMend: mayMend, Change: u.Change, Note: func(s string) { u.note("%s", s) }}
}

func (u *run) openSenders(ctx context.Context) error {
	var at int64
	if len(u.tx) > 1 {
		at = host.Monotonic() + int64(startAhead)*int64(len(u.tx))
	}
	for _, x := range u.tx {
		x.plan.StartAt = at
		if err := u.openSender(ctx, x); err != nil {
			return err
		}
	}
	if at != 0 && host.Monotonic() > at {
		u.note("the ports took longer to load than planned: they start as they come, not together")
	}
	return nil
}

// openSender opens and loads the fastest engine that carries the plan. What an engine finds out only when it loads the plan
// is a reason to take the next one, as what it knew before.
func (u *run) openSender(ctx context.Context, x *sender) error {
	refused := map[string]error{}
	for {
		if err := u.chooseSender(ctx, x, refused); err != nil {
			return err
		}
		port, err := x.chosen.engine.Open(ctx, x.target, u.config(x.mayMend))
		if err != nil {
			return EnvironmentOf(err)
		}
		err = port.Load(x.plan)
		if err == nil {
			x.port = port
			u.atEnd(port.Close, "close "+x.target.String())
			for _, s := range x.chosen.caps.Unknown {
				u.note("%s: %s", x.target, s)
			}
			return nil
		}
		if e := port.Close(); e != nil {
			u.note("close %s: %v", x.target, e)
		}
		if x.target.Engine != "" || errors.Is(err, engine.ErrInput) {
			return EnvironmentOf(err)
		}
		refused[x.chosen.engine.Name()] = err
	}
}

func (u *run) readBefore() (err error) {
	for _, x := range u.tx {
		if x.before, x.hasDevice, err = x.port.Device(); err != nil {
			return EnvironmentOf(err)
		}
		x.wasUp = x.before.Up
	}
	for _, x := range u.rx {
		if x.before, x.hasDevice, err = x.recv.Device(); err != nil {
			return EnvironmentOf(err)
		}
	}
	return nil
}

// send lets every port run to its end.
func (u *run) send(ctx context.Context) {
	u.stage("running")
	u.beginNs = host.Monotonic()
	done := make(chan struct{})
	var all sync.WaitGroup
	for _, x := range u.tx {
		all.Go(func() { x.err = x.port.Run(ctx) })
	}
	go func() { all.Wait(); close(done) }()
	tick := time.NewTicker(tickEvery)
	defer tick.Stop()
	last := u.moment()
	for {
		select {
		case <-done:
			u.endNs = host.Monotonic()
			u.interrupted = ctx.Err() != nil
			return
		case <-tick.C:
			if u.Tick != nil {
				now := u.moment()
				u.Tick(interval(u.beginNs, last, now))
				last = now
			}
		}
	}
}

// settle waits until nothing has moved for settleQuiet, at most settleMax. Where nothing can move, it does not wait: an engine
// without a device has counted its frames when it ends.
func (u *run) settle() {
	if len(u.rx) == 0 && !slices.ContainsFunc(u.tx, func(x *sender) bool { return x.hasDevice }) {
		return
	}
	last, quiet := u.movement(), time.Now()
	for end := time.Now().Add(settleMax); time.Now().Before(end) && time.Since(quiet) < settleQuiet; {
		time.Sleep(settlePoll)
		if now := u.movement(); now != last {
			last, quiet = now, time.Now()
		}
	}
}

// movement adds up every counter that a frame under way would still move.
func (u *run) movement() (n uint64) {
	for _, x := range u.rx {
		if got, err := x.recv.Snapshot(); err == nil {
			n += got.Frames + got.Stale + got.TesterDrops
		}
	}
	for _, x := range u.tx {
		if d, ok, err := x.port.Device(); err == nil && ok && len(u.rx) == 0 {
			n += d.TxFrames + d.TxDropped
		}
	}
	return n
}

// readAfter stops the receivers and reads every counter once. What cannot be read any more, since a device went during the
// run, is left for the verdict: the rest of the run is reported.
func (u *run) readAfter() {
	for _, x := range u.tx {
		x.counters = x.port.Counters()
	}
	for _, x := range u.rx {
		stopped := x.recv.Stop()
		got, err := x.recv.Snapshot()
		x.got, x.err = got, errors.Join(stopped, err)
		if x.hasDevice {
			x.after, x.gone = deviceAfter(x.recv.Device)
			x.hasDevice = x.gone == nil
		}
	}
	for _, x := range u.tx {
		if x.hasDevice {
			x.after, x.gone = deviceAfter(x.port.Device)
			x.hasDevice = x.gone == nil
		}
		before := x.counters.Total().Sent
		x.counters = x.port.Counters()
		x.leaving = x.counters.Total().Sent != before
	}
}

func deviceAfter(device func() (engine.DeviceCounters, bool, error)) (engine.DeviceCounters, error) {
	d, ok, err := device()
	if err == nil && !ok {
		err = errors.New("there is no device any more")
	}
	return d, err
}
