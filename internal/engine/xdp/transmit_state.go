package xdp

import (
	"math"

	"github.com/wirespeed/wirespeed/internal/program"
)

// What a transmit program and its worker share is one entry of a mapped array of 64-bit words, so that neither needs a call to
// read the other. Each queue has its own; the program writes it without atomics, user space reads it with atomic loads and
// writes only while no call runs. These words lie at its beginning, by their offset.
const (
	offSent      = int16(8 * iota) // frames given to the kernel
	offLimit                       // the program stops when so many are
	offNext                        // when the next frame is due by the schedule: ns,
	offFrac                        // and units of 1/pace.den ns
	offLeft                        // when the last frame left
	offBehindMax                   // ns
	offSkipped                     // slots
	offShiftedNs                   //
	offStamp                       // the shared stamp
	offBytes                       // without FCS, of streams with several lengths
	offRound                       // place in the order of several streams: rounds before,
	offPos                         // and place in the round; of a replay, which frame is next
	offBase                        // of a replay with recorded gaps: when the round began, by the schedule,
	offPrev                        // and when the frame before was due
	headerSize
)

// layout says where the words behind those lie.
type layout struct {
	single bool          // one stream: its sequence number is FirstSeq + Sent
	first  uint64        // FirstSeq
	seq    []int16       // by stream: the next sequence number
	last   []int16       // by stream: the number that carries the last flag
	id     int16         // of a replay: run, flags and stream id of stream 0 as they lie in a signature, then those of the others
	index  []counterSlot // running k mod count of a single stream
	size   int
}

// counterSlot is k mod count of the next frame, kept running where a division for each frame would be needed.
type counterSlot struct {
	count uint64
	off   int16
}

// maxWords bounds what is behind the header: offsets in instructions are 16 bits wide.
const maxWords = 3000

func newLayout(img *program.Image) layout {
	l := layout{single: len(img.Streams) == 1, first: img.FirstSeq, size: int(headerSize)}
	word := func() int16 { l.size += 8; return int16(l.size - 8) }
	for range img.Streams {
		if !l.single {
			l.seq = append(l.seq, word())
		}
		l.last = append(l.last, word())
	}
	if l.single {
		for _, count := range runningCounts(img.Streams[0].Stream) {
			l.index = append(l.index, counterSlot{count: count, off: word()})
		}
	}
	return l
}

// runningCounts are the distinct moduli of a stream that need a running index: those that no mask replaces.
func runningCounts(s *program.Stream) (counts []uint64) {
	add := func(n uint64) {
		if masks(n) {
			return
		}
		for _, c := range counts {
			if c == n {
				return
			}
		}
		counts = append(counts, n)
	}
	for i := range s.Mods {
		if n, ok := modulus(&s.Mods[i]); ok {
			add(n)
		}
	}
	if len(s.Lens) > 1 && len(s.Cycle) > 0 {
		add(uint64(len(s.Cycle)))
	}
	return counts
}

// masks reports whether k mod n needs no division: n is a power of two, or so large that k never reaches it (0 stands for
// 2^64).
func masks(n uint64) bool { return n&(n-1) == 0 || n >= 1<<62 }

// slot finds the running index of a modulus.
func (l *layout) slot(count uint64) (counterSlot, bool) {
	for _, s := range l.index {
		if s.count == count {
			return s, true
		}
	}
	return counterSlot{}, false
}

// never is a sequence number that no frame has.
const never = math.MaxUint64

// reset puts the state to the beginning of a run: limit frames, the first of them due at next + rest/den ns.
func (u *unit) reset(limit, next, rest uint64) {
	img, l := u.img, &u.layout
	for off := int16(0); off < int16(l.size); off += 8 { // Counters may be reading
		u.state.set(off, 0)
	}
	u.state.set(offLimit, limit)
	u.state.set(offNext, next)
	u.state.set(offFrac, rest)
	if u.sequence != nil {
		u.rewind(next)
	} else {
		order := uint64(len(img.Program.Order))
		u.state.set(offPos, uint64(img.Queue)%order)
		u.state.set(offRound, uint64(img.Queue)/order)
	}
	for i := range img.Streams {
		if !l.single {
			u.state.set(l.seq[i], img.FirstSeq)
		}
		last := uint64(never)
		if img.LastSeq != nil {
			last = img.LastSeq[i]
		}
		u.state.set(l.last[i], last)
	}
	for _, s := range l.index {
		u.state.set(s.off, uint64(img.Queue)%s.count)
	}
}

// seq is the next sequence number of a stream.
func (u *unit) seq(stream int) uint64 {
	if u.layout.single {
		return u.layout.first + u.state.load(offSent)
	}
	return u.state.load(u.layout.seq[stream])
}

// place is where a queue stands in the order of several streams.
type place struct{ pos, round uint64 }

func (u *unit) place() place { return place{u.state.load(offPos), u.state.load(offRound)} }

// force makes the queue's next frame one of the given stream, with the last flag: its content is that of the stream's next
// turn from a place on, as program.Image.FillLast does it. It is false where the queue never sends that stream. Only while
// no call runs.
func (u *unit) force(stream int, from place) bool {
	img := u.img
	if u.sequence != nil {
		return u.seek(stream, from)
	}
	u.state.set(u.layout.last[stream], u.seq(stream))
	if u.layout.single {
		return true
	}
	order, step := img.Program.Order, uint64(img.Queues)
	pos, round := from.pos, from.round
	for range order {
		if int(order[pos]) == stream {
			u.state.set(offPos, pos)
			u.state.set(offRound, round)
			return true
		}
		pos += step % uint64(len(order))
		round += step / uint64(len(order))
		if pos >= uint64(len(order)) {
			pos -= uint64(len(order))
			round++
		}
	}
	return false
}

// lastSent reports whether the frame with the stream's last flag has been given to the kernel.
func (u *unit) lastSent(stream int) bool {
	last := u.state.load(u.layout.last[stream])
	return last != never && u.seq(stream) > last
}

// bytes are all bytes that were given to the kernel, with FCS.
func (u *unit) bytes() uint64 {
	const fcs = 4
	sent := u.state.load(offSent)
	n := u.state.load(offBytes) + sent*fcs
	if s := u.sequence; s != nil && !s.uniform() {
		return n
	} else if s != nil {
		return n + sent*uint64(s.maxLen)
	}
	for i := range u.img.Streams {
		if s := &u.img.Streams[i]; len(s.Lens) == 1 {
			n += (u.seq(i) - u.layout.first) * uint64(s.Lens[0])
		}
	}
	return n
}
