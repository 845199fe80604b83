package trial

import (
	"context"
	"slices"
	"testing"

	"github.com/wirespeed/wirespeed/internal/engine"
)

// orderedEngine writes down when it is asked for what.
type orderedEngine struct {
	fakeEngine
	events *[]string
}

func (e orderedEngine) Probe(ctx context.Context, t engine.Target) (engine.Caps, error) {
	*e.events = append(*e.events, "probe tx")
	return e.fakeEngine.Probe(ctx, t)
}

func (e orderedEngine) Open(ctx context.Context, t engine.Target, c engine.Config) (engine.Port, error) {
	*e.events = append(*e.events, "open tx")
	p, err := e.fakeEngine.Open(ctx, t, c)
	return orderedPort{p, e.events}, err
}

func (e orderedEngine) OpenReceiver(ctx context.Context, t engine.Target, c engine.Config) (engine.Receiver, error) {
	r, err := e.fakeEngine.OpenReceiver(ctx, t, c)
	return orderedReceiver{r, e.events}, err
}

type orderedPort struct {
	engine.Port
	events *[]string
}

func (p orderedPort) Run(ctx context.Context) error {
	*p.events = append(*p.events, "run")
	return p.Port.Run(ctx)
}

func (p orderedPort) Close() error {
	*p.events = append(*p.events, "close tx")
	return p.Port.Close()
}

type orderedReceiver struct {
	engine.Receiver
	events *[]string
}

func (r orderedReceiver) Start() error {
	*r.events = append(*r.events, "start rx")
	return r.Receiver.Start()
}

func (r orderedReceiver) Stop() error {
	*r.events = append(*r.events, "stop rx")
	return r.Receiver.Stop()
}

func (r orderedReceiver) Close() error {
	*r.events = append(*r.events, "close rx")
	return r.Receiver.Close()
}

// TestReceiverFirstAndLast: a receiver at a veth is what lets live frames through, so it is there before the engines are asked
// what they can do, and goes last.
func TestReceiverFirstAndLast(t *testing.T) {
	w := &fakeWire{}
	var events []string
	r := testRunner(w)
	r.Engines = []engine.Engine{orderedEngine{fakeEngine{"fake", w}, &events}}
	if _, err := r.Run(t.Context(), testSpec(t)); err != nil {
		t.Fatal(err)
	}
	from := slices.Index(events, "start rx")
	want := []string{"start rx", "probe tx", "open tx", "run", "stop rx", "close tx", "close rx"}
	if from < 0 || !slices.Equal(events[from:], want) {
		t.Errorf("%v, want them to end with %v", events, want)
	}
}
