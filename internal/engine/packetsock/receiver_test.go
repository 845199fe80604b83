package packetsock

import (
	"context"
	"testing"
	"time"

	"github.com/vishvananda/netlink"

	"github.com/wirespeed/wirespeed/internal/engine"
	"github.com/wirespeed/wirespeed/internal/lab/labtest"
	"github.com/wirespeed/wirespeed/internal/packet"
)

func startReceiver(t *testing.T, p *labtest.Pair) *receiver {
	t.Helper()
	e, err := New().OpenReceiver(context.Background(), engine.Target{Device: p.DevB, Netns: p.B, Text: p.PortB}, config(new([]string)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	})
	if err := e.Load(engine.Expect{Run: 9, Streams: []engine.ExpectStream{{ID: 0, Form: packet.FormFull}}}); err != nil {
		t.Fatal(err)
	}
	if err := e.Start(); err != nil {
		t.Fatal(err)
	}
	return e.(*receiver)
}

func final(t *testing.T, r *receiver) engine.Received {
	t.Helper()
	if err := r.Stop(); err != nil {
		t.Fatal(err)
	}
	got, err := r.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// TestAFullRingDropsAndCounts holds the receiver's thread up until the ring is full.
func TestAFullRingDropsAndCounts(t *testing.T) {
	p := labtest.TestPair(t, "t-packet", 1)
	r := startReceiver(t, p)
	port, _ := openPort(t, p, "")
	plan := sized(t, "", 1518)
	plan.Count = 2 * blocks * blockSize / 1518
	r.mu.Lock()
	c, _ := runPlan(t, port, plan)
	r.mu.Unlock()
	got := final(t, r)
	if got.TesterDrops == 0 || got.Frames == 0 || got.Frames+got.TesterDrops != c.Queues[0].Sent {
		t.Errorf("sent %d, received %d, dropped %d", c.Queues[0].Sent, got.Frames, got.TesterDrops)
	}
}

func TestReceivesAgainWhenTheLinkIsBack(t *testing.T) {
	p := labtest.TestPair(t, "t-packet", 1)
	r := startReceiver(t, p)
	change(t, p.NSB, p.DevB, netlink.LinkSetDown)
	time.Sleep(30 * time.Millisecond)
	change(t, p.NSB, p.DevB, netlink.LinkSetUp)
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(time.Millisecond) {
		if l, err := p.NSA.Link(p.DevA); err != nil || l.Carrier {
			break
		}
	}
	port, _ := openPort(t, p, "")
	plan := sized(t, "", 64)
	plan.Count = 100
	c, _ := runPlan(t, port, plan)
	if got := final(t, r); got.Frames+got.TesterDrops != c.Queues[0].Sent || got.Frames == 0 {
		t.Errorf("sent %d, received %d", c.Queues[0].Sent, got.Frames)
	}
}

// TestOwnFramesAreNotReceived: what is sent on the receiver's own device does not come from the wire.
func TestOwnFramesAreNotReceived(t *testing.T) {
	p := labtest.TestPair(t, "t-packet", 1)
	r := startReceiver(t, p)
	other := *p
	other.A, other.DevA = p.B, p.DevB
	port, _ := openPort(t, &other, "")
	plan := sized(t, "", 64)
	plan.Count = 100
	runPlan(t, port, plan)
	if got := final(t, r); got.Frames+got.Foreign != 0 {
		t.Errorf("received %d of its own frames", got.Frames+got.Foreign)
	}
}

func TestStampClockFollowsASetTime(t *testing.T) {
	s := newStampClock()
	right := s.offset
	s.follow()
	if s.steps != 0 {
		t.Errorf("%d steps without one", s.steps)
	}
	for _, by := range []time.Duration{time.Second, -time.Second} {
		s.offset, s.steps = right+int64(by), 0
		s.follow()
		if d := s.offset - right; s.steps != 1 || d > int64(time.Millisecond) || d < -int64(time.Millisecond) {
			t.Errorf("after a step of %v: %d steps, %d ns off", by, s.steps, d)
		}
	}
}

// A stamp is turned by the distance of its own time, and by none where that is not certain.
func TestStampClockOfEarlierTimes(t *testing.T) {
	// The time was set forward by 500 at 1700..2200, and back by 300 at 3000..2700.
	s := stampClock{offset: 10_300 - 500, from: 2750, checked: 4000, clear: 2901, steps: 2}
	s.eras[0] = era{from: 1000, until: 1600, offset: 10_000}
	s.eras[1] = era{from: 2200, until: 2900, offset: 10_000 - 500}
	for stamp, want := range map[int64]int64{
		999: 0, 1000: 11_000, 1600: 11_600, 1601: 0, 2199: 0, 2200: 11_700, 2749: 12_249,
		2750: 0, 2900: 0, // of the second or of the third
		2901: 12_701, 4000: 13_800, 4001: 0,
	} {
		if got := s.at(stamp); got != want {
			t.Errorf("stamp %d: %d, want %d", stamp, got, want)
		}
	}
}
