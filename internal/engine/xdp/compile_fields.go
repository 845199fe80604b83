package xdp

import (
	"github.com/cilium/ebpf/asm"

	"github.com/wirespeed/wirespeed/internal/program"
	"github.com/wirespeed/wirespeed/stream"
)

// Sums are added up in words as they lie in memory (RFC 1071 2(B)), so nothing is swapped for them. Every variable word
// lies at an even offset.

// target is the register in which sum i is added up, or for the third and later ones where it is first made.
func (k *block) target(i int) asm.Register {
	switch i {
	case 0:
		return regSum0
	case 1:
		return regSum1
	default:
		return regB
	}
}

// spill puts a sum that has no register of its own on the stack.
func (k *block) spill(i int) {
	if i >= 2 {
		k.add(asm.StoreMem(asm.RFP, stackSum(i), regB, asm.DWord))
	}
}

func stackSum(i int) int16 { return int16(stackSums - 8*(i-2)) }

// addTo adds regA to sum i.
func (k *block) addTo(i int) {
	if i < 2 {
		k.add(asm.Add.Reg(k.target(i), regA))
		return
	}
	k.add(
		asm.LoadMem(regB, asm.RFP, stackSum(i), asm.DWord),
		asm.Add.Reg(regB, regA),
		asm.StoreMem(asm.RFP, stackSum(i), regB, asm.DWord),
	)
}

// cut takes out of the value in regA what the container holds.
func (k *block) cut(m *program.Modifier) {
	if m.Mask == 0 {
		return
	}
	if m.Right > 0 {
		k.add(asm.RSh.Imm(regA, int32(m.Right)))
	}
	switch {
	case m.Mask<<m.Right>>m.Right == ^uint64(0)>>m.Right: // the shift left no other bits
	case m.Mask <= 0x7fffffff:
		k.add(asm.And.Imm(regA, int32(m.Mask)))
	default:
		k.add(asm.LoadImm(regB, int64(m.Mask), asm.DWord), asm.And.Reg(regA, regB))
	}
}

// addToAll adds regA to the sums whose bits are set.
func (k *block) addToAll(sums uint) {
	for i := range k.s.Sums {
		if sums>>i&1 == 1 {
			k.addTo(i)
		}
	}
}

// sumSignature adds regA to every sum that covers the signature.
func (k *block) sumSignature() {
	for i := range k.s.Sums {
		if k.s.Sums[i].Signature {
			k.addTo(i)
		}
	}
}

// bound is the largest value that sum i can have: base, modifiers, the checksums within and the signature.
func (k *block) bound(i int) uint64 {
	most := uint64(0xffff)
	for j := range k.s.Mods {
		if m := &k.s.Mods[j]; m.Sums>>i&1 == 1 {
			if m.Width == 2 {
				most += 0xffff
			} else {
				most += uint64(m.Width/4) * 0xffffffff
			}
		}
	}
	for j := range k.s.Sums {
		if k.s.Sums[j].Into>>i&1 == 1 {
			most += 0xffff
		}
	}
	if k.s.Sums[i].Signature {
		most += 0xffff + 3*0xffffffff // flags, sequence, time
		if !k.timed() {
			most -= 2 * 0xffffffff
		}
	}
	return most
}

// finishSums folds, complements and writes the checksums, and adds each to those that cover it.
func (k *block) finishSums() {
	for i := range k.s.Sums {
		r := k.target(i)
		if i >= 2 {
			r = regB
			k.add(asm.LoadMem(r, asm.RFP, stackSum(i), asm.DWord))
		}
		for most := k.bound(i); most > 0xffff; most = foldedBound(most) {
			k.add(asm.Mov.Reg(regA, r), asm.RSh.Imm(regA, 16), asm.And.Imm(r, 0xffff), asm.Add.Reg(r, regA))
		}
		k.add(asm.Xor.Imm(r, 0xffff))
		if k.s.Sums[i].ZeroIsNone {
			sum := k.newLabel()
			k.add(asm.JNE.Imm(r, 0, sum), asm.Mov.Imm(r, 0xffff))
			k.label(sum)
		}
		k.add(asm.StoreMem(regData, int16(k.s.Sums[i].Off), r, asm.Half))
		if into := k.s.Sums[i].Into; into != 0 {
			k.add(asm.Mov.Reg(regA, r))
			k.addToAll(into)
		}
	}
}

// foldedBound is the largest value of x>>16 + x&0xffff for x up to most.
func foldedBound(most uint64) uint64 {
	hi := most >> 16
	if hi == 0 {
		return most
	}
	return max(hi-1+0xffff, hi+most&0xffff)
}

// modify writes modifier i of the stream and adds it to its sums.
func (k *block) modify(i int) {
	m := &k.s.Mods[i]
	k.value(i)
	k.cut(m)
	if m.Shift > 0 {
		k.add(asm.LSh.Imm(regA, int32(m.Shift)))
	}
	size := map[int]asm.Size{2: asm.Half, 4: asm.Word, 8: asm.DWord}[m.Width]
	k.add(asm.HostTo(asm.BE, regA, size))
	if m.Whole {
		k.add(asm.StoreMem(regData, int16(m.Off), regA, size))
	} else {
		k.add(
			asm.LoadMem(regB, regData, int16(m.Off), size),
			asm.Or.Reg(regB, regA),
			asm.StoreMem(regData, int16(m.Off), regB, size),
		)
	}
	if m.Width == 8 {
		k.add(asm.StoreMem(asm.RFP, stackTemp, regA, asm.DWord), asm.Mov.Reg32(regA, regA))
	}
	k.addToAll(m.Sums)
	if m.Width == 8 {
		k.add(asm.LoadMem(regA, asm.RFP, stackTemp, asm.DWord), asm.RSh.Imm(regA, 32))
		k.addToAll(m.Sums)
	}
}

// value leaves the value of modifier i in regA.
func (k *block) value(i int) {
	m := &k.s.Mods[i]
	switch m.Op {
	case stream.Rand:
		k.splitMix(m.Seed)
		k.pick(m.Range)
		k.addConst(regA, m.Start)
	case stream.List:
		k.modK(uint64(len(m.List)))
		k.mask(regA, len(m.List))
		k.add(
			asm.LSh.Imm(regA, 3),
			asm.LoadMapValue(regB, k.builder.tableFD, uint32(k.tables.lists[i])),
			asm.Add.Reg(regB, regA),
			asm.LoadMem(regA, regB, 0, asm.DWord),
		)
	default:
		step := m.Step
		if m.Op == stream.Dec {
			step = -step
		}
		k.modK(m.Count)
		k.mulConst(regA, step)
		k.addConst(regA, m.Start)
	}
}

// mulConst multiplies by any 64-bit number; regB is overwritten where it does not fit an instruction.
func (k *block) mulConst(r asm.Register, v uint64) {
	switch {
	case v == 1:
	case v == ^uint64(0):
		k.add(asm.Neg.Imm(r, 0))
	case int64(v) == int64(int32(v)):
		k.add(asm.Mul.Imm(r, int32(v)))
	default:
		k.add(asm.LoadImm(regB, int64(v), asm.DWord), asm.Mul.Reg(r, regB))
	}
}

// splitMix leaves number regK of the SplitMix64 sequence of seed in regA: program.SplitMix64, step by step.
func (k *block) splitMix(seed uint64) {
	shift := func(n int32) {
		k.add(asm.Mov.Reg(regB, regA), asm.RSh.Imm(regB, n), asm.Xor.Reg(regA, regB))
	}
	k.add(asm.Mov.Reg(regA, regK), asm.Add.Imm(regA, 1))
	k.mulConst(regA, 0x9e3779b97f4a7c15)
	k.addConst(regA, seed)
	shift(30)
	k.mulConst(regA, 0xbf58476d1ce4e5b9)
	shift(27)
	k.mulConst(regA, 0x94d049bb133111eb)
	shift(31)
}

// pick maps regA to 0..n-1: program.Pick.
func (k *block) pick(n uint64) {
	if n-1 < 1<<32 {
		k.add(asm.RSh.Imm(regA, 32))
		k.mulConst(regA, n)
		k.add(asm.RSh.Imm(regA, 32))
		return
	}
	if n == 0 {
		return
	}
	k.add(asm.LoadImm(regB, int64(n-1), asm.DWord), asm.And.Reg(regA, regB))
}
