package packetsock_test

import (
	"testing"

	"github.com/wirespeed/wirespeed/internal/engine/enginetest"
	"github.com/wirespeed/wirespeed/internal/engine/packetsock"
)

func TestPortContract(t *testing.T) {
	e := packetsock.New()
	enginetest.Run(t, enginetest.Veth("t-packet", e, e))
}

func TestReceiverContract(t *testing.T) {
	enginetest.RunReceiver(t, "t-packet", packetsock.New())
}
