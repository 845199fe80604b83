package replay

import (
	"bytes"
	"context"
	"encoding/binary"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/wirespeed/wirespeed/internal/lab/need"
	"github.com/wirespeed/wirespeed/internal/packet"
	"github.com/wirespeed/wirespeed/internal/program"
	"github.com/wirespeed/wirespeed/stream"
)

const second = int64(1e9)

func dues(c *Capture) (all []uint64) {
	for _, f := range c.Program.Sequence.Frames {
		all = append(all, f.Due)
	}
	return all
}

func TestRecordedGaps(t *testing.T) {
	const start = 1_700_000_000 * second
	at := func(times ...int64) (r []record) {
		for _, ns := range times {
			r = append(r, record{ns: start + ns, data: udp4(40)})
		}
		return r
	}
	for name, x := range map[string]struct {
		flags     stream.ReplayFlags
		times     []int64
		want      []uint64
		period    uint64
		backwards uint64
	}{
		"recorded":      {stream.ReplayFlags{}, []int64{0, 1000, 4001}, []uint64{0, 1000, 4001}, 6001, 0},
		"twice as fast": {stream.ReplayFlags{Speed: "2"}, []int64{0, 1000, 4000}, []uint64{0, 500, 2000}, 3000, 0},
		"half as fast":  {stream.ReplayFlags{Speed: "0.5"}, []int64{0, 1000}, []uint64{0, 2000}, 4000, 0},
		"three times":   {stream.ReplayFlags{Speed: "3"}, []int64{0, 10, 20, 30}, []uint64{0, 3, 6, 10}, 13, 0},
		"equal":         {stream.ReplayFlags{}, []int64{5, 5, 5}, []uint64{0, 0, 0}, 0, 0},
		"out of order":  {stream.ReplayFlags{}, []int64{0, 10, 5, 12}, []uint64{0, 10, 10, 12}, 16, 1},
		"set back":      {stream.ReplayFlags{}, []int64{3600 * second, 3600*second + 10, 0, 7}, []uint64{0, 10, 10, 17}, 22, 1},
		"max gap":       {stream.ReplayFlags{MaxGap: "1us"}, []int64{0, 500, 9000, 9500}, []uint64{0, 500, 1500, 2000}, 2666, 0},
		"30 years":      {stream.ReplayFlags{MaxGap: "1ms"}, []int64{0, 30 * 365 * 86400 * second}, []uint64{0, 1e6}, 2e6, 0},
		"limit":         {stream.ReplayFlags{Limit: "2"}, []int64{0, 10, 20}, []uint64{0, 10}, 20, 0},
	} {
		_, c := replayed(t, stream.Flags{}, x.flags, at(x.times...)...)
		f := c.Facts()
		if got := dues(c); !slices.Equal(got, x.want) || c.Program.Sequence.Period != x.period || f.Backwards != x.backwards {
			t.Errorf("%s: due %d, period %d, %d backwards; want %+v", name, got, c.Program.Sequence.Period, f.Backwards, x)
		}
	}
	r := set(t, stream.Flags{}, stream.ReplayFlags{PCAP: write(t, pcapBytes(linkEthernet, at(0, 2*365*86400*second)...))})
	if bad := refusal(t, r, Limits{}); !strings.Contains(bad.Message, "730.0 days before packet 2") && !strings.Contains(bad.Message, "years before packet 2") || !strings.Contains(bad.Mend, "--max-gap") {
		t.Error(bad)
	}
	// With a rate the gaps do not matter.
	r = set(t, stream.Flags{Rate: "1kpps"}, stream.ReplayFlags{PCAP: r.File})
	open(t, r, Limits{})
}

// What cannot be sent is refused with numbers and reasons, or left out and counted.
func TestSkips(t *testing.T) {
	big := udp4(1600)
	records := []record{{data: udp4(40)}, {data: udp4(40)[:50], orig: 82}, {data: nil}, {data: udp4(40)[:13]}, {data: udp4(40)[:45]}, {data: big}, {data: udp4(40)[:50], orig: 82}}
	file := write(t, pcapBytes(linkEthernet, records...))
	l := Limits{MaxFrame: 1518, MaxTag: 4, Port: "port"}
	bad := refusal(t, set(t, stream.Flags{}, stream.ReplayFlags{PCAP: file}), l)
	for _, want := range []string{"6 of 7 packets", "2 truncated (packets 2, 7", "too_short", "bytes with FCS, and Ethernet has at least 64)", "1 too_long (packet 6: 1646 bytes with FCS, more than the 1518 that port"} {
		if !strings.Contains(bad.Message, want) {
			t.Errorf("%q lacks %q", bad.Message, want)
		}
	}
	for _, want := range []string{"--pad", "--allow-skip", "MTU"} {
		if !strings.Contains(bad.Mend, want) {
			t.Errorf("mend %q lacks %q", bad.Mend, want)
		}
	}
	c := open(t, set(t, stream.Flags{}, stream.ReplayFlags{PCAP: file, AllowSkip: true}), l)
	if f := c.Facts(); f.Frames != 1 || f.Packets != 7 || f.SkippedFrames() != 6 {
		t.Errorf("%+v", f)
	}
	c = open(t, set(t, stream.Flags{}, stream.ReplayFlags{PCAP: file, AllowSkip: true, Pad: "random"}), l)
	if f := c.Facts(); f.Frames != 4 || f.Padded != 3 {
		t.Errorf("with --pad %+v", f)
	}
	for _, b := range frames(c)[1:2] {
		if l, _ := packet.Walk(b); len(b) != 82 || l.BadLength {
			t.Errorf("padded to %d bytes, lengths wrong %v", len(b), l.BadLength)
		}
	}
}

func TestNoCapture(t *testing.T) {
	whole := pcapBytes(linkEthernet, record{data: udp4(40)}, record{data: udp4(40)})
	for name, x := range map[string]struct {
		data []byte
		want string
	}{
		"empty": {nil, ""}, "23 bytes": {whole[:23], ""}, "no packets": {whole[:24], "no packets"}, "text": {[]byte(strings.Repeat("hello ", 20)), ""},
	} {
		bad := refusal(t, set(t, stream.Flags{}, stream.ReplayFlags{PCAP: write(t, x.data)}), Limits{})
		if !strings.Contains(bad.Message, x.want) {
			t.Errorf("%s: %v", name, bad)
		}
	}
	c := open(t, set(t, stream.Flags{}, stream.ReplayFlags{PCAP: write(t, whole[:len(whole)-10])}), Limits{})
	if f := c.Facts(); f.Frames != 1 || !strings.Contains(f.Damage, "packet 1") {
		t.Errorf("cut: %d frames, %q", f.Frames, f.Damage)
	}
	bogus := bytes.Clone(whole)
	copy(bogus[24+8:], []byte{255, 255, 255, 255})
	if bad := refusal(t, set(t, stream.Flags{}, stream.ReplayFlags{PCAP: write(t, bogus)}), Limits{}); bad.Message == "" {
		t.Error("a length beyond any packet was taken")
	}
	for _, path := range []string{"/nowhere.pcap", t.TempDir()} {
		refusal(t, set(t, stream.Flags{}, stream.ReplayFlags{PCAP: path}), Limits{})
	}
}

// many is a capture of n frames of different lengths and contents.
func many(n int) []byte {
	var records []record
	for i := range n {
		b := udp4(18 + i%700)
		binary.BigEndian.PutUint32(b[42:], uint32(i))
		mend(b)
		records = append(records, record{ns: int64(i) * 1000, data: b})
	}
	return pcapBytes(linkEthernet, records...)
}

// drain takes everything from a source, and gives its frames and dues.
func drain(t *testing.T, s program.Source, most time.Duration) (all [][]byte, due []uint64) {
	t.Helper()
	for end := time.Now().Add(most); ; {
		q, state := s.Next()
		switch state {
		case program.SourceEnd:
			return all, due
		case program.SourceLater:
			if time.Now().After(end) {
				t.Fatal("the source does not end")
			}
			time.Sleep(50 * time.Microsecond)
			continue
		}
		if q.Rounds != 1 || len(q.Frames) == 0 {
			t.Fatalf("a piece of %d rounds and %d frames", q.Rounds, len(q.Frames))
		}
		for _, f := range q.Frames {
			if f.At%8 != 0 {
				t.Fatalf("a frame at %d", f.At)
			}
			all, due = append(all, bytes.Clone(q.Bytes[f.At:f.At+int(f.Len)])), append(due, f.Due)
		}
	}
}

// A capture that is read while it is sent gives the same frames at the same times as one that is preloaded, in every round.
func TestStreamedIsPreloaded(t *testing.T) {
	file := write(t, many(20000))
	flags := stream.Flags{SrcIP: "inc(198.18.0.1,1,200)"}
	pre := open(t, set(t, flags, stream.ReplayFlags{PCAP: file, Loop: "2"}), Limits{})
	str := open(t, set(t, flags, stream.ReplayFlags{PCAP: file, Loop: "2", Preload: "false"}), Limits{})
	if !pre.Preloaded() || str.Preloaded() || !str.Scanned || str.Program.Sequence != nil || str.Facts().Frames != 20000 {
		t.Fatalf("%+v", str)
	}
	once := frames(pre)
	got, due := drain(t, str.Program.Source, 10*time.Second)
	if !slices.EqualFunc(got, append(slices.Clone(once), once...), bytes.Equal) {
		t.Fatalf("%d frames, want twice %d, or bytes differ", len(got), len(once))
	}
	first, period := dues(pre), pre.Program.Sequence.Period
	for i, d := range due {
		if want := first[i%20000] + period*uint64(i/20000); d != want {
			t.Fatalf("frame %d due at %d, want %d", i, d, want)
		}
	}
	if err := str.Err(); err != nil {
		t.Error(err)
	}
}

func TestNextAllocatesNothing(t *testing.T) {
	c := open(t, set(t, stream.Flags{}, stream.ReplayFlags{PCAP: write(t, many(5000)), Loop: "0", Preload: "false"}), Limits{})
	for range 20 {
		c.Program.Source.Next()
		time.Sleep(time.Millisecond)
	}
	if n := testing.AllocsPerRun(1000, func() { c.Program.Source.Next() }); n > 0.5 { // a new round opens the file, elsewhere
		t.Errorf("%v allocations", n)
	}
}

// Close ends the goroutine, whoever waits for what.
func TestCloseEndsReading(t *testing.T) {
	before := runtime.NumGoroutine()
	file := write(t, many(50000))
	for range 5 {
		c, err := Open(t.Context(), set(t, stream.Flags{}, stream.ReplayFlags{PCAP: file, Loop: "0", Preload: "false"}), Limits{})
		if err != nil {
			t.Fatal(err)
		}
		c.Program.Source.Next()
		if err := c.Close(); err != nil {
			t.Fatal(err)
		}
	}
	for range 100 {
		if runtime.NumGoroutine() <= before {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Errorf("%d goroutines, %d before", runtime.NumGoroutine(), before)
}

// A pipe is sent as it comes: frames leave before the writer is done, and it ends at the first packet that cannot be sent.
func TestPipe(t *testing.T) {
	reader, writer := io.Pipe()
	defer reader.Close()
	data := pcapBytes(linkEthernet, record{data: udp4(40)}, record{ns: 5, data: udp4(41)}, record{data: udp4(40)[:50], orig: 82}, record{data: udp4(40)})
	cut := 24 + 16 + 82
	go func() { _, _ = writer.Write(data[:cut]) }()
	r := set(t, stream.Flags{}, stream.ReplayFlags{PCAP: "-"})
	c := open(t, r, Limits{Stdin: reader, MaxFrame: 1518})
	if c.Scanned || c.Preloaded() || c.Err() != nil {
		t.Fatalf("%+v", c)
	}
	if q, state := c.Program.Source.Next(); state != program.SourceReady || len(q.Frames) != 1 {
		t.Fatalf("the first frame is not there: %v", state)
	}
	if _, state := c.Program.Source.Next(); state != program.SourceLater {
		t.Fatalf("state %v", state)
	}
	go func() { _, _ = writer.Write(data[cut:]); _ = writer.Close() }()
	got, due := drain(t, c.Program.Source, 5*time.Second)
	if len(got) != 1 || due[0] != 5 {
		t.Errorf("%d more frames", len(got))
	}
	if err := c.Err(); err == nil || !strings.Contains(err.Error(), "packet 3 cannot be sent (truncated") {
		t.Error(err)
	}
	for _, r := range []stream.ReplayFlags{{PCAP: "-", Loop: "3"}, {PCAP: "-", Loop: "0"}} {
		if _, err := stream.FromReplayFlags(stream.Flags{}, r); err == nil || !strings.Contains(err.Error(), "--loop") {
			t.Error(err)
		}
	}
	pre := open(t, set(t, stream.Flags{}, stream.ReplayFlags{PCAP: "-", Loop: "3", Preload: "true"}), Limits{Stdin: bytes.NewReader(many(100))})
	if len(frames(pre)) != 100 || pre.Rounds() != 3 {
		t.Error("a preloaded pipe is not whole")
	}
	refusal(t, set(t, stream.Flags{}, stream.ReplayFlags{PCAP: "-"}), Limits{Stdin: strings.NewReader("no capture at all, but text")})
	refusal(t, set(t, stream.Flags{}, stream.ReplayFlags{PCAP: "-"}), Limits{Stdin: bytes.NewReader(many(0))})
}

func TestOpenEndsWithItsContext(t *testing.T) {
	reader, writer := io.Pipe()
	defer writer.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if _, err := Open(ctx, set(t, stream.Flags{}, stream.ReplayFlags{PCAP: "-"}), Limits{Stdin: reader}); err == nil {
		t.Error("a pipe that says nothing was opened")
	}
}

// Signatures go where there is room, and the checksum that their numbers give is right.
func TestSignature(t *testing.T) {
	none := udp4(40)
	none[40], none[41] = 0, 0
	spoilt := udp4(40)
	spoilt[50] ^= 1
	records := []record{{data: udp4(40)}, {data: udp4(18)}, {data: append(udp4(17), 0)}, {data: none}, {data: spoilt}, {data: udp4(1)}}
	for i := range records {
		records[i].data = append(records[i].data, make([]byte, max(0, 60-len(records[i].data)))...)
	}
	for form, want := range map[string][]bool{"full": {true, true, false, true, false, false}, "short": {true, true, true, true, false, false}} {
		out, c := replayed(t, stream.Flags{Signature: form}, stream.ReplayFlags{}, records...)
		if len(c.Program.Streams) != 2 || c.Program.Streams[0].Form.String() != form || c.Program.Streams[1].Form != packet.FormNone {
			t.Fatalf("%+v", c.Program.Streams)
		}
		for i, b := range out {
			f := c.Program.Sequence.Frames[i]
			if (f.Sig > 0) != want[i] || (f.Stream == 0) != want[i] {
				t.Errorf("%s, frame %d: signature at %d, stream %d", form, i, f.Sig, f.Stream)
				continue
			}
			if f.Sig == 0 {
				if !bytes.Equal(b, records[i].data) {
					t.Errorf("frame %d was changed", i)
				}
				continue
			}
			s := packet.Signature{Form: c.Program.Streams[0].Form, Run: 7, Flags: packet.FlagVersion, Stream: 3, Seq: 0x12345678, Time: 0x1122334455667788}
			sig := make([]byte, s.Form.Len())
			s.Put(sig)
			copy(b[f.Sig:], sig)
			sig[0], sig[1] = 0, 0 // the magic is in Base
			if f.Sum > 0 {
				v := ^packet.Fold(packet.Sum(uint64(f.Base), sig))
				if v == 0 && f.ZeroIsNone {
					v = 0xffff
				}
				binary.BigEndian.PutUint16(b[f.Sum:], v)
			}
			if !right(b) {
				t.Errorf("%s, frame %d: wrong checksum", form, i)
			}
		}
	}
	_, c := replayed(t, stream.Flags{Signature: "full"}, stream.ReplayFlags{}, records[5])
	if len(c.Program.Streams) != 1 || c.Program.Streams[0].Form != packet.FormNone {
		t.Errorf("%+v", c.Program.Streams)
	}
}

func TestFactsForReceivers(t *testing.T) {
	other := udp4(40)
	copy(other[6:], []byte{2, 0, 0, 0, 0, 7})
	_, c := replayed(t, stream.Flags{}, stream.ReplayFlags{}, record{data: udp4(40)}, record{data: tag(append(make([]byte, 0, 200), other...), 1)}, record{data: udp4(40)})
	f := c.Facts()
	if !slices.Equal(f.SrcMACs, [][6]byte{{2, 0, 0, 0, 0, 1}, {2, 0, 0, 0, 0, 7}}) || !slices.Equal(f.EtherTypes, []uint16{0x800}) || f.VLANs != 1 {
		t.Errorf("%+v", f)
	}
	if st := c.Program.Streams; len(st) != 1 || !slices.Equal(st[0].Lens, []int{82, 86}) || st[0].Set.Size.Text != "86-90" {
		t.Errorf("%+v", st)
	}
}

// tcprewrite is asked for the same and must agree.
func TestTcprewriteAgrees(t *testing.T) {
	tool := need.Tool(t, "tcprewrite")
	file := write(t, many(200))
	theirs := filepath.Join(t.TempDir(), "out.pcap")
	if out, err := exec.Command(tool, "--infile="+file, "--outfile="+theirs, "--enet-smac=02:00:00:00:00:aa", "--enet-dmac=02:00:00:00:00:bb",
		"--srcipmap=10.0.0.0/8:198.18.0.0/16", "--portmap=5678:7").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if _, err := os.Stat(theirs); err != nil {
		t.Fatal(err)
	}
	ours := open(t, set(t, stream.Flags{SrcMAC: "02:00:00:00:00:aa", DstMAC: "02:00:00:00:00:bb", DstPort: "7", SrcIP: "198.18.2.3"}, stream.ReplayFlags{PCAP: file}), Limits{})
	want := frames(open(t, set(t, stream.Flags{}, stream.ReplayFlags{PCAP: theirs}), Limits{}))
	for i, b := range frames(ours) {
		if !bytes.Equal(b, want[i]) {
			t.Fatalf("frame %d\n%x, tcprewrite makes\n%x", i, b, want[i])
		}
	}
}

// A file that changes between the two readings is not passed off as what was announced.
func TestFileThatChanges(t *testing.T) {
	file := write(t, many(60000))
	c := open(t, set(t, stream.Flags{}, stream.ReplayFlags{PCAP: file, Loop: "2", Preload: "false"}), Limits{})
	if err := os.Truncate(file, 1000); err != nil {
		t.Fatal(err)
	}
	drain(t, c.Program.Source, 10*time.Second)
	if err := c.Err(); err == nil || !strings.Contains(err.Error(), "changed while it was sent: it had 60000 frames") {
		t.Error(err)
	}
}

// A file that is gone when its second round begins ends the run after the first.
func TestFileThatGoes(t *testing.T) {
	file := write(t, many(60000))
	c := open(t, set(t, stream.Flags{}, stream.ReplayFlags{PCAP: file, Loop: "2", Preload: "false"}), Limits{})
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	if all, _ := drain(t, c.Program.Source, 10*time.Second); len(all) != 60000 {
		t.Errorf("%d frames", len(all))
	}
	if err := c.Err(); err == nil || !strings.Contains(err.Error(), "no such file") {
		t.Error(err)
	}
}

// A named pipe is a pipe.
func TestNamedPipe(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	go func() { _ = os.WriteFile(path, many(100), 0) }()
	c := open(t, set(t, stream.Flags{}, stream.ReplayFlags{PCAP: path}), Limits{})
	if got, _ := drain(t, c.Program.Source, 5*time.Second); len(got) != 100 || c.Scanned {
		t.Errorf("%d frames", len(got))
	}
	refusal(t, set(t, stream.Flags{}, stream.ReplayFlags{PCAP: path, Loop: "2"}), Limits{})
}
