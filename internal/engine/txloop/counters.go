package txloop

import (
	"sync/atomic"

	"github.com/wirespeed/wirespeed/internal/engine"
	"github.com/wirespeed/wirespeed/internal/wire"
)

// counts are what one worker has counted. Only the worker writes them.
type counts struct {
	submitted, completed, bytes, doorbells, backpressure uint64
	streams                                              []uint64
}

// took counts frames that the ring took.
func (c *counts) took(w *worker, from, to int) {
	n, size := uint64(to-from), uint64(0)
	if frames := w.frames[from:to]; len(c.streams) == 1 {
		for i := range frames {
			size += uint64(frames[i].Len)
		}
		c.streams[0] += n
	} else {
		for i := range frames {
			size += uint64(frames[i].Len)
			c.streams[frames[i].Stream]++
		}
	}
	c.bytes += size + n*wire.FCS
	c.submitted += n
}

// published are a worker's counts as others may read them, on cache lines of their own.
type published struct {
	_                                                    [64]byte
	submitted, completed, bytes, doorbells, backpressure atomic.Uint64
	behindMax, skipped, shifted                          atomic.Uint64
	begin, end                                           atomic.Int64
	batch                                                atomic.Int64
	streams                                              []atomic.Uint64
	_                                                    [64]byte
}

// publish is called once a batch. The rarely changing counts are compared first: a store costs more than a load.
func (p *published) publish(w *worker) {
	c := &w.counts
	p.submitted.Store(c.submitted)
	p.completed.Store(c.completed)
	p.bytes.Store(c.bytes)
	p.doorbells.Store(c.doorbells)
	if len(c.streams) <= len(w.frames) {
		for i, n := range c.streams {
			storeChanged(&p.streams[i], n)
		}
	} else { // of many streams only those of this batch have changed
		for i := range w.frames {
			s := w.frames[i].Stream
			storeChanged(&p.streams[s], c.streams[s])
		}
	}
	storeChanged(&p.backpressure, c.backpressure)
	storeChanged(&p.behindMax, w.sched.behindMax)
	storeChanged(&p.skipped, w.sched.skipped)
	storeChanged(&p.shifted, w.sched.shifted)
	if p.batch.Load() != int64(w.batch) {
		p.batch.Store(int64(w.batch))
	}
}

func storeChanged(to *atomic.Uint64, v uint64) {
	if to.Load() != v {
		to.Store(v)
	}
}

// read copies the counts of one queue.
func (p *published) read(queue, core int) engine.QueueCounters {
	q := engine.QueueCounters{
		Queue: queue, Core: core,
		// What completed is read first, so that it is never more than what was submitted.
		Sent: p.completed.Load(), Submitted: p.submitted.Load(), Bytes: p.bytes.Load(), Doorbells: p.doorbells.Load(),
		Backpressure: p.backpressure.Load(), BehindNsMax: p.behindMax.Load(), Skipped: p.skipped.Load(), ShiftedNs: p.shifted.Load(),
		BeginNs: p.begin.Load(), EndNs: p.end.Load(),
		Streams: make([]uint64, len(p.streams)),
	}
	for i := range q.Streams {
		q.Streams[i] = p.streams[i].Load()
	}
	return q
}
