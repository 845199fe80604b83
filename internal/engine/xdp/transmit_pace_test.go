package xdp

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/wirespeed/wirespeed/internal/engine"
	"github.com/wirespeed/wirespeed/internal/host"
	"github.com/wirespeed/wirespeed/internal/lab/need"
	"github.com/wirespeed/wirespeed/internal/packet"
	"github.com/wirespeed/wirespeed/internal/program"
	"github.com/wirespeed/wirespeed/internal/wire"
)

// drawRate draws rates whose gap on one of four queues is between some ns and 100 us.
func drawRate(t *rapid.T) wire.FPS {
	den := rapid.Uint64Range(1, 1<<20).Draw(t, "den")
	return wire.FPS{Num: den*40_000 + rapid.Uint64Range(0, den*50_000_000).Draw(t, "num"), Den: den}
}

// The kernel's schedule is exact: after any number of frames and dropped slots the next frame is due when the arithmetic of
// package wire says so, to the ns.
func TestScheduleIsExact(t *testing.T) {
	need.Root(t)
	p := programOf(t, udpStream(t, nil, 64))
	rapid.Check(t, func(t *rapid.T) {
		rate, queues := drawRate(t), rapid.IntRange(1, 4).Draw(t, "queues")
		queue := rapid.IntRange(0, queues-1).Draw(t, "queue")
		skip := rapid.Bool().Draw(t, "skip")
		pc, err := newPace(rate, queue, queues)
		if err != nil {
			t.Fatal(err)
		}
		u, err := compile(p.Bind(program.Binding{Queue: queue, Queues: queues}), options{pace: pc, skip: skip, catchUp: 5e6})
		if err != nil {
			t.Fatal(err)
		}
		defer u.close()
		late := rapid.Uint64Range(0, 20e6).Draw(t, "late")
		start := uint64(host.Monotonic()) - late
		const limit = 100_000
		u.reset(limit, start+pc.offset, pc.offsetRest)
		var sent, shifted uint64
		for range 60 {
			before := uint64(host.Monotonic())
			left, next := u.state.load(offLeft), u.state.load(offNext)
			if step(t, u, true, 60) == nil {
				continue
			}
			sent++
			if now := u.state.load(offLeft); now < before || now < next || now < left+pc.half {
				t.Fatalf("frame %d left at %d, due at %d, half a gap after the one before at %d", sent, now, next, left+pc.half)
			}
		}
		skipped := u.state.load(offSkipped)
		shifted = u.state.load(offShiftedNs)
		want := start + rate.Due(uint64(queue)+(sent+skipped)*uint64(queues)) + shifted
		if got := u.state.load(offNext); got != want {
			t.Fatalf("rate %v, queue %d of %d: after %d frames and %d slots the next is due at +%d, want +%d", rate, queue, queues, sent, skipped, got-start, want-start)
		}
		if u.state.load(offSent) != sent || u.state.load(offLimit) != limit-skipped {
			t.Fatalf("%d sent, limit %d of %d, %d skipped", sent, u.state.load(offLimit), limit, skipped)
		}
		if skip && shifted != 0 || !skip && skipped != 0 {
			t.Fatalf("skip %v: %d skipped, shifted by %d", skip, skipped, shifted)
		}
	})
}

func TestPaceRefuses(t *testing.T) {
	for _, rate := range []wire.FPS{{Num: 1e12, Den: 1}, {Num: 1, Den: 1 << 62}, {Num: 1 << 63, Den: 1}} {
		if p, err := newPace(rate, 0, 1); err == nil {
			t.Errorf("rate %v: %+v", rate, p)
		}
	}
}

// The batch is the smallest that holds the rate of one queue.
func TestBatchFor(t *testing.T) {
	for _, c := range []struct {
		fps    uint64
		queues int
		want   int
	}{{1000, 1, 1}, {1_000_000, 1, 1}, {1_000_000, 2, 1}, {2_000_000, 2, 1}, {3_000_000, 1, 4}, {6_000_000, 1, 16}, {6_000_000, 2, 4}, {10_000_000, 1, 64}} {
		p, err := newPace(wire.FPS{Num: c.fps, Den: 1}, 0, c.queues)
		if err != nil {
			t.Fatal(err)
		}
		if got := batchFor(p.whole); got != c.want {
			t.Errorf("%d fps on %d queues: batch %d, want %d", c.fps, c.queues, got, c.want)
		}
	}
	if batchFor(0) != bestBatch {
		t.Error("as fast as possible is not the best batch")
	}
}

// A duration ends a paced run by its slots; a smaller count ends it by the count, and its schedule shifts.
func TestEnding(t *testing.T) {
	rate := wire.FPS{Num: 1000, Den: 1}
	for _, c := range []struct {
		plan engine.Plan
		want ending
	}{
		{engine.Plan{}, ending{}},
		{engine.Plan{Count: 7}, ending{total: 7}},
		{engine.Plan{Duration: time.Second}, ending{}},
		{engine.Plan{Duration: time.Second, Rate: rate}, ending{1000, true}},
		{engine.Plan{Duration: time.Second, Rate: rate, Count: 999}, ending{999, false}},
		{engine.Plan{Duration: time.Second, Rate: rate, Count: 1000}, ending{1000, true}},
		{engine.Plan{Duration: time.Microsecond, Rate: rate}, ending{1, true}},
	} {
		c.plan.Program = &program.Program{}
		if got := endingOf(&c.plan); got != c.want {
			t.Errorf("%+v: %+v, want %+v", c.plan, got, c.want)
		}
	}
}

func TestTimeKind(t *testing.T) {
	paced := wire.FPS{Num: 1, Den: 1}
	for _, c := range []struct {
		plan engine.Plan
		want byte
	}{
		{engine.Plan{}, packet.TimeShared},
		{engine.Plan{Rate: paced}, packet.TimeFrame},
		{engine.Plan{Rate: paced, Stamp: engine.StampShared}, packet.TimeFrame},
		{engine.Plan{Rate: paced, Stamp: engine.StampNone}, packet.TimeNone},
		{engine.Plan{Stamp: engine.StampFrame}, packet.TimeFrame},
		{engine.Plan{Stamp: engine.StampShared}, packet.TimeShared},
	} {
		if got := timeKind(&c.plan); got != c.want {
			t.Errorf("%+v: %x, want %x", c.plan, got, c.want)
		}
	}
}

// Each queue has a CPU of its own and, where that can be, one that the peer maps to the queue's ring.
func TestSpread(t *testing.T) {
	for _, c := range []struct {
		cpus          []int
		queues, rings int
		want          []int
	}{
		{[]int{0, 1}, 2, 2, []int{0, 1}},
		{[]int{0, 1, 2, 3}, 2, 2, []int{0, 1}},
		{[]int{1, 2, 3, 4}, 2, 2, []int{2, 1}},
		{[]int{2, 4, 6}, 2, 2, []int{2, 4}},
		{[]int{5}, 1, 1, []int{5}},
	} {
		if got, err := spread(c.cpus, c.queues, c.rings); err != nil || !slices.Equal(got, c.want) {
			t.Errorf("%+v: %v, %v", c, got, err)
		}
	}
	if _, err := spread([]int{0}, 2, 2); err == nil {
		t.Error("two queues on one CPU")
	}
}

func TestCommand(t *testing.T) {
	for netns, want := range map[string]string{
		"": "`x`", "A": "`ip netns exec A x`", "/proc/7/ns/net": "`nsenter --net=/proc/7/ns/net x`", "/proc/self/fd/3": "`x` in its network namespace",
	} {
		if got := command(netns, "x"); got != want {
			t.Errorf("%q: %s", netns, got)
		}
	}
}

func TestAtLeast(t *testing.T) {
	for release, want := range map[string]bool{"5.18.0": true, "5.17.9-x": false, "6.1": true, "4.19.0": false, "strange": true} {
		if atLeast(release, 5, 18) != want {
			t.Error(release)
		}
	}
}
