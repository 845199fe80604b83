package program_test

import (
	"bytes"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/wirespeed/wirespeed/internal/packet"
	"github.com/wirespeed/wirespeed/internal/program"
	"github.com/wirespeed/wirespeed/internal/program/programtest"
	"github.com/wirespeed/wirespeed/stream"
	"pgregory.net/rapid"
)

// checkFill holds every byte of Fill against the plain construction, for any streams, queues and place in the sequence.
func checkFill(t *rapid.T) {
	set := programtest.Set(t, 0)
	p, err := program.Compile(set)
	if err != nil {
		t.Fatal(err)
	}
	queues := rapid.IntRange(1, 3).Draw(t, "queues")
	b := program.Binding{Run: rapid.Byte().Draw(t, "run"), IDBase: rapid.Uint16Max(200).Draw(t, "base"), Queues: queues,
		Queue: rapid.IntRange(0, queues-1).Draw(t, "queue"), FirstSeq: rapid.SampledFrom([]uint64{0, 7, 1<<32 - 2, 1<<64 - 3}).Draw(t, "first"),
		TimeKind: rapid.SampledFrom([]byte{packet.TimeNone, packet.TimeFrame, packet.TimeShared}).Draw(t, "kind")}
	for range p.Streams {
		b.LastSeq = append(b.LastSeq, b.FirstSeq+rapid.Uint64Max(9).Draw(t, "last"))
	}
	if err := p.CheckBinding(b); err != nil {
		t.Fatal(err)
	}
	im := p.Bind(b)
	skip := rapid.Uint64Max(1<<40).Draw(t, "skip")
	im.Skip(skip)
	seq := make([]uint64, len(p.Streams))
	for i := range seq {
		seq[i] = b.FirstSeq
	}
	frames := make([]program.Frame, rapid.IntRange(1, 70).Draw(t, "n"))
	for i := range frames {
		frames[i].Buf = dirty()
	}
	stamp := rapid.Uint64().Draw(t, "stamp")
	if n := im.Fill(frames, stamp); n != len(frames) {
		t.Fatalf("Fill wrote %d of %d", n, len(frames))
	}
	for i, f := range frames {
		s, k := turn(p, uint64(b.Queue)+(skip+uint64(i))*uint64(queues))
		want := naive(&set.Streams[s], k, signature(p, b, s, seq[s], stamp, seq[s] == b.LastSeq[s]))
		seq[s]++
		if f.Stream != s || !bytes.Equal(f.Buf[:f.Len], want) {
			t.Fatalf("frame %d: stream %d, k %d\n%s", i, s, k, cmp.Diff(want, f.Buf[:f.Len]))
		}
	}
}

// turn is the stream of the port's frame i and its own index, counted the plain way.
func turn(p *program.Program, i uint64) (s int, k uint64) {
	n := uint64(len(p.Order))
	s = int(p.Order[i%n])
	for j, o := range p.Order {
		if int(o) == s {
			k += i / n
			if uint64(j) < i%n {
				k++
			}
		}
	}
	return s, k
}

func signature(p *program.Program, b program.Binding, s int, seq, stamp uint64, last bool) packet.Signature {
	sig := packet.Signature{Form: p.Streams[s].Form, Run: b.Run, Flags: packet.FlagVersion | b.TimeKind, Stream: b.ID(s), Seq: uint32(seq), Time: stamp}
	if seq == 0 {
		sig.Flags |= packet.FlagFirst
	}
	if last {
		sig.Flags |= packet.FlagLast
	}
	if b.TimeKind == packet.TimeNone {
		sig.Time = 0
	}
	return sig
}

func TestFillIsThePlainConstruction(t *testing.T) { rapid.Check(t, checkFill) }

func FuzzFill(f *testing.F) { f.Fuzz(rapid.MakeFuzz(checkFill)) }

// The modifier table is all that another engine needs: head, values and sums by themselves make the same frame.
func TestTableAloneMakesTheFrame(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		set := &stream.Set{Streams: []stream.Stream{programtest.Stream(t, "a", 0)}}
		p, err := program.Compile(set)
		if err != nil {
			t.Fatal(err)
		}
		s, k := &p.Streams[0], rapid.Uint64().Draw(t, "k")
		j := s.LenIndex(k)
		b := append([]byte{}, s.Heads[j]...)
		b = append(b, s.Tail[:s.Lens[j]-s.HeadLen]...)
		sums := make([]uint64, len(s.Sums))
		for i := range s.Sums {
			sums[i] = uint64(s.Sums[i].Base[j])
		}
		for i := range s.Mods {
			m := &s.Mods[i]
			v := m.Value(k)
			if m.Mask != 0 {
				v = v >> m.Right & m.Mask
			}
			v <<= m.Shift
			if m.Off%2 != 0 || m.Off+m.Width > s.HeadLen || m.Mask == 0 && m.Right != 0 {
				t.Fatalf("row %+v of a head of %d bytes", m, s.HeadLen)
			}
			for n := range m.Width {
				if at := m.Off + m.Width - 1 - n; b[at]&byte(v>>(8*n)) != 0 {
					t.Fatalf("%s: bits of byte %d are not zero in the head", m.Name, at)
				} else {
					b[at] |= byte(v >> (8 * n))
				}
			}
			for n := range sums {
				if m.Sums>>n&1 != 0 {
					sums[n] += v>>32 + v&0xffffffff
				}
			}
		}
		for i, sum := range s.Sums {
			v := ^packet.Fold(sums[i])
			if v == 0 && sum.ZeroIsNone {
				v = 0xffff
			}
			b[sum.Off], b[sum.Off+1] = byte(v>>8), byte(v)
			for n := range sums {
				if sum.Into>>n&1 != 0 {
					sums[n] += uint64(v)
				}
			}
			if sum.Into&(1<<(i+1)-1) != 0 {
				t.Fatalf("sum %d counts in an earlier one: %b", i, sum.Into)
			}
		}
		want := naive(&set.Streams[0], k, packet.Signature{Form: s.Form})
		if !bytes.Equal(b, want) {
			t.Fatalf("k %d:\n%s", k, cmp.Diff(want, b))
		}
	})
}

// N queues together send what one queue sends, but for the signature.
func TestQueuesTogetherAreOne(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		set := programtest.Set(t, 0)
		for i := range set.Streams {
			set.Streams[i].Signature = "none"
		}
		p, err := program.Compile(set)
		if err != nil {
			t.Fatal(err)
		}
		const n = 60
		one := make([]program.Frame, n)
		for i := range one {
			one[i].Buf = make([]byte, 400)
		}
		p.Bind(program.Binding{Queues: 1}).Fill(one, 0)
		queues := rapid.IntRange(1, 5).Draw(t, "queues")
		for q := range queues {
			im := p.Bind(program.Binding{Queue: q, Queues: queues})
			counts := make([]uint64, len(p.Streams))
			for i := q; i < n; i += queues {
				f := []program.Frame{{Buf: make([]byte, 400)}}
				im.Fill(f, 0)
				counts[f[0].Stream]++
				if !bytes.Equal(f[0].Buf[:f[0].Len], one[i].Buf[:one[i].Len]) {
					t.Fatalf("queue %d of %d: frame %d differs", q, queues, i)
				}
			}
			if diff := cmp.Diff(counts, p.Shares(n, q, queues)); diff != "" {
				t.Fatal(diff)
			}
		}
	})
}

func TestFillLast(t *testing.T) {
	a := of("a", []stream.Layer{layer(t, "eth"), layer(t, "ip"), layer(t, "udp", "dstport", inc(1000, 1, 100))}, 64)
	b := of("b", udp4(t), 128)
	im := compile(t, a, b).Bind(program.Binding{Run: 3, IDBase: 10, Queues: 1, TimeKind: packet.TimeFrame})
	for range 5 { // a b a b a
		next(t, im, 1)
	}
	f := program.Frame{Buf: dirty()}
	if !im.FillLast(&f, 0, 99) {
		t.Fatal("no last frame")
	}
	sig, ok := packet.ParseSignature(f.Buf[42:f.Len])
	want := packet.Signature{Form: packet.FormFull, Run: 3, Flags: packet.FlagVersion | packet.TimeFrame | packet.FlagLast, Stream: 10, Seq: 3, Time: 99}
	if !ok || sig != want || f.Len != 60 {
		t.Fatalf("%+v", sig)
	}
	if port := int(f.Buf[36])<<8 | int(f.Buf[37]); port != 1003 {
		t.Fatalf("port %d is not that of the stream's next turn", port)
	}
	if f := next(t, im, 0); seqOf(t, f) != 2 { // b
		t.Fatal(seqOf(t, f))
	}
	if f := next(t, im, 0); seqOf(t, f) != 4 { // a
		t.Fatal(seqOf(t, f))
	}
	two := compile(t, a, b).Bind(program.Binding{Queue: 1, Queues: 2})
	if two.FillLast(&f, 0, 0) || !two.FillLast(&f, 1, 0) {
		t.Fatal("queue 1 of 2 sends stream 1 alone")
	}
}

// seqOf is the sequence number of a UDP frame over IPv4.
func seqOf(t testing.TB, f program.Frame) uint32 {
	t.Helper()
	sig, ok := packet.ParseSignature(f.Buf[42:f.Len])
	if !ok {
		t.Fatal("no signature")
	}
	return sig.Seq
}

func TestFillKeepsAFrameThatDoesNotFit(t *testing.T) {
	im := compile(t, of("a", udp4(t), 64, 128)).Bind(program.Binding{Queues: 1})
	frames := []program.Frame{{Buf: make([]byte, 64)}, {Buf: make([]byte, 64)}}
	if n := im.Fill(frames, 0); n != 1 {
		t.Fatalf("%d frames filled", n)
	}
	if f := next(t, im, 0); f.Len != 124 || seqOf(t, f) != 1 {
		t.Fatalf("length %d, sequence %d", f.Len, seqOf(t, f))
	}
}

// A short buffer in the middle of several streams' frames ends Fill there, and no turn is lost.
func TestFillStopsBetweenStreams(t *testing.T) {
	im := compile(t, of("a", udp4(t), 64), of("b", udp4(t), 128)).Bind(program.Binding{Queues: 1})
	frames := []program.Frame{{Buf: make([]byte, 64)}, {Buf: make([]byte, 128)}, {Buf: make([]byte, 64)}, {Buf: make([]byte, 64)}, {Buf: make([]byte, 128)}}
	if n := im.Fill(frames, 0); n != 3 || frames[2].Stream != 0 || seqOf(t, frames[2]) != 1 {
		t.Fatalf("%d frames filled", n)
	}
	if f := next(t, im, 0); f.Stream != 1 || seqOf(t, f) != 1 {
		t.Fatalf("stream %d, sequence %d", f.Stream, seqOf(t, f))
	}
}

// A program may be shared: neither Bind nor Fill writes into it.
func TestProgramStaysAsItIs(t *testing.T) {
	p, other := busy(t), busy(t)
	im := p.Bind(program.Binding{Run: 9, IDBase: 7, Queues: 1, TimeKind: packet.TimeFrame})
	frames := make([]program.Frame, 40)
	for i := range frames {
		frames[i].Buf = make([]byte, 128)
	}
	im.Fill(frames, 1)
	if diff := cmp.Diff(other.Streams[0].Heads, p.Streams[0].Heads); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(other.Streams[0].Sums, p.Streams[0].Sums); diff != "" {
		t.Error(diff)
	}
}

func TestFillAllocatesNothing(t *testing.T) {
	for _, p := range []*program.Program{busy(t), tunnel(t)} {
		im := p.Bind(program.Binding{Queues: 1, TimeKind: packet.TimeShared})
		frames := make([]program.Frame, 16)
		for i := range frames {
			frames[i].Buf = make([]byte, 2048)
		}
		if n := testing.AllocsPerRun(100, func() { im.Fill(frames, 1) }); n != 0 {
			t.Fatalf("%v allocations", n)
		}
		if n := testing.AllocsPerRun(100, func() { im.FillLast(&frames[0], 0, 1) }); n != 0 {
			t.Fatalf("%v allocations", n)
		}
	}
}

// tunnel has four checksums, one of which covers two others, and a field that no container holds whole.
func tunnel(t testing.TB) *program.Program {
	s := of("a", []stream.Layer{
		layer(t, "eth"), layer(t, "ip", "id", inc(0, 1, 65536)), layer(t, "udp", "srcport", inc(49152, 1, 1000)), layer(t, "vxlan"),
		layer(t, "eth"), layer(t, "ip", "src", inc(0xc6120001, 1, 254)), layer(t, "udp", "dstport", inc(1, 3, 1000)),
	}, 128)
	s.Modify = []stream.PayloadField{{Field: stream.PayloadBits(19, 3, 64), Value: inc(0, 1<<40+1, 1000)}}
	return compile(t, s)
}

// busy has full signature and three modifiers.
func busy(t testing.TB) *program.Program {
	return compile(t, of("a", []stream.Layer{
		layer(t, "eth"), layer(t, "ip", "src", inc(0xc6120001, 1, 254)), layer(t, "udp", "srcport", random(1024, 65535, 1), "dstport", inc(1, 3, 1000)),
	}, 64))
}

// Among all values of a word of the sum there is one for which the checksum comes out as 0: UDP sends 0xffff then
// (RFC 768), and TCP 0.
func TestChecksumZero(t *testing.T) {
	for _, c := range []struct {
		ip, l4 string
		at     int
		want   uint16
	}{{"ip", "udp", 40, 0xffff}, {"ipv6", "udp", 60, 0xffff}, {"ip", "tcp", 50, 0}, {"ipv6", "tcp", 70, 0}} {
		s := of("a", []stream.Layer{layer(t, "eth"), layer(t, c.ip), layer(t, c.l4, "dstport", inc(0, 1, 65536))}, 128)
		im := compile(t, s).Bind(program.Binding{Queues: 1, TimeKind: packet.TimeNone})
		hits := 0
		frames := make([]program.Frame, 64)
		for i := range frames {
			frames[i].Buf = make([]byte, 128)
		}
		for range 1024 {
			im.Fill(frames, 0)
			for _, f := range frames {
				switch sum := uint16(f.Buf[c.at])<<8 | uint16(f.Buf[c.at+1]); sum {
				case c.want:
					hits++
					if l, ok := packet.Walk(f.Buf[:f.Len]); !ok || !packet.VerifyL4(f.Buf[:f.Len], &l) {
						t.Errorf("%s %s: wrong checksum", c.ip, c.l4)
					}
				case ^c.want:
					t.Errorf("%s %s: checksum %#x", c.ip, c.l4, sum)
				}
			}
		}
		if hits == 0 {
			t.Errorf("%s %s: no frame's checksum came out as 0", c.ip, c.l4)
		}
	}
}
