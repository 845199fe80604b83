package xdp

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/cilium/ebpf/link"
	"golang.org/x/sys/unix"

	"github.com/wirespeed/wirespeed/internal/engine"
	"github.com/wirespeed/wirespeed/internal/lab/labtest"
	"github.com/wirespeed/wirespeed/internal/packet"
	"github.com/wirespeed/wirespeed/stream"
)

// attachDrop drops every frame at the pair's far end.
func attachDrop(t testing.TB, p *labtest.Pair) {
	t.Helper()
	attach(t, p, actionDrop)
}

// attach puts a program at the pair's far end that answers every frame with an action.
func attach(t testing.TB, p *labtest.Pair, action int32) {
	t.Helper()
	prog, err := ebpf.NewProgram(&ebpf.ProgramSpec{Type: ebpf.XDP, License: "GPL",
		Instructions: asm.Instructions{asm.Mov.Imm(asm.R0, action), asm.Return()}})
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
		b.Run(c.name, func(b *testing.B) { transmit(b, engine.Plan{Program: programOf(b, c.streams...), Stamp: c.stamp}) })
	}
}

// transmit runs a plan for b.N frames.
func transmit(b *testing.B, plan engine.Plan) {
	pair := labtest.TestPair(b, "t-xdptx", 1)
	attachDrop(b, pair)
	plan.Count = uint64(b.N)
	port := loaded(b, pair, plan)
	before := cpuTime(b)
	b.ResetTimer()
	if err := port.Run(b.Context()); err != nil {
		b.Fatal(err)
	}
	b.StopTimer()
	q := port.Counters().Queues[0]
	if q.Sent != uint64(b.N) {
		b.Fatalf("%d sent of %d", q.Sent, b.N)
	}
	b.ReportMetric(float64(q.EndNs-q.BeginNs)/float64(b.N), "ns/frame")
	b.ReportMetric(float64(cpuTime(b)-before)/float64(b.N), "cpu-ns/frame")
}

// loaded is a port at the near end of a pair that is ready to send a plan.
func loaded(b *testing.B, pair *labtest.Pair, plan engine.Plan) engine.Port {
	b.Helper()
	port, err := New().Open(b.Context(), engine.Target{Device: pair.DevA, Netns: pair.A}, engine.Config{})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { port.Close() })
	plan.Queues = 1
	if err := port.Load(plan); err != nil {
		b.Fatal(err)
	}
	return port
}

// BenchmarkAboveFixed is what a frame of a plan takes above a fixed one of 64 bytes: both in turns, in pieces so short that
// some of each are not disturbed, and of each the fastest.
func BenchmarkAboveFixed(b *testing.B) {
	fixed := udpStream(b, nil, 64)
	fixed.Signature = "none"
	templates := func(signature string, sizes ...int) (all []stream.Stream) {
		for i, n := range sizes {
			seed := uint64(i)
			s := udpStream(b, map[string]stream.Value{
				"ip.src":      {Op: stream.Rand, Start: num(0xc6120000), Max: num(0xc612ffff), Seed: seed},
				"ip.dst":      {Op: stream.Inc, Start: num(0xc6130001), Step: num(1), Count: 200},
				"ip.id":       {Op: stream.Inc, Start: num(0), Step: num(1), Count: 65536},
				"udp.srcport": {Op: stream.Inc, Start: num(1024), Step: num(1), Count: 60000},
				"udp.dstport": {Op: stream.Rand, Start: num(1024), Max: num(65535), Seed: seed + 7},
			}, n)
			s.Name, s.Signature, s.Payload = fmt.Sprint("t", i), signature, stream.Payload{Fill: stream.FillRandom, Seed: seed + 1}
			all = append(all, s)
		}
		return all
	}
	for _, c := range []struct {
		name    string
		streams []stream.Stream
	}{
		{"templates to 512", templates("none", 64, 128, 256, 512)},
		{"templates to 1518", templates("none", 64, 300, 800, 1518)},
		{"signed templates to 512", templates("full", 64, 128, 256, 512)},
	} {
		b.Run(c.name, func(b *testing.B) {
			pair := labtest.TestPair(b, "t-xdptx", 1)
			attachDrop(b, pair)
			const piece = 100_000
			ports := []engine.Port{
				loaded(b, pair, engine.Plan{Program: programOf(b, fixed), Stamp: engine.StampNone, Count: piece}),
				loaded(b, pair, engine.Plan{Program: programOf(b, c.streams...), Stamp: engine.StampNone, Count: piece}),
			}
			var best [2]float64
			b.ResetTimer()
			for range max(1, b.N/piece) {
				for i, port := range ports {
					if err := port.Run(b.Context()); err != nil {
						b.Fatal(err)
					}
					q := port.Counters().Queues[0]
					if ns := float64(q.EndNs-q.BeginNs) / piece; best[i] == 0 || ns < best[i] {
						best[i] = ns
					}
				}
			}
			b.ReportMetric(best[0], "ns/fixed")
			b.ReportMetric(best[1]-best[0], "ns/above")
		})
	}
}

// BenchmarkReplay is the time of one frame of a replay, sent and dropped by the peer on the same core.
func BenchmarkReplay(b *testing.B) {
	lens := func(n int, of ...int) (all []int) {
		r := rand.New(rand.NewPCG(1, 1))
		for range n {
			all = append(all, of[r.IntN(len(of))])
		}
		return all
	}
	for _, c := range []struct {
		name   string
		lens   []int
		signed bool
	}{
		{"1000x60", lens(1000, 60), false},
		{"65536x60", lens(65536, 60), false},
		{"1000x60-200", lens(1000, 60, 100, 130, 200), false},
		{"1000x200", lens(1000, 200), false},
		{"1000x510", lens(1000, 510), false},
		{"1000x1514", lens(1000, 1514), false},
		{"1000ximix", lens(1000, 60, 60, 60, 60, 60, 60, 60, 566, 566, 566, 566, 1514), false},
		{"65536ximix", lens(65536, 60, 60, 60, 60, 60, 60, 60, 566, 566, 566, 566, 1514), false},
		{"1000x60,100,500,900", lens(1000, 60, 100, 500, 900), false},
		{"1000x60signed", lens(1000, 60), true},
	} {
		b.Run(c.name, func(b *testing.B) {
			p := replayOf(1, c.lens...)
			p.Sequence.Rounds = 0
			if c.signed {
				signSome(p, packet.FormFull, 1)
			}
			transmit(b, engine.Plan{Program: p, Stamp: engine.StampNone})
		})
	}
}
