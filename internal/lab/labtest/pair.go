// Package labtest makes topologies for tests and removes them when the test ends, also after a failure. Test code only;
// used from the test's goroutine.
package labtest

import (
	"fmt"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/wirespeed/wirespeed/internal/host"
	"github.com/wirespeed/wirespeed/internal/lab"
	"github.com/wirespeed/wirespeed/internal/lab/need"
	"github.com/wirespeed/wirespeed/internal/tune"
)

// A Pair is two namespaces joined by a veth pair, silent and up, as `lab up pair` makes them.
type Pair struct {
	A, B         string // names of the namespaces
	DevA, DevB   string // va in A, vb in B
	NSA, NSB     *host.NS
	PortA, PortB string // addresses of ports without engine: va@A, vb@B
}

// TestPair needs root. The namespaces are called prefix-pid-time-A and -B; the ports have the given number of queues.
func TestPair(t testing.TB, prefix string, queues int) *Pair {
	t.Helper()
	need.Root(t)
	base := fmt.Sprintf("%s-%d-%s-", prefix, os.Getpid(), strconv.FormatInt(time.Now().UnixNano(), 36))
	p := &Pair{A: base + "A", B: base + "B", DevA: "va", DevB: "vb"}
	p.NSA, p.NSB = TestNetns(t, p.A), TestNetns(t, p.B)
	p.PortA, p.PortB = p.DevA+"@"+p.A, p.DevB+"@"+p.B
	if err := lab.Wire(p.NSA, p.NSB, p.DevA, p.DevB, queues); err != nil {
		t.Fatal(err)
	}
	return p
}

// TestNetns makes a named namespace for the length of the test.
func TestNetns(t testing.TB, name string) *host.NS {
	t.Helper()
	need.Root(t)
	if err := tune.CreateNetns(name); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := tune.DeleteNetns(name); err != nil {
			t.Error(err)
		}
	})
	ns, err := host.OpenNS(name)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = ns.Close() })
	return ns
}
