package trial

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/wirespeed/wirespeed/internal/engine"
	"github.com/wirespeed/wirespeed/stream"
)

// losing is a wire on which the first n frames are lost.
func losing(n uint64) *fakeWire {
	return &fakeWire{path: func(_ uint16, seq uint64) []uint64 {
		if seq < n {
			return nil
		}
		return []uint64{seq}
	}}
}

// The limit itself is allowed; one frame more is not.
func TestLossLimitIsInclusive(t *testing.T) {
	for lost, exit := range map[uint64]int{0: 0, 10: 0, 11: ExitFailed} {
		s := testSpec(t)
		limit := 0.01
		s.MaxLoss = &limit
		if o := mustRun(t, losing(lost), s); o.Exit != exit || o.lost(t) != int64(lost) {
			t.Errorf("lost %d of 1000 with a limit of 1 %%: exit %d (%s), want %d", lost, o.Exit, o.Why, exit)
		}
	}
}

// Nothing that arrived is a valid measurement, and says where to look.
func TestNothingArrived(t *testing.T) {
	o := mustRun(t, losing(1000), testSpec(t))
	wantVerdict(t, o, "valid", 0)
	if notes := strings.Join(o.Report.Notes, "\n"); !strings.Contains(notes, "nothing of the run arrived at b") || !strings.Contains(notes, "--dst-mac") || !strings.Contains(notes, "--vlan") {
		t.Errorf("notes %q", notes)
	}
}

// One frame more than was sent makes the run invalid: something is counted that is not the run's.
func TestOneFrameTooMany(t *testing.T) {
	o := mustRun(t, &fakeWire{path: func(_ uint16, seq uint64) []uint64 {
		if seq == 999 {
			return []uint64{999, 1000}
		}
		return []uint64{seq}
	}}, testSpec(t))
	wantVerdict(t, o, "invalid", ExitFailed)
	if o.lost(t) != -1 {
		t.Errorf("lost %d, want -1", o.lost(t))
	}
}

// A run that was asked for no number and sent none fails too.
func TestIdleIsNeverSuccess(t *testing.T) {
	s := testSpec(t)
	s.Count, s.Duration = 0, time.Second
	if o := mustRun(t, &fakeWire{idle: true}, s); o.Exit != ExitShort || !strings.Contains(o.Why, "nothing was sent") {
		t.Errorf("exit %d (%s), want %d", o.Exit, o.Why, ExitShort)
	}
}

// What is still under way when the sender stops is waited for.
func TestLateFramesAreWaitedFor(t *testing.T) {
	o := mustRun(t, &fakeWire{late: 100 * time.Millisecond}, testSpec(t))
	wantVerdict(t, o, "valid", 0)
	if o.lost(t) != 0 {
		t.Errorf("lost %d frames that were under way", o.lost(t))
	}
}

// The short signature has one byte for streams times queues, over all ports.
func TestShortSignatureHas256IDs(t *testing.T) {
	for ids, refused := range map[int]bool{256: false, 257: true} {
		var b strings.Builder
		b.WriteString("streams:\n")
		for i := range ids {
			fmt.Fprintf(&b, "  - {name: s%d, layers: [eth, ip, udp], signature: short}\n", i)
		}
		s := testSpec(t)
		var err error
		if s.Set, err = stream.Parse("many.yaml", []byte(b.String())); err != nil {
			t.Fatal(err)
		}
		o, err := testRunner(&fakeWire{}).Run(t.Context(), s)
		switch {
		case refused && (err == nil || ErrorOf(err).Code != ExitUsage || !strings.Contains(err.Error(), "256")):
			t.Errorf("%d ids: %v, %v", ids, o, err)
		case !refused && (err != nil || o.Exit != 0):
			t.Errorf("%d ids: %+v, %v", ids, o, err)
		}
	}
}

func TestOptionGivenTwice(t *testing.T) {
	s := testSpec(t)
	s.Tx[0].Options = map[string][]string{"speed": {"1G", "10G"}}
	if o, err := testRunner(&fakeWire{}).Run(t.Context(), s); err == nil || ErrorOf(err).Code != ExitUsage || !strings.Contains(err.Error(), "speed") {
		t.Errorf("%+v, %v", o, err)
	}
}

// A receiver on its own: the last frame tells how many were sent; without it nothing behind the highest number is guessed.
func TestLearnedLoss(t *testing.T) {
	for _, c := range []struct {
		name string
		g    engine.StreamReceived
		lost int64
		say  bool
	}{
		{"all", engine.StreamReceived{Frames: 10, Next: 10, LastSeen: true, LastSeq: 9}, 0, false},
		{"the last alone", engine.StreamReceived{Frames: 1, Next: 10, LastSeen: true, LastSeq: 9}, 9, false},
		{"a hole, and no last", engine.StreamReceived{Frames: 6, Next: 7}, 1, true},
	} {
		u := &run{rx: []*receiver{{}}}
		j := &judge{reasons: map[string]string{}}
		if st := u.learned(&c.g, ReceiveSpec{}, j, "s"); *st.Rx.Lost != c.lost || (j.reasons["s.rx.lost"] != "") != c.say {
			t.Errorf("%s: lost %d, want %d; reason %q", c.name, *st.Rx.Lost, c.lost, j.reasons["s.rx.lost"])
		}
	}
}
