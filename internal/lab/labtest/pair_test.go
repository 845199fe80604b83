package labtest

import (
	"os"
	"testing"

	"github.com/vishvananda/netlink"

	"github.com/wirespeed/wirespeed/internal/host"
)

func TestPairIsSilentUpAndGone(t *testing.T) {
	var a string
	t.Run("pair", func(t *testing.T) {
		p := TestPair(t, "t-host", 2)
		a = p.A
		err := p.NSB.Do(func() error {
			l, err := netlink.LinkByName(p.DevB)
			if err != nil {
				return err
			}
			if l.Attrs().NumRxQueues != 2 || l.Attrs().NumTxQueues != 2 {
				t.Errorf("queues %d, %d; want 2, 2", l.Attrs().NumTxQueues, l.Attrs().NumRxQueues)
			}
			if l.Attrs().OperState != netlink.OperUp {
				t.Errorf("state %v", l.Attrs().OperState)
			}
			addrs, err := netlink.AddrList(l, netlink.FAMILY_ALL)
			if len(addrs) != 0 {
				t.Errorf("addresses %v, want none", addrs)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	})
	if t.Failed() || a == "" {
		return
	}
	if _, err := os.Stat(host.NetnsDir + "/" + a); !os.IsNotExist(err) {
		t.Errorf("namespace %s is left: %v", a, err)
	}
}
