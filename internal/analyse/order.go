package analyse

import "github.com/wirespeed/wirespeed/internal/engine"

// remembered is how many arrivals back the extent, the n-reordering, the late time and the byte offset are exact. What
// reaches further is counted as reaching that far: a lower bound.
const remembered = 1024

// order measures reordering as RFC 4737 and RFC 5236 define it, over the frames that are not duplicates.
type order struct {
	arrivals uint64 // so far

	// heads are the last arrivals that were higher than all before them, in a ring: ascending in number, index and time.
	heads     [remembered]head
	headCount uint64
	// rising are the arrivals with no smaller number behind them, in a ring: the candidates for "the last arrival with a
	// smaller number". Each arrival enters once and leaves once.
	rising             [remembered]mark
	risingLow, risings uint64 // the first and the one behind the last
	forgotten          uint64 // index of the last that fell out of the ring; valid where risingLow is not 0
	// loads are the last arrivals with their payloads, in a ring.
	loads [remembered]load

	reordered, extentMax, nMax, lateMax, bytesMax uint64
	displaced                                     density
	held                                          occupancy
}

type head struct {
	seq, index uint64
	ns         int64
}

type mark struct{ seq, index uint64 }

type load struct {
	seq   uint64
	bytes int
}

func newOrder(limit int) *order {
	o := &order{}
	o.displaced.ahead.limit = limit
	o.held.ahead.limit = limit
	return o
}

// add takes a frame that is no duplicate: its number, whether it is higher than all before, its time, and the bytes of its
// payload.
func (o *order) add(seq uint64, highest bool, ns int64, payload int) {
	index := o.arrivals
	o.arrivals++
	if highest {
		o.heads[o.headCount%remembered] = head{seq, index, ns}
		o.headCount++
	} else {
		o.late(seq, index, ns)
	}
	o.loads[index%remembered] = load{seq, payload}
	o.rise(seq, index)
	o.displaced.add(seq)
	o.held.add(seq)
}

// late measures a reordered frame by the definitions of RFC 4737 section 4: extent, late time and byte offset.
func (o *order) late(seq, index uint64, ns int64) {
	o.reordered++
	// the smallest index whose number is higher is always one of heads
	low, high := uint64(0), min(o.headCount, remembered)
	base := o.headCount - high
	for low < high {
		mid := (low + high) / 2
		if o.heads[(base+mid)%remembered].seq > seq {
			high = mid
		} else {
			low = mid + 1
		}
	}
	first := &o.heads[(base+low)%remembered]
	o.extentMax = max(o.extentMax, index-first.index)
	if ns > first.ns {
		o.lateMax = max(o.lateMax, uint64(ns-first.ns))
	}
	var bytes uint64 // of higher numbers that came before it: what a receiver had to keep until then
	for i := max(first.index, index-min(index, remembered)); i < index; i++ {
		if l := &o.loads[i%remembered]; l.seq > seq {
			bytes += uint64(l.bytes)
		}
	}
	o.bytesMax = max(o.bytesMax, bytes)
}

// rise finds how many arrivals just before this one all have higher numbers: n-reordering (RFC 4737 section 5).
func (o *order) rise(seq, index uint64) {
	for o.risings > o.risingLow && o.rising[(o.risings-1)%remembered].seq > seq {
		o.risings--
	}
	var n uint64
	switch {
	case o.risings > o.risingLow:
		n = index - o.rising[(o.risings-1)%remembered].index - 1
	case o.risingLow == 0:
		n = index // none is smaller
	default: // what lies behind was forgotten: at least this many
		n = index - o.forgotten - 1
	}
	o.nMax = max(o.nMax, n)
	if o.risings-o.risingLow == remembered {
		o.forgotten = o.rising[o.risingLow%remembered].index
		o.risingLow++
	}
	o.rising[o.risings%remembered] = mark{seq, index}
	o.risings++
}

func (o *order) result() *engine.Order {
	return &engine.Order{
		Reordered: o.reordered, ExtentMax: o.extentMax, NMax: o.nMax, LateNsMax: o.lateMax, ByteOffsetMax: o.bytesMax,
		RD: o.displaced.result(), RBD: o.held.result(),
	}
}
