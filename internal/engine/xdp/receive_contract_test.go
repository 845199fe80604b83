package xdp

import (
	"testing"

	"github.com/wirespeed/wirespeed/internal/engine/enginetest"
)

func TestReceiverContract(t *testing.T) { enginetest.RunReceiver(t, "t-xdprx", New()) }
