package cli

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/wirespeed/wirespeed/internal/engine"
	"github.com/wirespeed/wirespeed/internal/host"
	"github.com/wirespeed/wirespeed/internal/lab"
	"github.com/wirespeed/wirespeed/internal/trial"
	"github.com/wirespeed/wirespeed/internal/tune"
	"github.com/wirespeed/wirespeed/internal/wire"
	"github.com/wirespeed/wirespeed/report"
	"github.com/wirespeed/wirespeed/stream"
)

// demoCmd is `demo`: two private namespaces joined by a veth pair, filled with small frames. It needs no NIC and no
// set-up, and leaves nothing behind.
type demoCmd struct {
	Duration span   `default:"2s" help:"Time to send. Default 2s." placeholder:"D"`
	Size     string `default:"64" help:"Frame size in bytes with the FCS. Default 64." placeholder:"SIZE"`
}

// Where the demonstration's own receiver cannot keep up, it tries again at a lower rate, so many times.
const (
	demoTries  = 5
	demoMargin = 10 // the next rate is (demoMargin-1)/demoMargin of what arrived
)

func (c *demoCmd) run(e *env) (int, error) {
	set, err := stream.FromFlags(stream.Flags{Size: c.Size})
	if err != nil {
		return 0, trial.UsageOf(err)
	}
	if os.Geteuid() != 0 && !lab.Inside() {
		return c.reexec(e)
	}
	j, err := tune.Open(tune.StateDir())
	if err != nil {
		return 0, trial.EnvironmentOf(err)
	}
	d, err := lab.NewDemo(j, 1)
	if err != nil {
		return 0, demoRefusal(err)
	}
	defer d.Close()
	o, err := c.fill(e, d, set)
	if err != nil {
		return 0, err
	}
	if lab.Inside() {
		o.Report.Notes = append(o.Report.Notes, "without root no BPF program may be loaded: as root both ends are xdp:, many times as fast, with latency and gaps from inside the kernel")
	}
	return e.print(o)
}

// reexec runs the demonstration in a user namespace of its own.
func (c *demoCmd) reexec(e *env) (int, error) {
	e.message("not root: running in a user and network namespace of our own")
	exit, err := lab.Reexec(e.ctx, e.args, lab.Stdio{In: e.stdin, Out: e.stdout, Err: e.stderr})
	if err != nil {
		return 0, demoRefusal(err)
	}
	return exit, nil
}

func demoRefusal(err error) error {
	if u, ok := errors.AsType[*lab.UsernsError](err); ok {
		return trial.Environment(u.Mend, "%s", u.Reason)
	}
	return trial.EnvironmentOf(err)
}

// fill sends as fast as possible, and again at a lower rate where the tester itself dropped frames.
func (c *demoCmd) fill(e *env, d *lab.Demo, set *stream.Set) (*trial.Outcome, error) {
	tx, err := demoTarget(d.PortA, lab.DevA)
	if err != nil {
		return nil, err
	}
	rx, err := demoTarget(d.PortB, lab.DevB)
	if err != nil {
		return nil, err
	}
	var lowered []string
	for try := 1; ; try++ {
		r := e.runner()
		watch := watchCores(r)
		o, err := r.Run(e.ctx, trial.Spec{
			Set: set, Tx: []engine.Target{tx}, Rx: []engine.Target{rx}, Duration: time.Duration(c.Duration), Queues: 1,
			CatchUp: time.Duration(c.Duration), MayMend: true, Command: append([]string{"wirespeed"}, e.args...),
		})
		if err != nil {
			return nil, err
		}
		got := o.Report.Ports[1].Rx
		drops := got.TesterDrops
		if try > 1 {
			forgive(o)
		}
		if drops == nil || *drops == 0 || try == demoTries || o.Exit != 0 {
			o.Report.Notes = append(slices.Concat(o.Report.Notes, lowered), watch.bounds(o.Report)...)
			return o, nil
		}
		next := uint64(got.FPS) * (demoMargin - 1) / demoMargin
		if next == 0 {
			return o, nil
		}
		lowered = append(lowered, fmt.Sprintf("at %.0f frames/s the demonstration's own receiver dropped %d frames: the rate was lowered to %d frames/s", o.Report.Ports[0].Tx.FPS, *drops, next))
		e.message(lowered[len(lowered)-1])
		set = set.Clone()
		set.Rate = wire.Rate{Kind: wire.RateFPS, Num: next, Den: 1}
	}
}

// forgive turns a missed rate into a note: the demonstration chose that rate itself. Frames that were not sent stay a failure.
func forgive(o *trial.Outcome) {
	tx := o.Report.Ports[0].Tx
	if o.Exit == trial.ExitShort && tx.Sent > 0 && tx.Unsent == 0 {
		o.Report.Notes = append(o.Report.Notes, o.Why)
		o.Report.Error, o.Exit, o.Why = nil, trial.ExitOK, ""
	}
}

func demoTarget(address, label string) (engine.Target, error) {
	ts, err := targets([]string{address})
	if err != nil {
		return engine.Target{}, err
	}
	ts[0].Text, ts[0].Label = label, label
	return ts[0], nil
}

// coreWatch reads what the cores did while frames were sent.
type coreWatch struct{ before, after map[int]host.CPUTime }

// watchCores hooks into the stages of a run.
func watchCores(r *trial.Runner) *coreWatch {
	w, before := &coreWatch{}, r.Stage
	r.Stage = func(s string) {
		switch s {
		case "running":
			w.before, _ = host.CPUTimes()
		case "settling":
			w.after, _ = host.CPUTimes()
		}
		if before != nil {
			before(s)
		}
	}
	return w
}

// bounds are facts about what held the rate back.
func (w *coreWatch) bounds(doc *report.Run) (notes []string) {
	tx, rx := doc.Ports[0].Tx, doc.Ports[1].Rx
	for _, q := range tx.Queues {
		b, ok := w.before[q.Core]
		if !ok {
			continue
		}
		d := w.after[q.Core].Sub(b)
		if d.Total() == 0 {
			continue
		}
		part := func(n uint64) float64 { return 100 * float64(n) / float64(d.Total()) }
		notes = append(notes, fmt.Sprintf("what bounds it: core %d, which sends queue %d, was %.0f %% busy (user %.0f %%, kernel %.0f %%, soft interrupts %.0f %%, taken by the host %.0f %%)",
			q.Core, q.Queue, 100*d.Busy(), part(d.User), part(d.System), part(d.SoftIRQ), part(d.Steal)))
	}
	return append(notes, "what bounds it: "+held(tx, rx))
}

// held says what was full on the way, and what was dropped.
func held(tx *report.Tx, rx *report.Rx) string {
	known := func(n *uint64) string {
		if n == nil {
			return "an unknown number of"
		}
		return fmt.Sprint(*n)
	}
	if zero := func(n *uint64) bool { return n != nil && *n == 0 }; tx.Backpressure == 0 && zero(tx.DeviceDropped) && zero(rx.TesterDrops) {
		return "not the ports: no ring was full, and neither the device nor the receiver dropped a frame"
	}
	return fmt.Sprintf("the transmit ring was full %d times, the device dropped %s frames, the receiver dropped %s frames",
		tx.Backpressure, known(tx.DeviceDropped), known(rx.TesterDrops))
}
