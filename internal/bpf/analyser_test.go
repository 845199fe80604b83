package bpf

import (
	"testing"

	"github.com/cilium/ebpf"

	"github.com/wirespeed/wirespeed/internal/engine"
	"github.com/wirespeed/wirespeed/internal/lab/need"
	"github.com/wirespeed/wirespeed/internal/packet"
)

const (
	xdpDrop = 1
	xdpPass = 2
)

// feeder runs the program on one frame after the other, without a device.
type feeder struct {
	testing.TB
	*Analyser
}

func newFeeder(t testing.TB, o Options) *feeder {
	t.Helper()
	need.Root(t)
	if o.ClockGroup == 0 {
		o.ClockGroup = 1
	}
	a, err := NewAnalyser(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = a.Close() })
	return &feeder{t, a}
}

func expectOne(form packet.Form, first uint64) Options {
	return Options{Expect: engine.Expect{Run: testRun, Streams: []engine.ExpectStream{{ID: 3, Form: form, First: first}}}}
}

func (f *feeder) feed(frame []byte, want uint32) {
	f.Helper()
	got, err := f.Program().Run(&ebpf.RunOptions{Data: frame, Repeat: 1})
	if err != nil {
		f.Fatal(err)
	}
	if got != want {
		f.Fatalf("action %d, want %d", got, want)
	}
}

func (f *feeder) read() engine.Received {
	f.Helper()
	r, err := f.Read()
	if err != nil {
		f.Fatal(err)
	}
	return r
}

// one returns the only stream of which something was seen.
func (f *feeder) one() engine.StreamReceived {
	f.Helper()
	r := f.read()
	if len(r.Streams) != 1 {
		f.Fatalf("%d streams seen, want 1: %+v", len(r.Streams), r)
	}
	s := r.Streams[0]
	if sum := s.Frames + s.Duplicate + s.Late + s.Corrupt + s.BadSeq; sum != r.Frames {
		f.Errorf("%d frames of the run, the stream's counts add up to %d", r.Frames, sum+r.BadStream)
	}
	return s
}

// counts are the plain numbers of a stream, comparable.
type counts struct {
	frames, duplicate, reordered, late, corrupt, badSeq, next uint64
	lostFirst                                                 uint64
}

func countsOf(s engine.StreamReceived) counts {
	return counts{s.Frames, s.Duplicate, s.Reordered, s.Late, s.Corrupt, s.BadSeq, s.Next, s.LostFirst}
}

func upTo(from, to uint32) (s []uint32) {
	for ; from <= to; from++ {
		s = append(s, from)
	}
	return s
}

// The sequences of the accounting rules, with the program's own edges: head and tail loss, the wrap of 32 bits, the far
// end of the window, and wrong numbers.
func TestSequences(t *testing.T) {
	cases := []struct {
		name string
		base uint64
		seqs []uint32
		sent uint64
		lost uint64
		want counts
	}{
		{"1,3,4,5 of 0..5", 0, []uint32{1, 3, 4, 5}, 6, 2, counts{frames: 4, next: 6, lostFirst: 1}},
		{"1,2,3,2", 0, []uint32{1, 2, 3, 2}, 4, 1, counts{frames: 3, duplicate: 1, next: 4, lostFirst: 1}},
		{"1,3,2,3,2", 1, []uint32{1, 3, 2, 3, 2}, 3, 0, counts{frames: 3, reordered: 1, duplicate: 2, next: 4}},
		{"head loss", 0, upTo(5, 9), 10, 5, counts{frames: 5, next: 10, lostFirst: 5}},
		{"head loss but for two that are late", 1, append(upTo(6, 10), 3, 4, 3), 10, 3, counts{frames: 7, duplicate: 1, reordered: 2, next: 11, lostFirst: 2}},
		{"tail loss", 0, upTo(0, 4), 10, 5, counts{frames: 5, next: 5}},
		{"reordered", 0, []uint32{0, 2, 1, 3}, 4, 0, counts{frames: 4, reordered: 1, next: 4}},
		{"first frame overtaken", 0, []uint32{1, 0}, 2, 0, counts{frames: 2, reordered: 1, next: 2}},
		{"wrap", 0xfffffffe, []uint32{0xfffffffe, 0xffffffff, 0, 1}, 4, 0, counts{frames: 4, next: 1<<32 + 2}},
		{"old one before the wrap", 0xfffffffe, []uint32{0xfffffffe, 0, 0xffffffff}, 3, 0, counts{frames: 3, reordered: 1, next: 1<<32 + 1}},
		{"far above 2^32", 5<<32 + 10, []uint32{10, 12, 11, 11}, 3, 0, counts{frames: 3, reordered: 1, duplicate: 1, next: 5<<32 + 13}},
		{"jump, then an old one", 0, []uint32{0, 70000, 1}, 70001, 69999, counts{frames: 2, late: 1, next: 70001}},
		{"oldest of the window", 0, []uint32{0, 70015, 4480}, 70016, 70013, counts{frames: 3, reordered: 1, next: 70016}},
		{"word already of the next epoch", 0, []uint32{0, 70010, 4475}, 70011, 70009, counts{frames: 2, late: 1, next: 70011}},
		{"oldest that is always told", 0, []uint32{0, 70000, 70000 - Window + 1, 70000 - Window + 1}, 70001, 69998, counts{frames: 3, reordered: 1, duplicate: 1, next: 70001}},
		{"same word, one window on", 0, []uint32{5, 65541}, 65542, 65540, counts{frames: 2, next: 65542, lostFirst: 5}},
		{"before the base", 0, []uint32{0xffffffff, 0}, 1, 0, counts{frames: 1, badSeq: 1, next: 1}},
		{"a jump of 2^30", 0, []uint32{0, 1 << 30, 1}, 2, 0, counts{frames: 2, badSeq: 1, next: 2}},
		{"just below", 0, []uint32{0, 1<<30 - 1}, 1 << 30, 1<<30 - 2, counts{frames: 2, next: 1 << 30}},
	}
	for _, form := range []packet.Form{packet.FormShort, packet.FormFull} {
		for _, locked := range []bool{false, true} {
			o := Options{Locked: locked, Expect: engine.Expect{Run: testRun}}
			for i, c := range cases {
				o.Streams = append(o.Streams, engine.ExpectStream{ID: uint16(i + 3), Form: form, First: c.base})
			}
			f := newFeeder(t, o)
			for i, c := range cases {
				for _, n := range c.seqs {
					f.feed(frame(t, udp4, sig{form: form, run: testRun, stream: uint16(i + 3), seq: n}), xdpDrop)
				}
			}
			got := f.read()
			if len(got.Streams) != len(cases) {
				t.Fatalf("%d streams of %d", len(got.Streams), len(cases))
			}
			for i, c := range cases {
				s := got.Streams[i]
				if got := countsOf(s); got != c.want {
					t.Errorf("%s, form %d, locked %v\ngot  %+v\nwant %+v", c.name, form, locked, got, c.want)
				}
				if lost := c.sent - s.Frames; lost != c.lost {
					t.Errorf("%s, form %d, locked %v: lost %d, want %d", c.name, form, locked, lost, c.lost)
				}
				if s.Form != form || s.ID != uint16(i+3) || s.Bytes != s.Frames*64 {
					t.Errorf("%s: form %d, id %d, %d bytes", c.name, s.Form, s.ID, s.Bytes)
				}
				if s.Latency != nil || s.Gap != nil {
					t.Errorf("%s: a latency or gap without a time stamp", c.name)
				}
			}
		}
	}
}

// shapes are all headers behind which the program finds a signature.
func shapes() map[string]shape {
	tagged := []uint16{0x88a8, 0x8100, 0x9100, 0x8100}
	all := map[string]shape{
		"options":       {ip: 4, options: 8, l4: 17, size: 100},
		"longest":       {ip: 4, options: 40, l4: 6, tcpOpts: 40, size: 200},
		"tcp options":   {ip: 4, l4: 6, tcpOpts: 12, size: 100},
		"padded":        {ip: 4, l4: 17, size: 70, pad: 6},
		"padded tcp":    {ip: 6, l4: 6, size: 110, pad: 3},
		"icmp, padded":  {ip: 4, l4: 1, size: 60, pad: 4},
		"largest":       {ip: 4, l4: 17, size: 3408},
		"odd, largest":  {ip: 6, l4: 6, size: 3407},
		"small as can":  {ip: 0},
		"one byte tail": {ip: 4, l4: 17, size: 61},
	}
	for n := range 5 {
		for _, sh := range []shape{
			{ip: 4, l4: 17, size: 100}, {ip: 6, l4: 17, size: 110}, {ip: 4, l4: 6, size: 101}, {ip: 6, l4: 6, size: 120},
			{ip: 4, l4: 253, size: 64}, {ip: 6, l4: 253, size: 90}, {ip: 0, size: 64},
		} {
			sh.tags = tagged[:n]
			all[string(rune('0'+n))+" tags, ip "+string(rune('0'+sh.ip))+", l4 "+string(rune('0'+sh.l4%10))] = sh
		}
	}
	return all
}

func TestHeaders(t *testing.T) {
	for _, form := range []packet.Form{packet.FormShort, packet.FormFull} {
		f := newFeeder(t, expectOne(form, 0))
		var n uint32
		var bytes uint64
		for name, sh := range shapes() {
			b := frame(t, sh, sig{form: form, run: testRun, stream: 3, seq: n})
			f.feed(b, xdpDrop)
			n++
			bytes += uint64(len(b) + 4)
			s := f.one()
			if got, want := countsOf(s), (counts{frames: uint64(n), next: uint64(n)}); got != want || s.Bytes != bytes {
				t.Fatalf("%s, form %d: got %+v and %d bytes, want %+v and %d", name, form, got, s.Bytes, want, bytes)
			}
		}
	}
}

// What is not ours passes on, and is counted.
func TestForeign(t *testing.T) {
	f := newFeeder(t, expectOne(packet.FormFull, 0))
	ours := sig{form: packet.FormFull, run: testRun, stream: 3}
	edit := func(sh shape, edit func(b []byte)) []byte {
		b := frame(t, sh, ours)
		edit(b)
		return b
	}
	cases := map[string][]byte{
		"first fragment":      edit(udp4, func(b []byte) { b[20] = 0x20 }),
		"later fragment":      edit(udp4, func(b []byte) { b[21] = 5 }),
		"broken magic":        edit(udp4, func(b []byte) { b[42] ^= 1 }),
		"header too short":    edit(udp4, func(b []byte) { b[14] = 0x44 }),
		"version 6 in IPv4":   edit(udp4, func(b []byte) { b[14] = 0x65 }),
		"ethernet only":       frame(t, udp4, ours)[:14],
		"cut in the IP":       frame(t, udp4, ours)[:30],
		"cut in the magic":    frame(t, udp4, ours)[:43],
		"cut behind the tag":  frame(t, shape{ip: 4, l4: 17, size: 64, tags: []uint16{0x8100}}, ours)[:17],
		"IPv6 cut":            frame(t, shape{ip: 6, l4: 17, size: 90}, ours)[:50],
		"another version":     frame(t, udp4, sig{form: packet.FormFull, run: testRun, stream: 3, flags: 0xc0}),
		"no signature at all": frame(t, shape{ip: 4, l4: 1, size: 60}, ours)[:60],
	}
	copy(cases["no signature at all"][34:], []byte("ping, and nothing that looks like us"))
	for name, b := range cases {
		got, err := f.Program().Run(&ebpf.RunOptions{Data: b, Repeat: 1})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if got != xdpPass {
			t.Errorf("%s: action %d, want pass", name, got)
		}
	}
	if r := f.read(); r.Foreign != uint64(len(cases)) || r.Frames != 0 || r.Bytes != 0 || len(r.Streams) != 0 {
		t.Errorf("want %d foreign and nothing else: %+v", len(cases), r)
	}
}

func TestStaleAndBadStream(t *testing.T) {
	for _, form := range []packet.Form{packet.FormShort, packet.FormFull} {
		o := expectOne(form, 0)
		o.Streams = append(o.Streams, engine.ExpectStream{ID: 6, Form: form})
		f := newFeeder(t, o)
		f.feed(frame(t, udp4, sig{form: form, run: testRun - 1, stream: 3}), xdpDrop)
		for _, id := range []uint16{0, 2, 4, 5, 7, 255} {
			f.feed(frame(t, udp4, sig{form: form, run: testRun, stream: id}), xdpDrop)
		}
		other := packet.FormShort + packet.FormFull - form
		f.feed(frame(t, udp4, sig{form: other, run: testRun, stream: 3}), xdpDrop)
		r := f.read()
		if r.Stale != 1 || r.BadStream != 7 || r.Frames != 0 || r.Bytes != 0 || len(r.Streams) != 0 || r.Foreign != 0 {
			t.Errorf("form %d: want 1 stale, 7 of a bad stream: %+v", form, r)
		}
		f.feed(frame(t, udp4, sig{form: form, run: testRun, stream: 3}), xdpDrop)
		f.feed(frame(t, udp4, sig{form: form, run: testRun, stream: 6}), xdpDrop)
		if r := f.read(); len(r.Streams) != 2 || r.Streams[0].ID != 3 || r.Streams[1].ID != 6 {
			t.Errorf("form %d: want the streams 3 and 6: %+v", form, r.Streams)
		}
	}
}

func TestLastFlag(t *testing.T) {
	f := newFeeder(t, expectOne(packet.FormFull, 1<<32))
	f.feed(frame(t, udp4, sig{run: testRun, stream: 3, flags: packet.FlagFirst}), xdpDrop)
	if s := f.one(); s.LastSeen {
		t.Error("last seen too early")
	}
	f.feed(frame(t, udp4, sig{run: testRun, stream: 3, seq: 9, flags: packet.FlagLast}), xdpDrop)
	f.feed(frame(t, udp4, sig{run: testRun, stream: 3, seq: 4}), xdpDrop)
	if s := f.one(); !s.LastSeen || s.LastSeq != 1<<32+9 || s.Frames != 3 {
		t.Errorf("%+v", s)
	}
}

// A receiver on its own: run id and forms come from the first frame that arrived whole.
func TestLearn(t *testing.T) {
	f := newFeeder(t, Options{Expect: engine.Expect{Learn: true}})
	if r := f.read(); r.RunKnown || len(r.Streams) != 0 {
		t.Errorf("before the first frame: %+v", r)
	}
	broken := frame(t, udp4, sig{run: 9, stream: 900})
	broken[59] ^= 1
	f.feed(broken, xdpPass)
	f.feed(frame(t, udp4, sig{run: 0, stream: 900, seq: 0}), xdpDrop)
	f.feed(frame(t, udp4, sig{run: 0, stream: 900, seq: 2, flags: packet.FlagLast}), xdpDrop)
	f.feed(frame(t, udp4, sig{run: 0, stream: 2, form: packet.FormShort}), xdpDrop)
	f.feed(frame(t, udp4, sig{run: 0, stream: 1, seq: 3<<30 + 5}), xdpDrop) // joined late
	f.feed(frame(t, udp4, sig{run: 0, stream: 1, seq: 3<<30 + 6}), xdpDrop)
	f.feed(frame(t, udp4, sig{run: 1, stream: 2}), xdpDrop)
	f.feed(frame(t, udp4, sig{run: 0, stream: LearnSlots}), xdpDrop)
	r := f.read()
	if !r.RunKnown || r.Run != 0 || r.Stale != 1 || r.BadStream != 1 || r.Foreign != 1 || len(r.Streams) != 3 {
		t.Fatalf("%+v", r)
	}
	if s := r.Streams[0]; s.ID != 1 || s.Frames != 2 || s.Next != 3<<30+7 || s.BadSeq != 0 {
		t.Errorf("joined late: %+v", countsOf(s))
	}
	if s := r.Streams[1]; s.ID != 2 || s.Form != packet.FormShort || s.Frames != 1 {
		t.Errorf("short: %+v", s)
	}
	if s := r.Streams[2]; s.ID != 900 || s.Form != packet.FormFull || s.Frames != 2 || !s.LastSeen {
		t.Errorf("full: %+v", s)
	}
}

// Without a signature the run's addresses and EtherTypes decide; signatures in the frames mean nothing.
func TestMatch(t *testing.T) {
	f := newFeeder(t, Options{Expect: engine.Expect{
		SrcMACs: [][6]byte{[6]byte(srcMAC), {2, 9}}, EtherTypes: []uint16{0x0800, 0x88b5},
	}})
	f.feed(frame(t, udp4, sig{run: testRun}), xdpDrop)
	f.feed(frame(t, shape{tags: []uint16{0x8100, 0x8100}, size: 80}, sig{}), xdpDrop)
	f.feed(frame(t, shape{ip: 6, l4: 17, size: 80}, sig{}), xdpPass) // another EtherType
	other := frame(t, udp4, sig{})
	other[11] ^= 1
	f.feed(other, xdpPass)
	r := f.read()
	if r.Frames != 2 || r.Bytes != 64+84 || r.Foreign != 2 || r.Stale != 0 || len(r.Streams) != 0 || r.RunKnown || r.Queues != 1 {
		t.Errorf("%+v", r)
	}
}

func TestRefuses(t *testing.T) {
	for name, o := range map[string]Options{
		"clock group": {},
		"range of ids": {ClockGroup: 1, Expect: engine.Expect{Streams: []engine.ExpectStream{
			{ID: 0, Form: packet.FormFull}, {ID: 60000, Form: packet.FormFull}}}},
		"pairs": {ClockGroup: 1, Expect: engine.Expect{SrcMACs: make([][6]byte, 1<<16), EtherTypes: make([]uint16, 17)}},
	} {
		if a, err := NewAnalyser(o); err == nil {
			_ = a.Close()
			t.Errorf("%s: accepted", name)
		}
	}
}
