package trial

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/wirespeed/wirespeed/internal/engine"
	"github.com/wirespeed/wirespeed/internal/host"
)

// What an engine finds out only when it loads the plan makes the next one the choice, and the report says why.
func TestNextEngineWhenLoadRefuses(t *testing.T) {
	w := &fakeWire{refuses: map[string]error{"fast": errors.New("fast: the program is too large")}}
	r := testRunner(w)
	r.Engines = []engine.Engine{fakeEngine{"fast", w}, fakeEngine{"fake", w}}
	o, err := r.Run(t.Context(), testSpec(t))
	if err != nil {
		t.Fatal(err)
	}
	p := o.Report.Ports[0]
	if p.Engine != "fake" || !slices.Contains(p.WhyNot, "fast: the program is too large") {
		t.Errorf("engine %s, not because %q", p.Engine, p.WhyNot)
	}

	s := testSpec(t)
	s.Tx[0].Engine = "fast"
	if _, err = r.Run(t.Context(), s); err == nil || ErrorOf(err).Code != ExitEnvironment {
		t.Errorf("an engine that was asked for was exchanged: %v", err)
	}

	w.refuses["fake"] = errors.New("fake: no memory")
	_, err = r.Run(t.Context(), testSpec(t))
	if err == nil || !strings.Contains(err.Error(), "too large") || !strings.Contains(err.Error(), "no memory") {
		t.Errorf("no engine is left: %v", err)
	}
}

// The queues of several ports get a core each as far as there are cores, and sharing one is said.
func TestCoresOfSeveralPorts(t *testing.T) {
	cpus, err := host.CPUs()
	if err != nil {
		t.Fatal(err)
	}
	s := testSpec(t)
	s.Tx = []engine.Target{{Device: "a", Text: "a"}, {Device: "ab", Text: "ab"}, {Device: "abc", Text: "abc"}}
	u := &run{Runner: testRunner(&fakeWire{}), spec: s}
	defer u.close()
	if err := u.prepare(t.Context()); err != nil {
		t.Fatal(err)
	}
	for i, x := range u.tx {
		if want := cpus[i%len(cpus)]; len(x.plan.Cores) != 1 || x.plan.Cores[0] != want {
			t.Errorf("port %d: cores %v, want %d", i, x.plan.Cores, want)
		}
	}
	if shared := len(cpus) < 3; shared != strings.Contains(strings.Join(u.notes, " "), "shared by") {
		t.Errorf("%d cores for three ports, notes %q", len(cpus), u.notes)
	}

	s.Cores = []int{5, 6, 7}
	v := &run{Runner: testRunner(&fakeWire{}), spec: s}
	u.close()
	u.cleanup = nil
	defer v.close()
	if err := v.prepare(t.Context()); err != nil {
		t.Fatal(err)
	}
	if v.tx[2].plan.Cores[0] != 7 {
		t.Errorf("cores as given: %v", v.tx[2].plan.Cores)
	}
}
