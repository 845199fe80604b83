package xdp

import "github.com/cilium/ebpf/asm"

// maxDrops bounds how many frames one pass drops that are too late.
const maxDrops = 64

// recorded waits, for a bounded time, until the next frame is due as the sequence says, and leaves the time in regNow. A frame
// leaves no earlier than it is due and no earlier than half the gap behind the one before.
func (b *sequenceBuilder) recorded() {
	const due = regData
	b.due()
	b.add(
		asm.StoreMem(asm.RFP, stackDue, due, asm.DWord),
		asm.Mov.Reg(asm.R1, due),
		b.load(asm.R2, offPrev),
		asm.Sub.Reg(asm.R1, asm.R2),
		asm.RSh.Imm(asm.R1, 1),
		b.load(asm.R2, offLeft),
		asm.Add.Reg(asm.R1, asm.R2),
		asm.JGE.Reg(due, asm.R1, "wait"),
		asm.Mov.Reg(due, asm.R1),
	)
	b.label("wait")
	b.add(
		asm.Mov.Imm(regNow, 0),
		asm.FnKtimeGetNs.Call().WithSymbol("spin"),
		asm.JGE.Reg(asm.R0, due, "due"),
		asm.Add.Imm(regNow, 1),
		asm.JLT.Imm(regNow, spins, "spin"),
		asm.Ja.Label("drop"),

		asm.Mov.Reg(regNow, asm.R0).WithSymbol("due"),
		asm.LoadMem(due, asm.RFP, stackDue, asm.DWord),
		asm.Mov.Reg(asm.R3, regNow),
		asm.Sub.Reg(asm.R3, due), // behind by
		b.load(asm.R4, offBehindMax),
		asm.JLE.Reg(asm.R3, asm.R4, "nomax"),
		b.store(offBehindMax, asm.R3),
	)
	b.label("nomax")
	b.add(asm.LoadImm(asm.R4, int64(b.opt.catchUp), asm.DWord), asm.JGT.Reg(asm.R3, asm.R4, "stalled"))
	b.label("go")
	b.add(b.store(offLeft, regNow), b.store(offPrev, due))
	if b.opt.skip {
		b.later = append(b.later, b.dropLate)
	} else {
		b.later = append(b.later, b.shiftRound)
	}
}

// due leaves in regData when the next frame is due.
func (b *sequenceBuilder) due() {
	b.entry(asm.R1, asm.R3)
	b.add(asm.LoadMem(regData, asm.R3, b.s.due, asm.DWord), b.load(asm.R2, offBase), asm.Add.Reg(regData, asm.R2))
}

// shiftRound moves the schedule by what goes beyond the debt that is caught up. R3: behind by; R4: the limit.
func (b *sequenceBuilder) shiftRound() {
	b.label("stalled")
	b.add(asm.Sub.Reg(asm.R3, asm.R4), asm.Add.Reg(regData, asm.R3))
	for _, off := range []int16{offBase, offShiftedNs} {
		b.add(b.load(asm.R4, off), asm.Add.Reg(asm.R4, asm.R3), b.store(off, asm.R4))
	}
	b.add(asm.Ja.Label("go"))
}

// dropLate drops the frames whose time is further past than what is caught up. The first that is not goes in the same pass
// where it is due: by the next pass, more would have to be dropped.
func (b *sequenceBuilder) dropLate() {
	b.label("stalled")
	b.add(asm.Mov.Imm(asm.R5, 0))
	b.label("droplate")
	b.add(b.store(offPrev, regData), b.load(asm.R1, offPos), asm.JGE.Imm(asm.R1, int32(len(b.s.Frames)), "drop")) // never: for the verifier
	b.advance(asm.R1)
	b.add(
		b.load(asm.R1, offSkipped),
		asm.Add.Imm(asm.R1, 1),
		b.store(offSkipped, asm.R1),
		b.load(asm.R1, offLimit),
		asm.Sub.Imm(asm.R1, 1),
		b.store(offLimit, asm.R1),
		b.load(asm.R2, offSent),
		asm.JGE.Reg(asm.R2, asm.R1, "drop"), // none are left
	)
	b.due()
	b.add(
		asm.JGT.Reg(regData, regNow, "drop"),
		asm.Mov.Reg(asm.R3, regNow),
		asm.Sub.Reg(asm.R3, regData),
		asm.LoadImm(asm.R4, int64(b.opt.catchUp), asm.DWord),
		asm.JLE.Reg(asm.R3, asm.R4, "go"),
		asm.Add.Imm(asm.R5, 1),
		asm.JLT.Imm(asm.R5, maxDrops, "droplate"),
		asm.Ja.Label("drop"), // the next pass goes on
	)
}
