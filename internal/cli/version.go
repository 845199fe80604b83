package cli

import (
	"encoding/json"
	"fmt"
	"runtime/debug"

	"github.com/wirespeed/wirespeed/report"
)

// version is the release; the commit comes from the build.
const version = "0.1.0-dev"

// commit is set by the Makefile's linker flag where the build records no version control facts.
var commit string

// versionCmd is `version`.
type versionCmd struct{}

func tool() report.Tool {
	t := report.Tool{Version: version, Commit: commit}
	if info, ok := debug.ReadBuildInfo(); ok && t.Commit == "" {
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" {
				t.Commit = s.Value
			}
		}
	}
	if t.Commit == "" {
		t.Commit = "unknown"
	}
	return t
}

func (c *versionCmd) run(e *env) (int, error) {
	t := tool()
	if e.out.machine() {
		return 0, json.NewEncoder(e.stdout).Encode(t)
	}
	_, err := fmt.Fprintf(e.stdout, "wirespeed %s (commit %s)\n", t.Version, t.Commit)
	return 0, err
}
