package analyse

// threshold is DT of the reorder density and BT of the reorder buffer-occupancy density (RFC 5236): a frame that is
// displaced further, or does not come among the next 33 arrivals, counts as lost for these two measures.
const threshold = 32

// lookahead is the arrivals that are not yet judged, oldest first, at most one more than the threshold.
type lookahead struct {
	limit    int // threshold, smaller in tests
	n, head  int
	descents int // neighbours of which the later has the smaller number; 0: the numbers ascend
	seq      [threshold + 1]uint64
}

func (l *lookahead) full() bool { return l.n > l.limit }

func (l *lookahead) at(i int) uint64 {
	if i += l.head; i >= len(l.seq) {
		i -= len(l.seq)
	}
	return l.seq[i]
}

func (l *lookahead) push(seq uint64) {
	if l.n > 0 && seq < l.at(l.n-1) {
		l.descents++
	}
	i := l.head + l.n
	if i >= len(l.seq) {
		i -= len(l.seq)
	}
	l.seq[i] = seq
	l.n++
}

func (l *lookahead) pop() uint64 {
	seq := l.seq[l.head]
	if l.head++; l.head == len(l.seq) {
		l.head = 0
	}
	l.n--
	if l.n > 0 && l.at(0) < seq {
		l.descents--
	}
	return seq
}

func (l *lookahead) smallest() uint64 {
	least := ^uint64(0)
	for i := range l.n {
		least = min(least, l.at(i))
	}
	return least
}

// early is the hypothetical buffer of frames that came before their turn, in no order.
type early struct {
	n   int
	seq [threshold]uint64
}

func (e *early) add(seq uint64) {
	e.seq[e.n] = seq
	e.n++
}

// remove takes a number out, and reports whether it was there.
func (e *early) remove(seq uint64) bool {
	for i, s := range e.seq[:e.n] {
		if s == seq {
			e.n--
			e.seq[i] = e.seq[e.n]
			return true
		}
	}
	return false
}

// density is the reorder density of RFC 5236 section 4: how far each frame arrived from its place, counted without
// those that were lost. The displacement is the receive index minus the number: positive is late.
type density struct {
	ahead lookahead
	buf   early
	index uint64 // the receive index of the next arrival to be judged
	count [2*threshold + 1]uint64
}

// add takes the number of a frame that is no duplicate.
func (d *density) add(seq uint64) {
	if seq < d.index { // its place was given up: later than the threshold
		return
	}
	if d.ahead.push(seq); d.ahead.full() {
		d.judge()
	}
}

// judge finds the displacement of the oldest arrival that is not yet judged.
func (d *density) judge() {
	if d.buf.n == 0 && d.ahead.descents == 0 && d.index <= d.ahead.at(0) { // nothing is out of order within sight
		d.index = d.ahead.pop() + 1
		d.count[threshold]++
		return
	}
	d.index = d.nextIndex()
	seq := d.ahead.pop()
	away := int64(d.index - seq)
	if limit := int64(d.ahead.limit); away < -limit || away > limit {
		return
	}
	d.count[threshold+away]++
	d.buf.remove(d.index)
	if away < 0 { // at most limit of them wait: their numbers are index+1 to index+limit
		d.buf.add(seq)
	}
	d.index++
}

// nextIndex is the smallest number from index on that is within sight or waits in the buffer: those between are lost.
func (d *density) nextIndex() uint64 {
	least := ^uint64(0)
	for i := range d.ahead.n {
		if s := d.ahead.at(i); s >= d.index {
			least = min(least, s)
		}
	}
	for _, s := range d.buf.seq[:d.buf.n] {
		if s >= d.index {
			least = min(least, s)
		}
	}
	if least == ^uint64(0) {
		return d.index
	}
	return least
}

// result is the density of all that arrived so far; d goes on as if it had not been asked.
func (d density) result() map[int]uint64 {
	for d.ahead.n > 0 {
		d.judge()
	}
	m := make(map[int]uint64)
	for i, n := range d.count {
		if n > 0 {
			m[i-threshold] = n
		}
	}
	return m
}

// occupancy is the reorder buffer-occupancy density of RFC 5236 section 5: how many frames a buffer that restores the
// order would hold after each arrival. It has as many places as the threshold: a frame that finds it full passes by.
type occupancy struct {
	ahead    lookahead
	buf      early
	expected uint64 // numbers below are given up
	count    [threshold + 1]uint64
}

// add takes the number of a frame that is no duplicate.
func (o *occupancy) add(seq uint64) {
	if seq < o.expected {
		return
	}
	if o.ahead.push(seq); o.ahead.full() {
		o.judge()
	}
}

// judge puts the oldest arrival that is not yet judged into the buffer, or takes out what it makes ready.
func (o *occupancy) judge() {
	if o.buf.n == 0 && o.ahead.descents == 0 {
		o.expected = o.ahead.pop() + 1
		if o.ahead.n > 0 {
			o.expected = o.ahead.at(0)
		}
		o.count[0]++
		return
	}
	expected := o.ahead.smallest()
	seq := o.ahead.pop()
	o.expected = o.ahead.smallest()
	if seq == expected {
		o.release(o.expected)
	} else if o.buf.n < o.ahead.limit {
		o.buf.add(seq)
	}
	o.count[o.buf.n]++
}

// release takes out of the buffer what is below all that is still to come.
func (o *occupancy) release(below uint64) {
	for i := 0; i < o.buf.n; {
		if o.buf.seq[i] < below {
			o.buf.n--
			o.buf.seq[i] = o.buf.seq[o.buf.n]
			continue
		}
		i++
	}
}

// result is the density of all that arrived so far; o goes on as if it had not been asked.
func (o occupancy) result() map[int]uint64 {
	for o.ahead.n > 0 {
		o.judge()
	}
	m := make(map[int]uint64)
	for i, n := range o.count {
		if n > 0 {
			m[i] = n
		}
	}
	return m
}
