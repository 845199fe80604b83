package cli

import (
	"github.com/wirespeed/wirespeed/internal/render"
	"github.com/wirespeed/wirespeed/internal/trial"
	"github.com/wirespeed/wirespeed/internal/wire"
)

// rateCmd is `rate`.
type rateCmd struct {
	Size string `default:"64" help:"Frame size in bytes with the FCS: 64, 64-1518, imix and the like. Default 64." placeholder:"BYTES"`
	Link string `help:"Line rate, such as 1G." placeholder:"BPS"`
	Rate string `default:"max" help:"1.2Mpps, 500Mbps@L1, 500Mbps@L2, 87.5%, gap=10us or max. Default max." placeholder:"RATE"`
	VLAN int    `name:"vlan" help:"VLAN tags in each frame, for the layer 3 rate. Default 0." placeholder:"N"`
}

func (c *rateCmd) run(e *env) (int, error) {
	sizes, err := wire.ParseSizes(c.Size)
	if err != nil {
		return 0, trial.UsageOf(err)
	}
	var link uint64
	if c.Link != "" {
		if link, err = wire.ParseBitRate(c.Link); err != nil {
			return 0, trial.UsageOf(err)
		}
	}
	rate, err := wire.ParseRate(c.Rate)
	if err != nil {
		return 0, trial.UsageOf(err)
	}
	r, err := wire.Report(sizes, link, rate, c.VLAN)
	if err != nil {
		return 0, trial.UsageOf(err)
	}
	if e.out.machine() {
		return 0, e.document(r)
	}
	return 0, render.Rate(e.stdout, r)
}
