package cli

import (
	"testing"

	"github.com/wirespeed/wirespeed/internal/trial"
	"github.com/wirespeed/wirespeed/report"
)

func TestDemoForgivesItsOwnRateOnly(t *testing.T) {
	for _, c := range []struct {
		exit   int
		tx     report.Tx
		status int
	}{
		{trial.ExitShort, report.Tx{Sent: 1000}, trial.ExitOK},
		{trial.ExitShort, report.Tx{Sent: 999, Unsent: 1}, trial.ExitShort},
		{trial.ExitShort, report.Tx{}, trial.ExitShort},
		{trial.ExitFailed, report.Tx{Sent: 1000}, trial.ExitFailed},
		{trial.ExitInterrupted, report.Tx{Sent: 1000}, trial.ExitInterrupted},
	} {
		o := &trial.Outcome{Exit: c.exit, Why: "rate not achieved", Report: &report.Run{Error: &report.Error{Code: c.exit}, Ports: []report.Port{{Tx: &c.tx}}}}
		forgive(o)
		if o.Exit != c.status || (o.Report.Error == nil) != (c.status == 0) || (len(o.Report.Notes) == 1) != (c.status == 0) {
			t.Errorf("%+v: %+v", c, o)
		}
	}
}
