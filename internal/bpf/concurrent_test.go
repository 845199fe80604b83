package bpf

import (
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/cilium/ebpf"
	"golang.org/x/sys/unix"

	"github.com/wirespeed/wirespeed/internal/host"
	"github.com/wirespeed/wirespeed/internal/packet"
)

// One stream that arrives on two CPUs at a time is counted exactly: every frame twice, once from each CPU, at every
// distance that the scheduler makes.
func TestOneStreamOnTwoCPUs(t *testing.T) {
	cpus, err := host.CPUs()
	if err != nil {
		t.Fatal(err)
	}
	if len(cpus) < 2 {
		t.Skip("needs two CPUs")
	}
	o := expectOne(packet.FormFull, 0)
	o.Locked = true
	f := newFeeder(t, o)
	// In rounds, so that the two stay within a window of each other however the machine schedules them.
	const rounds, round = 30, 60_000
	const frames = rounds * round
	var gates [rounds]atomic.Int32
	var wait sync.WaitGroup
	for _, cpu := range cpus[:2] {
		p := counting(t, f.Program())
		wait.Go(func() {
			runtime.LockOSThread() // never given back: its affinity is changed
			var set unix.CPUSet
			set.Set(cpu)
			if err := unix.SchedSetaffinity(0, &set); err != nil {
				t.Error(err) // and go on: the other one waits
			}
			for i := range gates {
				data := countingFrame(t, sig{run: testRun, stream: 3, flags: packet.TimeFrame, time: 1}, uint32(i*round))
				for gates[i].Add(1); gates[i].Load() < 2; { // asleep, one would come too late
				}
				if _, err := p.Run(&ebpf.RunOptions{Data: data, Repeat: round}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	for range 20 { // snapshots while it runs
		if _, err := f.Read(); err != nil {
			t.Error(err)
		}
	}
	wait.Wait()
	r, s := f.read(), f.one()
	if r.Queues != 2 || r.Frames != 2*frames {
		t.Errorf("%d frames on %d CPUs, want %d on 2", r.Frames, r.Queues, 2*frames)
	}
	if got, want := countsOf(s), (counts{frames: frames, duplicate: frames, reordered: s.Reordered, next: frames}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if s.Latency.Count != s.Frames || s.Gap.Count != s.Frames-1 {
		t.Errorf("%d latencies, %d gaps of %d frames", s.Latency.Count, s.Gap.Count, s.Frames)
	}
	if r.TesterDrops != 0 {
		t.Errorf("%d frames given up", r.TesterDrops)
	}
}
