package xdp

import (
	"testing"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/cilium/ebpf/link"
	"golang.org/x/sys/unix"

	"github.com/wirespeed/wirespeed/internal/engine"
	"github.com/wirespeed/wirespeed/internal/lab/labtest"
	"github.com/wirespeed/wirespeed/stream"
)

// attachDrop drops every frame at the pair's far end.
func attachDrop(t testing.TB, p *labtest.Pair) {
	t.Helper()
	prog, err := ebpf.NewProgram(&ebpf.ProgramSpec{Type: ebpf.XDP, License: "GPL",
		Instructions: asm.Instructions{asm.Mov.Imm(asm.R0, actionDrop), asm.Return()}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { prog.Close() })
	l, err := p.NSB.Link(p.DevB)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.NSB.Do(func() error {
		at, err := link.AttachXDP(link.XDPOptions{Program: prog, Interface: l.Index, Flags: link.XDPDriverMode})
		if err == nil {
			t.Cleanup(func() { at.Close() })
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
}

// cpuTime is what this process has used, in ns: on a busy machine it says more than the clock does.
func cpuTime(b *testing.B) int64 {
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return u.Utime.Nano() + u.Stime.Nano()
}

// BenchmarkTransmit is the time of one frame, sent and dropped by the peer on the same core.
func BenchmarkTransmit(b *testing.B) {
	port1 := map[string]stream.Value{"udp.srcport": {Op: stream.Inc, Start: num(1024), Step: num(1), Count: 64512}}
	random := map[string]stream.Value{"ip.src": {Op: stream.Rand, Start: num(0), Max: num(1<<32 - 1), Seed: 1}, "udp.srcport": {Op: stream.Rand, Start: num(1024), Max: num(65535), Seed: 2}}
	fixed := udpStream(b, nil, 64)
	fixed.Signature = "none"
	for _, c := range []struct {
		name    string
		stamp   engine.Stamp
		streams []stream.Stream
	}{
		{"fixed", engine.StampNone, []stream.Stream{fixed}},
		{"signature", engine.StampNone, []stream.Stream{udpStream(b, port1, 64)}},
		{"stamp16", engine.StampShared, []stream.Stream{udpStream(b, port1, 64)}},
		{"stamp1", engine.StampFrame, []stream.Stream{udpStream(b, port1, 64)}},
		{"random", engine.StampNone, []stream.Stream{udpStream(b, random, 64)}},
		{"lengths", engine.StampNone, []stream.Stream{udpStream(b, port1, 64, 570, 1518)}},
		{"streams", engine.StampNone, []stream.Stream{udpStream(b, port1, 64), udpStream(b, random, 64)}},
	} {
		b.Run(c.name, func(b *testing.B) {
			pair := labtest.TestPair(b, "t-xdptx", 1)
			attachDrop(b, pair)
			port, err := New().Open(b.Context(), engine.Target{Device: pair.DevA, Netns: pair.A}, engine.Config{})
			if err != nil {
				b.Fatal(err)
			}
			b.Cleanup(func() { port.Close() })
			if err := port.Load(engine.Plan{Program: programOf(b, c.streams...), Queues: 1, Stamp: c.stamp, Count: uint64(b.N)}); err != nil {
				b.Fatal(err)
			}
			before := cpuTime(b)
			b.ResetTimer()
			if err := port.Run(b.Context()); err != nil {
				b.Fatal(err)
			}
			b.StopTimer()
			q := port.Counters().Queues[0]
			b.ReportMetric(float64(q.EndNs-q.BeginNs)/float64(b.N), "ns/frame")
			b.ReportMetric(float64(cpuTime(b)-before)/float64(b.N), "cpu-ns/frame")
		})
	}
}
