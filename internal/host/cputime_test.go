package host

import "testing"

func TestParseCPUTimes(t *testing.T) {
	got := parseCPUTimes([]byte("cpu  1 2 3 4 5 6 7 8 0 0\ncpu0 10 1 20 30 5 6 7 8 0 0\ncpu12 0 0 0 0 0 0 0 0 0 0\nintr 5\ncpux 1 2 3 4 5 6 7 8\n"))
	want := CPUTime{User: 11, System: 20, Idle: 35, IRQ: 6, SoftIRQ: 7, Steal: 8}
	if len(got) != 2 || got[0] != want {
		t.Errorf("got %+v", got)
	}
	if b := got[0].Busy(); b < 0.597 || b > 0.599 {
		t.Errorf("busy %v, want 52/87", b)
	}
	if got[12].Busy() != 0 {
		t.Error("a core without ticks is not busy")
	}
}
