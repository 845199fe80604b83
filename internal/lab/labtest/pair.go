// Package labtest makes topologies for tests and removes them when the test ends, also after a failure. Test code only;
// used from the test's goroutine.
package labtest

import (
	"errors"
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
	base := unique(prefix)
	p := &Pair{A: base + "A", B: base + "B", DevA: "va", DevB: "vb"}
	p.NSA, p.NSB = TestNetns(t, p.A), TestNetns(t, p.B)
	p.PortA, p.PortB = p.DevA+"@"+p.A, p.DevB+"@"+p.B
	if err := lab.Wire(p.NSA, p.NSB, p.DevA, p.DevB, queues); err != nil {
		t.Fatal(err)
	}
	return p
}

// A Chain is three namespaces in a row: a port va in A, its peer da in D, db in D, and its peer vb in B. Nothing forwards
// between da and db until the test makes it.
type Chain struct {
	A, D, B       string // names of the namespaces
	NSA, NSD, NSB *host.NS
	PortA, PortB  string          // va@A, vb@B
	Left, Right   lab.ForwardPort // da and db
}

// TestChain needs root. The namespaces are called prefix-pid-time-A, -D and -B.
func TestChain(t testing.TB, prefix string, queues int) *Chain {
	t.Helper()
	need.Root(t)
	base := unique(prefix)
	c := &Chain{A: base + "A", D: base + "D", B: base + "B"}
	c.NSA, c.NSD, c.NSB = TestNetns(t, c.A), TestNetns(t, c.D), TestNetns(t, c.B)
	c.PortA, c.PortB = "va@"+c.A, "vb@"+c.B
	c.Left, c.Right = lab.ForwardPort{NS: c.NSD, Device: "da"}, lab.ForwardPort{NS: c.NSD, Device: "db"}
	if err := errors.Join(lab.Wire(c.NSA, c.NSD, "va", "da", queues), lab.Wire(c.NSD, c.NSB, "db", "vb", queues)); err != nil {
		t.Fatal(err)
	}
	return c
}

// Forward starts a forwarder from da to db, and ends it with the test.
func (c *Chain) Forward(t testing.TB, p lab.Path) *lab.Forwarder {
	t.Helper()
	f, err := lab.StartForwarder(c.Left, c.Right, &p, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	})
	return f
}

func unique(prefix string) string {
	return fmt.Sprintf("%s-%d-%s-", prefix, os.Getpid(), strconv.FormatInt(time.Now().UnixNano(), 36))
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
