package cli

import (
	"errors"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

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

// A result that finds no room is said on standard error, also where a document was asked for.
func TestAResultThatCannotBeWrittenIsNoFault(t *testing.T) {
	fd, err := unix.Open("/dev/full", unix.O_WRONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	out := os.NewFile(uintptr(fd), os.Stdout.Name())
	defer out.Close()
	for _, args := range [][]string{{"version"}, {"version", "--json"}, {"schema", "stream"}, {"rate", "--size", "64", "--link", "1G"}} {
		var stderr strings.Builder
		if exit := Run(t.Context(), args, strings.NewReader(""), out, &stderr); exit != trial.ExitEnvironment || !strings.Contains(stderr.String(), "no space left") {
			t.Errorf("%v: status %d: %s", args, exit, stderr.String())
		}
	}
}

// What head has closed is no error to talk about.
func TestAReaderThatLeftIsNotTold(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	_ = r.Close()
	defer w.Close()
	var stderr strings.Builder
	if exit := Run(t.Context(), []string{"version"}, strings.NewReader(""), w, &stderr); exit != trial.ExitInterrupted || stderr.Len() > 0 {
		t.Errorf("status %d: %s", exit, stderr.String())
	}
}
