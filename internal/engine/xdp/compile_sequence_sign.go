package xdp

import (
	"github.com/cilium/ebpf/asm"

	"github.com/wirespeed/wirespeed/internal/packet"
)

// sign writes the signature of a frame that has room for one, and the checksum that covers it. Words are added up as they lie
// in memory (RFC 1071 2(B)).
func (b *sequenceBuilder) sign() {
	const (
		sum, entry, at, words = asm.R2, asm.R3, asm.R4, asm.R5
		signed                = "signed"
	)
	b.add(
		asm.LoadMem(entry, asm.RFP, stackEntry, asm.DWord),
		asm.LoadMem(at, entry, entrySig, asm.Half),
		asm.JEq.Imm(at, 0, signed),
		asm.JGT.Imm(at, maxLive, "drop"), // never: for the verifier
		asm.Add.Reg(at, regData),
		asm.LoadMem(asm.R0, regCtx, 4, asm.Word),
		asm.Mov.Reg(asm.R1, at),
		asm.Add.Imm(asm.R1, int32(b.s.form.Len())),
		asm.JGT.Reg(asm.R1, asm.R0, "drop"), // never: for the verifier
	)
	if b.layout.single {
		b.add(asm.Mov.Reg(words, regState))
	} else {
		b.streamWords(words, entry)
	}
	b.add(asm.LoadMem(sum, entry, entryBase, asm.Half), asm.LoadMem(asm.R0, asm.RFP, stackSeq, asm.DWord))
	if b.layout.single && b.img.FirstSeq != 0 {
		b.add(asm.LoadImm(asm.R1, int64(b.img.FirstSeq), asm.DWord), asm.Add.Reg(asm.R0, asm.R1))
	}
	if b.s.form == packet.FormShort {
		b.add(
			asm.LoadMem(asm.R1, words, b.layout.id, asm.DWord),
			asm.StoreMem(at, packet.SigRun, asm.R1, asm.Half),
			asm.Add.Reg(sum, asm.R1),
			asm.HostTo(asm.BE, asm.R0, asm.Word),
			asm.StoreMem(at, packet.SigShortSeq, asm.R0, asm.Word),
			asm.Add.Reg(sum, asm.R0),
		)
	} else {
		b.signFull(sum, at, words)
	}
	b.writeSum(sum, entry, signed)
	b.label(signed)
}

// signFull writes what stands behind the magic of the full form and adds it to sum. R0 is the sequence number; words as
// streamWords leaves them.
func (b *sequenceBuilder) signFull(sum, at, words asm.Register) {
	b.add(
		asm.LoadMem(asm.R1, words, b.layout.id, asm.DWord), // run, flags, stream
		asm.JEq.Imm(asm.R0, 0, "first"),
	)
	b.label("notfirst")
	b.add(
		asm.StoreMem(at, packet.SigRun, asm.R1, asm.Word),
		asm.Add.Reg(sum, asm.R1),
		asm.LoadMem(asm.R1, words, b.layout.last[0], asm.DWord),
		asm.JEq.Reg(asm.R0, asm.R1, "last"),
	)
	b.label("notlast")
	b.add(
		asm.HostTo(asm.BE, asm.R0, asm.Word),
		asm.StoreMem(at, packet.SigSeq, asm.R0, asm.Word),
		asm.Add.Reg(sum, asm.R0),
	)
	if b.s.timed && b.opt.timeKind != packet.TimeNone {
		b.add(
			asm.HostTo(asm.BE, regNow, asm.DWord),
			asm.StoreMem(at, packet.SigTime, regNow, asm.DWord),
			asm.Mov.Reg32(asm.R1, regNow),
			asm.Add.Reg(sum, asm.R1),
			asm.RSh.Imm(regNow, 32),
			asm.Add.Reg(sum, regNow),
		)
	}
	b.later = append(b.later, func() {
		b.label("first")
		b.add(asm.Or.Imm(asm.R1, packet.FlagFirst<<8), asm.Ja.Label("notfirst"))
		b.label("last")
		b.add(
			asm.LoadMem(asm.R1, at, packet.SigFlags, asm.Byte),
			asm.Or.Imm(asm.R1, packet.FlagLast),
			asm.StoreMem(at, packet.SigFlags, asm.R1, asm.Byte),
			asm.Add.Imm(sum, packet.FlagLast<<8), // an odd byte is the upper half of its word in memory
			asm.Ja.Label("notlast"),
		)
	})
}

// writeSum folds, complements and writes the checksum that covers the signature, where there is one.
func (b *sequenceBuilder) writeSum(sum, entry asm.Register, done string) {
	b.add(
		asm.LoadMem(asm.R1, entry, entrySum, asm.Half),
		asm.JEq.Imm(asm.R1, 0, done),
		asm.JGT.Imm(asm.R1, maxLive, "drop"), // never: for the verifier
		asm.Add.Reg(asm.R1, regData),
		asm.LoadMem(asm.R0, regCtx, 4, asm.Word),
		asm.Mov.Reg(asm.R4, asm.R1),
		asm.Add.Imm(asm.R4, 2),
		asm.JGT.Reg(asm.R4, asm.R0, "drop"), // never: for the verifier
	)
	const most = 0xffff + 4*0xffffffff // base; run, flags and stream; number; time
	for n := uint64(most); n > 0xffff; n = foldedBound(n) {
		b.add(asm.Mov.Reg(asm.R0, sum), asm.RSh.Imm(asm.R0, 16), asm.And.Imm(sum, 0xffff), asm.Add.Reg(sum, asm.R0))
	}
	b.add(
		asm.Xor.Imm(sum, 0xffff),
		asm.JNE.Imm(sum, 0, "sum"),
		asm.LoadMem(asm.R0, entry, entryZero, asm.Half),
		asm.JEq.Imm(asm.R0, 0, "sum"),
		asm.Mov.Imm(sum, 0xffff),
	)
	b.label("sum")
	b.add(asm.StoreMem(asm.R1, 0, sum, asm.Half))
}
