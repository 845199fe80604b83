package xdp

import (
	"testing"

	"github.com/wirespeed/wirespeed/internal/host"
	"github.com/wirespeed/wirespeed/internal/lab/need"
	"github.com/wirespeed/wirespeed/internal/program"
	"github.com/wirespeed/wirespeed/internal/wire"
)

// At a rate out of reach every pass drops the slots that are lost and still sends a frame.
func TestARateOutOfReachSendsWithEveryPass(t *testing.T) {
	need.Root(t)
	p := programOf(t, udpStream(t, nil, 64))
	for _, rate := range []wire.FPS{{Num: 5_000_000, Den: 1}, {Num: 100_000_000, Den: 7}, {Num: 700_000_000, Den: 1}} {
		pc, err := newPace(rate, 0, 1)
		if err != nil {
			t.Fatal(err)
		}
		u, err := compile(p.Bind(program.Binding{Queues: 1}), options{pace: pc, skip: true, catchUp: 1e6})
		if err != nil {
			t.Fatal(err)
		}
		defer u.close()
		start := uint64(host.Monotonic()) - 2e6
		u.reset(never, start, 0)
		sent := 0
		for range 200 {
			if step(t, u, true, 60) != nil {
				sent++
			}
		}
		skipped := u.state.load(offSkipped)
		if sent < 190 || skipped == 0 { // a stall of the machine may take more slots than a pass drops
			t.Errorf("rate %v: %d of 200 passes sent a frame, %d slots were dropped", rate, sent, skipped)
		}
		if got, want := u.state.load(offNext), start+rate.Due(uint64(sent)+skipped); got != want {
			t.Errorf("rate %v: the next frame is due at +%d, want +%d", rate, got-start, want-start)
		}
	}
}

// A slot that is dropped does not make the next frame leave before it is due.
func TestAfterADroppedSlotTheNextFrameWaits(t *testing.T) {
	need.Root(t)
	p := programOf(t, udpStream(t, nil, 64))
	pc, err := newPace(wire.FPS{Num: 10, Den: 1}, 0, 1)
	if err != nil {
		t.Fatal(err)
	}
	u, err := compile(p.Bind(program.Binding{Queues: 1}), options{pace: pc, skip: true, catchUp: 1e6})
	if err != nil {
		t.Fatal(err)
	}
	defer u.close()
	u.reset(5, uint64(host.Monotonic())-5e6, 0)
	if step(t, u, true, 60) != nil || u.state.load(offSkipped) != 1 || u.state.load(offLimit) != 4 || u.state.load(offSent) != 0 {
		t.Errorf("sent %d, dropped %d, limit %d", u.state.load(offSent), u.state.load(offSkipped), u.state.load(offLimit))
	}
}
