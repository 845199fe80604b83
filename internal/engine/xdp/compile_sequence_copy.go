package xdp

import "github.com/cilium/ebpf/asm"

const (
	// copyStep is how many bytes are copied between two looks at the length.
	copyStep = 64
	// maxInline is how long a frame may be that the program copies itself: 8 bytes an instruction. The helper, which
	// copies in strides of the CPU's own, costs a call.
	maxInline = 512
)

// copyEnd is where the copy of n bytes ends.
func copyEnd(n int) int { return (n + copyStep - 1) / copyStep * copyStep }

// copyFrame copies the whole frame, from R2 to regData; its length is in R5 unless all have the same.
func (b *sequenceBuilder) copyFrame() {
	lo, hi := b.s.minLen, b.s.maxLen
	switch {
	case lo == hi && hi <= maxInline:
		b.copyExactly(hi)
	case lo == hi:
		b.add(asm.Mov.Imm(asm.R5, int32(hi)))
		b.copyByHelper()
	case lo > maxInline:
		b.copyByHelper()
	case hi <= maxInline:
		b.copyInSteps(hi, "copied")
		b.label("copied")
	default:
		b.add(asm.JGT.Imm(asm.R5, maxInline, "helper"))
		b.copyInSteps(maxInline, "copied")
		b.label("copied")
		b.later = append(b.later, func() {
			b.label("helper")
			b.copyByHelper()
			b.add(asm.Ja.Label("copied"))
		})
	}
}

// copyExactly copies n bytes; the last ones may be copied twice.
func (b *sequenceBuilder) copyExactly(n int) {
	for at := 0; at < n; at += 8 {
		b.word(min(at, n-8))
	}
}

// copyInSteps copies at least R5 bytes, up to the end of a step.
func (b *sequenceBuilder) copyInSteps(most int, done string) {
	for at := 0; at < most; at += copyStep {
		if at > 0 && at >= b.s.minLen {
			b.add(asm.JLE.Imm(asm.R5, int32(at), done))
		}
		for i := at; i < at+copyStep; i += 8 {
			b.word(i)
		}
	}
}

func (b *sequenceBuilder) word(at int) {
	r := [...]asm.Register{asm.R0, asm.R1, asm.R3, asm.R4}[at/8%4]
	b.add(asm.LoadMem(r, asm.R2, int16(at), asm.DWord), asm.StoreMem(regData, int16(at), r, asm.DWord))
}

// copyByHelper copies R5 bytes exactly.
func (b *sequenceBuilder) copyByHelper() {
	b.add(
		asm.JGT.Imm(asm.R5, int32(b.s.maxLen), "drop"), // never: for the verifier
		asm.JEq.Imm(asm.R5, 0, "drop"),
		asm.Mov.Reg(asm.R1, regCtx),
		asm.Mov.Reg(asm.R3, asm.R2),
		asm.Mov.Imm(asm.R2, 0),
		asm.Mov.Reg(asm.R4, asm.R5),
		asm.FnXdpStoreBytes.Call(),
	)
}
