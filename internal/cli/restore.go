package cli

import (
	"fmt"

	"github.com/wirespeed/wirespeed/internal/render"
	"github.com/wirespeed/wirespeed/internal/trial"
	"github.com/wirespeed/wirespeed/internal/tune"
)

// RestoreCmd is `restore`: it undoes what crashed processes left changed on this host.
type RestoreCmd struct {
	All bool `help:"Undo also what belongs to a wirespeed that still runs."`
}

func (c *RestoreCmd) run(e *env) (int, error) {
	j, err := tune.Open(tune.StateDir())
	if err != nil {
		return 0, trial.EnvironmentOf(err)
	}
	results, err := j.Restore(c.All)
	if err != nil {
		return 0, trial.EnvironmentOf(err)
	}
	exit := trial.ExitOK
	for _, r := range results {
		if r.State == tune.Failed {
			exit = trial.ExitEnvironment
		}
	}
	if e.out.machine() {
		doc := struct {
			Changes []tune.Result `json:"changes"`
		}{append([]tune.Result{}, results...)}
		return exit, e.document(doc)
	}
	if len(results) == 0 {
		_, err := fmt.Fprintln(e.stdout, "nothing to restore")
		return exit, err
	}
	for _, r := range results {
		if _, err := fmt.Fprintln(e.stdout, restored(r)); err != nil {
			return exit, err
		}
	}
	return exit, nil
}

func restored(r tune.Result) string {
	switch r.State {
	case tune.Undone:
		return "undone: " + r.What
	case tune.Gone:
		return "gone with a reboot: " + r.What
	case tune.Living:
		return fmt.Sprintf("left: %s: process %d still runs; `wirespeed restore --all` undoes it nevertheless", r.What, r.PID)
	}
	return fmt.Sprintf("failed: %s: %s", r.What, r.Problem)
}

// document prints v as the output flags say: one document, or one line.
func (e *env) document(v any) error {
	if e.out.jsonl {
		return render.JSONLine(e.stdout, v)
	}
	return render.JSON(e.stdout, v)
}
