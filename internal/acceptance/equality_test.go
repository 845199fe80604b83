package acceptance

import (
	"bytes"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/wirespeed/wirespeed/internal/engine"
	"github.com/wirespeed/wirespeed/internal/engine/enginetest"
	"github.com/wirespeed/wirespeed/internal/engine/packetsock"
	"github.com/wirespeed/wirespeed/internal/engine/pcapfile"
	"github.com/wirespeed/wirespeed/internal/engine/xdp"
	"github.com/wirespeed/wirespeed/internal/lab/need"
	"github.com/wirespeed/wirespeed/internal/packet"
	"github.com/wirespeed/wirespeed/internal/pcapio"
	compiled "github.com/wirespeed/wirespeed/internal/program"
	"github.com/wirespeed/wirespeed/internal/program/programtest"
	"github.com/wirespeed/wirespeed/stream"
)

// equal are the engines whose frames must be the same, byte for byte, as they are on the wire. The first is what the others
// are compared with; it carries every stream.
var equal = []enginetest.Factory{
	fileLoop,
	enginetest.Veth("t-accept", packetsock.New(), packetsock.New()),
	enginetest.Veth("t-accept", xdp.New(), xdp.New()),
}

func fileLoop(t *testing.T, _ int) enginetest.Loop {
	path := filepath.Join(t.TempDir(), "x.pcapng")
	return enginetest.Loop{
		Tx: pcapfile.New(), TxTarget: engine.Target{Engine: "pcap", Device: path, Options: url.Values{"overwrite": {"yes"}}},
		Rx: &enginetest.Readback{Path: path}, RxTarget: engine.Target{Device: path}, Virtual: true,
		Captured: func(t *testing.T) func() [][]byte {
			return func() [][]byte {
				frames, _, err := enginetest.ReadFrames(path)
				if err != nil {
					t.Fatal(err)
				}
				return frames
			}
		},
	}
}

// A definition is what is sent, and how many frames.
type definition struct {
	name  string
	set   *stream.Set
	prog  *compiled.Program // of a replay, which has no set
	count uint64
	// wrong: it may be, on purpose, so nothing is said about its checksums.
	wrong bool
}

// definitions are the examples and streams drawn by chance, always the same.
func definitions(t *testing.T) (all []definition) {
	t.Helper()
	files, err := filepath.Glob("../../examples/*.yaml")
	if err != nil || len(files) < 8 {
		t.Fatalf("%d examples, %v", len(files), err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		set, err := stream.Parse(file, text)
		if err != nil {
			t.Fatal(err)
		}
		if set.Replay == nil { // replays are below
			all = append(all, definition{name: filepath.Base(file), set: set, count: 100, wrong: onPurpose(set)})
		}
	}
	sets := rapid.Custom(func(t *rapid.T) *stream.Set { return programtest.Set(t, 64) })
	for seed := range 12 {
		all = append(all, definition{name: fmt.Sprint("drawn ", seed), set: sets.Example(seed), count: 60, wrong: true})
	}
	for _, form := range []packet.Form{packet.FormNone, packet.FormShort, packet.FormFull} {
		all = append(all, definition{name: "replay, signature " + form.String(), prog: replayed(t, form), count: 100})
	}
	return all
}

// replayed is a sequence of frames of many lengths, of which two thirds are signed.
func replayed(t *testing.T, form packet.Form) *compiled.Program {
	t.Helper()
	set, err := stream.FromFlags(stream.Flags{Size: "64,68,65,333,1518,127,594", VLAN: "7", SrcIP: "inc(198.18.0.1,1,100)", Signature: "none"})
	if err != nil {
		t.Fatal(err)
	}
	set.SetMACs([6]byte{2, 0, 0, 0, 0, 1}, [6]byte{2, 0, 0, 0, 0, 2})
	p, err := compiled.Compile(set)
	if err != nil {
		t.Fatal(err)
	}
	im := p.Bind(compiled.Binding{Queues: 1})
	var frames [][]byte
	for range 21 {
		f := []compiled.Frame{{Buf: make([]byte, 2048)}}
		im.Fill(f, 0)
		frames = append(frames, f[0].Buf[:f[0].Len])
	}
	room := func(i int) bool { return form != packet.FormNone && i%3 != 0 && len(frames[i]) >= 46+form.Len() }
	p = enginetest.Replay(t, form, frames, nil, room)
	p.Sequence.Rounds = 0
	return p
}

// onPurpose reports whether a stream says itself what checksums, lengths or versions its headers have.
func onPurpose(set *stream.Set) bool {
	for _, s := range set.Streams {
		for _, l := range s.Layers {
			for _, f := range l.Fields {
				if n := f.Field.Name; l.Kind.Checksum != nil && n == l.Kind.Checksum.Field || n == "len" || n == "length" || n == "plen" || n == "version" {
					return true
				}
			}
		}
	}
	return false
}

// The same program through any two engines gives the same frames. Those of the examples are right for tshark and have
// right checksums.
func TestEnginesSendTheSameBytes(t *testing.T) {
	need.Root(t)
	tshark := need.Tool(t, "tshark")
	loops := make([]enginetest.Loop, len(equal))
	for i, f := range equal {
		loops[i] = f(t, 1)
	}
	var right, wrong [][]byte
	refused := map[string]int{}
	all := definitions(t)
	for _, d := range all {
		p := d.prog
		if d.set != nil {
			d.set.SetMACs([6]byte{2, 0, 0, 0, 0, 1}, [6]byte{2, 0, 0, 0, 0, 2})
			var err error
			if p, err = compiled.Compile(d.set); err != nil {
				t.Fatalf("%s: %v", d.name, err)
			}
		}
		plan := engine.Plan{Program: p, Run: 7, IDBase: 3, Queues: 1, Stamp: engine.StampNone, Count: d.count}
		var want [][]byte
		for i := range loops {
			l := &loops[i]
			t.Run(d.name+"/"+l.Tx.Name(), func(t *testing.T) {
				_, got, err := l.Play(t, plan)
				switch {
				case err != nil && i > 0:
					t.Logf("refused: %v", err)
					refused[l.Tx.Name()]++
				case err != nil:
					t.Fatal(err)
				case i == 0:
					want = got
				default:
					same(t, got, want)
				}
			})
		}
		if d.wrong {
			wrong = append(wrong, want...)
		} else {
			right = append(right, want...)
		}
	}
	for name, n := range refused {
		t.Logf("%s refused %d of %d definitions", name, n, len(all))
		if n > len(all)/2 {
			t.Errorf("%s refused most of the definitions", name)
		}
	}
	for i, f := range right {
		l, ok := packet.Walk(f)
		if bad := packet.VerifySums(f, &l); !ok || bad >= 0 {
			t.Fatalf("frame %d of the examples: the checksum of header %d is wrong: %x", i, bad, f)
		}
	}
	decode(t, tshark, right, true)
	decode(t, tshark, wrong, false)
}

// same compares what two engines sent.
func same(t *testing.T, got, want [][]byte) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%d frames, and %d in the file", len(got), len(want))
	}
	for i := range got {
		if !bytes.Equal(got[i], want[i]) {
			at := 0
			for at < min(len(got[i]), len(want[i])) && got[i][at] == want[i][at] {
				at++
			}
			t.Fatalf("frame %d, from byte %d on:\n%x\n%x in the file", i, at, got[i], want[i])
		}
	}
}

// decode lets tshark read all frames at once. right: none may be malformed or have a checksum that it calls bad.
func decode(t *testing.T, tshark string, frames [][]byte, right bool) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "all.pcapng")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	w, err := pcapio.NewWriter(f, pcapio.WriterConfig{Format: pcapio.PCAPNG, Link: pcapio.LinkEthernet})
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
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	args := []string{"-r", path, "-n", "-T", "fields", "-e", "frame.len", "-e", "frame.protocols", "-e", "_ws.malformed"}
	for _, s := range []string{"ip", "udp", "tcp"} {
		args = append(args, "-o", s+".check_checksum:TRUE", "-e", s+".checksum.status")
	}
	args = append(args, "-e", "icmp.checksum.status", "-e", "icmpv6.checksum.status")
	cmd := exec.CommandContext(t.Context(), tshark, args...)
	cmd.Env = append(os.Environ(), "WIRESHARK_CONFIG_DIR="+onlyHeaders(t, tshark))
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSuffix(string(out), "\n"), "\n")
	if len(lines) != len(frames) {
		t.Fatalf("tshark read %d of %d frames", len(lines), len(frames))
	}
	for i, line := range lines {
		fields := strings.Split(line, "\t")
		if fields[0] != fmt.Sprint(len(frames[i])) {
			t.Fatalf("frame %d has %d bytes, tshark says %s", i, len(frames[i]), line)
		}
		const bad = "0" // of Good 1, Bad 0, Unverified 2, Not present 3
		if right && (fields[2] != "" || strings.Contains(strings.Join(fields[3:], ","), bad)) {
			t.Errorf("frame %d: tshark finds a fault: %q: %x", i, fields, frames[i])
		}
	}
}

// headers are what tshark is to know. What is in a payload is not asked for: a port says what it should be, and it is something
// else; VXLAN is known by its port alone.
const headers = " frame eth ethertype vlan ieee8021ad mpls llc arp ip ipv6 ipv6.hopopts ipv6.dstopts ipv6.routing ipv6.fraghdr icmp icmpv6 gre udp tcp data "

// onlyHeaders makes a configuration of tshark with which it knows nothing but headers.
func onlyHeaders(t *testing.T, tshark string) (dir string) {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), tshark, "-G", "protocols").Output()
	if err != nil {
		t.Fatal(err)
	}
	var no strings.Builder
	for line := range strings.Lines(string(out)) {
		if f := strings.Split(strings.TrimSpace(line), "\t"); len(f) > 2 && !strings.Contains(headers, " "+f[2]+" ") {
			no.WriteString(f[2] + "\n")
		}
	}
	dir = t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "disabled_protos"), []byte(no.String()), 0o644); err != nil {
		t.Fatal(err)
	}
	return dir
}
