package xdp

import (
	"bytes"
	"encoding/binary"
	"testing"

	"github.com/cilium/ebpf"
	"pgregory.net/rapid"

	"github.com/wirespeed/wirespeed/internal/lab/need"
	"github.com/wirespeed/wirespeed/internal/packet"
	"github.com/wirespeed/wirespeed/internal/program"
	"github.com/wirespeed/wirespeed/internal/program/programtest"
	"github.com/wirespeed/wirespeed/stream"
)

type fataler interface {
	Helper()
	Fatalf(string, ...any)
	Fatal(...any)
}

// step runs the program once, without a device, over a page that is full of something else, and returns the frame; nil
// where the program sends nothing.
func step(t fataler, u *unit, same bool, prefix int) []byte {
	t.Helper()
	page := bytes.Repeat([]byte{0xee}, len(u.template))
	if same { // what lies behind the prefix is the page's, from the template
		copy(page[min(prefix, len(page)):], u.template[min(prefix, len(page)):])
	}
	o := ebpf.RunOptions{Data: page, DataOut: make([]byte, len(page)+256), Repeat: 1}
	action, err := u.prog.Run(&o)
	if err != nil {
		t.Fatalf("run: %v", err)
	}
	switch action {
	case actionTx:
		return o.DataOut
	case actionDrop:
		return nil
	}
	t.Fatalf("action %d", action)
	return nil
}

// sameBytes runs the compiled program and Image.Fill side by side.
func sameBytes(t fataler, p *program.Program, bind program.Binding, frames int) {
	t.Helper()
	if err := p.CheckBinding(bind); err != nil {
		return
	}
	img := p.Bind(bind)
	u, err := compile(img, options{timeKind: bind.TimeKind})
	if err != nil {
		t.Fatalf("compile: %+v", err)
	}
	defer u.close()
	u.reset(uint64(frames), 0, 0)
	bodies := newBodies(img)
	want := p.Bind(bind)
	buf := []program.Frame{{Buf: make([]byte, 4096)}}
	var last, sum uint64
	for n := range uint64(frames) {
		place := uint64(bind.Queue) + n*uint64(bind.Queues)
		s := &img.Streams[p.Order[place%uint64(len(p.Order))]]
		got := step(t, u, bodies.same, bodies.prefix)
		if got == nil {
			t.Fatalf("frame %d: nothing sent", n)
		}
		var stamp uint64
		if s.HasTime && bind.TimeKind != packet.TimeNone {
			stamp = binary.BigEndian.Uint64(got[s.SigOff+packet.SigTime:])
			if stamp < last || stamp == 0 {
				t.Fatalf("frame %d: stamped %d after %d", n, stamp, last)
			}
			last = stamp
		}
		if want.Fill(buf, stamp) != 1 {
			t.Fatal("Fill wrote nothing")
		}
		if w := buf[0].Buf[:buf[0].Len]; !bytes.Equal(got, w) {
			t.Fatalf("stream %s, frame %d of queue %d of %d, mods %+v\ngot  %x\nwant %x", s.Name, n, bind.Queue, bind.Queues, s.Mods, got, w)
		}
		sum += uint64(len(got)) + 4
	}
	if got := step(t, u, bodies.same, bodies.prefix); got != nil {
		t.Fatalf("a frame beyond the limit of %d", frames)
	}
	from := u.place()
	for i := range img.Streams { // one more of each, with the last flag
		has := want.FillLast(&buf[0], i, last)
		if u.force(i, from) != has {
			t.Fatalf("stream %d of queue %d: the queue has it: %v", i, bind.Queue, has)
		}
		if !has || img.Streams[i].HasTime && bind.TimeKind != packet.TimeNone {
			continue // the time differs
		}
		u.state.set(offLimit, u.state.load(offSent)+1)
		if got := step(t, u, bodies.same, bodies.prefix); !bytes.Equal(got, buf[0].Buf[:buf[0].Len]) {
			t.Fatalf("last frame of stream %d, queue %d of %d\ngot  %x\nwant %x", i, bind.Queue, bind.Queues, got, buf[0].Buf[:buf[0].Len])
		}
		sum += uint64(buf[0].Len) + 4
	}
	if got := u.bytes(); got != sum {
		t.Fatalf("%d bytes counted, %d sent", got, sum)
	}
	for i := range img.Streams {
		if s := &img.Streams[i]; s.HasTime && bind.TimeKind != packet.TimeNone {
			continue
		}
		if u.seq(i) != want.Seq(i) {
			t.Fatalf("stream %d: next number %d, want %d", i, u.seq(i), want.Seq(i))
		}
	}
}

// The compiled program makes the same bytes as Image.Fill for any stream set, queue and form of the signature.
func TestProgramMakesTheBytesOfFill(t *testing.T) {
	need.Root(t)
	rapid.Check(t, func(t *rapid.T) {
		set := programtest.Set(t, 64)
		p, err := program.Compile(set)
		if err != nil {
			t.Fatalf("compile the set: %v", err)
		}
		b := program.Binding{Run: rapid.Byte().Draw(t, "run"), IDBase: uint16(rapid.IntRange(0, 100).Draw(t, "id")),
			Queues: rapid.IntRange(1, 4).Draw(t, "queues"), TimeKind: rapid.SampledFrom([]byte{packet.TimeNone, packet.TimeFrame, packet.TimeShared}).Draw(t, "time"),
			FirstSeq: rapid.SampledFrom([]uint64{0, 0, 1<<32 - 7, 1<<40 + 5}).Draw(t, "first")}
		b.Queue = rapid.IntRange(0, b.Queues-1).Draw(t, "queue")
		const frames = 40
		if rapid.Bool().Draw(t, "ends") {
			for range p.Streams {
				b.LastSeq = append(b.LastSeq, b.FirstSeq+rapid.Uint64Range(0, frames).Draw(t, "last"))
			}
		}
		sameBytes(t, p, b, frames)
	})
}

// udpStream is one UDP stream of the given sizes whose fields kind.field take values.
func udpStream(t testing.TB, fields map[string]stream.Value, sizes ...int) stream.Stream {
	t.Helper()
	s := stream.Stream{Name: "udp", Weight: 1, Size: stream.Sizes{Cycle: sizes}}
	for _, kind := range []string{"eth", "ip", "udp"} {
		l := stream.Layer{Kind: packet.Lookup(kind)}
		for i := range l.Kind.Fields {
			f := &l.Kind.Fields[i]
			if v, ok := fields[kind+"."+f.Name]; ok {
				l.Fields = append(l.Fields, stream.FieldValue{Field: f, Value: v})
			}
		}
		s.Layers = append(s.Layers, l)
	}
	return s
}

func programOf(t testing.TB, streams ...stream.Stream) *program.Program {
	t.Helper()
	p, err := program.Compile(&stream.Set{Streams: streams})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func num(v uint64) packet.Num { return packet.Num{Lo: v} }

// The sum of a UDP frame whose number runs through all 65,536 sums is never 0, and always that of Fill.
func TestChecksumNeverZero(t *testing.T) {
	need.Root(t)
	p := programOf(t, udpStream(t, nil, 64))
	img := p.Bind(program.Binding{Run: 1, Queues: 1})
	u, err := compile(img, options{})
	if err != nil {
		t.Fatal(err)
	}
	defer u.close()
	const frames = 70000
	u.reset(frames, 0, 0)
	want := p.Bind(program.Binding{Run: 1, Queues: 1})
	buf := []program.Frame{{Buf: make([]byte, 100)}}
	twins := 0
	for n := range frames {
		got := step(t, u, true, 60)
		want.Fill(buf, 0)
		if !bytes.Equal(got, buf[0].Buf[:60]) {
			t.Fatalf("frame %d\n%x\n%x", n, got, buf[0].Buf[:60])
		}
		switch binary.BigEndian.Uint16(got[40:]) {
		case 0:
			t.Fatalf("frame %d has checksum 0", n)
		case 0xffff:
			twins++
		}
	}
	if twins == 0 {
		t.Error("no checksum came out as 0: not tested")
	}
}

// Indexes that wrap often, for one and several queues: no draw gets as far.
func TestModifiersWrap(t *testing.T) {
	need.Root(t)
	fields := map[string]stream.Value{
		"ip.src":      {Op: stream.Inc, Start: num(0xc6120001), Step: num(3), Count: 7},
		"ip.dst":      {Op: stream.List, List: []packet.Num{num(1), num(0xffffffff), num(3)}},
		"ip.ttl":      {Op: stream.Dec, Start: num(64), Step: num(1), Count: 64},
		"udp.srcport": {Op: stream.Inc, Start: num(1024), Step: num(1), Count: 7},
		"udp.dstport": {Op: stream.Rand, Start: num(9), Max: num(1000), Seed: 5},
	}
	for _, sizes := range [][]int{{64}, {64, 128, 64, 1518, 300}} {
		p := programOf(t, udpStream(t, fields, sizes...))
		for queues := 1; queues <= 9; queues++ {
			for queue := range queues {
				sameBytes(t, p, program.Binding{Run: 3, Queue: queue, Queues: queues}, 150)
			}
		}
	}
}

// Every length from 64 to 1518, by cycle and at random, in streams with different payloads: the largest tables.
func TestManyLengths(t *testing.T) {
	need.Root(t)
	sweep := udpStream(t, map[string]stream.Value{"ip.src": {Op: stream.Inc, Start: num(1), Step: num(1), Count: 1000}})
	for n := 64; n <= 1518; n++ {
		sweep.Size.Cycle = append(sweep.Size.Cycle, n)
	}
	random := udpStream(t, nil)
	random.Name, random.Payload.Fill = "random", stream.FillInc
	random.Size = stream.Sizes{Op: stream.SizeRandom, Min: 64, Max: 1518, Seed: 9}
	short := udpStream(t, nil, 64)
	short.Name = "short"
	for _, streams := range [][]stream.Stream{{sweep}, {random}, {sweep, random, short}} {
		sameBytes(t, programOf(t, streams...), program.Binding{Queues: 1}, 3000)
	}
}
