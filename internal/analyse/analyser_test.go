package analyse

import (
	"encoding/binary"
	"testing"

	"github.com/wirespeed/wirespeed/internal/engine"
	"github.com/wirespeed/wirespeed/internal/packet"
)

func TestClassesOfFrames(t *testing.T) {
	good := full(0, 100, 0)
	broken := full(1, 100, 0)
	broken[50]++ // in the signature's sequence number or time: the checksum tells
	short := full(2, 100, 0)
	binary.BigEndian.PutUint16(short[16:], 40) // IP says less than UDP
	long := full(3, 100, 0)
	binary.BigEndian.PutUint16(long[16:], 400)
	cut := full(4, 100, 0)
	binary.BigEndian.PutUint16(cut[16:], 28) // the signature lies behind the end that IP says
	sig := packet.Signature{Form: packet.FormFull, Run: testRun, Flags: packet.FlagVersion, Stream: 3}
	otherRun, otherStream, otherForm := sig, sig, sig
	otherRun.Run++
	otherStream.Stream = 900
	otherForm.Form = packet.FormShort
	brokenVersion := sigFrame(sig)
	brokenVersion[42+packet.SigFlags] = 2 << 5 // and the checksum says so
	otherVersion := sig
	otherVersion.Flags = 2 << 5
	fragment := full(5, 100, 0)
	fragment[20] = 0x20
	tests := []struct {
		name  string
		frame []byte
		want  engine.Received
		whole uint64
		bad   uint64
	}{
		{"whole", good, engine.Received{Frames: 1, Bytes: 64}, 1, 0},
		{"wrong checksum", broken, engine.Received{Frames: 1, Bytes: 64}, 0, 1},
		{"IP length too small", short, engine.Received{Frames: 1, Bytes: 64}, 0, 1},
		{"IP length too large", long, engine.Received{Frames: 1, Bytes: 64}, 0, 1},
		{"signature behind the end", cut, engine.Received{Frames: 1, Bytes: 64}, 0, 1},
		{"other run", sigFrame(otherRun), engine.Received{Stale: 1}, 0, 0},
		{"other stream", sigFrame(otherStream), engine.Received{BadStream: 1}, 0, 0},
		{"other form", sigFrame(otherForm), engine.Received{BadStream: 1}, 0, 0},
		{"other version", sigFrame(otherVersion), engine.Received{Foreign: 1}, 0, 0},
		{"broken version", brokenVersion, engine.Received{Frames: 1, Bytes: 64}, 0, 1},
		{"fragment", fragment, engine.Received{Foreign: 1}, 0, 0},
		{"no signature", udpFrame(make([]byte, 18)), engine.Received{Foreign: 1}, 0, 0},
		{"no frame", []byte{1, 2, 3}, engine.Received{Foreign: 1}, 0, 0},
		{"nothing", nil, engine.Received{Foreign: 1}, 0, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			a := newAnalyser(t, 0)
			a.Frame(tt.frame, 200)
			r := a.Snapshot()
			if r.Frames != tt.want.Frames || r.Bytes != tt.want.Bytes || r.Foreign != tt.want.Foreign || r.Stale != tt.want.Stale || r.BadStream != tt.want.BadStream {
				t.Errorf("got %+v, want %+v", r, tt.want)
			}
			var whole, bad uint64
			for _, s := range r.Streams {
				whole, bad = whole+s.Frames, bad+s.Corrupt
			}
			if whole != tt.whole || bad != tt.bad {
				t.Errorf("%d whole and %d corrupt, want %d and %d", whole, bad, tt.whole, tt.bad)
			}
		})
	}
}

func TestTagsAndForms(t *testing.T) {
	a, err := New(engine.Expect{Run: testRun, Streams: []engine.ExpectStream{{ID: 3, Form: packet.FormFull}, {ID: 9, Form: packet.FormShort}, {ID: 10, Form: packet.FormNone}}})
	if err != nil {
		t.Fatal(err)
	}
	f := full(0, 5, packet.FlagLast)
	tagged := append(append(append([]byte{}, f[:12]...), 0x88, 0xa8, 0, 5, 0x81, 0, 0, 6), f[12:]...)
	a.Frame(tagged, 10)
	a.Frame(sigFrame(packet.Signature{Form: packet.FormShort, Run: testRun, Stream: 9}), 20)
	r := a.Snapshot()
	if len(r.Streams) != 2 || r.Streams[0].ID != 3 || r.Streams[1].ID != 9 {
		t.Fatalf("streams %+v, want 3 and 9", r.Streams)
	}
	x, y := r.Streams[0], r.Streams[1]
	if x.Frames != 1 || x.Bytes != 72 || !x.LastSeen || x.LastSeq != 0 || x.Latency == nil || x.Latency.Max != 5 {
		t.Errorf("tagged: %+v", x)
	}
	if y.Frames != 1 || y.LastSeen || y.Latency != nil {
		t.Errorf("short form: %+v; it has neither time nor flags", y)
	}
	if r.FirstNs != 10 || r.LastNs != 20 {
		t.Errorf("from %d to %d, want 10 to 20", r.FirstNs, r.LastNs)
	}
}

func TestLatencyAndGaps(t *testing.T) {
	a := newAnalyser(t, 0) // a gap of 20 is expected
	ns := int64(1000)
	for i, gap := range []int64{0, 20, 19, 21, 22, 18, 0} {
		ns += gap
		a.Frame(full(uint64(i), ns-7, 0), ns)
	}
	a.Frame(full(7, ns+20+3, 0), ns+20) // before it was sent
	s := one(t, a)
	if g := s.Gap; g.Count != 7 || s.GapInside != 4 || g.Min != 0 || g.Max != 22 || g.Sum != 120 {
		t.Errorf("gaps %d, inside %d, min %d, max %d, sum %d; want 7, 4, 0, 22, 120", g.Count, s.GapInside, g.Min, g.Max, g.Sum)
	}
	if l := s.Latency; l.Count != 7 || l.Min != 7 || l.Max != 7 || l.Negative != 1 {
		t.Errorf("latency %d values %d to %d, %d negative; want 7, 7, 7, 1", l.Count, l.Min, l.Max, l.Negative)
	}
}

func TestNoClock(t *testing.T) {
	a := newAnalyser(t, 0)
	a.Frame(full(0, 5, 0), 0)
	a.Frame(full(1, 5, 0), 0)
	if s := one(t, a); s.Latency != nil || s.Gap != nil || s.Frames != 2 {
		t.Errorf("times without a clock: %+v", s)
	}
}

func TestWithoutSignature(t *testing.T) {
	a, err := New(engine.Expect{SrcMACs: [][6]byte{{2, 0, 0, 0, 0, 8}, testMAC}, EtherTypes: []uint16{0x0800, 0x86dd}})
	if err != nil {
		t.Fatal(err)
	}
	f := udpFrame(make([]byte, 100))
	a.Frame(f, 10)
	tagged := append(append(append([]byte{}, f[:12]...), 0x81, 0, 0, 6), f[12:]...)
	a.Frame(tagged, 20)
	a.Frame(full(0, 1, 0), 30) // a signature means nothing here
	arp := append([]byte{}, f...)
	arp[13] = 6
	a.Frame(arp, 40)
	other := append([]byte{}, f...)
	other[11] = 99
	a.Frame(other, 50)
	r := a.Snapshot()
	if r.Frames != 3 || r.Bytes != 146+150+64 || r.Foreign != 2 || len(r.Streams) != 0 || r.FirstNs != 10 || r.LastNs != 30 {
		t.Errorf("got %+v", r)
	}
}

func TestLearn(t *testing.T) {
	a, err := New(engine.Expect{Learn: true})
	if err != nil {
		t.Fatal(err)
	}
	if a.Snapshot().RunKnown {
		t.Error("a run is known before the first frame")
	}
	a.Frame(udpFrame(make([]byte, 18)), 1)
	a.Frame(full(5, 0, 0), 2) // numbers 0 to 4 were lost
	a.Frame(sigFrame(packet.Signature{Form: packet.FormFull, Run: testRun + 1, Flags: packet.FlagVersion, Stream: 3}), 3)
	a.Frame(sigFrame(packet.Signature{Form: packet.FormFull, Run: testRun, Flags: packet.FlagVersion, Stream: 65535, Seq: 1<<32 - 1}), 4)
	a.Frame(sigFrame(packet.Signature{Form: packet.FormFull, Run: testRun, Flags: packet.FlagVersion, Stream: 65535}), 5)
	bad := sigFrame(packet.Signature{Form: packet.FormFull, Run: testRun, Flags: packet.FlagVersion, Stream: 77})
	bad[55]++
	a.Frame(bad, 6) // no stream is made of a broken frame
	r := a.Snapshot()
	if !r.RunKnown || r.Run != testRun || r.Stale != 1 || r.Foreign != 1 || r.BadStream != 1 || len(r.Streams) != 2 {
		t.Fatalf("got %+v", r)
	}
	if s := r.Streams[0]; s.Frames != 1 || s.Next != 6 {
		t.Errorf("first stream: %+v; want 1 frame of 6", s)
	}
	if s := r.Streams[1]; s.Frames != 2 || s.Next != 1<<32+1 || s.BadSeq != 0 {
		t.Errorf("a stream that has run for long: %+v; want 2 frames across the wrap", s)
	}
}

func TestNewRefuses(t *testing.T) {
	many := make([]engine.ExpectStream, MaxStreams+1)
	for i := range many {
		many[i] = engine.ExpectStream{ID: uint16(i), Form: packet.FormShort}
	}
	if _, err := New(engine.Expect{Streams: many}); err == nil {
		t.Error("took too many streams")
	}
	if _, err := New(engine.Expect{Streams: []engine.ExpectStream{{ID: 1, Form: packet.FormFull}, {ID: 1, Form: packet.FormFull}}}); err == nil {
		t.Error("took one id twice")
	}
}

func TestSnapshotIsACopy(t *testing.T) {
	a := newAnalyser(t, 0)
	a.Frame(full(0, 1, 0), 2)
	before := one(t, a)
	a.Frame(full(1, 1, 0), 9)
	if before.Frames != 1 || before.Latency.Count != 1 || before.Order.RD[0] != 1 {
		t.Errorf("a snapshot changed: %+v", before)
	}
}

func TestNoAllocations(t *testing.T) {
	a := newAnalyser(t, 0)
	frames := [][]byte{full(0, 5, 0), full(2, 5, 0), full(1, 5, 0), full(1, 5, 0), udpFrame(make([]byte, 18)), full(3, 5, 0)}
	frames[5][50]++
	ns := int64(10)
	if n := testing.AllocsPerRun(100, func() {
		for _, f := range frames {
			a.Frame(f, ns)
			ns++
		}
	}); n != 0 {
		t.Errorf("%v allocations for %d frames", n, len(frames))
	}
}

func FuzzFrame(f *testing.F) {
	for _, b := range [][]byte{full(1, 2, 0), sigFrame(packet.Signature{Form: packet.FormShort, Run: testRun, Stream: 3}), udpFrame(make([]byte, 30)), {}, make([]byte, 14)} {
		f.Add(b, int64(3))
	}
	f.Fuzz(func(t *testing.T, b []byte, ns int64) {
		for _, e := range []engine.Expect{
			{Learn: true},
			{Run: testRun, Streams: []engine.ExpectStream{{ID: 3, Form: packet.FormFull}}, SrcMACs: [][6]byte{testMAC}, EtherTypes: []uint16{0x800}},
		} {
			a, err := New(e)
			if err != nil {
				t.Fatal(err)
			}
			a.Frame(b, ns)
			a.Frame(b, ns+1)
			r := a.Snapshot()
			if sum := r.Frames + r.Foreign + r.Stale + r.BadStream; sum != 2 {
				t.Fatalf("2 frames are counted as %d: %+v", sum, r)
			}
		}
	})
}

// BenchmarkFrame is one frame in order, the next of 4 MiB of them, as they lie in a receive ring.
func BenchmarkFrame(b *testing.B) {
	const ring = 1 << 16
	frames := make([][]byte, ring)
	for i := range frames {
		frames[i] = full(uint64(i), 5, 0)
	}
	a := newAnalyser(b, 0)
	b.ReportAllocs()
	ns := int64(10)
	for i := range b.N {
		if i%ring == 0 { // the numbers begin again
			b.StopTimer()
			a = newAnalyser(b, 0)
			b.StartTimer()
		}
		a.Frame(frames[i%ring], ns)
		ns += 500
	}
}
