package trial

import (
	"fmt"
	"testing"

	"github.com/wirespeed/wirespeed/internal/host"
)

// TestMendIsAFieldOfItsOwn: also where an engine put its name before the sentence.
func TestMendIsAFieldOfItsOwn(t *testing.T) {
	absent := &host.Absent{What: "no device \"x\"", Mend: "look there"}
	for err, message := range map[error]string{absent: "no device \"x\"", fmt.Errorf("engine: %w", absent): "engine: no device \"x\""} {
		if e := ErrorOf(EnvironmentOf(err)); e.Code != ExitEnvironment || e.Message != message || e.Mend != "look there" {
			t.Errorf("%v became %+v", err, e)
		}
	}
}
