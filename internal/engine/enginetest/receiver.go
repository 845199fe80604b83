package enginetest

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/wirespeed/wirespeed/internal/engine"
	"github.com/wirespeed/wirespeed/internal/host"
	"github.com/wirespeed/wirespeed/internal/lab/labtest"
	"github.com/wirespeed/wirespeed/internal/packet"
)

// RunReceiver is the contract of receivers: chosen frames are put on one end of a veth pair, the receiver is at the other.
// prefix begins the namespaces' names.
func RunReceiver(t *testing.T, prefix string, e engine.ReceiverEngine) {
	for _, c := range []struct {
		name string
		test func(*testing.T, *bench)
	}{
		{"sequences", sequences},
		{"classes", classes},
		{"tags and lengths", tagsAndLengths},
		{"times", times},
		{"short signature", shortSignature},
		{"without signature", withoutSignature},
		{"learn", learn},
		{"passes on what is not the run's", passesOn},
		{"receiver twice in a row", receiverTwice},
		{"receiver order of calls", receiverOrder},
	} {
		t.Run(c.name, func(t *testing.T) { c.test(t, newBench(t, prefix, e)) })
	}
}

// bench is a pair with a raw socket at one end.
type bench struct {
	*labtest.Pair
	loop Loop
	fd   int
}

func newBench(t *testing.T, prefix string, e engine.ReceiverEngine) *bench {
	t.Helper()
	b := &bench{Pair: labtest.TestPair(t, prefix, 1)}
	b.loop = Loop{Rx: e, RxTarget: engine.Target{Device: b.DevB, Netns: b.B, Text: b.PortB}}
	b.fd = rawSocket(t, b.NSA, b.DevA, 0)
	return b
}

// rawSocket is bound to a device; with protocol 0 it receives nothing.
func rawSocket(t testing.TB, ns *host.NS, device string, protocol uint16) (fd int) {
	t.Helper()
	l, err := ns.Link(device)
	if err != nil {
		t.Fatal(err)
	}
	err = ns.Do(func() (err error) {
		if fd, err = unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC, 0); err != nil {
			return err
		}
		return unix.Bind(fd, &unix.SockaddrLinklayer{Protocol: protocol<<8 | protocol>>8, Ifindex: l.Index})
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Close(fd) })
	return fd
}

// put sends frames; one that the device had no room for is sent again.
func (b *bench) put(t *testing.T, frames ...[]byte) {
	t.Helper()
	for _, f := range frames {
		for end := time.Now().Add(patience); ; {
			_, err := unix.Write(b.fd, f)
			if err == nil {
				break
			}
			if !errors.Is(err, unix.ENOBUFS) && !errors.Is(err, unix.EINTR) || time.Now().After(end) {
				t.Fatal(err)
			}
		}
	}
}

// watch receives what is put meanwhile and returns the final counts, when all frames have been seen. What it puts is far
// less than any ring holds: a receiver that drops of it in every one of three attempts is wrong.
func (b *bench) watch(t *testing.T, e engine.Expect, frames [][]byte) (got engine.Received) {
	t.Helper()
	for range 3 {
		t.Run("watch", func(t *testing.T) { got = b.watchOnce(t, e, frames) })
		if got.TesterDrops == 0 {
			break
		}
	}
	if n := got.Frames + got.Foreign + got.Stale + got.BadStream; n != uint64(len(frames)) {
		t.Fatalf("%d frames were put on the wire, %d seen, %d dropped: %+v", len(frames), n, got.TesterDrops, got)
	}
	return got
}

func (b *bench) watchOnce(t *testing.T, e engine.Expect, frames [][]byte) engine.Received {
	t.Helper()
	r := b.loop.receive(t, e)
	b.put(t, frames...)
	for end := time.Now().Add(time.Second); time.Now().Before(end); time.Sleep(time.Millisecond) {
		s, err := r.Snapshot()
		if err != nil {
			t.Fatal(err)
		}
		if s.Frames+s.Foreign+s.Stale+s.BadStream+s.TesterDrops >= uint64(len(frames)) {
			break
		}
	}
	if err := r.Stop(); err != nil {
		t.Fatal(err)
	}
	got, err := r.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// udp is an Ethernet, IPv4 and UDP frame with right checksums around a payload.
func udp(payload []byte) []byte {
	f := make([]byte, max(60, 42+len(payload)))
	copy(f, []byte{2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 8, 0})
	ip := f[14:34]
	copy(ip, []byte{0x45, 0, 0, 0, 0, 0, 0, 0, 1, 17, 0, 0, 198, 18, 0, 1, 198, 19, 0, 1})
	binary.BigEndian.PutUint16(ip[2:], uint16(28+len(payload)))
	binary.BigEndian.PutUint16(ip[10:], ^packet.Fold(packet.Sum(0, ip)))
	u := f[34 : 42+len(payload)]
	copy(u, []byte{0, 9, 0, 9})
	binary.BigEndian.PutUint16(u[4:], uint16(len(u)))
	copy(u[8:], payload)
	c := ^packet.Fold(packet.Sum(packet.PseudoSum(ip[12:20], 17, len(u)), u))
	binary.BigEndian.PutUint16(u[6:], max(c, 1)) // 0 would mean none; it is as good as any wrong one
	if c == 0 {
		binary.BigEndian.PutUint16(u[6:], 0xffff)
	}
	return f
}

func signed(s packet.Signature, more ...byte) []byte {
	b := make([]byte, s.Form.Len(), s.Form.Len()+len(more))
	s.Put(b)
	return udp(append(b, more...))
}

// full is the signature of stream id 10.
func full(seq uint64, flags uint8) packet.Signature {
	return packet.Signature{Form: packet.FormFull, Run: testRun, Flags: packet.FlagVersion | flags, Stream: idBase, Seq: uint32(seq)}
}

func expectOne(first uint64) engine.Expect {
	return engine.Expect{Run: testRun, Streams: []engine.ExpectStream{{ID: idBase, Form: packet.FormFull, First: first}}}
}

func sequences(t *testing.T, b *bench) {
	const (
		wrap = 1 << 32
		w    = engine.WindowSize
	)
	type want struct{ frames, dup, reordered, late, badSeq, next, lostFirst uint64 }
	for _, c := range []struct {
		name  string
		first uint64
		seqs  []uint64
		want  want
	}{
		{"in order", 0, []uint64{0, 1, 2, 3}, want{frames: 4, next: 4}},
		{"the head is lost", 1, []uint64{6, 7, 8, 9, 10}, want{frames: 5, next: 11, lostFirst: 5}},
		{"the head is lost but for two that are late", 1, []uint64{6, 7, 3, 4, 3}, want{frames: 4, dup: 1, reordered: 2, next: 8, lostFirst: 2}},
		{"a hole", 1, []uint64{1, 3, 4, 5}, want{frames: 4, next: 6}},
		{"a duplicate", 1, []uint64{1, 2, 3, 2}, want{frames: 3, dup: 1, next: 4}},
		{"reordered and twice again", 1, []uint64{1, 3, 2, 3, 2}, want{frames: 3, dup: 2, reordered: 1, next: 4}},
		{"RFC 4737", 1, []uint64{1, 2, 3, 5, 6, 7, 8, 4, 9, 10}, want{frames: 10, reordered: 1, next: 11}},
		{"RFC 5236", 1, []uint64{1, 4, 2, 5, 3, 6, 7, 8}, want{frames: 8, reordered: 2, next: 9}},
		{"wrap", wrap - 2, []uint64{wrap - 2, wrap - 1, wrap, wrap + 1}, want{frames: 4, next: wrap + 2}},
		{"swap across the wrap", wrap - 2, []uint64{wrap - 2, wrap, wrap - 1, wrap + 1}, want{frames: 4, reordered: 1, next: wrap + 2}},
		{"below the first", 100, []uint64{100, 99}, want{frames: 1, badSeq: 1, next: 101}},
		{"a jump of 2^30", 0, []uint64{0, engine.MaxJump, 1}, want{frames: 2, badSeq: 1, next: 2}},
		{"a jump just below", 0, []uint64{0, engine.MaxJump - 1}, want{frames: 2, next: engine.MaxJump}},
		{"older than the window", 0, []uint64{0, w, 0}, want{frames: 2, late: 1, next: w + 1}},
		{"just in the window", 0, []uint64{5, w - 100, 7, 5}, want{frames: 3, dup: 1, reordered: 1, next: w - 99, lostFirst: 5}},
		{"the window moves far", 0, []uint64{0, 1, 3 * w, 3*w - 5, 3*w - 5, 3*w + 1, 1}, want{frames: 5, dup: 1, reordered: 1, late: 1, next: 3*w + 2}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var frames [][]byte
			for _, s := range c.seqs {
				frames = append(frames, signed(full(s, 0)))
			}
			got := b.watch(t, expectOne(c.first), frames)
			if len(got.Streams) != 1 {
				t.Fatalf("got %+v", got)
			}
			s := got.Streams[0]
			if is := (want{s.Frames, s.Duplicate, s.Reordered, s.Late, s.BadSeq, s.Next, s.LostFirst}); is != c.want || s.Corrupt != 0 {
				t.Errorf("%v: got %+v, want %+v", c.seqs, is, c.want)
			}
		})
	}
}

func classes(t *testing.T, b *bench) {
	wrongSum := signed(full(1, 0))
	wrongSum[50]++
	shortIP := signed(full(2, 0))
	binary.BigEndian.PutUint16(shortIP[16:], 40)
	longIP := signed(full(3, 0))
	binary.BigEndian.PutUint16(longIP[16:], 400)
	longUDP := signed(full(4, 0))
	binary.BigEndian.PutUint16(longUDP[38:], 300)
	stale, badStream := full(0, 0), full(0, 0)
	stale.Run++
	badStream.Stream = idBase + 7
	noSum := signed(full(5, 0))
	noSum[40], noSum[41] = 0, 0
	got := b.watch(t, expectOne(0), [][]byte{
		signed(full(0, 0)), wrongSum, shortIP, longIP, longUDP, signed(stale), signed(badStream), udp(make([]byte, 18)), udp([]byte{1}), noSum,
		signed(full(6, packet.FlagLast)),
	})
	if got.Frames != 7 || got.Bytes != 7*64 || got.Stale != 1 || got.BadStream != 1 || got.Foreign != 2 || len(got.Streams) != 1 {
		t.Fatalf("got %+v", got)
	}
	if s := got.Streams[0]; s.Frames != 3 || s.Corrupt != 4 || !s.LastSeen || s.LastSeq != 6 || s.Next != 7 || s.Bytes != 3*64 {
		t.Errorf("got %+v, want 3 whole and 4 corrupt, the last number 6", s)
	}
}

func tagsAndLengths(t *testing.T, b *bench) {
	var frames [][]byte
	var bytes uint64
	tags := [][]byte{nil, {0x81, 0, 0x20, 100}, {0x88, 0xa8, 0, 5, 0x81, 0, 0, 6}, {0x81, 0, 0, 5, 0x81, 0, 0, 6}}
	for i, tag := range tags {
		for j, more := range []int{0, 1, 2, 63, 500, 1400} {
			f := signed(full(uint64(len(frames)), 0), make([]byte, more)...)
			for k := range more {
				f[60+k] = byte(i + j + k)
			}
			f = signedPayload(f)
			frames = append(frames, append(append(append([]byte{}, f[:12]...), tag...), f[12:]...))
			bytes += uint64(len(frames[len(frames)-1]) + 4)
		}
	}
	got := b.watch(t, expectOne(0), frames)
	if len(got.Streams) != 1 || got.Streams[0].Frames != uint64(len(frames)) || got.Streams[0].Bytes != bytes {
		t.Errorf("%d frames, %d bytes with and without tags were sent, got %+v", len(frames), bytes, got)
	}
}

// signedPayload makes the checksum of an untagged frame anew.
func signedPayload(f []byte) []byte { return udp(f[42:]) }

func times(t *testing.T, b *bench) {
	var frames [][]byte
	for i := range 10 {
		s := full(uint64(i), packet.TimeFrame)
		s.Time = uint64(host.Monotonic())
		frames = append(frames, signed(s))
	}
	from := host.Monotonic()
	got := b.watch(t, expectOne(0), frames)
	to := host.Monotonic()
	const slack = int64(20 * time.Microsecond) // of the clocks
	if got.FirstNs < from-slack || got.LastNs > to+slack || got.LastNs < got.FirstNs {
		t.Errorf("arrived from %d to %d, sent from %d to %d: not on CLOCK_MONOTONIC", got.FirstNs, got.LastNs, from, to)
	}
	if got.Clock == "" {
		t.Error("the receiver does not say what its clock is")
	}
	l := got.Streams[0].Latency
	if l == nil || l.Count != 10 || l.Negative != 0 || l.Max > uint64(to-from)+uint64(2*time.Second) {
		t.Errorf("latency %+v", l)
	}
	if g := got.Streams[0].Gap; g != nil && (g.Count != 9 || g.Max > uint64(to-from)+uint64(slack)) {
		t.Errorf("gaps %d, the largest %d", g.Count, g.Max)
	}
}

func shortSignature(t *testing.T, b *bench) {
	var frames [][]byte
	for _, seq := range []uint32{0, 2, 1, 1} {
		frames = append(frames, signed(packet.Signature{Form: packet.FormShort, Run: testRun, Stream: 200, Seq: seq}))
	}
	got := b.watch(t, engine.Expect{Run: testRun, Streams: []engine.ExpectStream{{ID: 200, Form: packet.FormShort}}}, frames)
	if len(got.Streams) != 1 || got.Streams[0].Frames != 3 || got.Streams[0].Duplicate != 1 || got.Streams[0].Reordered != 1 || got.Streams[0].Latency != nil || got.Streams[0].LastSeen {
		t.Errorf("got %+v", got.Streams)
	}
}

func withoutSignature(t *testing.T, b *bench) {
	ours := udp(make([]byte, 100))
	tagged := append(append(append([]byte{}, ours[:12]...), 0x81, 0, 0, 6), ours[12:]...)
	other := udp(make([]byte, 18))
	other[11] = 99
	got := b.watch(t, engine.Expect{SrcMACs: [][6]byte{{2, 0, 0, 0, 0, 1}}, EtherTypes: []uint16{0x0800}}, [][]byte{ours, tagged, other, ours})
	if got.Frames != 3 || got.Bytes != 2*146+150 || got.Foreign != 1 || len(got.Streams) != 0 {
		t.Errorf("got %+v", got)
	}
}

func learn(t *testing.T, b *bench) {
	other := full(0, 0)
	other.Run++
	second := full(0, 0)
	second.Stream = 3
	got := b.watch(t, engine.Expect{Learn: true}, [][]byte{udp(make([]byte, 18)), signed(full(0, 0)), signed(full(1, packet.FlagLast)), signed(other), signed(second)})
	if !got.RunKnown || got.Run != testRun || got.Stale != 1 || got.Foreign != 1 || got.Frames != 3 || len(got.Streams) != 2 || got.Streams[0].ID != 3 || got.Streams[1].Frames != 2 || !got.Streams[1].LastSeen {
		t.Errorf("got %+v", got)
	}
}

// passesOn looks with a socket at what the kernel gets to see behind the receiver.
func passesOn(t *testing.T, b *bench) {
	fd := rawSocket(t, b.NSB, b.DevB, unix.ETH_P_ALL)
	if err := unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &unix.Timeval{Usec: 200000}); err != nil {
		t.Fatal(err)
	}
	var frames [][]byte
	for i := range 20 {
		f := udp(make([]byte, 18))
		f[59] = byte(i) + 1 // in the padding behind UDP's end: nothing of it is a checksum's
		frames = append(frames, f, signed(full(uint64(i), 0)))
	}
	if got := b.watch(t, expectOne(0), frames); got.Foreign != 20 || got.Frames != 20 {
		t.Errorf("got %+v", got)
	}
	seen := 0
	for buf := make([]byte, 2048); ; {
		n, err := unix.Read(fd, buf)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil {
			break
		}
		if _, ok := packet.ParseSignature(buf[42:n]); !ok {
			seen++
		}
	}
	if seen != 20 {
		t.Errorf("the kernel saw %d of 20 frames that are not the run's", seen)
	}
}

func receiverTwice(t *testing.T, b *bench) {
	for i := range 2 {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			r := b.loop.receive(t, expectOne(0))
			if err := r.Stop(); err != nil {
				t.Error(err)
			}
			if err := r.Load(expectOne(0)); err != nil {
				t.Fatal(err)
			}
			if err := r.Start(); err != nil {
				t.Fatal(err)
			}
			b.put(t, signed(full(0, packet.FlagLast)))
			for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(time.Millisecond) {
				if s, err := r.Snapshot(); err != nil || s.Frames > 0 {
					break
				}
			}
			if err := r.Stop(); err != nil {
				t.Error(err)
			}
			first, err := r.Snapshot()
			if err != nil || first.Frames != 1 {
				t.Fatalf("got %+v, %v", first, err)
			}
			b.put(t, signed(full(1, 0)))
			time.Sleep(30 * time.Millisecond)
			if again, err := r.Snapshot(); err != nil || again.Frames != 1 {
				t.Errorf("after the stop it still counts: %+v, %v", again, err)
			}
		})
	}
}

func receiverOrder(t *testing.T, b *bench) {
	r, err := b.loop.Rx.OpenReceiver(context.Background(), b.loop.RxTarget, b.loop.config(t))
	if err != nil {
		t.Fatal(err)
	}
	if r.Start() == nil {
		t.Error("started before anything was loaded")
	}
	if err := r.Stop(); err != nil {
		t.Errorf("stop without a start: %v", err)
	}
	if err := r.Close(); err != nil {
		t.Errorf("close without a start: %v", err)
	}
	missing := b.loop.RxTarget
	missing.Device = "nosuchdev0"
	if _, err := b.loop.Rx.ProbeReceive(context.Background(), missing); err == nil {
		t.Error("found a device that does not exist")
	}
}
