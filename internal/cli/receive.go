package cli

import (
	"fmt"
	"io"
	"math/bits"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/wirespeed/wirespeed/internal/capture"
	"github.com/wirespeed/wirespeed/internal/render"
	"github.com/wirespeed/wirespeed/internal/trial"
)

// receiveCmd is `receive PORT`.
type receiveCmd struct {
	Port     string     `arg:"" help:"Port to receive on: [engine:]device[@netns][?option=value]."`
	Duration span       `help:"End after this time; without it Ctrl-C is the normal end." placeholder:"D"`
	Count    frameCount `help:"End when this many frames of the run have arrived; with --write: have been written." placeholder:"N"`
	Clock    string     `enum:"unknown,same,ptp" default:"unknown" placeholder:"CLOCK" help:"Whether the sender's clock agrees with this one: same (sender on this machine) or ptp. Default unknown: no latency is reported."`
	MaxLoss  string     `help:"Fail (status 4) when more is lost: 0, 0.1% or a share such as 0.001. Not with --filter." placeholder:"SHARE"`
	Strict   bool       `help:"A suspect verdict is failure (status 4)."`
	captureFlags
}

// captureFlags say what is written, and where.
type captureFlags struct {
	Write      text       `help:"Write every frame to this file, .pcapng or .pcap, with nanoseconds." placeholder:"FILE" group:"Capture:"`
	Overwrite  bool       `help:"Replace a file that is there." group:"Capture:"`
	Filter     text       `help:"Write and analyse only what this filter takes: the output of tcpdump -ddd, as text or @FILE." placeholder:"FILTER" group:"Capture:"`
	SnapLen    frameCount `name:"snaplen" help:"Write the first N bytes of a frame. Default: all of it." placeholder:"N" group:"Capture:"`
	Direction  string     `enum:"in,out,both" default:"in" placeholder:"WHICH" help:"Frames that arrive (in, the default), that this host sends (out), or both." group:"Capture:"`
	RotateSize byteSize   `help:"Begin a new file before one has more than this, 64KiB or more: 100MB." placeholder:"SIZE" group:"Capture:"`
	RotateTime span       `help:"Begin a new file this long after the first frame of one: 1m." placeholder:"D" group:"Capture:"`
	RotateKeep frameCount `help:"Keep the N newest files of a rotation. Default: all." placeholder:"N" group:"Capture:"`
	Ring       byteSize   `help:"Memory between kernel and writer. Default 128MiB." placeholder:"SIZE" group:"Capture:"`
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
	if s.Capture, err = c.spec(s.Count); err != nil {
		return 0, err
	}
	live := render.NewLive(e.stderr, terminal(e.stderr))
	if s.Capture != nil && s.Capture.Direction != capture.In {
		live.Captured()
	}
	o, err := e.runnerWith(live).Receive(e.ctx, s)
	if err != nil {
		return 0, err
	}
	return e.print(o)
}

// spec is nil without --write.
func (c *captureFlags) spec(limit uint64) (*capture.Spec, error) {
	if c.Write == "" {
		if *c != (captureFlags{Direction: "in"}) {
			return nil, trial.Usage("add --write FILE", "--overwrite, --filter, --snaplen, --direction, --rotate-size, --rotate-time, --rotate-keep and --ring say how a capture is written, and there is none")
		}
		return nil, nil
	}
	if c.SnapLen > capture.MaxSnapLen || c.RotateKeep > 1<<31-1 {
		return nil, trial.Usage("give a smaller number", "--snaplen %d, --rotate-keep %d: at most %d and %d", c.SnapLen, c.RotateKeep, capture.MaxSnapLen, 1<<31-1)
	}
	s := &capture.Spec{
		Path: string(c.Write), Overwrite: c.Overwrite, SnapLen: int(c.SnapLen), Limit: limit, RingBytes: int64(c.Ring),
		RotateSize: int64(c.RotateSize), RotateTime: time.Duration(c.RotateTime), Keep: int(c.RotateKeep),
	}
	switch c.Direction {
	case "out":
		s.Direction = capture.Out
	case "both":
		s.Direction = capture.Both
	}
	var err error
	if c.Filter != "" {
		s.Filter, err = readFilter(string(c.Filter))
	}
	return s, err
}

// readFilter reads a filter that was given as text, or as the name of a file behind an @.
func readFilter(text string) ([]capture.Instruction, error) {
	const mend = "give --filter \"$(tcpdump -ddd -i DEVICE 'udp port 9')\", or --filter @FILE with what tcpdump -ddd printed"
	const most = 1 << 20 // bytes, far more than the longest filter has
	if path, ok := strings.CutPrefix(text, "@"); ok {
		f, err := os.Open(path)
		if err != nil {
			return nil, trial.Usage(mend, "the filter cannot be read: %v", err)
		}
		defer func() { _ = f.Close() }()
		b, err := io.ReadAll(io.LimitReader(f, most))
		if err != nil {
			return nil, trial.Usage(mend, "the filter cannot be read: %v", err)
		}
		text = string(b)
	}
	filter, err := capture.ParseFilter(text)
	if err != nil {
		return nil, trial.Usage(mend, "%v", err)
	}
	return filter, nil
}

// byteSize is the value of a flag that counts bytes, 1 or more. The zero value is "not given".
type byteSize int64

// UnmarshalText is called only for flags that were given.
func (n *byteSize) UnmarshalText(b []byte) error {
	number := strings.TrimRight(string(b), "kKMGTiB")
	unit := map[string]uint64{
		"": 1, "B": 1, "kB": 1e3, "MB": 1e6, "GB": 1e9, "TB": 1e12, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "TiB": 1 << 40,
	}[string(b)[len(number):]]
	v, err := strconv.ParseUint(number, 10, 63)
	high, size := bits.Mul64(v, unit)
	if err != nil || size == 0 || high != 0 || size>>63 != 0 {
		return fmt.Errorf("%q is no number of bytes: give a whole number, 1 or more, in B, kB, MB, GB, TB, KiB, MiB, GiB or TiB, written so, such as 100MB or 64MiB", b)
	}
	*n = byteSize(size)
	return nil
}
