package engine

import (
	"reflect"
	"testing"
)

func TestTotal(t *testing.T) {
	c := Counters{Queues: []QueueCounters{
		{Queue: 0, Core: 3, Streams: []uint64{1}}, // began never
		{Queue: 1, Core: 4, Submitted: 10, Sent: 9, Bytes: 640, Doorbells: 2, Backpressure: 1, BehindNsMax: 50, Skipped: 3, ShiftedNs: 7, BeginNs: 200, EndNs: 900, Streams: []uint64{4, 6}},
		{Queue: 2, Core: 5, Submitted: 20, Sent: 20, Bytes: 1280, Doorbells: 1, Backpressure: 4, BehindNsMax: 20, Skipped: 1, ShiftedNs: 9, BeginNs: 100, EndNs: 800, Streams: []uint64{20}},
	}}
	want := QueueCounters{Submitted: 30, Sent: 29, Bytes: 1920, Doorbells: 3, Backpressure: 5, BehindNsMax: 50, Skipped: 4, ShiftedNs: 9, BeginNs: 100, EndNs: 900, Streams: []uint64{25, 6}}
	if got := c.Total(); !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if c.Queues[1].Streams[0] != 4 {
		t.Error("a queue's own counts changed")
	}
}
