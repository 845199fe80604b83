package lab

import (
	"slices"
	"testing"
	"time"
)

// pass sends frames 0 to n-1 of one byte through a line, one every gap ns, and returns the bytes in the order in which
// they leave, until nothing waits.
func pass(l *line, n int, gap int64) (out []byte) {
	now := int64(1_000_000_000)
	take := func() {
		for _, f := range l.out {
			out = append(out, f[0])
		}
		l.out = l.out[:0]
	}
	for i := range n {
		l.release(now)
		l.arrive(now, []byte{byte(i)})
		take()
		now += gap
	}
	for l.next() >= 0 {
		now = max(now, l.next())
		l.release(now)
		take()
	}
	return out
}

func on(frame uint64, a Action) func(uint64, []byte) Action {
	return func(i uint64, _ []byte) Action {
		if i == frame {
			return a
		}
		return Action{}
	}
}

func TestLineActions(t *testing.T) {
	for name, c := range map[string]struct {
		path Path
		gap  int64
		want []byte
		is   func(PathCounts) bool
	}{
		"pass":      {Path{}, 1, []byte{0, 1, 2, 3, 4}, func(c PathCounts) bool { return c == PathCounts{Received: 5} }},
		"drop":      {Path{Impair: on(2, Action{Drop: true})}, 1, []byte{0, 1, 3, 4}, func(c PathCounts) bool { return c.Dropped == 1 }},
		"duplicate": {Path{Impair: on(2, Action{Duplicate: 2})}, 1, []byte{0, 1, 2, 2, 2, 3, 4}, func(c PathCounts) bool { return c.Duplicated == 2 }},
		"swap":      {Path{Impair: on(1, Action{Behind: 1})}, 1, []byte{0, 2, 1, 3, 4}, func(c PathCounts) bool { return c.Displaced == 1 }},
		"behind 3":  {Path{Impair: on(0, Action{Behind: 3, Duplicate: 1})}, 1, []byte{1, 2, 3, 0, 0, 4}, func(c PathCounts) bool { return c.Displaced == 1 }},
		"last held": {Path{Impair: on(4, Action{Behind: 9})}, 1, []byte{0, 1, 2, 3, 4}, func(c PathCounts) bool { return c.Displaced == 1 }},
		"delay":     {Path{Impair: on(1, Action{Delay: 25})}, 10, []byte{0, 2, 3, 1, 4}, func(c PathCounts) bool { return c.Delayed == 1 }},
		"corrupt":   {Path{Impair: on(3, Action{Corrupt: true, At: -1})}, 1, []byte{0, 1, 2, 3 ^ 0xff, 4}, func(c PathCounts) bool { return c.Corrupted == 1 }},
		"beyond":    {Path{Impair: on(3, Action{Corrupt: true, At: 5})}, 1, []byte{0, 1, 2, 3, 4}, func(c PathCounts) bool { return c.Corrupted == 0 }},
	} {
		l := newLine(c.path)
		if got := pass(l, 5, c.gap); !slices.Equal(got, c.want) || !c.is(l.counts) {
			t.Errorf("%s: %v, %+v; want %v", name, got, l.counts, c.want)
		}
	}
}

func TestLineRateAndQueue(t *testing.T) {
	l := newLine(Path{RateFPS: 1000, Queue: 10})
	out := pass(l, 100, 0) // all at once: one leaves, ten wait, the rest is too many
	if len(out) != 11 || l.counts.QueueFull != 89 {
		t.Errorf("%d leave, %d dropped; want 11, 89", len(out), l.counts.QueueFull)
	}
	l = newLine(Path{RateFPS: 1000, Queue: 10})
	if out := pass(l, 100, int64(time.Millisecond)); len(out) != 100 || l.counts.QueueFull != 0 {
		t.Errorf("at the rate itself %d leave, %d dropped; want 100, 0", len(out), l.counts.QueueFull)
	}
}

func TestLineDoesNotAllocateWhereAllPass(t *testing.T) {
	l := newLine(Path{})
	frame := make([]byte, 60)
	l.out = make([][]byte, 0, 4)
	if n := testing.AllocsPerRun(100, func() {
		l.release(1)
		l.arrive(1, frame)
		l.out = l.out[:0]
	}); n != 0 {
		t.Errorf("%v allocations per frame", n)
	}
}
