package cli

import (
	"github.com/wirespeed/wirespeed/internal/render"
	"github.com/wirespeed/wirespeed/internal/show"
	"github.com/wirespeed/wirespeed/internal/trial"
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
	doc, err := show.Make(set, c.Frames, c.Hex)
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
