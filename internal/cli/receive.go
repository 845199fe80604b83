package cli

import (
	"time"

	"github.com/wirespeed/wirespeed/internal/trial"
)

// receiveCmd is `receive PORT`.
type receiveCmd struct {
	Port     string     `arg:"" help:"Port to receive on: [engine:]device[@netns][?option=value]."`
	Duration span       `help:"End after this time; without it Ctrl-C is the normal end." placeholder:"D"`
	Count    frameCount `help:"End when this many frames of the run have arrived." placeholder:"N"`
	Clock    string     `enum:"unknown,same,ptp" default:"unknown" placeholder:"CLOCK" help:"Whether the sender's clock agrees with this one: same (sender on this machine) or ptp. Default unknown: no latency is reported."`
	MaxLoss  string     `help:"Fail (status 4) when more is lost: 0, 0.1% or a share such as 0.001." placeholder:"SHARE"`
	Strict   bool       `help:"A suspect verdict is failure (status 4)."`
}

func (c *receiveCmd) run(e *env) (int, error) {
	ts, err := targets([]string{c.Port})
	if err != nil {
		return 0, err
	}
	s := trial.ReceiveSpec{
		Rx: ts[0], Duration: time.Duration(c.Duration), Count: uint64(c.Count), SameClock: c.Clock != "unknown", Strict: c.Strict,
		Command: append([]string{"wirespeed"}, e.args...),
	}
	if s.MaxLoss, err = parseShare(c.MaxLoss); err != nil {
		return 0, err
	}
	o, err := e.runner().Receive(e.ctx, s)
	if err != nil {
		return 0, err
	}
	return e.print(o)
}
