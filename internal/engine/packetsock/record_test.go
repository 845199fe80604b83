package packetsock

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/wirespeed/wirespeed/internal/capture"
	"github.com/wirespeed/wirespeed/internal/engine"
	"github.com/wirespeed/wirespeed/internal/host"
	"github.com/wirespeed/wirespeed/internal/lab/labtest"
	"github.com/wirespeed/wirespeed/internal/lab/need"
	"github.com/wirespeed/wirespeed/internal/pcapio"
	"github.com/wirespeed/wirespeed/internal/program"
	"github.com/wirespeed/wirespeed/stream"
)

// recorded is one frame of a capture.
type recorded struct {
	data   []byte
	orig   int
	merged bool
	timeNs int64
	reason pcapio.Reason // why it cannot be sent at an MTU of 1500
}

// A recordingTest is a receiver that writes what arrives at one end of a pair.
type recordingTest struct {
	*receiver
	spec capture.Spec
}

func startRecording(t *testing.T, p *labtest.Pair, device, netns string, s capture.Spec) *recordingTest {
	t.Helper()
	if s.Path == "" {
		s.Path = filepath.Join(t.TempDir(), "x.pcapng")
	}
	s.RingBytes = 8 << 20
	rec, err := capture.Create(s)
	if err != nil {
		t.Fatal(err)
	}
	e, err := New().OpenReceiver(context.Background(), engine.Target{Device: device, Netns: netns, Text: device}, config(new([]string)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	})
	r := e.(*receiver)
	for _, do := range []func() error{
		func() error { return r.Load(engine.Expect{Learn: true, Capture: true}) }, func() error { return r.Record(rec) }, r.Start,
	} {
		if err := do(); err != nil {
			t.Fatal(err)
		}
	}
	return &recordingTest{r, s}
}

// stop ends the capture and reads what was written.
func (r *recordingTest) stop(t *testing.T) (frames []recorded, got capture.Result) {
	t.Helper()
	if err := r.Stop(); err != nil {
		t.Fatal(err)
	}
	got = r.Recorded()
	if got.Err != nil {
		t.Fatal(got.Err)
	}
	for _, path := range got.Files {
		frames = append(frames, readCapture(t, path)...)
	}
	if uint64(len(frames)) != got.Frames {
		t.Errorf("%d frames in the files, %d counted", len(frames), got.Frames)
	}
	return frames, got
}

func readCapture(t *testing.T, path string) (frames []recorded) {
	t.Helper()
	r, err := pcapio.Open(path, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = r.Close() }()
	for {
		var p pcapio.Packet
		err := r.Next(&p)
		if errors.Is(err, io.EOF) {
			return frames
		}
		if err != nil {
			t.Fatal(err)
		}
		frames = append(frames, recorded{bytes.Clone(p.Data), p.Orig, p.Merged, p.TimeNs, pcapio.Judge(&p, pcapio.Options{MaxFrame: 1518})})
	}
}

// rawSocket sends whole frames from a device.
func rawSocket(t *testing.T, ns *host.NS, device string) (send func(frame []byte)) {
	t.Helper()
	fd := -1
	err := ns.Do(func() error {
		l, err := ns.Link(device)
		if err != nil {
			return err
		}
		fd, err = sendSocket(l.Index, true)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Close(fd) })
	return func(frame []byte) {
		t.Helper()
		if _, err := unix.Write(fd, frame); err != nil {
			t.Fatalf("%d bytes: %v", len(frame), err)
		}
	}
}

// offload switches features of both ends.
func offload(t *testing.T, p *labtest.Pair, features ...string) {
	t.Helper()
	for _, end := range [][2]string{{p.A, p.DevA}, {p.B, p.DevB}} {
		args := append([]string{"netns", "exec", end[0], need.Tool(t, "ethtool"), "-K", end[1]}, features...)
		if out, err := exec.Command(need.Tool(t, "ip"), args...).CombinedOutput(); err != nil {
			t.Fatalf("%v: %v: %s", args, err, out)
		}
	}
}

func setMTU(t *testing.T, p *labtest.Pair, mtu int) {
	t.Helper()
	for _, end := range []struct {
		ns  *host.NS
		dev string
	}{{p.NSA, p.DevA}, {p.NSB, p.DevB}} {
		change(t, end.ns, end.dev, func(l netlink.Link) error { return netlink.LinkSetMTU(l, mtu) })
	}
}

// tagged is a frame of n bytes without FCS with the tags given as TPID and TCI.
func tagged(n int, tags ...[2]uint16) []byte {
	f := []byte{2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1}
	for _, t := range tags {
		f = binary.BigEndian.AppendUint16(f, t[0])
		f = binary.BigEndian.AppendUint16(f, t[1])
	}
	f = append(f, 0x88, 0xb5) // for local experiments (IEEE 802)
	for i := len(f); i < n; i++ {
		f = append(f, byte(i*7))
	}
	return f
}

// TestRecordKeepsVLANTags: whatever the offloads, the file has what was sent.
func TestRecordKeepsVLANTags(t *testing.T) {
	stacks := [][]byte{
		tagged(60), tagged(60, [2]uint16{0x8100, 1}), tagged(64, [2]uint16{0x8100, 0xe000}), tagged(60, [2]uint16{0x88a8, 2}, [2]uint16{0x8100, 3}),
		tagged(60, [2]uint16{0x9100, 4}), tagged(72, [2]uint16{0x88a8, 5}, [2]uint16{0x8100, 6}, [2]uint16{0x8100, 0xf007}), tagged(60, [2]uint16{0x8100, 4095}),
		tagged(1514), tagged(1518, [2]uint16{0x8100, 8}),
	}
	var first []byte
	for _, features := range [][]string{{"txvlan", "on", "rxvlan", "on"}, {"txvlan", "off", "rxvlan", "off"}} {
		p := labtest.TestPair(t, "t-packet", 1)
		offload(t, p, features...)
		r := startRecording(t, p, p.DevB, p.B, capture.Spec{})
		send := rawSocket(t, p.NSA, p.DevA)
		for _, f := range stacks {
			send(f)
		}
		frames, got := r.stop(t)
		if len(frames) != len(stacks) || got.Dropped+got.Merged+got.Cut != 0 {
			t.Fatalf("%v: %d frames, %+v", features, len(frames), got)
		}
		last := int64(0)
		for i, f := range frames {
			if !bytes.Equal(f.data, stacks[i]) || f.orig != len(stacks[i]) {
				t.Errorf("%v: frame %d: %d bytes, orig %d\n% x, sent\n% x", features, i, len(f.data), f.orig, f.data[:40], stacks[i][:40])
			}
			if f.timeNs < last || time.Since(time.Unix(0, f.timeNs)) > time.Minute {
				t.Errorf("frame %d at %d after %d", i, f.timeNs, last)
			}
			last = f.timeNs
		}
		out, err := exec.Command(need.Tool(t, "tshark"), "-r", got.Files[0], "-T", "fields", "-e", "vlan.id", "-e", "frame.len").Output()
		if err != nil {
			t.Fatal(err)
		}
		if first == nil {
			first = out
		}
		if want := "\t60\n1\t60\n0\t64\n"; !bytes.Equal(first, out) || !strings.HasPrefix(string(out), want) {
			t.Errorf("%v: tshark reads\n%s", features, out)
		}
	}
}

// TestRecordSizes: nothing is cut, up to the largest frame.
func TestRecordSizes(t *testing.T) {
	p := labtest.TestPair(t, "t-packet", 1)
	setMTU(t, p, 16110-18)
	r := startRecording(t, p, p.DevB, p.B, capture.Spec{})
	send := rawSocket(t, p.NSA, p.DevA)
	var sent [][]byte
	for _, size := range []int{64, 65, 1518, 1519, 9000, 9014, 9018, 9216, 9728, 16110} {
		sent = append(sent, tagged(size-4))
	}
	sent = append(sent, tagged(1522-4, [2]uint16{0x8100, 1}), tagged(1526-4, [2]uint16{0x88a8, 1}, [2]uint16{0x8100, 2}))
	var bytesSent uint64
	for _, f := range sent {
		send(f)
		bytesSent += uint64(len(f)) + 4
	}
	frames, got := r.stop(t)
	if !slices.EqualFunc(frames, sent, func(f recorded, s []byte) bool { return bytes.Equal(f.data, s) && f.orig == len(s) && !f.merged }) || got.Bytes != bytesSent {
		t.Errorf("%d of %d frames: %+v, %d bytes sent", len(frames), len(sent), got, bytesSent)
	}
}

// TestRecordSnapLen cuts on purpose, and says so.
func TestRecordSnapLen(t *testing.T) {
	p := labtest.TestPair(t, "t-packet", 1)
	r := startRecording(t, p, p.DevB, p.B, capture.Spec{SnapLen: 96})
	send := rawSocket(t, p.NSA, p.DevA)
	send(tagged(60))
	send(tagged(96, [2]uint16{0x8100, 1}))
	send(tagged(97, [2]uint16{0x8100, 1}))
	frames, got := r.stop(t)
	if len(frames) != 3 || got.Cut != 1 || len(frames[1].data) != 96 || len(frames[2].data) != 96 || frames[2].orig != 97 || got.Bytes != 60+96+97+3*4 {
		t.Errorf("%+v, %+v", frames, got)
	}
}

// TestRecordDirections tells what arrives from what this host sends.
func TestRecordDirections(t *testing.T) {
	for d, want := range map[capture.Direction][]int{capture.In: {60}, capture.Out: {80}, capture.Both: {60, 80}} {
		p := labtest.TestPair(t, "t-packet", 1)
		r := startRecording(t, p, p.DevB, p.B, capture.Spec{Direction: d})
		rawSocket(t, p.NSA, p.DevA)(tagged(60))
		rawSocket(t, p.NSB, p.DevB)(tagged(80))
		frames, _ := r.stop(t)
		var got []int
		for _, f := range frames {
			got = append(got, len(f.data))
		}
		if !slices.Equal(got, want) {
			t.Errorf("%v: frames of %v bytes, want %v", d, got, want)
		}
		if s, err := r.Snapshot(); err != nil || s.Foreign != 1 {
			t.Errorf("%v: %d frames analysed, want the one that arrived: %v", d, s.Foreign, err)
		}
	}
}

// TestRecordFilter: no frame from before the filter, and none that it does not take, is written.
func TestRecordFilter(t *testing.T) {
	p := labtest.TestPair(t, "t-packet", 1)
	stop, ended := make(chan struct{}), make(chan struct{})
	send := rawSocket(t, p.NSA, p.DevA)
	go func() {
		defer close(ended)
		for {
			select {
			case <-stop:
				return
			default:
				send(tagged(60))
			}
		}
	}()
	for i := range 3 {
		// ether proto 0x88b6
		filter, err := capture.ParseFilter("4\n40 0 0 12\n21 0 1 34998\n6 0 0 64\n6 0 0 0\n")
		if err != nil {
			t.Fatal(err)
		}
		r := startRecording(t, p, p.DevB, p.B, capture.Spec{Filter: filter})
		f := tagged(200 + i)
		f[13] = 0xb6
		send(f)
		frames, got := r.stop(t)
		if len(frames) != 1 || !bytes.Equal(frames[0].data, f) {
			t.Errorf("%d frames, %+v", len(frames), got)
		}
	}
	close(stop)
	<-ended
}

// TestRecordStopsUnderTraffic: frames that never cease do not hold up the end.
func TestRecordStopsUnderTraffic(t *testing.T) {
	p := labtest.TestPair(t, "t-packet", 1)
	stop, ended := make(chan struct{}), make(chan struct{})
	send := rawSocket(t, p.NSA, p.DevA)
	go func() {
		defer close(ended)
		for {
			select {
			case <-stop:
				return
			default:
				send(tagged(60))
			}
		}
	}()
	r := startRecording(t, p, p.DevB, p.B, capture.Spec{})
	time.Sleep(100 * time.Millisecond)
	at := time.Now()
	frames, got := r.stop(t)
	close(stop)
	<-ended
	if got.Dropped > 0 {
		t.Logf("the machine is busy: %d frames were dropped", got.Dropped)
	}
	if n := len(frames); n == 0 || time.Unix(0, frames[n-1].timeNs).Sub(at) > tailMost/2 {
		t.Errorf("%d frames, and the last one arrived %v after the end", n, time.Unix(0, frames[n-1].timeNs).Sub(at))
	}
}

// TestRecordRefusesFilter: what the kernel does not take is bad input.
func TestRecordRefusesFilter(t *testing.T) {
	p := labtest.TestPair(t, "t-packet", 1)
	rec, err := capture.Create(capture.Spec{Path: filepath.Join(t.TempDir(), "x.pcap"), Filter: []capture.Instruction{{Code: 0xffff}, {Code: 6}}})
	if err != nil {
		t.Fatal(err)
	}
	r, err := New().OpenReceiver(context.Background(), engine.Target{Device: p.DevB, Netns: p.B, Text: p.PortB}, config(new([]string)))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = r.Close() }()
	if err := errors.Join(r.Load(engine.Expect{Learn: true}), r.(capture.Receiver).Record(rec)); err != nil {
		t.Fatal(err)
	}
	if err := r.Start(); !errors.Is(err, engine.ErrInput) {
		t.Errorf("%v", err)
	}
}

// TestRecordRefusesOtherLinks: a tun has packets without Ethernet header.
func TestRecordRefusesOtherLinks(t *testing.T) {
	p := labtest.TestPair(t, "t-packet", 1)
	const name = "tun0"
	err := p.NSB.Do(func() error {
		l := &netlink.Tuntap{LinkAttrs: netlink.LinkAttrs{Name: name}, Mode: netlink.TUNTAP_MODE_TUN}
		if err := netlink.LinkAdd(l); err != nil {
			return err
		}
		return netlink.LinkSetUp(l)
	})
	if err != nil {
		t.Fatal(err)
	}
	err = p.NSB.Do(func() error {
		l, err := p.NSB.Link(name)
		if err != nil {
			return err
		}
		r, err := newRxRing(rxConfig{ifindex: l.Index, blocks: 2, retireMs: retireMs, offloads: true})
		if err == nil {
			r.close()
		}
		return err
	})
	if !errors.Is(err, engine.ErrInput) {
		t.Errorf("%v", err)
	}
}

// TestRecordCountsDrops: what found the ring full is counted, and in the file.
func TestRecordCountsDrops(t *testing.T) {
	p := labtest.TestPair(t, "t-packet", 1)
	r := startRecording(t, p, p.DevB, p.B, capture.Spec{})
	port, _ := openPort(t, p, "")
	plan := sized(t, "", 1518)
	plan.Count = 2 * 8 << 20 / 1518
	r.mu.Lock()
	c, _ := runPlan(t, port, plan)
	r.mu.Unlock()
	frames, got := r.stop(t)
	sent := c.Queues[0].Sent
	if got.Dropped == 0 || got.Frames == 0 || got.Frames+got.Dropped != sent {
		t.Errorf("sent %d: %d frames read, %+v", sent, len(frames), got)
	}
	if s, err := r.Snapshot(); err != nil || s.TesterDrops != got.Dropped {
		t.Errorf("%d drops, %v", s.TesterDrops, err)
	}
	f, err := pcapio.Open(got.Files[0], nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	for p := (pcapio.Packet{}); err == nil; {
		err = f.Next(&p)
	}
	if i := f.Interfaces(); len(i) != 1 || i[0].Received != sent || i[0].Dropped != got.Dropped || i[0].Name != p.DevB {
		t.Errorf("the file says %+v: %+v", i, got)
	}
	out, err := exec.Command(need.Tool(t, "capinfos"), "-cTMr", got.Files[0]).Output()
	if err != nil || !strings.HasSuffix(strings.TrimSpace(string(out)), fmt.Sprintf("\t%d", got.Frames)) {
		t.Errorf("capinfos reads %q, %v: %d frames", out, err, got.Frames)
	}
}

// TestComplete has the answer of RFC 3720 B.4: the CRC of 32 bytes of zeros.
func TestComplete(t *testing.T) {
	frame := make([]byte, 34+32)
	binary.BigEndian.PutUint32(frame[34+8:], 0x12345678)
	if !complete(frame, 34, 8) || binary.LittleEndian.Uint32(frame[34+8:]) != 0x8a9136aa {
		t.Errorf("% x", frame[34:])
	}
	for _, at := range [][2]int{{65, 0}, {60, 6}, {1000, 16}, {60, 8}, {65535, 65535}} {
		if complete(frame, at[0], at[1]) {
			t.Errorf("%v lies inside %d bytes", at, len(frame))
		}
	}
}

// TestReplaySizes: a sequence is sent as it is, up to the largest frame.
func TestReplaySizes(t *testing.T) {
	p := labtest.TestPair(t, "t-packet", 1)
	setMTU(t, p, 16110-18)
	seq := &program.Sequence{Rounds: 3}
	var want [][]byte
	lens := []int{60, 61, 1514, 1515, 9014, 9724, 16106}
	for _, n := range lens {
		f := tagged(n)
		want = append(want, f)
		seq.Frames = append(seq.Frames, program.SequenceFrame{At: len(seq.Bytes), Len: uint16(n)})
		seq.Bytes = append(append(seq.Bytes, f...), make([]byte, -n&7)...)
	}
	r := startRecording(t, p, p.DevB, p.B, capture.Spec{})
	port, _ := openPort(t, p, "")
	prog := &program.Program{Sequence: seq, Streams: []program.Stream{{Name: "replay", Set: &stream.Stream{}, Lens: lens}}}
	c, _ := runPlan(t, port, engine.Plan{Program: prog, Queues: 1, Count: uint64(3 * len(lens))})
	frames, _ := r.stop(t)
	want = slices.Concat(want, want, want)
	if !slices.EqualFunc(frames, want, func(f recorded, w []byte) bool { return bytes.Equal(f.data, w) }) {
		t.Errorf("%d frames arrived, %d were to: %+v", len(frames), len(want), c)
	}
}

// TestRecordFilterOfTags: the kernel has taken the tag off when the filter runs, and only a filter that is made for a device
// asks it for the tag.
func TestRecordFilterOfTags(t *testing.T) {
	for i, args := range [][]string{{"-i", "vb", "vlan 5"}, {"-y", "EN10MB", "vlan 5"}} {
		p := labtest.TestPair(t, "t-packet", 1)
		text, err := exec.Command(need.Tool(t, "ip"), append([]string{"netns", "exec", p.B, need.Tool(t, "tcpdump"), "-ddd"}, args...)...).Output()
		if err != nil {
			t.Fatal(err)
		}
		filter, err := capture.ParseFilter(string(text))
		if err != nil {
			t.Fatal(err)
		}
		r := startRecording(t, p, p.DevB, p.B, capture.Spec{Filter: filter})
		send := rawSocket(t, p.NSA, p.DevA)
		for _, f := range [][]byte{tagged(60), tagged(60, [2]uint16{0x8100, 5}), tagged(60, [2]uint16{0x8100, 6}), tagged(70, [2]uint16{0x88a8, 5}, [2]uint16{0x8100, 7})} {
			send(f)
		}
		frames, got := r.stop(t)
		switch {
		case i == 0 && (len(frames) != 2 || !bytes.Equal(frames[0].data, tagged(60, [2]uint16{0x8100, 5})) || len(frames[1].data) != 70):
			t.Errorf("for a device: %d frames, %+v", len(frames), got)
		case i == 1 && len(frames) != 0:
			t.Errorf("for none: %d frames, %+v", len(frames), got)
		}
	}
}
