package xdp

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"

	"github.com/wirespeed/wirespeed/internal/packet"
	"github.com/wirespeed/wirespeed/internal/program"
)

// XDP actions (include/uapi/linux/bpf.h, enum xdp_action).
const (
	actionDrop = 1 // the page goes back to the pool, nothing is sent
	actionTx   = 3 // out of the device in ctx.ingress_ifindex; a little cheaper than bpf_redirect
)

// maxInstructions is how far a conditional jump reaches.
const maxInstructions = 1<<15 - 1

// sharedStamp is how many frames share a clock read. A power of two.
const sharedStamp = 16

// options are what a transmit program needs to know besides its image.
type options struct {
	timeKind byte  // packet.TimeNone, TimeFrame or TimeShared
	pace     *pace // nil: as fast as possible
	skip     bool  // slots beyond catchUp are dropped; else the schedule shifts
	catchUp  uint64
}

// unit is one queue's transmit program, loaded, with its memory.
type unit struct {
	img      *program.Image
	sequence *sequence // of a replay; the port's
	layout   layout
	prog     *ebpf.Program
	stateMap *ebpf.Map
	tableMap *ebpf.Map
	state    *stateMemory
	template []byte // what fresh pages are filled with: as long as the longest frame
	opt      options
}

// compile makes the transmit program of one queue and loads it.
func compile(img *program.Image, opt options) (u *unit, err error) {
	u = &unit{img: img, layout: newLayout(img), opt: opt}
	defer func() {
		if err != nil {
			err = errors.Join(err, u.close())
		}
	}()
	for i := range img.Streams {
		if s := &img.Streams[i]; s.SigOff%2 != 0 && covered(s) {
			return u, fmt.Errorf("stream %q: the signature would lie at odd offset %d, where no checksum can take it in; mend: `--signature none`", s.Name, s.SigOff)
		}
	}
	if err := u.newState(); err != nil {
		return u, err
	}
	b := builder{img: img, opt: opt, layout: &u.layout, stateFD: u.stateMap.FD()}
	bodies := newBodies(img)
	u.template = bodies.template
	b.lay(&bodies)
	if err := b.tables.check(); err != nil {
		return u, err
	}
	if len(b.tables.data) > 0 {
		if u.tableMap, err = newArray("ws_tables", len(b.tables.data), 0); err != nil {
			return u, err
		}
		if err := u.tableMap.Put(uint32(0), b.tables.data); err != nil {
			return u, fmt.Errorf("fill the tables of the transmit program: %w", err)
		}
		b.tableFD = u.tableMap.FD()
	}
	return u, u.loadProgram(b.build())
}

// covered reports whether a checksum covers the stream's signature.
func covered(s *program.ImageStream) bool {
	for i := range s.Sums {
		if s.Sums[i].Signature {
			return true
		}
	}
	return false
}

// newState makes the memory that the program and its worker share.
func (u *unit) newState() (err error) {
	if words := u.layout.size / 8; words > maxWords {
		return fmt.Errorf("%d streams are more than this engine's programs hold; mend: fewer streams, or the packet: engine", len(u.img.Streams))
	}
	if u.stateMap, err = newArray("ws_state", u.layout.size, unixMmapable); err != nil {
		return err
	}
	u.state, err = mapState(u.stateMap.FD(), u.layout.size)
	return err
}

func (u *unit) loadProgram(ins asm.Instructions) (err error) {
	if n := ins.Size() / asm.InstructionSize; n > maxInstructions {
		return fmt.Errorf("the %d streams make a program of %d instructions, and its jumps reach %d; mend: fewer streams or modifiers, or the packet: engine", len(u.img.Streams), n, maxInstructions)
	}
	u.prog, err = ebpf.NewProgram(&ebpf.ProgramSpec{Name: "ws_transmit", Type: ebpf.XDP, Instructions: ins, License: "GPL"})
	if err != nil {
		return fmt.Errorf("load the transmit program: %w", err)
	}
	return nil
}

func newArray(name string, size int, flags uint32) (*ebpf.Map, error) {
	m, err := ebpf.NewMap(&ebpf.MapSpec{Name: name, Type: ebpf.Array, KeySize: 4, ValueSize: uint32(size), MaxEntries: 1, Flags: flags})
	if err != nil {
		return nil, fmt.Errorf("BPF array of %d bytes: %w", size, err)
	}
	return m, nil
}

func (u *unit) close() (err error) {
	if u.prog != nil {
		err = errors.Join(err, u.prog.Close())
	}
	if u.tableMap != nil {
		err = errors.Join(err, u.tableMap.Close())
	}
	if u.state != nil {
		err = errors.Join(err, u.state.unmap())
	}
	if u.stateMap != nil {
		err = errors.Join(err, u.stateMap.Close())
	}
	u.prog, u.tableMap, u.state, u.stateMap = nil, nil, nil, nil
	return err
}

// Registers of the program. R1 and R2 are for anything short; R3 to R5 and R0 live from the last call to the end.
const (
	regSum1  = asm.R0 // second accumulator
	regA     = asm.R1
	regB     = asm.R2
	regSeq   = asm.R3 // sequence number
	regSum0  = asm.R4 // first accumulator
	regK     = asm.R5 // the stream's own index
	regCtx   = asm.R6
	regData  = asm.R7 // the frame; before that, when it is due
	regNow   = asm.R8
	regState = asm.R9
)

// builder makes the instructions of one program.
type builder struct {
	img     *program.Image
	opt     options
	layout  *layout
	bodies  *bodies
	tables  tables
	stateFD int
	tableFD int

	orderOff int
	weights  []uint64
	streams  []streamTables

	ins     asm.Instructions
	pending string
	labels  int
	later   []func() // blocks out of the way of the usual path

	passOver func() // of a replay: leaves out R3 frames, for slots that were dropped; R1 and R4 are free
}

// streamTables are one stream's places in the tables; -1: none.
type streamTables struct {
	plan     streamPlan
	rows     rows
	cycleOff int
	lists    []int // by modifier
}

// lay puts everything constant into the tables.
func (b *builder) lay(bodies *bodies) {
	b.bodies = bodies
	if !b.layout.single {
		b.orderOff, b.weights = b.tables.order(b.img.Program.Order, len(b.img.Streams))
	}
	for i := range b.img.Streams {
		s := &b.img.Streams[i]
		st := streamTables{plan: b.tables.plan(s, bodies), cycleOff: -1}
		if len(s.Lens) > 1 {
			st.rows = b.tables.rows(s, &st.plan)
			if len(s.Cycle) > 0 {
				st.cycleOff = b.tables.words16(s.Cycle)
			}
		}
		for j := range s.Mods {
			off := -1
			if len(s.Mods[j].List) > 0 {
				off = b.tables.words64(s.Mods[j].List)
			}
			st.lists = append(st.lists, off)
		}
		b.streams = append(b.streams, st)
	}
}

// build makes the whole program: is there anything left to send, is it due, what is the time, which stream, the frame.
func (b *builder) build() asm.Instructions {
	b.begin()
	clock := b.opt.pace != nil
	if clock {
		b.pace()
	}
	clock = b.stamp() || clock
	if clock {
		b.add(b.load(regSeq, offSent)) // the call took it
	}
	b.add(
		asm.LoadMem(regData, regCtx, 0, asm.Word), // xdp_md.data
		asm.LoadMem(regB, regCtx, 4, asm.Word),    // xdp_md.data_end
		asm.Mov.Reg(regA, regData),
		asm.Add.Imm(regA, int32(min(b.bodies.prefix, b.bodies.maxLen))),
		asm.JGT.Reg(regA, regB, "drop"), // never: for the verifier
		asm.Mov.Reg(regA, regSeq),
		asm.Add.Imm(regA, 1),
		b.store(offSent, regA),
	)
	if b.layout.single {
		b.addConst(regSeq, b.img.FirstSeq)
		b.stream(0)
	} else {
		b.turn()
		b.dispatch(0, len(b.img.Streams))
	}
	return b.end()
}

// begin leaves how many frames were sent in regSeq. The exact count is kept here: a batch may be larger than what is left.
func (b *builder) begin() {
	b.add(
		asm.Mov.Reg(regCtx, asm.R1),
		asm.LoadMapValue(regState, b.stateFD, 0),
		b.load(regSeq, offSent),
		b.load(regB, offLimit),
		asm.JGE.Reg(regSeq, regB, "drop"),
	)
}

// end adds what lies out of the way of the usual path.
func (b *builder) end() asm.Instructions {
	for len(b.later) > 0 {
		f := b.later[0]
		b.later = b.later[1:]
		f()
	}
	b.label("drop")
	b.add(asm.Mov.Imm(asm.R0, actionDrop), asm.Return())
	return b.ins
}

// stamp puts the time into regNow if any stream has room for it. It reports whether it called the clock.
func (b *builder) stamp() bool {
	timed := false
	for i := range b.img.Streams {
		timed = timed || b.img.Streams[i].HasTime
	}
	switch {
	case !timed || b.opt.timeKind == packet.TimeNone || b.opt.pace != nil: // pace has just read it
		return false
	case b.opt.timeKind == packet.TimeShared:
		b.add(
			asm.And.Imm(regSeq, sharedStamp-1),
			b.load(regNow, offStamp),
			asm.JNE.Imm(regSeq, 0, "stamped"),
			asm.FnKtimeGetNs.Call(),
			asm.Mov.Reg(regNow, asm.R0),
			b.store(offStamp, regNow),
		)
		b.label("stamped")
	default:
		b.add(asm.FnKtimeGetNs.Call(), asm.Mov.Reg(regNow, asm.R0))
	}
	return true
}

// turn finds which of several streams is next on this queue: R0 its index, regK how many of its frames the round had
// before, regSum0 the round.
func (b *builder) turn() {
	n, step := uint64(len(b.img.Program.Order)), uint64(b.img.Queues)
	b.add(
		b.load(regA, offPos),
		b.load(regSum0, offRound),
		asm.Mov.Reg(regK, regA),
	)
	b.mask(regK, len(b.img.Program.Order))
	b.add(
		asm.LSh.Imm(regK, 3),
		asm.LoadMapValue(regB, b.tableFD, uint32(b.orderOff)),
		asm.Add.Reg(regB, regK),
		asm.LoadMem(asm.R0, regB, 0, asm.Word),
		asm.LoadMem(regK, regB, 4, asm.Word),
		asm.Mov.Reg(regB, regSum0),
	)
	b.addConst(regA, step%n)
	next := b.newLabel()
	b.add(asm.Add.Imm(regB, int32(step/n)), asm.JLT.Imm(regA, int32(n), next), asm.Sub.Imm(regA, int32(n)), asm.Add.Imm(regB, 1))
	b.label(next)
	b.add(b.store(offPos, regA), b.store(offRound, regB))
}

// dispatch jumps to the code of the stream in R0, one of [from, to).
func (b *builder) dispatch(from, to int) {
	if to-from == 1 {
		b.stream(from)
		return
	}
	middle := (from + to) / 2
	upper := b.newLabel()
	b.add(asm.JGE.Imm(asm.R0, int32(middle), upper))
	b.dispatch(from, middle)
	b.label(upper)
	b.dispatch(middle, to)
}

func (b *builder) add(ins ...asm.Instruction) {
	if b.pending != "" {
		ins[0] = ins[0].WithSymbol(b.pending)
		b.pending = ""
	}
	b.ins = append(b.ins, ins...)
}

// label names the next instruction.
func (b *builder) label(name string) {
	if b.pending != "" { // it has a name already: an instruction that does nothing takes it
		b.add(asm.Mov.Reg(regState, regState))
	}
	b.pending = name
}

func (b *builder) newLabel() string {
	b.labels++
	return "l" + strconv.Itoa(b.labels)
}

func (b *builder) load(r asm.Register, off int16) asm.Instruction {
	return asm.LoadMem(r, regState, off, asm.DWord)
}

func (b *builder) store(off int16, r asm.Register) asm.Instruction {
	return asm.StoreMem(regState, off, r, asm.DWord)
}

// addConst adds any 64-bit number; regB is overwritten where it does not fit an instruction, so r is never regB then.
func (b *builder) addConst(r asm.Register, v uint64) {
	switch {
	case v == 0:
	case int64(v) == int64(int32(v)):
		b.add(asm.Add.Imm(r, int32(v)))
	default:
		b.add(asm.LoadImm(regB, int64(v), asm.DWord), asm.Add.Reg(r, regB))
	}
}

// mask keeps an index of a table of n entries inside for the verifier; the index is below n already.
func (b *builder) mask(r asm.Register, n int) { b.add(asm.And.Imm(r, int32(powerOfTwo(n)-1))) }
