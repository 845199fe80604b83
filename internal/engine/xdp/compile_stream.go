package xdp

import (
	"encoding/binary"

	"github.com/cilium/ebpf/asm"

	"github.com/wirespeed/wirespeed/internal/packet"
	"github.com/wirespeed/wirespeed/internal/program"
	"github.com/wirespeed/wirespeed/stream"
)

// Places on the program's stack.
const (
	stackLen  = -8  // length of a frame of several lengths
	stackTemp = -16 //
	stackSums = -24 // accumulators from the third on, downwards
)

// block is the code of one stream. On entry regSeq holds the sequence number of a single stream, and for several streams
// R0, regK and regSum0 hold what turn left there.
type block struct {
	*builder
	s       *program.ImageStream
	index   int
	tables  *streamTables
	indexed map[uint64]int // by modulus: users of its running index that are still to come
}

func (b *builder) stream(index int) {
	s := &b.img.Streams[index]
	k := &block{builder: b, s: s, index: index, tables: &b.streams[index], indexed: map[uint64]int{}}
	k.number()
	k.countUsers()
	k.head()
	for i := range s.Mods {
		k.modify(i)
	}
	if s.Form != packet.FormNone {
		k.sign()
	}
	k.finishSums()
	k.resize()
	b.add(asm.Mov.Imm(asm.R0, actionTx), asm.Return())
}

// number leaves the sequence number in regSeq and the stream's own index in regK, where that is used.
func (k *block) number() {
	if k.layout.single {
		if k.usesK() {
			k.add(asm.Mov.Reg(regK, regSeq))
			k.addConst(regK, -k.img.FirstSeq)
			if k.img.Queues > 1 {
				k.add(asm.Mul.Imm(regK, int32(k.img.Queues)))
				k.addConst(regK, uint64(k.img.Queue))
			}
		}
		return
	}
	if k.usesK() {
		k.add(asm.Mul.Imm(regSum0, int32(k.weights[k.index])), asm.Add.Reg(regK, regSum0))
	}
	off := k.layout.seq[k.index]
	k.add(k.load(regSeq, off), asm.Mov.Reg(regA, regSeq), asm.Add.Imm(regA, 1), k.store(off, regA))
}

// usesK reports whether anything is computed from the stream's own index.
func (k *block) usesK() bool {
	needs := func(n uint64) bool { return n != 1 && (!k.layout.single || masks(n)) }
	if len(k.s.Lens) > 1 && (len(k.s.Cycle) == 0 || needs(uint64(len(k.s.Cycle)))) {
		return true
	}
	for i := range k.s.Mods {
		if n, ok := modulus(&k.s.Mods[i]); !ok || needs(n) {
			return true
		}
	}
	return false
}

// modulus is after how many frames a modifier begins anew; false for random ones, which never do.
func modulus(m *program.Modifier) (n uint64, ok bool) {
	switch m.Op {
	case stream.Rand:
		return 0, false
	case stream.List:
		return uint64(len(m.List)), true
	default:
		return m.Count, true
	}
}

func (k *block) countUsers() {
	for i := range k.s.Mods {
		if n, ok := modulus(&k.s.Mods[i]); ok {
			k.indexed[n]++
		}
	}
	if len(k.s.Lens) > 1 && len(k.s.Cycle) > 0 {
		k.indexed[uint64(len(k.s.Cycle))]++
	}
}

// modK leaves the stream's index modulo n in regA. The running index of a single stream moves on behind its last user.
func (k *block) modK(n uint64) {
	switch slot, running := k.layout.slot(n); {
	case n == 1:
		k.add(asm.Mov.Imm(regA, 0))
	case n == 0 || n >= 1<<62: // the index never gets there
		k.add(asm.Mov.Reg(regA, regK))
	case masks(n):
		k.add(asm.Mov.Reg(regA, regK))
		if n-1 <= 0x7fffffff {
			k.add(asm.And.Imm(regA, int32(n-1)))
		} else {
			k.add(asm.LoadImm(regB, int64(n-1), asm.DWord), asm.And.Reg(regA, regB))
		}
	case k.layout.single && running:
		k.add(k.load(regA, slot.off))
		if k.indexed[n]--; k.indexed[n] == 0 {
			k.advance(slot)
		}
	default:
		k.add(asm.Mov.Reg(regA, regK))
		if n <= 0x7fffffff {
			k.add(asm.Mod.Imm(regA, int32(n)))
		} else {
			k.add(asm.LoadImm(regB, int64(n), asm.DWord), asm.Mod.Reg(regA, regB))
		}
	}
}

// advance moves a running index, which is in regA, on by the number of queues.
func (k *block) advance(slot counterSlot) {
	step := uint64(k.img.Queues) % slot.count
	if step == 0 {
		return
	}
	below := k.newLabel()
	k.add(asm.Mov.Reg(regB, regA), asm.Add.Imm(regB, int32(step)))
	if slot.count <= 0x7fffffff {
		k.add(asm.JLT.Imm(regB, int32(slot.count), below), asm.Sub.Imm(regB, int32(slot.count)))
		k.label(below)
		k.add(k.store(slot.off, regB))
		return
	}
	// No register is free for the number: the place in memory takes the sum for a moment.
	k.add(
		k.store(slot.off, regB),
		asm.StoreMem(asm.RFP, stackTemp, regA, asm.DWord),
		asm.LoadImm(regA, int64(slot.count), asm.DWord),
		asm.JLT.Reg(regB, regA, below),
		asm.Sub.Reg(regB, regA),
		k.store(slot.off, regB),
	)
	k.label(below)
	k.add(asm.LoadMem(regA, asm.RFP, stackTemp, asm.DWord))
}

// head writes the constant bytes and starts the sums. Every byte of the head is written for every frame: pages come back
// from the receiver as it left them.
func (k *block) head() {
	if len(k.s.Lens) == 1 {
		head := k.tables.plan.head(k.s, 0)
		for _, c := range k.chunks(len(head)) {
			k.constant(c, head)
		}
		for i := range k.s.Sums {
			k.add(asm.Mov.Imm(k.target(i), int32(swap16(k.s.Base[i][0]))))
			k.spill(i)
		}
		return
	}
	r := k.tables.rows
	k.lengthIndex()
	k.mask(regA, r.count)
	k.add(
		asm.Mul.Imm(regA, int32(r.stride)),
		asm.LoadMapValue(regB, k.tableFD, uint32(r.off)),
		asm.Add.Reg(regA, regB), // the row
	)
	for _, c := range k.chunks(k.tables.plan.prefix) {
		k.add(asm.LoadMem(regB, regA, int16(r.headOff+c.off), c.size), asm.StoreMem(regData, int16(c.off), regB, c.size))
	}
	k.add(
		asm.LoadMem(regB, regA, 0, asm.Word),
		asm.StoreMem(asm.RFP, stackLen, regB, asm.DWord),
		k.load(regSum0, offBytes),
		asm.Add.Reg(regSum0, regB),
		k.store(offBytes, regSum0),
	)
	for i := range k.s.Sums {
		k.add(asm.LoadMem(k.target(i), regA, int16(r.sumOff+2*i), asm.Half))
		k.spill(i)
	}
}

// lengthIndex leaves the index of the frame's length in regA.
func (k *block) lengthIndex() {
	if len(k.s.Cycle) == 0 {
		k.splitMix(k.s.SizeSeed)
		k.pick(uint64(len(k.s.Lens)))
		return
	}
	k.modK(uint64(len(k.s.Cycle)))
	k.mask(regA, len(k.s.Cycle))
	k.add(
		asm.LSh.Imm(regA, 1),
		asm.LoadMapValue(regB, k.tableFD, uint32(k.tables.cycleOff)),
		asm.Add.Reg(regB, regA),
		asm.LoadMem(regA, regB, 0, asm.Half),
	)
}

// chunk is a piece of the head that one instruction stores.
type chunk struct {
	off  int
	size asm.Size
}

// chunks cuts n bytes into pieces and leaves out those that variable fields cover in full.
func (k *block) chunks(n int) (all []chunk) {
	covered := k.covered(n)
	for off := 0; off < n; {
		c := chunk{off, asm.DWord}
		for c.size.Sizeof() > n-off {
			c.size = map[asm.Size]asm.Size{asm.DWord: asm.Word, asm.Word: asm.Half, asm.Half: asm.Byte}[c.size]
		}
		off += c.size.Sizeof()
		for i := c.off; i < off; i++ {
			if !covered[i] {
				all = append(all, c)
				break
			}
		}
	}
	return all
}

// covered marks the bytes that variable fields overwrite without looking at them.
func (k *block) covered(n int) []bool {
	c := make([]bool, n)
	mark := func(off, width int) {
		for i := off; i < min(off+width, n); i++ {
			c[i] = true
		}
	}
	for i := range k.s.Mods {
		if m := &k.s.Mods[i]; m.Whole {
			mark(m.Off, m.Width)
		}
	}
	for i := range k.s.Sums {
		mark(k.s.Sums[i].Off, 2)
	}
	switch k.s.Form {
	case packet.FormShort:
		mark(k.s.SigOff+packet.SigShortSeq, 4)
	case packet.FormFull:
		mark(k.s.SigOff+packet.SigSeq, 4)
		if k.timed() {
			mark(k.s.SigOff+packet.SigTime, 8)
		}
	}
	return c
}

func (k *block) constant(c chunk, head []byte) {
	var v int64
	b := head[c.off:]
	switch c.size {
	case asm.DWord:
		k.add(
			asm.LoadImm(regA, int64(binary.LittleEndian.Uint64(b)), asm.DWord),
			asm.StoreMem(regData, int16(c.off), regA, asm.DWord),
		)
		return
	case asm.Word:
		v = int64(int32(binary.LittleEndian.Uint32(b)))
	case asm.Half:
		v = int64(int16(binary.LittleEndian.Uint16(b)))
	default:
		v = int64(int8(b[0]))
	}
	k.add(asm.StoreImm(regData, int16(c.off), v, c.size))
}

// timed reports whether the stream's frames carry the time.
func (k *block) timed() bool { return k.s.HasTime && k.opt.timeKind != packet.TimeNone }

// sign writes what varies in the signature and adds it to the sums.
func (k *block) sign() {
	at := int16(k.s.SigOff)
	if k.s.Form == packet.FormShort {
		k.add(asm.Mov.Reg(regA, regSeq), asm.HostTo(asm.BE, regA, asm.Word), asm.StoreMem(regData, at+packet.SigShortSeq, regA, asm.Word))
		k.sumSignature()
		return
	}
	flags, back := k.newLabel(), k.newLabel()
	k.add(
		asm.JEq.Imm(regSeq, 0, flags),
		k.load(regA, k.layout.last[k.index]),
		asm.JEq.Reg(regSeq, regA, flags),
	)
	k.label(back)
	k.add(asm.Mov.Reg(regA, regSeq), asm.HostTo(asm.BE, regA, asm.Word), asm.StoreMem(regData, at+packet.SigSeq, regA, asm.Word))
	k.sumSignature()
	k.later = append(k.later, func() { k.flags(flags, back) })
	if !k.timed() {
		return
	}
	k.add(
		asm.HostTo(asm.BE, regNow, asm.DWord),
		asm.StoreMem(regData, at+packet.SigTime, regNow, asm.DWord),
		asm.Mov.Reg32(regA, regNow), // the low half; the upper bits are zero
	)
	k.sumSignature()
	k.add(asm.RSh.Imm(regNow, 32), asm.Mov.Reg(regA, regNow))
	k.sumSignature()
}

// flags writes the flags byte of the first and the last frame, out of the way of all others.
func (k *block) flags(label, back string) {
	notFirst, notLast := k.newLabel(), k.newLabel()
	base := k.s.Heads[0][k.s.SigOff+packet.SigFlags]
	k.label(label)
	k.add(
		asm.Mov.Imm(regA, 0),
		asm.JNE.Imm(regSeq, 0, notFirst),
		asm.Or.Imm(regA, packet.FlagFirst),
	)
	k.label(notFirst)
	k.add(
		k.load(regB, k.layout.last[k.index]),
		asm.JNE.Reg(regSeq, regB, notLast),
		asm.Or.Imm(regA, packet.FlagLast),
	)
	k.label(notLast)
	k.add(
		asm.Mov.Reg(regB, regA),
		asm.Or.Imm(regB, int32(base)),
		asm.StoreMem(regData, int16(k.s.SigOff+packet.SigFlags), regB, asm.Byte),
		asm.LSh.Imm(regA, 8), // an odd byte is the upper half of its word in memory
	)
	k.sumSignature()
	k.add(asm.Ja.Label(back))
}

// resize cuts a frame to its length and copies what is behind the prefix where pages may hold another stream's bytes.
func (k *block) resize() {
	plan, several := &k.tables.plan, len(k.s.Lens) > 1
	if plan.tail >= 0 {
		done := k.newLabel()
		if several {
			k.add(
				asm.LoadMem(asm.R4, asm.RFP, stackLen, asm.DWord),
				asm.Sub.Imm(asm.R4, int32(plan.prefix)),
				asm.JSLE.Imm(asm.R4, 0, done),
				asm.JGT.Imm(asm.R4, int32(k.s.Lens[len(k.s.Lens)-1]-plan.prefix), done), // never: for the verifier
			)
		} else {
			k.add(asm.Mov.Imm(asm.R4, int32(k.s.Lens[0]-plan.prefix)))
		}
		k.add(
			asm.Mov.Reg(asm.R1, regCtx),
			asm.Mov.Imm(asm.R2, int32(plan.prefix)),
			asm.LoadMapValue(asm.R3, k.tableFD, uint32(plan.tail)),
			asm.FnXdpStoreBytes.Call(),
		)
		k.label(done)
	}
	if !several && k.s.Lens[0] == k.bodies.maxLen {
		return
	}
	full := k.newLabel()
	if several {
		k.add(asm.LoadMem(asm.R2, asm.RFP, stackLen, asm.DWord), asm.Sub.Imm(asm.R2, int32(k.bodies.maxLen)), asm.JEq.Imm(asm.R2, 0, full))
	} else {
		k.add(asm.Mov.Imm(asm.R2, int32(k.s.Lens[0]-k.bodies.maxLen)))
	}
	// Only shrinking, which cannot fail above the 14 bytes of an Ethernet header. The kernel puts the end back for the
	// page's next frame.
	k.add(asm.Mov.Reg(asm.R1, regCtx), asm.FnXdpAdjustTail.Call())
	k.label(full)
}
