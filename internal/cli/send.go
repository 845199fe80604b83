package cli

import (
	"strconv"
	"strings"
	"time"

	"github.com/wirespeed/wirespeed/internal/engine"
	"github.com/wirespeed/wirespeed/internal/trial"
)

// sendCmd is `send PORT...`.
type sendCmd struct {
	Ports []string `arg:"" name:"port" help:"Ports to send from: [engine:]device[@netns][?option=value]; pcap:FILE writes a capture, null: sends nothing."`
	Rx    []string `name:"rx" placeholder:"PORT" sep:"none" help:"Receive there too, and report loss, latency and gaps."`

	StreamFlags
	Layer3Flags
	LoadFlags
	TrustFlags
}

// LoadFlags say how much is sent, and how.
type LoadFlags struct {
	Count      frameCount    `help:"Frames of each port, over all streams and queues." placeholder:"N"`
	Duration   span          `help:"Time to send. With neither --count nor --duration: 10s." placeholder:"D"`
	Forever    bool          `help:"Send until Ctrl-C."`
	Queues     int           `default:"1" help:"Transmit queues, one pinned thread each. Default 1." placeholder:"N"`
	Cores      string        `help:"Cores of the queues' threads, such as 0,1 or 0-3." placeholder:"LIST"`
	Batch      *int          `help:"Frames handed over at once. Default: the engine's best for the rate." placeholder:"N"`
	Stamp      string        `enum:"auto,none,frame,shared" default:"auto" placeholder:"WHEN" help:"When the clock is read for the signature: frame (for every one), shared (once for up to 16), none, or auto: frame when paced, shared when not. Default auto."`
	CatchUp    time.Duration `default:"10ms" help:"How long a stall is made up for; with --duration the frames beyond are not sent. Default 10ms." placeholder:"D"`
	BestEffort bool          `help:"Run on where an engine cannot hold the asked gap, and report it."`
}

// TrustFlags say what is allowed and what is failure.
type TrustFlags struct {
	MaxLoss       string `help:"Fail (status 4) when more is lost: 0, 0.1% or a share such as 0.001. Of a replay, frames without room for a signature are judged by the ports' counts." placeholder:"SHARE"`
	Strict        bool   `help:"A suspect verdict is failure (status 4)."`
	AllowLivePort bool   `help:"Allow a port that carries the default route or this terminal's SSH session."`
}

func (c *sendCmd) run(e *env) (int, error) {
	layer3, err := c.layer3()
	if err != nil {
		return 0, err
	}
	if err := c.fill(&layer3, &c.StreamFlags); err != nil {
		return 0, err
	}
	set, err := c.StreamFlags.set()
	if err != nil {
		return 0, trial.UsageOf(err)
	}
	s := trial.Spec{
		Set: set, Layer3: layer3, Stdin: e.stdin, Count: uint64(c.Count), Duration: time.Duration(c.Duration), Forever: c.Forever, Queues: c.Queues, Stamp: stamps[c.Stamp],
		CatchUp: c.CatchUp, BestEffort: c.BestEffort, AllowLivePort: c.AllowLivePort, Strict: c.Strict,
	}
	if c.Batch != nil {
		if *c.Batch < 1 {
			return 0, trial.Usage("give 1 or more", "--batch %d", *c.Batch)
		}
		s.Batch = *c.Batch
	}
	if s.Cores, err = parseCores(c.Cores); err != nil {
		return 0, err
	}
	if s.MaxLoss, err = parseShare(c.MaxLoss); err != nil {
		return 0, err
	}
	if s.Tx, err = targets(c.Ports); err != nil {
		return 0, err
	}
	if s.Rx, err = targets(c.Rx); err != nil {
		return 0, err
	}
	return e.trial(s)
}

var stamps = map[string]engine.Stamp{
	"auto": engine.StampAuto, "none": engine.StampNone, "frame": engine.StampFrame, "shared": engine.StampShared,
}

func targets(ports []string) ([]engine.Target, error) {
	var names []string
	for _, e := range engines() {
		names = append(names, e.Name())
	}
	var out []engine.Target
	for _, p := range ports {
		t, err := engine.ParseTarget(p, names)
		if err != nil {
			return nil, trial.UsageOf(err)
		}
		out = append(out, t)
	}
	return out, nil
}

// parseCores reads a list such as 0,2-3.
func parseCores(s string) ([]int, error) {
	if s == "" {
		return nil, nil
	}
	var out []int
	for part := range strings.SplitSeq(s, ",") {
		low, high, isRange := strings.Cut(part, "-")
		a, err := strconv.ParseUint(low, 10, 12)
		b := a
		if err == nil && isRange {
			b, err = strconv.ParseUint(high, 10, 12)
		}
		if err != nil || b < a {
			return nil, trial.Usage("write core numbers such as 0,1 or 0-3", "--cores %q", s)
		}
		for c := a; c <= b; c++ {
			out = append(out, int(c))
		}
	}
	return out, nil
}

// parseShare reads 0.1% or 0.001; nil for an empty text.
func parseShare(s string) (*float64, error) {
	if s == "" {
		return nil, nil
	}
	number, isPercent := strings.CutSuffix(s, "%")
	v, err := strconv.ParseFloat(number, 64)
	if isPercent {
		v /= 100
	}
	if err != nil || !(v >= 0 && v <= 1) {
		return nil, trial.Usage("write a percentage such as 0.1% or a share from 0 to 1", "--max-loss %q", s)
	}
	return &v, nil
}
