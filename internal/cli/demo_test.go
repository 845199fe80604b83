package cli

import (
	"strings"
	"testing"

	"github.com/wirespeed/wirespeed/internal/trial"
	"github.com/wirespeed/wirespeed/report"
)

func TestDemoSaysWhatWasFull(t *testing.T) {
	n := func(v uint64) *uint64 { return &v }
	for _, c := range []struct {
		tx   report.Tx
		rx   report.Rx
		want string
	}{
		{report.Tx{DeviceDropped: n(0)}, report.Rx{TesterDrops: n(0)}, "no ring was full"},
		{report.Tx{DeviceDropped: n(0)}, report.Rx{TesterDrops: n(7)}, "the receiver dropped 7 frames"},
		{report.Tx{DeviceDropped: n(0)}, report.Rx{}, "an unknown number of"},
		{report.Tx{DeviceDropped: n(3), Backpressure: 5}, report.Rx{TesterDrops: n(0)}, "full 5 times, the device dropped 3 frames"},
	} {
		if got := held(&c.tx, &c.rx); !strings.Contains(got, c.want) {
			t.Errorf("%q, want %q in it", got, c.want)
		}
	}
}

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
