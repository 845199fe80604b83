package xdp

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"golang.org/x/sys/unix"

	"github.com/wirespeed/wirespeed/internal/packet"
	"github.com/wirespeed/wirespeed/internal/program"
)

// maxSequence bounds the memory of a sequence: the verifier follows an offset in a map's value up to 1<<29 - 1 (kernel/bpf,
// BPF_MAX_VAR_OFF).
const maxSequence = 1 << 29

// An entry of a sequence's table says what one frame is: where it begins in the memory (u32), its length (u16) and eight times
// its stream (u16); then, where any frame is signed, the places of signature and checksum (u16 each), the base sum (u16) and
// whether a sum of zero is written as 0xffff (u16); then, where frames are due as recorded, when (u64).
const (
	entryAt     = 0
	entryLen    = 4
	entryStream = 6
	entrySig    = 8
	entrySum    = 10
	entryBase   = 12
	entryZero   = 14
)

// sequence is a replay in the kernel's memory: one map entry, reached by address, that all queues read. First the table, then
// the frames.
type sequence struct {
	*program.Sequence
	memory         *ebpf.Map
	stride         int         // bytes of an entry
	due            int16       // its place in an entry; 0: none
	form           packet.Form // of the signed frames
	timed          bool        // they have the time
	streams        []program.Stream
	minLen, maxLen int
	lastAt         int // largest entryAt
}

// newSequence puts a program's sequence into a map of its own.
func newSequence(p *program.Program, recorded bool) (s *sequence, err error) {
	s = &sequence{Sequence: p.Sequence, streams: p.Streams, stride: 8, minLen: maxLive}
	for i := range p.Streams {
		st := &p.Streams[i]
		switch {
		case st.Form == packet.FormNone:
			continue
		case s.form != packet.FormNone && (st.Form != s.form || st.HasTime != s.timed):
			return nil, errors.New("signatures of several forms in one replay; mend: `--signature full`, `short` or `none` for all")
		}
		s.form, s.timed = st.Form, st.HasTime
	}
	if s.form != packet.FormNone {
		s.stride += 8
	}
	if recorded {
		s.due = int16(s.stride)
		s.stride += 8
	}
	if err := s.check(recorded); err != nil {
		return nil, err
	}
	table := uint64(len(s.Frames)) * uint64(s.stride)
	size := table + uint64(len(s.Bytes)+s.room()) // the verifier sees the longest copy from the last frame's place
	if size > maxSequence {
		return nil, fmt.Errorf("the %d frames of the replay need %d MiB in the kernel, and its programs reach %d; mend: `--limit`, or an engine that reads the file while it sends", len(s.Frames), size>>20, maxSequence>>20)
	}
	if s.memory, err = newArray("ws_sequence", int(size), unix.BPF_F_MMAPABLE); err != nil {
		return nil, fmt.Errorf("memory for the replay: %w", err)
	}
	if err := s.fill(int(table), int(size)); err != nil {
		return nil, errors.Join(err, s.close())
	}
	return s, nil
}

// check refuses what the program could not send right, of a sequence that program.CheckSequence finds right.
func (s *sequence) check(recorded bool) error {
	var last uint64
	for i := range s.Frames {
		f := &s.Frames[i]
		n := int(f.Len)
		s.minLen, s.maxLen = min(s.minLen, n), max(s.maxLen, n)
		switch {
		case n > maxLive:
			return fmt.Errorf("frame %d of the replay has %d bytes with FCS, more than the %d of a live frame; mend: the packet: engine", i+1, n+4, maxLive+4)
		case n < ethernet:
			return fmt.Errorf("frame %d of the replay has %d bytes, fewer than an Ethernet header", i+1, n)
		case recorded && f.Due < last:
			return fmt.Errorf("frame %d of the replay is due before the one before it", i+1)
		case s.signs(f) && f.Sum != 0 && (f.Sig-f.Sum)%2 != 0:
			return fmt.Errorf("frame %d of the replay: its signature at %d is out of step with the checksum at %d; mend: `--signature none`", i+1, f.Sig, f.Sum)
		}
		last = f.Due
	}
	if recorded && s.Rounds != 1 && last > s.Period {
		return fmt.Errorf("the last frame of the replay is due %d ns after the first, and the next round after %d", last, s.Period)
	}
	return nil
}

// signs reports whether the frame gets a signature.
func (s *sequence) signs(f *program.SequenceFrame) bool {
	return f.Sig != 0 && s.streams[f.Stream].Form != packet.FormNone
}

// fill writes table and frames through a mapping, which is gone afterwards.
func (s *sequence) fill(table, size int) (err error) {
	m, err := mapState(s.memory.FD(), size)
	if err != nil {
		return fmt.Errorf("memory for the replay: %w", err)
	}
	defer func() { err = errors.Join(err, m.unmap()) }()
	for i := range s.Frames {
		f, e := &s.Frames[i], m.mem[i*s.stride:][:s.stride]
		at := table + f.At
		s.lastAt = max(s.lastAt, at)
		binary.LittleEndian.PutUint32(e[entryAt:], uint32(at))
		binary.LittleEndian.PutUint16(e[entryLen:], f.Len)
		binary.LittleEndian.PutUint16(e[entryStream:], 8*f.Stream)
		if s.signs(f) {
			binary.LittleEndian.PutUint16(e[entrySig:], f.Sig)
			binary.LittleEndian.PutUint16(e[entrySum:], f.Sum)
			binary.LittleEndian.PutUint16(e[entryBase:], swap16(f.Base))
			if f.ZeroIsNone {
				e[entryZero] = 1
			}
		}
		if s.due > 0 {
			binary.LittleEndian.PutUint64(e[s.due:], f.Due)
		}
	}
	copy(m.mem[table:], s.Bytes)
	return nil
}

func (s *sequence) close() error { return s.memory.Close() }

// room is how many bytes of a page a copy may write: its end is that of a step.
func (s *sequence) room() int {
	if s.uniform() {
		return s.maxLen
	}
	return max(s.maxLen, copyEnd(min(s.maxLen, maxInline)))
}

// uniform reports whether all frames have one length.
func (s *sequence) uniform() bool { return s.minLen == s.maxLen }

// compileSequence makes the transmit program of one queue of a replay and loads it. The memory stays the caller's.
func compileSequence(s *sequence, img *program.Image, opt options) (u *unit, err error) {
	u = &unit{img: img, sequence: s, layout: sequenceLayout(img), opt: opt, template: make([]byte, s.room())}
	defer func() {
		if err != nil {
			err = errors.Join(err, u.close())
		}
	}()
	if err := u.newState(); err != nil {
		return u, err
	}
	b := sequenceBuilder{builder: builder{img: img, opt: opt, layout: &u.layout, stateFD: u.stateMap.FD(), tableFD: s.memory.FD()}, s: s}
	return u, u.loadProgram(b.build())
}

// sequenceBuilder makes the instructions of a replay's program. R1 to R5 and R0 are for anything short; regCtx, regData,
// regNow and regState are as in builder.
type sequenceBuilder struct {
	builder
	s *sequence
}

// Places on the stack of a replay's program.
const (
	stackEntry    = -8  // address of the frame's entry
	stackFrameLen = -16 // its length
	stackDue      = -24 // when it is due by the schedule
	stackSeq      = -32 // the sequence number
)

func (b *sequenceBuilder) build() asm.Instructions {
	b.begin()
	switch {
	case b.s.due > 0:
		b.recorded()
	case b.opt.pace != nil:
		b.passOver = b.leaveOut
		b.pace()
	default:
		b.stamp()
	}
	b.entry(asm.R1, asm.R3)
	b.advance(asm.R1)
	b.count()
	b.add(
		asm.LoadMem(asm.R4, asm.R3, entryAt, asm.Word),
		asm.JGT.Imm(asm.R4, int32(b.s.lastAt), "drop"), // never: for the verifier
		asm.LoadMapValue(asm.R2, b.tableFD, 0),
		asm.Add.Reg(asm.R2, asm.R4), // the frame in the memory
		asm.LoadMem(regData, regCtx, 0, asm.Word),
		asm.LoadMem(asm.R0, regCtx, 4, asm.Word),
		asm.Mov.Reg(asm.R1, regData),
		asm.Add.Imm(asm.R1, int32(b.s.room())),
		asm.JGT.Reg(asm.R1, asm.R0, "drop"), // never: for the verifier
	)
	if b.signs() {
		b.add(asm.StoreMem(asm.RFP, stackEntry, asm.R3, asm.DWord))
	}
	b.copyFrame()
	if b.signs() {
		b.sign()
	}
	b.cut()
	b.add(asm.Mov.Imm(asm.R0, actionTx), asm.Return())
	return b.end()
}

// signs reports whether any frame is signed.
func (b *sequenceBuilder) signs() bool { return b.s.form != packet.FormNone }

// entry leaves the place of the next frame in pos and the address of its entry in r; R0 is overwritten.
func (b *sequenceBuilder) entry(pos, r asm.Register) {
	b.add(
		b.load(pos, offPos),
		asm.JGE.Imm(pos, int32(len(b.s.Frames)), "drop"), // never: for the verifier
		asm.Mov.Reg(asm.R0, pos),
		asm.Mul.Imm(asm.R0, int32(b.s.stride)),
		asm.LoadMapValue(r, b.tableFD, 0),
		asm.Add.Reg(r, asm.R0),
	)
}

// advance moves the place, which is in pos, on to the queue's next frame; R0 is overwritten. A new round begins later by the
// period.
func (b *sequenceBuilder) advance(pos asm.Register) {
	n := len(b.s.Frames)
	step, rounds := b.img.Queues%n, uint64(b.img.Queues/n)
	laps := func(times uint64) {
		if b.s.due > 0 && times > 0 {
			b.add(asm.LoadImm(asm.R0, int64(times*b.s.Period), asm.DWord), b.load(asm.R2, offBase), asm.Add.Reg(asm.R2, asm.R0), b.store(offBase, asm.R2))
		}
	}
	laps(rounds)
	if step == 0 {
		return
	}
	same := b.newLabel()
	b.add(asm.Add.Imm(pos, int32(step)), asm.JLT.Imm(pos, int32(n), same), asm.Sub.Imm(pos, int32(n)))
	laps(1)
	b.label(same)
	b.add(b.store(offPos, pos))
}

// leaveOut moves the place on by R3 frames of the queue.
func (b *sequenceBuilder) leaveOut() {
	n := len(b.s.Frames)
	b.add(
		asm.Mov.Reg(asm.R1, asm.R3),
		asm.Mul.Imm(asm.R1, int32(b.img.Queues%n)),
		b.load(asm.R4, offPos),
		asm.Add.Reg(asm.R1, asm.R4),
		asm.Mod.Imm(asm.R1, int32(n)),
		b.store(offPos, asm.R1),
	)
}

// count counts the frame, its bytes and, of several streams, the stream's frames. R3 is the entry; the length stays in R5.
func (b *sequenceBuilder) count() {
	b.add(b.load(asm.R1, offSent), asm.Mov.Reg(asm.R0, asm.R1), asm.Add.Imm(asm.R1, 1), b.store(offSent, asm.R1))
	if !b.layout.single {
		b.streamWords(asm.R4, asm.R3)
		b.add(
			asm.LoadMem(asm.R0, asm.R4, b.layout.seq[0], asm.DWord),
			asm.Mov.Reg(asm.R1, asm.R0),
			asm.Add.Imm(asm.R1, 1),
			asm.StoreMem(asm.R4, b.layout.seq[0], asm.R1, asm.DWord),
		)
	}
	if b.signs() {
		b.add(asm.StoreMem(asm.RFP, stackSeq, asm.R0, asm.DWord))
	}
	if !b.s.uniform() {
		b.add(
			asm.LoadMem(asm.R5, asm.R3, entryLen, asm.Half),
			asm.StoreMem(asm.RFP, stackFrameLen, asm.R5, asm.DWord),
			b.load(asm.R1, offBytes),
			asm.Add.Reg(asm.R1, asm.R5),
			b.store(offBytes, asm.R1),
		)
	}
}

// streamWords leaves in r an address from which the words of the entry's stream lie as those of stream 0 do from the state's.
func (b *sequenceBuilder) streamWords(r, entry asm.Register) {
	b.add(
		asm.LoadMem(r, entry, entryStream, asm.Half),
		asm.JGT.Imm(r, int32(8*len(b.img.Streams)-8), "drop"), // never: for the verifier
		asm.Add.Reg(r, regState),
	)
}

// cut makes the frame as long as it is to be: the page is as long as the longest.
func (b *sequenceBuilder) cut() {
	if b.s.uniform() {
		return
	}
	full := b.newLabel()
	b.add(
		asm.LoadMem(asm.R2, asm.RFP, stackFrameLen, asm.DWord),
		asm.Sub.Imm(asm.R2, int32(b.s.room())),
		asm.JEq.Imm(asm.R2, 0, full),
		asm.Mov.Reg(asm.R1, regCtx),
		asm.FnXdpAdjustTail.Call(),
	)
	b.label(full)
}
