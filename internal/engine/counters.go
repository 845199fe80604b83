package engine

// Total are the sums over the queues: BeginNs of the first that began, EndNs of the last that ended, BehindNsMax and
// ShiftedNs of the worst. Queue and Core are 0.
func (c Counters) Total() (t QueueCounters) {
	for i := range c.Queues {
		q := &c.Queues[i]
		t.Submitted += q.Submitted
		t.Sent += q.Sent
		t.Bytes += q.Bytes
		t.Doorbells += q.Doorbells
		t.Backpressure += q.Backpressure
		t.Skipped += q.Skipped
		t.BehindNsMax = max(t.BehindNsMax, q.BehindNsMax)
		t.ShiftedNs = max(t.ShiftedNs, q.ShiftedNs)
		if q.BeginNs != 0 && (t.BeginNs == 0 || q.BeginNs < t.BeginNs) {
			t.BeginNs = q.BeginNs
		}
		t.EndNs = max(t.EndNs, q.EndNs)
		if len(t.Streams) < len(q.Streams) {
			t.Streams = append(t.Streams, make([]uint64, len(q.Streams)-len(t.Streams))...)
		}
		for s, n := range q.Streams {
			t.Streams[s] += n
		}
	}
	return t
}
