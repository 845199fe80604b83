package null_test

import (
	"testing"

	"github.com/wirespeed/wirespeed/internal/engine"
	"github.com/wirespeed/wirespeed/internal/engine/enginetest"
	"github.com/wirespeed/wirespeed/internal/engine/null"
)

func TestContract(t *testing.T) {
	enginetest.Run(t, func(*testing.T, int) enginetest.Loop {
		return enginetest.Loop{Tx: null.New(), TxTarget: engine.Target{Engine: "null", Text: "null:"}, Nothing: "null: sends nothing"}
	})
}
