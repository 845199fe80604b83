package cli

import (
	"errors"

	"github.com/wirespeed/wirespeed/internal/engine"
	"github.com/wirespeed/wirespeed/internal/engine/null"
	"github.com/wirespeed/wirespeed/internal/engine/packetsock"
	"github.com/wirespeed/wirespeed/internal/engine/pcapfile"
	"github.com/wirespeed/wirespeed/internal/engine/xdp"
	"github.com/wirespeed/wirespeed/internal/host"
	"github.com/wirespeed/wirespeed/internal/lab"
	"github.com/wirespeed/wirespeed/internal/render"
	"github.com/wirespeed/wirespeed/internal/trial"
	"github.com/wirespeed/wirespeed/internal/tune"
	"github.com/wirespeed/wirespeed/report"
)

// engines is the registry, in the order of speed; those without a device, which only a name chooses, are the last.
func engines() []engine.Engine {
	return []engine.Engine{xdp.New(), packetsock.New(), pcapfile.New(), null.New()}
}

// runner makes a Runner whose messages and records go where the output flags say.
func (e *env) runner() *trial.Runner {
	return e.runnerWith(render.NewLive(e.stderr, terminal(e.stderr)))
}

func (e *env) runnerWith(live *render.Live) *trial.Runner {
	r := &trial.Runner{
		Engines: engines(), Note: e.message, StateDir: tune.StateDir(), Tool: tool(), Host: hostRecord(),
		OursNS: lab.IsOurs,
		Change: func(c engine.Change) (func() error, error) {
			j, err := tune.Open(tune.StateDir())
			if err != nil {
				return nil, err
			}
			return j.Do(c)
		},
	}
	switch {
	case e.out.jsonl:
		r.Tick = func(v report.Interval) { _ = render.JSONLine(e.stdout, v) }
	case !e.out.quiet && !e.out.json || terminal(e.stderr) && !e.out.quiet:
		r.Tick = live.Update
		r.Stage = func(s string) {
			if s == "settling" {
				live.Done()
			}
		}
	}
	return r
}

// trial runs one trial and prints its document.
func (e *env) trial(s trial.Spec) (int, error) {
	s.Command = append([]string{"wirespeed"}, e.args...)
	o, err := e.runner().Run(e.ctx, s)
	if err != nil {
		return 0, err
	}
	return e.print(o)
}

// print writes the document of a finished run.
func (e *env) print(o *trial.Outcome) (int, error) {
	var err error
	switch {
	case e.out.json:
		err = render.JSON(e.stdout, o.Report)
	case e.out.jsonl:
		err = render.JSONLine(e.stdout, o.Report)
	default:
		err = render.Text(e.stdout, o.Report)
	}
	switch {
	case errors.Is(err, errUnread):
		return 0, err
	case err != nil:
		return 0, trial.Environment("make room, or write elsewhere", "the run is over, but its report could not be written: %v", err)
	}
	return o.Exit, nil
}

func hostRecord() report.Host {
	f := host.Facts()
	return report.Host{Kernel: f.Kernel, CPU: f.CPU, Cores: f.Cores}
}
