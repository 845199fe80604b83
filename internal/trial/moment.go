package trial

import (
	"slices"

	"github.com/wirespeed/wirespeed/internal/engine"
	"github.com/wirespeed/wirespeed/internal/host"
	"github.com/wirespeed/wirespeed/internal/packet"
	"github.com/wirespeed/wirespeed/report"
)

// moment is what the live view shows: sums of all ports at one time.
type moment struct {
	atNs   int64
	tx, rx uint64
	unique uint64 // rx without duplicates and corrupt ones
	both   bool   // something sends here, and something receives
}

func (u *run) moment() moment {
	m := moment{atNs: host.Monotonic(), both: len(u.tx) > 0 && len(u.rx) > 0}
	for _, x := range u.rx {
		if x.capture != nil { // what is written is what is looked at
			m.rx += x.capture.Recorded().Frames
			continue
		}
		got, err := x.recv.Snapshot()
		if err != nil {
			continue
		}
		m.rx += got.Frames
		for _, s := range got.Streams {
			m.unique += s.Frames
		}
	}
	// Senders are read last: what arrived by then was sent before.
	for _, x := range u.tx {
		for _, q := range x.port.Counters().Queues {
			m.tx += q.Sent
		}
	}
	return m
}

func interval(beginNs int64, last, now moment) report.Interval {
	seconds := max(1e-9, float64(now.atNs-last.atNs)/1e9)
	v := report.Interval{
		Type: "interval", TS: float64(now.atNs-beginNs) / 1e9,
		TxFPS: float64(now.tx-last.tx) / seconds, RxFPS: float64(now.rx-last.rx) / seconds,
		Tx: now.tx, Rx: now.rx,
	}
	if now.both {
		// Below zero only where a sender counts a batch after it has arrived.
		lost := max(0, int64(now.tx)-int64(now.unique))
		v.Lost = &lost
	}
	return v
}

// expect tells the receivers what all ports together will send.
func (u *run) expect() engine.Expect {
	e := engine.Expect{Run: u.runID}
	for _, x := range u.tx {
		p := &x.plan
		if x.replay != nil {
			expectReplay(&e, x)
			continue
		}
		for i, s := range p.Program.Streams {
			if l, ok := packet.Walk(s.Heads[0]); ok {
				e.VLANs = max(e.VLANs, l.VLANs)
			}
			if s.Form == packet.FormNone {
				e.SrcMACs = appendNew(e.SrcMACs, [6]byte(s.Heads[0][6:12]))
				e.EtherTypes = appendNew(e.EtherTypes, etherType(s.Heads[0]))
				continue
			}
			for q := range p.Queues {
				e.Streams = append(e.Streams, engine.ExpectStream{ID: p.IDBase + uint16(i*p.Queues+q), Form: s.Form})
			}
		}
		if len(u.tx) == 1 && len(p.Program.Streams) == 1 && !p.Rate.IsZero() {
			e.GapNs = 1e9 * float64(p.Rate.Den) / float64(p.Rate.Num) * float64(p.Queues)
		}
	}
	if u.rxGatewayMAC != nil && len(e.SrcMACs) > 0 { // the router's own address stands there when they arrive
		e.SrcMACs = appendNew(e.SrcMACs, *u.rxGatewayMAC)
	}
	return e
}

// etherType is the type behind the VLAN tags.
func etherType(head []byte) uint16 {
	for at := 12; at+2 <= len(head); at += 4 {
		t := uint16(head[at])<<8 | uint16(head[at+1])
		if t != 0x8100 && t != 0x88a8 && t != 0x9100 {
			return t
		}
	}
	return 0
}

func appendNew[T comparable](s []T, v T) []T {
	if slices.Contains(s, v) {
		return s
	}
	return append(s, v)
}

// lineShare is the L1 share of the line; nil without a line.
func lineShare(l1 float64, link engine.Link) *float64 {
	if link.SpeedBps == 0 {
		return nil
	}
	v := l1 / float64(link.SpeedBps)
	return &v
}
