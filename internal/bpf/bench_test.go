package bpf

import (
	"fmt"
	"testing"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"

	"github.com/wirespeed/wirespeed/internal/host"
	"github.com/wirespeed/wirespeed/internal/packet"
)

// counting is a program that raises the sequence number of a UDP frame with a full signature at every run, writes its
// complement behind the signature, so that the checksum stays right, and goes on with the analyser.
func counting(t testing.TB, next *ebpf.Program) *ebpf.Program {
	t.Helper()
	tail, err := ebpf.NewMap(&ebpf.MapSpec{Type: ebpf.ProgramArray, KeySize: 4, ValueSize: 4, MaxEntries: 1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = tail.Close() })
	if err := tail.Put(uint32(0), next); err != nil {
		t.Fatal(err)
	}
	const seq, complement = 42 + packet.SigSeq, 42 + packet.FullLen
	p, err := ebpf.NewProgram(&ebpf.ProgramSpec{Type: ebpf.XDP, AttachType: ebpf.AttachXDP, License: "GPL", Instructions: asm.Instructions{
		asm.LoadMem(asm.R2, asm.R1, 0, asm.Word), // data
		asm.LoadMem(asm.R3, asm.R1, 4, asm.Word), // data_end
		asm.Mov.Reg(asm.R4, asm.R2),
		asm.Add.Imm(asm.R4, complement+4),
		asm.JGT.Reg(asm.R4, asm.R3, "end"),
		asm.LoadMem(asm.R4, asm.R2, seq, asm.Word),
		asm.HostTo(asm.BE, asm.R4, asm.Word),
		asm.Add.Imm(asm.R4, 1),
		asm.HostTo(asm.BE, asm.R4, asm.Word),
		asm.StoreMem(asm.R2, seq, asm.R4, asm.Word),
		asm.Xor.Imm(asm.R4, -1),
		asm.StoreMem(asm.R2, complement, asm.R4, asm.Word),
		asm.LoadMapPtr(asm.R2, tail.FD()),
		asm.Mov.Imm(asm.R3, 0),
		asm.FnTailCall.Call(),
		asm.Mov.Imm(asm.R0, 0).WithSymbol("end"),
		asm.Return(),
	}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Close() })
	return p
}

// countingFrame is what the counting program takes: of its first run on, numbers from first on.
func countingFrame(t testing.TB, s sig, first uint32) []byte {
	s.seq = first - 1
	b := frame(t, shape{ip: 4, l4: 17, size: 64}, s)
	was := [2]uint16{uint16(b[60])<<8 | uint16(b[61]), uint16(b[62])<<8 | uint16(b[63])}
	n := ^s.seq
	b[60], b[61], b[62], b[63] = byte(n>>24), byte(n>>16), byte(n>>8), byte(n)
	sum := uint32(^(uint16(b[40])<<8 | uint16(b[41])))
	sum += uint32(^was[0]) + uint32(^was[1]) + n>>16 + n&0xffff
	for sum>>16 != 0 {
		sum = sum&0xffff + sum>>16
	}
	b[40], b[41] = byte(^sum>>8), byte(^sum)
	return b
}

func TestCountingFrames(t *testing.T) {
	f := newFeeder(t, expectOne(packet.FormFull, 0))
	p := counting(t, f.Program())
	b := countingFrame(t, sig{run: testRun, stream: 3}, 0)
	if _, err := p.Run(&ebpf.RunOptions{Data: b, Repeat: 1000}); err != nil {
		t.Fatal(err)
	}
	if got, want := countsOf(f.one()), (counts{frames: 1000, next: 1000}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

// ns per frame of the program and of the few instructions that number the frames, without any device.
func BenchmarkAnalyser(b *testing.B) {
	for _, c := range []struct {
		name  string
		flags byte
		group int
		lock  bool
	}{
		{"no time", 0, 1, false}, {"no time, locked", 0, 1, true},
		{"clock per frame", packet.TimeFrame, 1, false}, {"clock per frame, locked", packet.TimeFrame, 1, true},
		{"clock per 4", packet.TimeFrame, 4, false},
	} {
		b.Run(c.name, func(b *testing.B) {
			o := expectOne(packet.FormFull, 0)
			o.ClockGroup, o.Locked, o.GapNs = c.group, c.lock, 100
			f := newFeeder(b, o)
			p := counting(b, f.Program())
			data := countingFrame(b, sig{run: testRun, stream: 3, flags: c.flags, time: uint64(host.Monotonic())}, 0)
			b.ResetTimer()
			if _, err := p.Run(&ebpf.RunOptions{Data: data, Repeat: uint32(b.N)}); err != nil {
				b.Fatal(err)
			}
			b.StopTimer()
			if s := f.one(); s.Frames != uint64(b.N) {
				b.Fatal(fmt.Errorf("%d of %d frames: %+v", s.Frames, b.N, countsOf(s)))
			}
		})
	}
}
