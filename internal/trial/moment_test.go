package trial

import "testing"

// TestIntervalLost: what is under way is known only where both sides are here, and never below zero.
func TestIntervalLost(t *testing.T) {
	if v := interval(0, moment{}, moment{atNs: 1e9, rx: 5, unique: 5}); v.Lost != nil {
		t.Errorf("a receiver alone lost %d", *v.Lost)
	}
	for want, m := range map[int64]moment{3: {tx: 10, unique: 7, both: true}, 0: {tx: 7, unique: 10, both: true}} {
		if v := interval(0, moment{}, m); v.Lost == nil || *v.Lost != want {
			t.Errorf("%+v: lost %v, want %d", m, v.Lost, want)
		}
	}
}
