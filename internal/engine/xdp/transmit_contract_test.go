package xdp

import (
	"testing"

	"github.com/wirespeed/wirespeed/internal/engine/enginetest"
)

func TestContract(t *testing.T) { enginetest.Run(t, enginetest.Veth("t-xdptx", New(), New())) }
