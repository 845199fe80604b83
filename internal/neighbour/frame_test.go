package neighbour

import (
	"bytes"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/wirespeed/wirespeed/internal/lab/need"
	"github.com/wirespeed/wirespeed/internal/packet"
	"github.com/wirespeed/wirespeed/internal/pcapio"
)

var (
	macA = net.HardwareAddr{2, 0, 0, 0, 0, 0xa}
	macB = net.HardwareAddr{2, 0, 0, 0, 0, 0xb}
	a4   = netip.MustParseAddr("198.18.0.1")
	b4   = netip.MustParseAddr("198.18.0.2")
	a6   = netip.MustParseAddr("2001:2::1")
	b6   = netip.MustParseAddr("2001:2::12:3456")
)

// made are all frames that a Node makes, by what they are.
func made(t testing.TB) (names []string, frames [][]byte) {
	t.Helper()
	add := func(name string, b []byte, err error) {
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		names, frames = append(names, name), append(frames, b)
	}
	for _, f := range []struct {
		family string
		a, b   netip.Addr
	}{{"arp", a4, b4}, {"nd", a6, b6}} {
		b, err := question(macA, f.a, f.b)
		add(f.family+" question", b, err)
		m, ok := parse(b)
		if !ok {
			t.Fatalf("%s: the question is not understood", f.family)
		}
		b, err = answer(macB, f.b, &m)
		add(f.family+" answer", b, err)
		probe := m // of who wants to take the address
		probe.sender = netip.IPv4Unspecified()
		if f.a.Is6() {
			probe.sender, probe.mac = netip.IPv6Unspecified(), nil
		}
		b, err = answer(macB, f.b, &probe)
		add(f.family+" answer to a probe", b, err)
	}
	return names, frames
}

// What is made is whole, and understood as it was meant.
func TestFramesAreWholeAndUnderstood(t *testing.T) {
	unspecified := netip.IPv4Unspecified()
	want := []message{
		{request: true, target: b4, sender: a4, mac: macA}, {target: b4, sender: b4, mac: macB}, {target: b4, sender: b4, mac: macB},
		{request: true, target: b6, sender: a6, mac: macA}, {target: b6, sender: b6, mac: macB}, {target: b6, sender: b6, mac: macB},
	}
	to := []net.HardwareAddr{broadcast, macA, macA, {0x33, 0x33, 0xff, 0x12, 0x34, 0x56}, macA, {0x33, 0x33, 0, 0, 0, 1}}
	names, frames := made(t)
	for i, b := range frames {
		m, ok := parse(b)
		if w := want[i]; !ok || m.request != w.request || m.target != w.target || m.sender != w.sender || !bytes.Equal(m.mac, w.mac) {
			t.Errorf("%s: %+v, want %+v", names[i], m, w)
		}
		if !bytes.Equal(b[:6], to[i]) {
			t.Errorf("%s goes to % x, want % x", names[i], b[:6], to[i])
		}
		l, ok := packet.Walk(b)
		if wrong := packet.VerifySums(b, &l); !ok || wrong >= 0 {
			t.Errorf("%s: walked %v, a wrong checksum at %d", names[i], ok, wrong)
		}
	}
	if got := frames[2][38:42]; !bytes.Equal(got, unspecified.AsSlice()) {
		t.Errorf("a probe's answer is for % x, want the sender's 0.0.0.0", got)
	}
}

// A question without its sender's address is answered to who sent the frame; what RFC 4861 calls not valid is not a question.
func TestSolicitationsAtTheEdge(t *testing.T) {
	b, err := question(macA, a6, b6)
	if err != nil {
		t.Fatal(err)
	}
	const options = 14 + 40 + 24
	short := bytes.Clone(b[:options])
	short[14+5] = 24 // payload length
	if m, ok := parse(short); !ok || !bytes.Equal(m.mac, macA) {
		t.Errorf("without the option: %v %+v, want the frame's source", ok, m)
	}
	claim := bytes.Clone(b)
	clear(claim[14+8 : 14+24])
	if m, ok := parse(claim); ok {
		t.Errorf("from nobody and with an address: %+v", m)
	}
	probe := bytes.Clone(short)
	clear(probe[14+8 : 14+24])
	if m, ok := parse(probe); !ok || m.mac != nil || !m.sender.IsUnspecified() {
		t.Errorf("duplicate address detection: %v %+v", ok, m)
	}
	for name, change := range map[string]func(b []byte){
		"hop limit 254":   func(b []byte) { b[14+7] = 254 },
		"another message": func(b []byte) { b[14+40] = 128 },
		"UDP":             func(b []byte) { b[14+6] = 17 },
	} {
		bad := bytes.Clone(b)
		change(bad)
		if m, ok := parse(bad); ok {
			t.Errorf("%s: %+v", name, m)
		}
	}
}

func TestARPOfOthersIsNoMessage(t *testing.T) {
	b, err := question(macA, a4, b4)
	if err != nil {
		t.Fatal(err)
	}
	for name, at := range map[string]int{"hardware": 15, "protocol": 17, "hardware length": 18, "protocol length": 19, "operation": 21} {
		bad := bytes.Clone(b)
		bad[at] += 5
		if m, ok := parse(bad); ok {
			t.Errorf("another %s: %+v", name, m)
		}
	}
}

// An independent decoder finds nothing wrong.
func TestFramesByTshark(t *testing.T) {
	tshark := need.Tool(t, "tshark")
	names, frames := made(t)
	file := filepath.Join(t.TempDir(), "made.pcap")
	f, err := os.Create(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	w, err := pcapio.NewWriter(f, pcapio.WriterConfig{Format: pcapio.PCAP, Link: pcapio.LinkEthernet})
	if err != nil {
		t.Fatal(err)
	}
	for i, b := range frames {
		if err := w.WritePacket(int64(i), len(b), b); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(tshark, "-r", file, "-T", "fields", "-E", "occurrence=a", "-e", "_ws.malformed", "-e", "_ws.expert.severity", "-e", "icmpv6.checksum.status", "-e", "ipv6.hlim",
		"-e", "arp.opcode", "-e", "icmpv6.type", "-e", "icmpv6.opt.linkaddr", "-e", "icmpv6.nd.na.flag.s", "-e", "icmpv6.nd.na.flag.o").Output()
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"\t\t\t\t1\t\t\t\t", "\t\t\t\t2\t\t\t\t", "\t\t\t\t2\t\t\t\t",
		"\t\t1\t255\t\t135\t02:00:00:00:00:0a\t\t", "\t\t1\t255\t\t136\t02:00:00:00:00:0b\t1\t1", "\t\t1\t255\t\t136\t02:00:00:00:00:0b\t0\t1",
	}
	got := strings.Split(strings.TrimRight(string(out), "\n"), "\n")
	for i, w := range want {
		if i >= len(got) || got[i] != w {
			t.Errorf("%s: %q, want %q", names[i], got[min(i, len(got)-1)], w)
		}
	}
}

// FuzzParse: no frame makes parsing fail, and what it takes for a question can be answered with a whole frame.
func FuzzParse(f *testing.F) {
	_, frames := made(f)
	for _, b := range frames {
		f.Add(b)
		f.Add(b[:len(b)-3])
	}
	f.Fuzz(func(t *testing.T, frame []byte) {
		m, ok := parse(frame)
		if !ok {
			return
		}
		if m.mac != nil && len(m.mac) != 6 || m.mac == nil && !m.sender.IsUnspecified() || !m.target.IsValid() {
			t.Fatalf("%+v", m)
		}
		if !m.request {
			return
		}
		b, err := answer(macB, m.target, &m)
		if err != nil {
			t.Fatal(err)
		}
		if back, ok := parse(b); !ok || back.request || back.target != m.target || !bytes.Equal(back.mac, macB) {
			t.Errorf("%+v is answered with %+v", m, back)
		}
	})
}
