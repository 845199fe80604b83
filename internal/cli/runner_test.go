package cli

import (
	"errors"
	"strings"
	"testing"

	"github.com/wirespeed/wirespeed/internal/trial"
	"github.com/wirespeed/wirespeed/report"
)

type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("no space left on device") }

func TestAReportThatCannotBeWrittenIsNoFault(t *testing.T) {
	for _, out := range []output{{}, {json: true}, {jsonl: true}} {
		e := &env{stdout: full{}, out: out}
		_, err := e.print(&trial.Outcome{Report: &report.Run{}})
		if got := trial.ErrorOf(err); err == nil || got.Code != trial.ExitEnvironment || !strings.Contains(got.Message, "no space") {
			t.Errorf("%+v: %v", out, err)
		}
	}
}
