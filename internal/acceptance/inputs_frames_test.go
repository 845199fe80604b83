package acceptance

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/wirespeed/wirespeed/internal/lab/need"
	"github.com/wirespeed/wirespeed/internal/packet"
	"github.com/wirespeed/wirespeed/internal/pcapio/pcaptest"
)

// Frames below 64 bytes with FCS are refused or filled up on demand, behind what the headers describe; 64 bytes are the
// least, and for IPv6 and UDP 66.
func TestInputSmallSizes(t *testing.T) {
	t.Parallel()
	for _, n := range []int{59, 60, 61, 63} {
		for _, args := range [][]string{{"send", "null:", "--count", "1", "--json"}, {"show"}, {"rate", "--link", "1G"}} {
			r := run(t, append(args, "--size", fmt.Sprint(n))...)
			r.wantExit(t, 1, fmt.Sprint(n), "64")
		}
	}
	v6 := []string{"send", "null:", "--count", "3", "--json", "--signature", "none", "--src-ip", "2001:2::7"}
	for _, n := range []string{"64", "65"} {
		run(t, "send", "null:", "--count", "3", "--json", "--size", n).wantExit(t, 0)
		run(t, append(v6, "--size", n)...).wantExit(t, 1, n, "66")
	}
	run(t, append(v6, "--size", "66")...).wantExit(t, 0)
	run(t, "rate", "--size", "64", "--link", "1G").wantExit(t, 0, "L2 (frames with FCS)", "L2 without FCS")

	p := inputPair(t, "1500")
	in := inputFile(t, "small.pcap")
	run(t, "pcap", "check", in).wantExit(t, 4, "3 of 7", "below_minimum: 4 packets: packet 1 (59 bytes with FCS)", "packet 4 (63 bytes with FCS)")
	refusal(t, run(t, "send", "packet:"+p.PortA, "--pcap", in, "--json"), 1)
	r := run(t, "send", "packet:"+p.PortA, "--rx", "packet:"+p.PortB, "--pcap", in, "--pad", "zero", "--signature", "short", "--rate", "max", "--json")
	r.wantExit(t, 0)
	if d := r.tx(t).Replay; d.Padded != 4 || d.Signed == 0 || r.rx(t).Frames != 7 || r.rx(t).Bytes != 4*64+64+65+66 {
		t.Errorf("%s", r.all())
	}
	for i := range r.doc.Streams {
		if s := r.stream(t, i); r.doc.Streams[i].Signature == "short" && (*s.Lost != 0 || *s.Corrupt != 0 || *s.Frames != r.tx(t).Replay.Signed) {
			t.Errorf("%s", show(s))
		}
	}
	_, out := rewritten(t, "--pcap", in, "--pad", "random")
	for i, f := range framesOf(t, out) {
		was := pcaptest.Named("small.pcap").Packets[i].Data
		if len(f) != max(60, len(was)) || !bytes.HasPrefix(f, was) {
			t.Errorf("frame %d: % x\nof % x", i, f, was)
		}
		if l, _ := packet.Walk(f); packet.VerifySums(f, &l) >= 0 {
			t.Errorf("frame %d: a checksum is wrong: % x", i, f)
		}
	}
}

// Large frames are taken as far as MTU and engine go, and arrive whole; beyond, the limit is named and nothing leaves.
func TestInputLargeSizes(t *testing.T) {
	t.Parallel()
	p := inputPair(t, bigMTU)
	inside(t, p.NSB, "ethtool", "-K", "vb", "gro", "on")
	mtu := func(n int) {
		inside(t, p.NSA, "ip", "link", "set", "va", "mtu", fmt.Sprint(n))
		inside(t, p.NSB, "ip", "link", "set", "vb", "mtu", fmt.Sprint(n))
	}
	in := inputFile(t, "large.pcap")
	all := pcaptest.Named("large.pcap").Packets // 1518, 1519, 9000, 9014, 9018, 9216, 9728, 16110, 1522 with a tag, 1526 with two
	for _, c := range []struct {
		mtu   int
		taken []int // of these
		most  string
	}{
		{1500, []int{0, 8}, "7 too_long (packets 2, 3, 4, 5, 6, ...: 1519 bytes with FCS, more than the 1518"},
		{1504, []int{0, 1, 8}, ""},
		{9000, []int{0, 1, 2, 3, 4, 8, 9}, "3 too_long (packets 6, 7, 8: 9216 bytes with FCS, more than the 9018"},
		{16092, []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}, ""},
	} {
		if c.mtu == 1500 {
			c.most = strings.Replace(c.most, "7 too", "8 too", 1) // the frame with two tags, too: 1526
		}
		mtu(c.mtu)
		r := record(t, p)
		args := []string{"send", "packet:" + p.PortA, "--pcap", in, "--rate", "max", "--json"}
		if len(c.taken) < len(all) {
			before := procNetDev(t, p.NSA, "va").txFrames
			if e := refusal(t, run(t, args...), 1); !strings.Contains(e.Message, c.most) || !strings.Contains(e.Message, fmt.Sprint("MTU of ", c.mtu)) {
				t.Errorf("MTU %d: %+v", c.mtu, e)
			}
			if procNetDev(t, p.NSA, "va").txFrames != before {
				t.Errorf("MTU %d: frames left all the same", c.mtu)
			}
		}
		run(t, append(args, "--allow-skip")...).wantExit(t, 0)
		for _, i := range c.taken {
			r.expect(fmt.Sprint("MTU ", c.mtu), all[i].Data)
		}
		r.check(t)
	}
	// Frames that are made, by both engines.
	for _, c := range []struct {
		size, vlan string
		mtu        int
	}{{"1522", "1", 1500}, {"1526", "1,2", 1504}, {"16110", "", 16092}} {
		mtu(c.mtu)
		for _, tx := range engines {
			args := []string{"send", tx + p.PortA, "--rx", "packet:" + p.PortB, "--size", c.size, "--count", "5", "--json"}
			if c.vlan != "" {
				args = append(args, "--vlan", c.vlan)
			}
			r := run(t, args...)
			if tx == "xdp:" && c.mtu >= 9000 {
				if e := refusal(t, r, 2); !strings.Contains(e.Message, c.size+" bytes with FCS, more than the") {
					t.Errorf("%+v", e)
				}
				continue
			}
			r.wantWhole(t, 5)
		}
	}
}

// Tags arrive byte for byte, and are counted, with the offloads of tags on and off at both ends.
func TestInputTagsAndOffloads(t *testing.T) {
	t.Parallel()
	p := inputPair(t, "1500")
	inside(t, p.NSB, "ethtool", "-K", "vb", "gro", "on")
	in := inputFile(t, "tags.pcap")
	var want [][]byte
	for _, q := range pcaptest.Named("tags.pcap").Packets {
		want = append(want, q.Data)
	}
	for _, on := range []string{"on", "off"} {
		inside(t, p.NSA, "ethtool", "-K", "va", "txvlan", on, "tx-vlan-stag-hw-insert", on)
		inside(t, p.NSB, "ethtool", "-K", "vb", "rxvlan", on, "rx-vlan-stag-hw-parse", on)
		if features := inside(t, p.NSB, "ethtool", "-k", "vb"); !strings.Contains(features, "rx-vlan-offload: "+on) {
			t.Fatalf("%s", features)
		}
		for _, tx := range engines {
			t.Run(tx+on, func(t *testing.T) {
				r := record(t, p)
				run(t, "send", tx+p.PortA, "--pcap", in, "--rate", "max", "--json").wantExit(t, 0)
				r.expect("tags.pcap", want...)
				r.check(t)
				d := run(t, "send", tx+p.PortA, "--rx", tx+p.PortB, "--pcap", in, "--rate", "max", "--json")
				d.wantExit(t, 0)
				if d.rx(t).Frames != uint64(len(want)) || *d.stream(t, 0).Frames != uint64(len(want)) || d.rx(t).Foreign != 0 {
					t.Errorf("%s, %s", show(d.rx(t)), show(d.stream(t, 0)))
				}
			})
		}
	}
	for _, tag := range []string{"0", "4095", "0x9100:7,8"} {
		run(t, "send", "packet:"+p.PortA, "--rx", "xdp:"+p.PortB, "--vlan", tag, "--count", "10", "--size", "128", "--json").wantWhole(t, 10)
	}
}

// Frames with a length are sent as they are and decoded as LLC, by us and by tshark.
func TestInputFramesWithALength(t *testing.T) {
	tshark := need.Tool(t, "tshark")
	in := inputFile(t, "llc.pcap")
	_, out := rewritten(t, "--pcap", in)
	same(t, framesOf(t, out), framesOf(t, in))
	run(t, "show", "--pcap", in, "-n", "2").wantExit(t, 0, "llc       dsap 66, ssap 66, control 3", "snap      oui 0, type 0x0800", "dst 198.19.0.1")
	got := framesOf(t, out)
	decode(t, tshark, got[:2], true)
	decode(t, tshark, got, false)
}

// edited sends a capture with changes: how many frames are left out for that, and the frames.
func edited(t *testing.T, name string, args ...string) (refused uint64, frames [][]byte) {
	t.Helper()
	r, out := rewritten(t, append([]string{"--pcap", inputFile(t, name), "--allow-skip"}, args...)...)
	return r.tx(t).Replay.Skipped["edit_refused"], framesOf(t, out)
}

// Headers that are rare or wrong are sent as they are. A change that needs what cannot be known is refused with its packet and
// the reason, and leaves the frame alone where there is no such header. Checksums of later fragments are not touched.
func TestInputOddHeaders(t *testing.T) {
	for _, c := range []struct {
		file, edit string
		say        string // of the refusal
		missing    string // how many have no such header
		refused    []int
	}{
		{"mpls.pcap", "--src-ip=198.18.0.9", "", "nothing to change in 4 frames", nil},
		{"mpls.pcap", "--src-port=7", "", "nothing to change in 3 frames", nil},
		{"extensions.pcap", "--src-port=7", "(packet 6: --src-port: its IPv6 header is malformed", "", []int{6}},
		{"extensions.pcap", "--src-ip=2001:2::9", "(packets 4, 5, 6: --src-ip: its extension headers run to the end of the data", "", []int{4, 5, 6}},
		{"ipv4.pcap", "--src-ip=198.18.0.9", "(packets 2, 3, 8: --src-ip: its IP header is malformed", "", []int{2, 3, 8}},
		{"ipv4.pcap", "--src-port=7", "(packets 3, 8: --src-port: its IPv4 header is malformed", "", []int{3, 8}},
	} {
		t.Run(c.file+c.edit, func(t *testing.T) {
			in := inputFile(t, c.file)
			r := run(t, "send", "null:", "--pcap", in, c.edit, "--rate", "max", "--json")
			if c.say != "" {
				if e := refusal(t, r, 1); !strings.Contains(e.Message, "edit_refused "+c.say) {
					t.Errorf("%q does not say %q", e.Message, c.say)
				}
			} else {
				r.wantExit(t, 0, c.missing)
			}
			n, got := edited(t, c.file, c.edit)
			var before [][]byte
			for i, f := range framesOf(t, in) {
				if len(c.refused) > 0 && c.refused[0] == i+1 {
					c.refused = c.refused[1:]
					n--
					continue
				}
				before = append(before, f)
			}
			if n != 0 || len(got) != len(before) {
				t.Fatalf("%d frames, want %d", len(got), len(before))
			}
			changed := 0
			for i, f := range got {
				var was, is packet.Layout
				was.Walk(before[i])
				is.Walk(f)
				if packet.VerifySums(before[i], &was) != packet.VerifySums(f, &is) {
					t.Errorf("frame %d: a checksum changes between right and wrong: % x", i, f)
				}
				if !bytes.Equal(f, before[i]) {
					changed++
				}
			}
			if changed == 0 {
				t.Error("nothing was changed")
			}
		})
	}
	run(t, "show", "--pcap", inputFile(t, "ipv4.pcap"), "-n", "8").wantExit(t, 0, "hdr_len 60", "frag_offset 5", "ttl 0", "len 2000, id 4660", "len 10, id 4660", "too small")
	// A later fragment: the address changes, what follows the header does not.
	_, got := edited(t, "ipv4.pcap", "--dst-ip=198.19.0.9", "--dst-port=7")
	was := pcaptest.Named("ipv4.pcap").Packets[4].Data
	for _, f := range got {
		if frag := binary.BigEndian.Uint16(f[20:]); frag == 5 && (!bytes.Equal(f[34:], was[34:]) || bytes.Equal(f[:34], was[:34])) {
			t.Errorf("% x\nwas % x", f, was)
		}
	}
	for file, say := range map[string]string{
		"  - layers: [eth, {mpls: {label: 5}}, {udp: {srcport: 'inc(1,1,9)'}}]":                           "udp cannot stand on mpls",
		"  - layers: [eth, {mpls: {label: 5}}, {raw: '00'}, {udp: {srcport: 'inc(1,1,9)'}}]":              "udp.checksum over it cannot be computed",
		"  - layers: [eth, ipv6, {fraghdr: {offset: 8}}, {udp: {srcport: 'inc(1,1,9)'}}]\n    size: 128":  "the packet is a fragment",
		"  - layers: [eth, {ip: {flags.mf: 1}}, {udp: {srcport: 'rand(1,65535,1)'}}]\n    size: 128":      "the packet is a fragment",
		"  - layers: [eth, {ip: {frag_offset: 5, src: 'inc(198.18.0.1,1,9)'}}, {udp: {}}]\n    size: 128": "udp.checksum",
	} {
		path := filepath.Join(t.TempDir(), "s.yaml")
		if err := os.WriteFile(path, []byte("streams:\n"+file+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		if e := refusal(t, run(t, "send", "null:", "-f", path, "--count", "1", "--json"), 1); !strings.Contains(e.Message, say) {
			t.Errorf("%s\n%q does not say %q", file, e.Message, say)
		}
	}
}

// A UDP checksum of 0 stays 0; one that comes to 0 is sent as 0xffff; over IPv6 a 0 is flagged.
func TestInputUDPChecksums(t *testing.T) {
	run(t, "show", "--pcap", inputFile(t, "udp.pcap"), "-n", "4").wantExit(t, 0, "checksum 0x0000\n", "checksum 0xffff (right)", "checksum 0x0000 (wrong),", "RFC 8200 8.1", "checksum 0x1234 (wrong)")
	_, got := edited(t, "udp.pcap", "--src-port=7")
	at := []int{40, 40, 60, 40}
	for i, f := range got {
		was := pcaptest.Named("udp.pcap").Packets[i].Data
		sum, before := binary.BigEndian.Uint16(f[at[i]:]), binary.BigEndian.Uint16(was[at[i]:])
		l, _ := packet.Walk(f)
		right := packet.VerifySums(f, &l) < 0
		if (i == 0 || i == 2) && sum != 0 || i == 1 && (!right || sum == before) || i == 3 && (right || sum == before) {
			t.Errorf("frame %d: checksum %#x, was %#x", i, sum, before)
		}
	}
	// The port that makes the sum 0: the checksum of the first frame less what the port adds.
	first := pcaptest.Named("us-little.pcap").Packets[0].Data
	port := (uint32(binary.BigEndian.Uint16(first[34:])) + uint32(binary.BigEndian.Uint16(first[40:]))) % 0xffff
	for _, replay := range []bool{true, false} {
		args := []string{"--pcap", inputFile(t, "us-little.pcap"), "--src-port", fmt.Sprint(port)}
		if !replay { // the same frame, made
			path := filepath.Join(t.TempDir(), "s.yaml")
			text := fmt.Sprintf("streams:\n  - size: 64\n    signature: none\n    payload: {fill: 'hex:%x'}\n    layers: [eth, {ip: {id: 0x1234, ttl: 1}}, {udp: {srcport: 'list(%d,%d)', dstport: 9}}]\n", first[42:], port, port)
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			args = []string{"-f", path, "--count", "2", "--rate", "1kpps"}
		}
		_, out := rewritten(t, args...)
		f := framesOf(t, out)[0]
		if l, _ := packet.Walk(f); binary.BigEndian.Uint16(f[40:]) != 0xffff || packet.VerifySums(f, &l) >= 0 {
			t.Errorf("replay %t: % x", replay, f)
		}
	}
}
