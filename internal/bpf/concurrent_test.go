package bpf

import (
	"runtime"
	"sync"
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
	const frames = 1_500_000
	var wait sync.WaitGroup
	for _, cpu := range cpus[:2] {
		p := counting(t, f.Program())
		data := countingFrame(t, sig{run: testRun, stream: 3, flags: packet.TimeFrame, time: 1}, 0)
		wait.Go(func() {
			runtime.LockOSThread() // never given back: its affinity is changed
			var set unix.CPUSet
			set.Set(cpu)
			if err := unix.SchedSetaffinity(0, &set); err != nil {
				t.Error(err)
				return
			}
			if _, err := p.Run(&ebpf.RunOptions{Data: data, Repeat: frames}); err != nil {
				t.Error(err)
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
	// A CPU that is more than a window behind brings numbers that are late; all others come twice.
	if s.Frames != frames || s.Duplicate+s.Late != frames || s.Next != frames || s.BadSeq != 0 || s.Corrupt != 0 {
		t.Errorf("%+v", countsOf(s))
	}
	if s.Latency.Count != s.Frames || s.Gap.Count != s.Frames-1 {
		t.Errorf("%d latencies, %d gaps of %d frames", s.Latency.Count, s.Gap.Count, s.Frames)
	}
	t.Logf("%d duplicate, %d late, %d reordered", s.Duplicate, s.Late, s.Reordered)
}
