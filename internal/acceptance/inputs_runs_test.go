package acceptance

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/wirespeed/wirespeed/internal/engine/enginetest"
	"github.com/wirespeed/wirespeed/internal/packet"
	"github.com/wirespeed/wirespeed/internal/pcapio"
)

// A million frames with a source port that counts and a destination by chance: every checksum is right, two runs are the same,
// and every value is there.
func TestInputMillionOfVaryingFrames(t *testing.T) {
	t.Parallel()
	const n, seed = 1_000_000, "7"
	vary := []string{"--src-port", "inc(1,1,65535)", "--dst-ip", "rand(198.18.0.0,198.18.255.255," + seed + ")", "--count", fmt.Sprint(n), "--json"}
	dir := t.TempDir()
	a, b := filepath.Join(dir, "a.pcap"), filepath.Join(dir, "b.pcap")
	for _, path := range []string{a, b} {
		run(t, append([]string{"send", "pcap:" + path + "?speed=10G", "--signature", "none"}, vary...)...).wantExit(t, 0)
	}
	again, err := pcapio.Open(b, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = again.Close() }()
	var ports, hosts [65536]uint32
	var q pcapio.Packet
	wrong, differ, k := 0, 0, 0
	var l packet.Layout
	err = enginetest.ReadFile(a, func(p *pcapio.Packet) {
		if l.Walk(p.Data); packet.VerifySums(p.Data, &l) >= 0 {
			wrong++
		}
		if err := again.Next(&q); err != nil || !bytes.Equal(p.Data, q.Data) {
			differ++
		}
		port := binary.BigEndian.Uint16(p.Data[34:])
		if int(port) != k%65535+1 {
			differ++
		}
		ports[port]++
		hosts[binary.BigEndian.Uint16(p.Data[32:])]++
		k++
	})
	if err != nil || k != n || wrong > 0 || differ > 0 || again.Next(&q) != io.EOF {
		t.Errorf("%d frames, %d with a wrong checksum, %d are not what they should be, %v", k, wrong, differ, err)
	}
	missing := 0
	for v := range ports {
		if ports[v] == 0 && v > 0 || hosts[v] == 0 {
			missing++
		}
	}
	if missing > 0 {
		t.Errorf("%d values are missing", missing)
	}
	// On the wire: the receiver holds every checksum against its frame.
	p := inputPair(t, "1500")
	r := run(t, append([]string{"send", "xdp:" + p.PortA, "--rx", "xdp:" + p.PortB}, vary...)...)
	r.wantWhole(t, n)
}

// Rates are those that were asked for, to the ns; what no line carries is refused with the line named, and zero and less too.
func TestInputRates(t *testing.T) {
	for _, c := range []struct {
		rate   string
		span   int64 // ns from the first of the frames to the last
		frames int
		say    string
	}{
		{"1pps", 9_000_000_000, 10, "1 pps"},
		{"0.1pps", 90_000_000_000, 10, "0.1 pps"},
		{"999999pps", 100_000_100, 100_001, "999,999.00"},
		{"1488095pps", 67_200_011, 100_001, "1,488,095.00"},
		{"1G", 67_200_000, 100_001, "1,000,000,000"},
		{"100%", 67_200_000, 100_001, "100.00 %"},
		{"1e6pps", 100_000_000, 100_001, "1,000,000.00"},
		{"500Mbps@L2", 102_400_000, 100_001, "500 Mbit/s"},
	} {
		run(t, "rate", "--size", "64", "--link", "1G", "--rate", c.rate).wantExit(t, 0, c.say)
		path := filepath.Join(t.TempDir(), "r.pcap")
		r := run(t, "send", "pcap:"+path+"?speed=1G", "--size", "64", "--rate", c.rate, "--count", fmt.Sprint(c.frames), "--json")
		r.wantExit(t, 0)
		_, at, err := enginetest.ReadFrames(path)
		if err != nil || len(at) != c.frames {
			t.Fatalf("%s: %d frames, %v", c.rate, len(at), err)
		}
		if got := at[len(at)-1] - at[0]; got < c.span-1 || got > c.span+1 {
			t.Errorf("%s: %d ns from the first to the last, want %d", c.rate, got, c.span)
		}
		step := c.span / int64(c.frames-1)
		for i := 1; i < len(at); i++ {
			if g := at[i] - at[i-1]; g < step-1 || g > step+1 {
				t.Fatalf("%s: a gap of %d ns, want %d", c.rate, g, step)
			}
		}
	}
	p := inputPair(t, "1500")
	before := procNetDev(t, p.NSA, "va")
	for rate, say := range map[string]string{
		"101%": "1G carries at most 1488095", "1488096pps": "1G carries at most 1488095", "1Gbps@L2": "1G carries at most 1488095", "1.01G": "1G carries at most 1488095",
		"0": "zero", "0pps": "zero", "0%": "zero", "-5pps": "negative", "-1%": "negative", "-1G": "negative",
	} {
		for _, tx := range engines {
			if e := refusal(t, run(t, "send", tx+p.PortA+"?speed=1G", "--size", "64", "--rate="+rate, "--count", "2", "--json"), 1); !strings.Contains(e.Message, say) {
				t.Errorf("%s %q does not say %q", rate, e.Message, say)
			}
		}
		run(t, "rate", "--size", "64", "--link", "1G", "--rate="+rate).wantExit(t, 1, say)
	}
	if now := procNetDev(t, p.NSA, "va"); now != before {
		t.Errorf("frames left: %+v, before %+v", now, before)
	}
	// In real time: two frames, a second apart.
	begin := time.Now()
	r := run(t, "send", "packet:"+p.PortA, "--rx", "packet:"+p.PortB, "--rate", "1pps", "--count", "2", "--catch-up", "5s", "--json")
	if took := time.Since(begin); took < 900*time.Millisecond || r.tx(t).Sent != 2 || r.rx(t).Frames != 2 || *r.tx(t).RequestedFPS != 1 {
		t.Errorf("after %v: %s", took, r.all())
	}
}

// A port that is down, or whose other end is, is refused before anything is sent, also for a replay: TestBadInput has the
// others.
func TestInputReplayNeedsALink(t *testing.T) {
	p := inputPair(t, "1500")
	inside(t, p.NSA, "ip", "link", "set", "va", "down")
	in := inputFile(t, "us-little.pcap")
	for _, tx := range engines {
		for port, say := range map[string]string{p.PortA: "is down", p.PortB: "no carrier"} {
			if e := refusal(t, run(t, "send", tx+port, "--pcap", in, "--json"), 2); !strings.Contains(e.Message+e.Mend, say) {
				t.Errorf("%+v", e)
			}
		}
	}
	if now := procNetDev(t, p.NSB, "vb"); now.txFrames != 0 || now.txDropped != 0 {
		t.Errorf("%+v", now)
	}
}

// All mistakes of a definition are said at once, each with its line, and nothing is sent.
func TestInputAllMistakesAtOnce(t *testing.T) {
	const text = `streams:
  - name: a
    size: 64
    colour: red
    layers:
      - eth: {dst: "00:ab:cd:ef:00"}
      - vlan: {id: 5000}
      - ipv6: {src: 198.18.0.1}
      - udp: {dstport: 65536}
  - name: a
    layers: [eth, ip, udp]
`
	p := inputPair(t, "1500")
	path := filepath.Join(t.TempDir(), "s.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"show"}, {"send", "packet:" + p.PortA}, {"send", "xdp:" + p.PortA, "--rx", p.PortB}} {
		r := run(t, append(args, "-f", path)...)
		r.wantExit(t, 1, "7 mistakes",
			path+":3:", "64 is smaller than the headers", path+":4:", `unknown key "colour"`, path+":6:", `"00:ab:cd:ef:00" is not a MAC address`, path+":7:", "5000 does not fit",
			path+":8:", "takes IPv6", path+":9:", "65536", path+":10:", `the name "a" already`)
		if r.stdout != "" {
			t.Errorf("on standard output: %s", r.stdout)
		}
	}
	if now := procNetDev(t, p.NSA, "va"); now.txFrames != 0 {
		t.Errorf("%+v", now)
	}
}

// resident runs the built program and returns how much memory it has had at most, in MiB.
func resident(t *testing.T, stdin io.Reader, args ...string) (mib int, r *result) {
	t.Helper()
	p := startReading(t, stdin, 0, args...)
	status := fmt.Sprintf("/proc/%d/status", p.Process.Pid)
	for end := time.Now().Add(patience); !p.ended() && time.Now().Before(end); time.Sleep(2 * time.Millisecond) {
		text, _ := os.ReadFile(status)
		if _, rest, ok := strings.Cut(string(text), "VmHWM:"); ok {
			var kib int
			if _, err := fmt.Sscan(rest, &kib); err == nil {
				mib = max(mib, kib>>10)
			}
		}
	}
	return mib, p.wait(t)
}

// rounds gives the same bytes n times.
type rounds struct {
	whole, rest []byte
	n           int
}

func (r *rounds) Read(b []byte) (int, error) {
	if len(r.rest) == 0 {
		if r.n == 0 {
			return 0, io.EOF
		}
		r.n--
		r.rest = r.whole
	}
	n := copy(b, r.rest)
	r.rest = r.rest[n:]
	return n, nil
}

// A pipe and compressed files, much larger than what may be held of them, are read as they are sent. So are lengths that no
// file has. A pipe cannot be sent twice.
func TestInputMemoryIsBounded(t *testing.T) {
	t.Parallel()
	const frames, times = 690, 300 // a block of 1 MiB, 300 times
	path := filepath.Join(t.TempDir(), "block.pcap")
	run(t, "send", "pcap:"+path, "--size", "1518", "--signature", "none", "--rate", "100kpps", "--count", fmt.Sprint(frames), "--json").wantExit(t, 0)
	block, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	head, block := block[:24], block[24:]
	const most = 64 // MiB
	mib, r := resident(t, io.MultiReader(bytes.NewReader(head), &rounds{whole: block, n: times}), "send", "null:", "--pcap", "-", "--rate", "max", "--json")
	r.wantExit(t, 0)
	if d := r.tx(t).Replay; r.tx(t).Sent != frames*times || d.Preloaded || mib > most || mib == 0 {
		t.Errorf("a pipe of %d MiB takes %d MiB: %s", times, mib, show(r.tx(t)))
	}
	t.Logf("pipe: %d MiB", mib)

	var z bytes.Buffer // a member for the head, and one for each block
	for i, b := range [][]byte{head, block} {
		var member bytes.Buffer
		w, err := gzip.NewWriterLevel(&member, gzip.BestSpeed)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = w.Write(b)
		_ = w.Close()
		for range max(1, i*times/2) {
			z.Write(member.Bytes())
		}
	}
	packed := filepath.Join(t.TempDir(), "large.pcap.gz")
	if err := os.WriteFile(packed, z.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	for how, most := range map[string]int{"--no-preload": most, "--limit=1000000000": most + 128} { // as it comes, 128 MiB are tried
		mib, r := resident(t, nil, "send", "null:", "--pcap", packed, "--rate", "max", how, "--json")
		r.wantExit(t, 0)
		if d := r.tx(t).Replay; r.tx(t).Sent != frames*times/2 || d.Preloaded || mib > most || mib == 0 {
			t.Errorf("%s: a compressed file of %d MiB takes %d MiB: %s", how, times/2, mib, show(r.tx(t)))
		}
		t.Logf("compressed, %s: %d MiB", how, mib)
	}

	for _, name := range []string{"bogus-first.pcap", "bogus-second.pcap", "packet-of-4gib.pcapng", "block-of-4gib.pcapng"} {
		for _, args := range [][]string{{"pcap", "check"}, {"send", "null:", "--pcap"}} {
			if mib, r := resident(t, nil, append(args, inputFile(t, name))...); r.exit != 1 && r.exit != 4 || mib > most {
				t.Errorf("%v %s: %d MiB: %s", args, name, mib, r.all())
			}
		}
	}
	for _, loop := range []string{"2", "0"} {
		r := run(t, "send", "null:", "--pcap", "-", "--loop", loop, "--duration", "1s", "--json")
		if e := refusal(t, r, 1); !strings.Contains(e.Mend, "preload") || !strings.Contains(e.Message, "--loop: a pipe") {
			t.Errorf("%+v", e)
		}
	}
}
