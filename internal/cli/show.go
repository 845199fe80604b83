package cli

import (
	"errors"
	"fmt"

	"github.com/wirespeed/wirespeed/internal/render"
	"github.com/wirespeed/wirespeed/internal/replay"
	"github.com/wirespeed/wirespeed/internal/show"
	"github.com/wirespeed/wirespeed/internal/trial"
	"github.com/wirespeed/wirespeed/stream"
)

// ShowCmd is `show`: it makes the first frames of a stream, decodes them and sends nothing.
type ShowCmd struct {
	Frames int  `short:"n" default:"3" help:"How many frames to show. Default 3." placeholder:"N"`
	Hex    bool `help:"Print the bytes of every frame too."`

	StreamFlags
}

func (c *ShowCmd) run(e *env) (int, error) {
	set, err := c.StreamFlags.set()
	if err != nil {
		return 0, trial.UsageOf(err)
	}
	doc, err := c.document(e, set)
	if err != nil {
		return 0, trial.UsageOf(err)
	}
	switch {
	case e.out.json:
		return 0, render.JSON(e.stdout, doc)
	case e.out.jsonl:
		return 0, render.JSONLine(e.stdout, doc)
	default:
		return 0, show.Text(e.stdout, doc)
	}
}

// document decodes the first frames of streams, or of a capture as it would be sent.
func (c *ShowCmd) document(e *env, set *stream.Set) (*show.Document, error) {
	if set.Replay == nil {
		return show.Make(set, c.Frames, c.Hex)
	}
	if c.Frames < 1 || c.Frames > show.MaxFrames {
		return nil, trial.Usage(fmt.Sprintf("give a number from 1 to %d", show.MaxFrames), "--frames %d", c.Frames)
	}
	r := *set.Replay
	r.Preload, r.Loop, r.Recorded = stream.PreloadYes, 1, false
	if r.Limit == 0 || r.Limit > showPackets {
		r.Limit = showPackets
	}
	capture, err := replay.Open(e.ctx, &r, replay.Limits{Stdin: e.stdin})
	if bad, ok := errors.AsType[*replay.Error](err); ok {
		return nil, trial.Usage(bad.Mend, "%s", bad.Message)
	} else if err != nil {
		return nil, err
	}
	rate := set.Rate.String()
	if set.Replay.Recorded {
		rate = "as recorded"
	}
	return show.MakeSequence(capture.Program, rate, c.Frames, c.Hex)
}

// showPackets is how much of a capture is read to show its first frames.
const showPackets = 100_000
