package enginetest

import (
	"context"
	"fmt"
	"os"
	"testing"

	"github.com/wirespeed/wirespeed/internal/engine"
	"github.com/wirespeed/wirespeed/internal/host"
	"github.com/wirespeed/wirespeed/internal/lab/labtest"
	"github.com/wirespeed/wirespeed/internal/program"
	"github.com/wirespeed/wirespeed/internal/tune"
	"github.com/wirespeed/wirespeed/stream"
)

// A Loop is a port and a receiver that gets what the port sends.
type Loop struct {
	Tx       engine.Engine
	TxTarget engine.Target
	Rx       engine.ReceiverEngine
	RxTarget engine.Target
	// Config is what both may use; its Note is set by the contract.
	Config engine.Config
	// Nothing is why Rx is nil: the engine sends nothing that could be received, and only the port's own counts are checked.
	Nothing string
	// Virtual: the port's clock is not the machine's. A run takes no time.
	Virtual bool
	// Missing is the address of a port that cannot be opened; empty: a device's name that does not exist.
	Missing string
	// Captured begins to keep what the port sends, and returns what gives it back; nil where that cannot be seen.
	Captured func(t *testing.T) func() [][]byte
	// InOrder makes frames reach Captured in the order in which they arrive, behind the receiver; nil: they do.
	InOrder func(t *testing.T)
	// Facts are compared before and after: what a run must leave as it was. Nil: nothing but open files.
	Facts func() (string, error)
}

// A Factory makes a fresh loop, whose devices have the given number of queues, and removes it when the test ends. It may
// skip the test.
type Factory func(t *testing.T, queues int) Loop

// Veth is a factory of veth pairs. prefix begins the namespaces' names.
func Veth(prefix string, tx engine.Engine, rx engine.ReceiverEngine) Factory {
	return func(t *testing.T, queues int) Loop {
		t.Helper()
		p := labtest.TestPair(t, prefix, queues)
		return Loop{
			Tx: tx, TxTarget: engine.Target{Device: p.DevA, Netns: p.A, Text: p.PortA},
			Rx: rx, RxTarget: engine.Target{Device: p.DevB, Netns: p.B, Text: p.PortB},
			Captured: func(t *testing.T) func() [][]byte { return Capture(t, p.NSB, p.DevB) },
			InOrder:  func(t *testing.T) { withoutGRO(t, p) },
			Facts:    func() (string, error) { return pairFacts(p) },
		}
	}
}

// withoutGRO switches off what an XDP program on a veth has switched on: it holds the frames of some protocols back and lets
// others pass.
func withoutGRO(t *testing.T, p *labtest.Pair) {
	t.Helper()
	j, err := tune.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	undo, err := j.Do(tune.GRO{Device: tune.Device{Netns: p.B, Device: p.DevB}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := undo(); err != nil {
			t.Error(err)
		}
	})
}

// pairFacts is what a run may not change of a pair.
func pairFacts(p *labtest.Pair) (string, error) {
	a, err := p.NSA.Link(p.DevA)
	if err != nil {
		return "", err
	}
	b, err := p.NSB.Link(p.DevB)
	if err != nil {
		return "", err
	}
	return fmt.Sprint(facts(a), facts(b)), nil
}

func facts(l host.Link) string {
	return fmt.Sprintf("%s: index %d, MTU %d, up %v, carrier %v, MAC %x, queues %d and %d, GRO %v, XDP %d %q, qdisc %s, addresses %d; ",
		l.Name, l.Index, l.MTU, l.Up, l.Carrier, l.MAC, l.TxQueues, l.RxQueues, l.GRO, l.XDPProgID, l.XDPMode, l.Qdisc, l.AddrCount)
}

// config is the loop's, with notes in the test's log.
func (l *Loop) config(t *testing.T) engine.Config {
	c := l.Config
	c.Note = func(s string) { t.Log("note:", s) }
	if c.Change == nil {
		c.Change = func(engine.Change) (func() error, error) {
			t.Error("a change of the host that was not permitted")
			return func() error { return nil }, nil
		}
	}
	return c
}

// open opens the port, and closes it when the test ends.
func (l *Loop) open(t *testing.T) engine.Port {
	t.Helper()
	p, err := l.Tx.Open(context.Background(), l.TxTarget, l.config(t))
	if err != nil {
		t.Fatalf("open %s: %v", l.TxTarget, err)
	}
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Errorf("close %s: %v", l.TxTarget, err)
		}
	})
	return p
}

// undone permits changes of the host, and checks at the end that all were undone.
func undone(t *testing.T) func(engine.Change) (func() error, error) {
	open := map[int]string{}
	t.Cleanup(func() {
		for _, what := range open {
			t.Errorf("not undone: %s", what)
		}
	})
	n := 0
	return func(c engine.Change) (func() error, error) {
		n++
		id := n
		open[id] = c.Describe()
		return func() error { delete(open, id); return nil }, nil
	}
}

// receive opens and starts the receiver, if there is one. It is closed when the test ends.
func (l *Loop) receive(t *testing.T, e engine.Expect) engine.Receiver {
	t.Helper()
	if l.Rx == nil {
		t.Log("only the port's own counts are checked:", l.Nothing)
		return nil
	}
	c := l.config(t)
	if l.Config.Change == nil {
		c.Change = undone(t) // attaching a program is a change
	}
	r, err := l.Rx.OpenReceiver(context.Background(), l.RxTarget, c)
	if err != nil {
		t.Fatalf("open %s: %v", l.RxTarget, err)
	}
	t.Cleanup(func() {
		if err := r.Close(); err != nil {
			t.Errorf("close %s: %v", l.RxTarget, err)
		}
	})
	if err := r.Load(e); err != nil {
		t.Fatalf("load %s: %v", l.RxTarget, err)
	}
	if err := r.Start(); err != nil {
		t.Fatalf("start %s: %v", l.RxTarget, err)
	}
	return r
}

// cannotOpen looks for a port that does not exist.
func (l *Loop) cannotOpen(t *testing.T) {
	t.Helper()
	missing := l.TxTarget
	missing.Device = "nosuchdev0"
	if p, ok := l.Tx.(engine.Portless); ok {
		if l.Missing == "" {
			t.Logf("every address can be opened: %s", p.Portless())
			return
		}
		missing.Device = l.Missing
	} else if _, err := l.Tx.Probe(context.Background(), missing); err == nil {
		t.Error("found a device that does not exist")
	}
	if _, err := l.Tx.Open(context.Background(), missing, l.config(t)); err == nil {
		t.Error("opened a device that does not exist")
	}
}

const (
	testRun = 42
	idBase  = 10
)

// plan is streams of frames of 64 bytes, one for each weight, on the given queues.
func plan(t *testing.T, queues int, weights ...int) engine.Plan {
	t.Helper()
	set := &stream.Set{}
	for i, w := range weights {
		s := stream.Default().Streams[0]
		s.Name, s.Weight = fmt.Sprintf("s%d", i), w
		set.Streams = append(set.Streams, s)
	}
	set.SetMACs([6]byte{2, 0, 0, 0, 0, 1}, [6]byte{2, 0, 0, 0, 0, 2})
	return engine.Plan{Program: compile(t, set), Run: testRun, IDBase: idBase, Queues: queues}
}

func compile(t *testing.T, set *stream.Set) *program.Program {
	t.Helper()
	p, err := program.Compile(set)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// expect is what a receiver is told of a plan.
func expect(p engine.Plan) engine.Expect {
	e := engine.Expect{Run: p.Run}
	for s := range p.Program.Streams {
		for q := range p.Queues {
			e.Streams = append(e.Streams, engine.ExpectStream{ID: p.IDBase + uint16(s*p.Queues+q), Form: p.Program.Streams[s].Form})
		}
	}
	return e
}

// openFiles is how many files the process has open.
func openFiles(t *testing.T) int {
	t.Helper()
	d, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(d)
}
