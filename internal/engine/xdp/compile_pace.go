package xdp

import "github.com/cilium/ebpf/asm"

const (
	// spins is how often one slot reads the clock (25 to 32 ns each) before its page goes back. A slot given back is a
	// round trip through the page pool and the end of a batch, which is coarser than a gap should be; but the verifier wants a
	// bound, and so do waiting softirqs.
	spins = 256
	// slotNs is less than a slot of that many reads lasts.
	slotNs = 4_000
	// maxSkip bounds how many slots one pass drops: skipped * remainder must fit 64 bits.
	maxSkip = 1 << 20
)

// pace waits, for a bounded time, until the next frame is due, and moves the schedule on by one gap. It leaves the time in
// regNow. A frame leaves no earlier than it is due and no earlier than half a gap after the one before.
func (b *builder) pace() {
	p := b.opt.pace
	const due = regData
	b.add(b.load(due, offNext), b.load(regA, offLeft))
	b.addConst(regA, p.half)
	b.add(asm.JGE.Reg(due, regA, "wait"), asm.Mov.Reg(due, regA))
	b.label("wait")
	b.add(
		asm.Mov.Imm(regNow, 0),
		asm.FnKtimeGetNs.Call().WithSymbol("spin"),
		asm.JGE.Reg(asm.R0, due, "due"),
		asm.Add.Imm(regNow, 1),
		asm.JLT.Imm(regNow, spins, "spin"),
		asm.Ja.Label("drop"),

		asm.Mov.Reg(regNow, asm.R0).WithSymbol("due"),
		b.load(due, offNext),
		asm.Mov.Reg(asm.R3, regNow),
		asm.Sub.Reg(asm.R3, due), // behind by
		b.load(asm.R4, offBehindMax),
		asm.JLE.Reg(asm.R3, asm.R4, "nomax"),
		b.store(offBehindMax, asm.R3),
	)
	b.label("nomax")
	b.add(asm.LoadImm(asm.R4, int64(b.opt.catchUp), asm.DWord), asm.JGT.Reg(asm.R3, asm.R4, "stalled"))
	b.label("go")
	b.add(b.store(offLeft, regNow))
	b.addConst(due, p.whole)
	if p.rest != 0 {
		b.add(
			b.load(asm.R4, offFrac),
			asm.LoadImm(asm.R5, int64(p.den), asm.DWord),
		)
		b.addConst(asm.R4, p.rest)
		b.add(asm.JLT.Reg(asm.R4, asm.R5, "frac"), asm.Sub.Reg(asm.R4, asm.R5), asm.Add.Imm(due, 1))
		b.label("frac")
		b.add(b.store(offFrac, asm.R4))
	}
	b.add(b.store(offNext, due))
	if b.opt.skip {
		b.later = append(b.later, b.skipSlots)
	} else {
		b.later = append(b.later, b.shift)
	}
}

// shift moves the schedule by what goes beyond the debt that is caught up. R3: behind by; R4: the limit.
func (b *builder) shift() {
	b.label("stalled")
	b.add(
		asm.Sub.Reg(asm.R3, asm.R4),
		asm.Add.Reg(regData, asm.R3),
		b.load(asm.R4, offShiftedNs),
		asm.Add.Reg(asm.R4, asm.R3),
		b.store(offShiftedNs, asm.R4),
		asm.Ja.Label("go"),
	)
}

// skipSlots drops the slots beyond the debt that is caught up: at least one, never too many. The frame that is next then goes
// in the same pass where it is due: by the next pass, more would have to be dropped.
func (b *builder) skipSlots() {
	p := b.opt.pace
	b.label("stalled")
	b.add(asm.Sub.Reg(asm.R3, asm.R4))
	if p.shift > 0 {
		b.add(asm.LoadImm(asm.R4, 1<<(64-p.shift)-1, asm.DWord), asm.JLE.Reg(asm.R3, asm.R4, "dividable"), asm.Mov.Reg(asm.R3, asm.R4))
		b.label("dividable")
		b.add(asm.LSh.Imm(asm.R3, int32(p.shift)))
	}
	b.add(asm.LoadImm(asm.R4, int64(p.ceil), asm.DWord), asm.Div.Reg(asm.R3, asm.R4), asm.Add.Imm(asm.R3, 1))
	b.add(asm.JLE.Imm(asm.R3, maxSkip, "skipsome"), asm.Mov.Imm(asm.R3, maxSkip))
	b.label("skipsome")
	b.add(
		b.load(asm.R4, offLimit),
		asm.Mov.Reg(asm.R5, asm.R4),
		b.load(asm.R1, offSent),
		asm.Sub.Reg(asm.R5, asm.R1), // left; more than 0
		asm.JLE.Reg(asm.R3, asm.R5, "skip"),
		asm.Mov.Reg(asm.R3, asm.R5),
	)
	b.label("skip")
	b.add(
		asm.Sub.Reg(asm.R4, asm.R3),
		b.store(offLimit, asm.R4),
		b.load(asm.R4, offSkipped),
		asm.Add.Reg(asm.R4, asm.R3),
		b.store(offSkipped, asm.R4),
	)
	if b.passOver != nil {
		b.passOver()
	}
	b.add(
		asm.LoadImm(asm.R4, int64(p.whole), asm.DWord),
		asm.Mul.Reg(asm.R4, asm.R3),
		asm.Add.Reg(regData, asm.R4),
	)
	if p.rest != 0 {
		b.add(
			asm.LoadImm(asm.R4, int64(p.rest), asm.DWord),
			asm.Mul.Reg(asm.R4, asm.R3),
			b.load(asm.R5, offFrac),
			asm.Add.Reg(asm.R4, asm.R5),
			asm.LoadImm(asm.R5, int64(p.den), asm.DWord),
			asm.Mov.Reg(asm.R1, asm.R4),
			asm.Div.Reg(asm.R1, asm.R5),
			asm.Add.Reg(regData, asm.R1),
			asm.Mod.Reg(asm.R4, asm.R5),
			b.store(offFrac, asm.R4),
		)
	}
	b.add(
		b.store(offNext, regData),
		b.load(asm.R4, offLimit),
		b.load(asm.R5, offSent),
		asm.JGE.Reg(asm.R5, asm.R4, "drop"), // none are left
		asm.JGT.Reg(regData, regNow, "drop"),
		asm.Mov.Reg(asm.R3, regNow),
		asm.Sub.Reg(asm.R3, regData),
		asm.LoadImm(asm.R4, int64(b.opt.catchUp), asm.DWord),
		asm.JGT.Reg(asm.R3, asm.R4, "drop"), // after maxSkip slots; the next pass goes on
		asm.Ja.Label("go"),
	)
}
