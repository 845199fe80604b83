package acceptance

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/wirespeed/wirespeed/internal/engine/enginetest"
	"github.com/wirespeed/wirespeed/internal/lab/labtest"
	"github.com/wirespeed/wirespeed/internal/pcapio/pcaptest"
)

// Options that mend all that can be mended, and the addresses they give.
var mended = []string{"--allow-skip", "--pad", "zero", "--l2", "02:00:00:00:00:0d,02:00:00:00:00:05"}

const mendedMACs = "\x02\x00\x00\x00\x00\x0d\x02\x00\x00\x00\x00\x05"

// bigMTU lets a port take the largest frame that there is.
const bigMTU = "16092"

// Every capture that generators are known to stumble over: what is damaged or cannot be sent is refused with its place, its
// number and its reason, and nothing leaves; the rest leaves when asked for, and arrives byte for byte. Through ports go the
// first ones of each row.
func TestInputFiles(t *testing.T) {
	t.Parallel()
	for tx, most := range map[string]int{"null:": 99, "pcap:": 99, "packet:": 2, "xdp:": 1} {
		t.Run(strings.TrimSuffix(tx, ":"), func(t *testing.T) {
			t.Parallel() // most of the time each waits for the wire to be quiet
			if most == 99 {
				for f, path := range inputFiles(t, most) {
					t.Run(f.Name, func(t *testing.T) { portless(t, tx, f, path) })
				}
				return
			}
			p := inputPair(t, bigMTU)
			r := record(t, p)
			if tx == "xdp:" {
				inside(t, p.NSB, "ethtool", "-K", "vb", "gro", "on")
			}
			for f, path := range inputFiles(t, most) {
				t.Run(f.Name, func(t *testing.T) { r.file(t, tx+p.PortA, f, path) })
			}
			r.check(t)
		})
	}
}

// inputFiles are the first captures of each row, written into a folder.
func inputFiles(t *testing.T, most int) func(yield func(f *pcaptest.File, path string) bool) {
	dir := t.TempDir()
	if err := pcaptest.Write(dir); err != nil {
		t.Fatal(err)
	}
	return func(yield func(*pcaptest.File, string) bool) {
		for _, row := range pcaptest.Rows() {
			for i := range min(len(row.Files), most) {
				if !yield(&row.Files[i], filepath.Join(dir, row.Files[i].Name)) {
					return
				}
			}
		}
	}
}

// inputFile writes a capture by its name.
func inputFile(t testing.TB, name string) string {
	t.Helper()
	f := pcaptest.Named(name)
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, f.Bytes, 0o600); err != nil || f.Bytes == nil {
		t.Fatal(name, err)
	}
	return path
}

// inputPair is a pair of an MTU.
func inputPair(t testing.TB, mtu string) *labtest.Pair {
	t.Helper()
	p := labtest.TestPair(t, "t-in", 1)
	inside(t, p.NSA, "ip", "link", "set", "va", "mtu", mtu)
	inside(t, p.NSB, "ip", "link", "set", "vb", "mtu", mtu)
	return p
}

// wanted are the frames of a file that are sent and the reasons of the others.
func wanted(f *pcaptest.File, mends pcaptest.Mend) (frames [][]byte, times []int64, skipped map[string]uint64) {
	skipped = map[string]uint64{}
	for _, p := range f.Packets {
		switch {
		case p.Link == 113 && len(p.Data) < 16 && mends&pcaptest.L2 != 0:
			skipped["too_short"]++ // with --l2 it is not the type that is wrong, but there is too little of it
			continue
		case p.Why != "" && (p.Mend == 0 || p.Mend&^mends != 0):
			skipped[p.Why]++
			continue
		}
		b := asEthernet(&p)
		if mends&pcaptest.Pad != 0 {
			b = append(b, make([]byte, max(0, len(b)+p.Orig-len(p.Data), 60)-len(b))...)
		}
		frames, times = append(frames, b), append(times, p.TimeNs)
	}
	return frames, times, skipped
}

// asEthernet is what is sent of a packet: without an FCS, and with an Ethernet header where it had none.
func asEthernet(p *pcaptest.Packet) []byte {
	b := p.Data[:min(len(p.Data), p.Orig-p.FCSLen)]
	network := func(at int) []byte { // by its version
		kind := []byte{0x08, 0x00}
		if b[at]>>4 == 6 {
			kind = []byte{0x86, 0xdd}
		}
		return slices.Concat([]byte(mendedMACs), kind, b[at:])
	}
	switch p.Link {
	case 0, 108:
		return network(4)
	case 101, 228, 229:
		return network(0)
	case 113:
		return slices.Concat([]byte(mendedMACs), b[14:])
	case 276:
		return slices.Concat([]byte(mendedMACs), b[:2], b[20:])
	}
	return bytes.Clone(b)
}

// portless sends a file where no port is needed: as it is, without what cannot be sent, and mended.
func portless(t *testing.T, tx string, f *pcaptest.File, path string) {
	for i, mend := range []pcaptest.Mend{0, 0, pcaptest.Pad | pcaptest.L2} {
		out := filepath.Join(t.TempDir(), "out.pcapng")
		args := []string{"send", tx, "--pcap", path, "--json"}
		if tx == "pcap:" { // with recorded gaps: no time passes
			args[1] += out
			args = append(args, "--max-gap", "1000000h")
		} else {
			args = append(args, "--rate", "max")
		}
		if i > 0 {
			args = append(args, mended[:1]...)
		}
		if mend != 0 {
			args = append(args, mended[1:]...)
		}
		r := run(t, args...)
		frames, times, skipped := wanted(f, mend)
		if refused(t, r, f, len(frames), skipped, i > 0) {
			if _, err := os.Stat(out); err == nil {
				t.Errorf("%v: a file is left behind", args)
			}
			continue
		}
		replayedWhole(t, r, f, len(frames), skipped)
		if tx != "pcap:" {
			continue
		}
		got, at, err := enginetest.ReadFrames(out)
		if err != nil {
			t.Fatal(err)
		}
		same(t, got, frames)
		if d := r.tx(t).Replay; d.Backwards == 0 && d.Untimed == 0 {
			for i := range at {
				if at[i]-at[0] != times[i]-times[0] {
					t.Errorf("frame %d leaves after %d ns, recorded %d", i, at[i]-at[0], times[i]-times[0])
				}
			}
		}
	}
}

// refused reports whether a file must be refused, and checks that it is, and how.
func refused(t *testing.T, r *result, f *pcaptest.File, frames int, skipped map[string]uint64, allow bool) bool {
	t.Helper()
	broken := f.Damage != nil && !f.Damage.Cut
	if f.Refused == "" && frames > 0 && (allow || !broken && len(skipped) == 0) {
		return false
	}
	e := refusal(t, r, 1)
	var say []string
	switch {
	case f.Refused != "":
		say = []string{f.Refused}
		if f.Refused != "gzip" {
			say = append(say, "not a capture file")
		}
	case broken:
		say = []string{f.Damage.What, fmt.Sprint("offset ", f.Damage.Offset), "before the first packet"}
		if n := len(f.Packets); n > 0 {
			say[2] = fmt.Sprint("after packet ", n)
		}
	case len(f.Packets) == 0:
		say = []string{"no packets"}
	default:
		say = []string{fmt.Sprintf("%d of %d packets cannot be sent", len(f.Packets)-frames, len(f.Packets))}
		for why, n := range skipped {
			say = append(say, fmt.Sprint(n, " ", why, " (packet"))
		}
		for why, i := range firstOf(f, skipped) {
			if !strings.Contains(e.Message, fmt.Sprintf("%s (packet %d:", why, i)) && !strings.Contains(e.Message, fmt.Sprintf("%s (packets %d,", why, i)) {
				t.Errorf("not which packet is the first %s, which is %d: %s", why, i, e.Message)
			}
		}
	}
	for _, s := range say {
		if !strings.Contains(e.Message, s) {
			t.Errorf("%q does not say %q", e.Message, s)
		}
	}
	return true
}

// firstOf are the numbers of the first packets of each reason.
func firstOf(f *pcaptest.File, skipped map[string]uint64) map[string]int {
	first := map[string]int{}
	for i, p := range slices.Backward(f.Packets) {
		if skipped[p.Why] > 0 {
			first[p.Why] = i + 1
		}
	}
	return first
}

// replayedWhole: all that can be sent was, the rest is counted by its reason, and where the file breaks off is said.
func replayedWhole(t *testing.T, r *result, f *pcaptest.File, frames int, skipped map[string]uint64) {
	t.Helper()
	r.wantExit(t, 0)
	r.wantVerdict(t, "valid")
	tx := r.tx(t)
	if d := tx.Replay; tx.Sent != uint64(frames) || tx.Unsent != 0 || d.Packets != uint64(len(f.Packets)) || d.Frames != uint64(frames) || !maps.Equal(d.Skipped, skipped) {
		t.Errorf("want %d frames, skipped %v: %s", frames, skipped, show(tx))
	}
	notes := strings.Join(r.doc.Notes, "\n")
	if f.Damage != nil && !strings.Contains(notes, fmt.Sprintf("offset %d after packet %d", f.Damage.Offset, len(f.Packets))) {
		t.Errorf("not where it breaks off: %s", notes)
	}
	for why, n := range skipped {
		if !strings.Contains(notes, fmt.Sprintf("left out: %d %s (packet", n, why)) {
			t.Errorf("not that %d %s are left out: %s", n, why, notes)
		}
	}
}

// Packets of other link types are refused by the name of their type, and those of which Ethernet frames can be made are sent
// with --l2.
func TestInputLinkTypes(t *testing.T) {
	for name, link := range map[string]string{
		"sll": "LINUX_SLL", "sll2": "LINUX_SLL2", "raw": "RAW", "raw-ipv4": "IPV4", "raw-ipv6": "IPV6", "null": "NULL", "loop": "LOOP", "radiotap": "IEEE802_11_RADIOTAP", "wifi": "IEEE802_11",
	} {
		in := inputFile(t, name+".pcap")
		args := []string{"send", "null:", "--pcap", in, "--rate", "max", "--json"}
		if e := refusal(t, run(t, args...), 1); !strings.Contains(e.Message, "link type "+link+")") {
			t.Errorf("%q does not say %s", e.Message, link)
		}
		run(t, "pcap", "check", in).wantExit(t, 4, "("+link+")")
		r := run(t, append(args, mended[3:]...)...)
		if strings.HasPrefix(link, "IEEE") {
			refusal(t, r, 1)
			continue
		}
		r.wantExit(t, 0)
		run(t, "pcap", "check", "--l2", in).wantExit(t, 0, "can be sent")
	}
}

// A recorder writes all that arrives at the far end of a pair, and knows what should.
type recorder struct {
	p     *labtest.Pair
	path  string
	c     *started
	from  netCounts
	want  [][]byte
	names []string // of the files that the wanted frames are of
}

func record(t *testing.T, p *labtest.Pair) *recorder {
	t.Helper()
	r := &recorder{p: p, path: filepath.Join(t.TempDir(), "arrived.pcapng"), from: procNetDev(t, p.NSB, "vb")}
	// Of the frames that a device takes from its queue at once, the socket that was bound first sees those late that nobody
	// else asks for. That is not to be the receiver's.
	listenAt(t, p.NSB, "vb")
	others := len(packetSockets(t, p.NSB))
	r.c = start(t, "receive", "packet:"+p.PortB, "--write", r.path, "--json")
	eventually(t, "the receiver is ready", func() bool { return len(packetSockets(t, p.NSB)) > others || r.c.ended() })
	return r
}

// expect notes frames that were sent.
func (r *recorder) expect(name string, frames ...[]byte) {
	for _, b := range frames {
		r.want, r.names = append(r.want, b), append(r.names, name)
	}
}

// file sends a file as it is, and mended where that is refused.
func (r *recorder) file(t *testing.T, port string, f *pcaptest.File, path string) {
	args := []string{"send", port, "--pcap", path, "--rate", "max", "--json"}
	frames, _, skipped := wanted(f, 0)
	before := procNetDev(t, r.p.NSA, "va")
	n := 0
	defer func() {
		if left := procNetDev(t, r.p.NSA, "va").txFrames - before.txFrames; left != uint64(n) {
			t.Errorf("the kernel counts %d frames, want %d", left, n)
		}
	}()
	first := run(t, args...)
	if len(skipped) == 0 && beyondEngine(t, first, port, frames) {
		return
	}
	if !refused(t, first, f, len(frames), skipped, false) {
		replayedWhole(t, first, f, len(frames), skipped)
		n = len(frames)
		r.expect(f.Name, frames...)
		return
	}
	if left := procNetDev(t, r.p.NSA, "va").txFrames - before.txFrames; left != 0 {
		t.Fatalf("%d frames left all the same", left)
	}
	frames, _, skipped = wanted(f, pcaptest.Pad|pcaptest.L2)
	second := run(t, append(args, mended...)...)
	if beyondEngine(t, second, port, frames) || refused(t, second, f, len(frames), skipped, true) {
		return
	}
	replayedWhole(t, second, f, len(frames), skipped)
	n = len(frames)
	r.expect(f.Name, frames...)
}

// beyondEngine reports whether frames are longer than live frames may be, which the engine must have named.
func beyondEngine(t *testing.T, r *result, port string, frames [][]byte) bool {
	t.Helper()
	if !strings.HasPrefix(port, "xdp:") || !slices.ContainsFunc(frames, func(b []byte) bool { return len(b) > 4096 }) {
		return false
	}
	if e := refusal(t, r, 2); !strings.Contains(e.Message, "bytes with FCS, more than the ") || !strings.Contains(e.Message, "this engine can send") {
		t.Errorf("%+v", e)
	}
	return true
}

// check stops the recorder, which must have written what was to arrive.
func (r *recorder) check(t *testing.T) {
	t.Helper()
	arrived(t, r.p.NSB, "vb", r.from, uint64(len(r.want)))
	r.c.stop()
	got := r.c.wait(t)
	if c := captureOf(t, got); c.Frames != uint64(len(r.want)) || c.Dropped != 0 || c.Merged != 0 {
		t.Errorf("%d frames were sent: %s", len(r.want), show(c))
	}
	frames := framesOf(t, r.path)
	for i := range min(len(frames), len(r.want)) {
		if !bytes.Equal(frames[i], r.want[i]) {
			t.Fatalf("frame %d, of %s:\n%x arrived\n%x was to arrive", i, r.names[i], frames[i], r.want[i])
		}
	}
	if len(frames) != len(r.want) {
		t.Errorf("%d frames arrived of %d", len(frames), len(r.want))
	}
}
