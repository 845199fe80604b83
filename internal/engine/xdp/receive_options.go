package xdp

import (
	"fmt"

	"github.com/wirespeed/wirespeed/internal/engine"
)

// Options are those of a receive port: clock=1 reads the clock for every stamped frame, clock=4 once for up to 4 of them
// (faster, no gaps); mode=generic attaches the program behind the driver, where the driver has no XDP of its own.
func (*Engine) Options() (tx, rx []string) { return nil, []string{"clock", "mode"} }

// receiveOptions are the options of a receive port, read.
type receiveOptions struct {
	clockGroup int
	generic    bool
}

func parseReceiveOptions(t engine.Target) (o receiveOptions, err error) {
	switch v := t.Options.Get("clock"); v {
	case "", "1":
		o.clockGroup = 1
	case "4":
		o.clockGroup = 4
	default:
		return o, fmt.Errorf("port %q: clock=%s: give 1 (the clock is read for every frame) or 4 (once for up to 4 frames)", t.Text, v)
	}
	switch v := t.Options.Get("mode"); v {
	case "", "native":
	case "generic":
		o.generic = true
	default:
		return o, fmt.Errorf("port %q: mode=%s: give native or generic", t.Text, v)
	}
	return o, nil
}
