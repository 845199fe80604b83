package analyse

import "github.com/wirespeed/wirespeed/internal/engine"

// variation measures inter-packet delay variation (RFC 5481 section 4.1): the difference between the delays of two frames
// that were sent one after the other. It does not depend on the order of arrival, and not on what the clocks of sender and
// receiver differ by. A pair of which one was lost, or came more than a window of remembered numbers later, has none.
type variation struct {
	delays [remembered]delayOf // by number, modulo
	values engine.Histogram    // without their signs
}

// delayOf is a number's delay. next is the number + 1: the zero value is nobody's.
type delayOf struct {
	next  uint64
	delay int64
}

// add takes a frame that is no duplicate, and its delay in ns.
func (v *variation) add(seq uint64, delay int64) {
	if b := &v.delays[(seq-1)%remembered]; seq > 0 && b.next == seq {
		v.record(delay - b.delay)
	}
	if a := &v.delays[(seq+1)%remembered]; a.next == seq+2 { // it was overtaken by the one behind it
		v.record(a.delay - delay)
	}
	if own := &v.delays[seq%remembered]; own.next <= seq {
		*own = delayOf{seq + 1, delay}
	}
}

func (v *variation) record(d int64) { v.values.Record(uint64(max(d, -d))) }
