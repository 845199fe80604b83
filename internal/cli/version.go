package cli

import (
	"encoding/json"
	"fmt"
	"runtime/debug"

	"github.com/wirespeed/wirespeed/report"
)

// version is the release; the commit comes from the build.
const version = "0.1.0-dev"

// commit is set by the Makefile's linker flag; a build by hand records it itself, or not.
var commit = unknownCommit

const unknownCommit = "unknown"

// versionCmd is `version`.
type versionCmd struct{}

func tool() report.Tool {
	t := report.Tool{Version: version, Commit: commit}
	if info, ok := debug.ReadBuildInfo(); ok && t.Commit == unknownCommit {
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" {
				t.Commit = s.Value
			}
		}
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
