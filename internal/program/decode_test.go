package program_test

import (
	"bytes"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"
	"github.com/gopacket/gopacket/pcapgo"
	"github.com/wirespeed/wirespeed/internal/lab/need"
	"github.com/wirespeed/wirespeed/internal/packet"
	"github.com/wirespeed/wirespeed/internal/program"
	"github.com/wirespeed/wirespeed/internal/program/programtest"
	"github.com/wirespeed/wirespeed/stream"
)

// plain fields do not decide how the rest of the frame is read, so all of them can vary at once in a frame that a decoder
// still takes apart.
func plain(k *packet.Kind, f *packet.Field) bool {
	switch k.Name + "." + f.Name {
	case "ip.version", "ipv6.version", "ip.flags.mf", "ip.frag_offset", "vlan.tpid", "fraghdr.offset", "fraghdr.more", "routing.type", "routing.segleft",
		"arp.hw.type", "arp.proto.type", "arp.hw.size", "arp.proto.size", "arp.opcode", "icmp.type", "icmp.code", "icmpv6.type", "icmpv6.code", "icmpv6.reserved",
		"routing.srh.flags", "routing.srh.tag", "gre.flags.routing", "gre.flags.version", "gre.offset", "llc.control", "snap.oui", "vxlan.flags", "mpls.label",
		"udp.srcport", "udp.dstport": // ports name a protocol
		return false
	}
	return !f.Auto && !strings.Contains(f.Name, ".dscp") && !strings.Contains(f.Name, ".ecn")
}

// everyKind has one stream for each stack: every plain field varies, by the four modifiers in turn.
func everyKind(t testing.TB) []stream.Stream {
	var all []stream.Stream
	n := uint64(0)
	for _, stack := range programtest.Stacks() {
		s := of(strings.Join(stack, " "), nil, 178, 200, 179)
		s.Payload.Fill = stream.FillInc
		for _, kind := range stack {
			l := layer(t, kind)
			if kind == "routing" {
				l = layer(t, kind, "segleft", "1", "data", slices.Concat(make([]byte, 15), []byte{9}, make([]byte, 15), []byte{7})) // ::9, ::7
			}
			for i := range l.Kind.Fields {
				f := &l.Kind.Fields[i]
				if !plain(l.Kind, f) || l.Has(f.Name) {
					continue
				}
				top := f.Max().Lo
				half := packet.Num{Hi: f.Max().Hi / 3, Lo: top / 2}
				n++
				v := []stream.Value{
					{Op: stream.Inc, Start: half, Step: packet.Num{Lo: 1}, Count: min(5, top/2+1)},
					{Op: stream.Dec, Start: half, Step: packet.Num{Lo: 1}, Count: min(5, top/2+1)},
					{Op: stream.Rand, Start: packet.Num{}, Max: packet.Num{Lo: top & (1<<32 - 1)}, Seed: n},
					{Op: stream.List, List: []packet.Num{f.Max(), {}, half}},
				}[n%4]
				l.Fields = append(l.Fields, stream.FieldValue{Field: f, Value: v})
			}
			s.Layers = append(s.Layers, l)
		}
		all = append(all, s)
	}
	qinq := of("qinq", []stream.Layer{layer(t, "eth"), layer(t, "vlan", "tpid", "0x88a8", "id", "100"), layer(t, "vlan"), layer(t, "ip", "dsfield.dscp", inc(0, 1, 64), "dsfield.ecn", random(0, 3, 1)), layer(t, "udp")}, 128)
	old := of("old", []stream.Layer{layer(t, "eth"), layer(t, "vlan", "tpid", "0x9100", "id", "5"), layer(t, "vlan"), layer(t, "ip"), layer(t, "udp")}, 128)
	class := of("class", []stream.Layer{layer(t, "eth"), layer(t, "ipv6", "tclass.dscp", dec(63, 1, 64), "tclass.ecn", list(3, 1)), layer(t, "udp")}, 128)
	fragment := of("fragment", []stream.Layer{layer(t, "eth"), layer(t, "ip", "frag_offset", inc(1, 7, 1000), "flags.mf", list(1, 0))}, 128)
	echo := of("echo", []stream.Layer{layer(t, "eth"), layer(t, "ip", "data", []byte{0x94, 4, 0, 0}), layer(t, "icmp", "seq", inc(0, 1, 65536))}, 128)
	keyed := of("keyed", []stream.Layer{layer(t, "eth"), layer(t, "ip", "ttl", inc(1, 1, 9)),
		layer(t, "gre", "flags.checksum", "1", "key", inc(5, 1, 9), "sequence_number", inc(0, 1, 1<<32)), layer(t, "ip", "id", inc(0, 1, 9)), layer(t, "udp")}, 128)
	sack := of("sack", []stream.Layer{layer(t, "eth"), layer(t, "ip"), layer(t, "tcp", "flags", "2", "seq", random(0, 1<<32-1, 3), "data", []byte{2, 4, 5, 0xb4, 4, 2})}, 128)
	return append(all, qinq, old, class, fragment, echo, keyed, sack)
}

// sent is a frame and what the specification says of it.
type sent struct {
	frame  []byte
	stream *stream.Stream
	k      uint64
}

// sendAll makes eight frames of every kind.
func sendAll(t testing.TB, streams []stream.Stream) []sent {
	p := compile(t, streams...)
	im := p.Bind(program.Binding{Run: 1, Queues: 1, TimeKind: packet.TimeFrame})
	var all []sent
	for i := range 8 * len(streams) {
		f := next(t, im, 1e9)
		all = append(all, sent{f.Buf[:f.Len], &streams[f.Stream], uint64(i / len(streams))})
	}
	return all
}

// fields are the values of the frame by Wireshark's name; stacked tags have several. Given, default, and computed from
// the size alone.
func (s *sent) fields() map[string][]uint64 {
	want := map[string][]uint64{}
	behind := len(s.frame)
	versions := map[string]bool{}
	for _, l := range s.stream.Layers {
		versions[l.Kind.Name] = true
	}
	for i, l := range s.stream.Layers {
		behind -= l.Kind.Len
		for j := range l.Kind.Fields {
			f := &l.Kind.Fields[j]
			n, known := f.Default, !f.Auto
			switch name := l.Kind.Wireshark(f); name {
			case "ip.len":
				n.Lo, known = uint64(behind+l.Kind.Len), true
			case "ipv6.plen":
				n.Lo, known = uint64(behind), true
			case "udp.length":
				n.Lo, known = uint64(behind+8), true
			case "udp.dstport":
				if i+1 < len(s.stream.Layers) && s.stream.Layers[i+1].Kind.Port != 0 {
					n.Lo = uint64(s.stream.Layers[i+1].Kind.Port)
				}
			case "vlan.tpid", "icmpv6.reserved", "ipv6.routing.srh.flags", "ipv6.routing.srh.tag":
				continue
			case "ip.version":
				if versions["ip"] && versions["ipv6"] { // tshark calls both by this name
					continue
				}
			}
			overlapped := false
			for _, v := range l.Fields {
				if v.Field == f {
					n = valueAt(v.Value, s.k)
				} else if v.Field.Bit < f.Bit+f.Bits && f.Bit < v.Field.Bit+v.Field.Bits {
					overlapped = true
				}
			}
			if !known || overlapped {
				continue
			}
			if f.Type == packet.Words {
				n.Lo *= 4
			}
			name := l.Kind.Wireshark(f)
			if s.stream.Name == "qinq" && l.Kind.Name == "vlan" && len(l.Fields) > 0 {
				name = "ieee8021ad." + f.Name // what Wireshark calls the outer tag
			}
			want[name] = append(want[name], n.Hi, n.Lo)
		}
	}
	return want
}

func TestTsharkAgrees(t *testing.T) {
	tshark := need.Tool(t, "tshark")
	all := sendAll(t, everyKind(t))
	var names []string
	for _, k := range packet.Kinds() {
		for i := range k.Fields {
			if name := k.Wireshark(&k.Fields[i]); name != "vlan.tpid" && !strings.Contains(name, "tclass.") && !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	status := []string{"ip.checksum.status", "udp.checksum.status", "tcp.checksum.status", "icmp.checksum.status", "icmpv6.checksum.status", "gre.checksum.status"}
	names = append(append(names, "ipv6.tclass.dscp", "ipv6.tclass.ecn", "ieee8021ad.id", "ieee8021ad.priority", "ieee8021ad.dei", "frame.protocols"), status...)
	rows := decode(t, tshark, all, names)
	checked := map[string]bool{}
	for i, row := range rows {
		s := &all[i]
		for name, want := range s.fields() {
			checked[name] = true
			var got []uint64
			for v := range strings.SplitSeq(row[name], "|") {
				got = append(got, number(t, v)...)
			}
			if fmt.Sprint(got) != fmt.Sprint(want) {
				t.Errorf("%s, frame %d: %s is %v (%q), want %v", s.stream.Name, s.k, name, got, row[name], want)
			}
		}
		sums := map[string]int{}
		for _, l := range s.stream.Layers {
			if l.Kind.Checksum != nil {
				sums[l.Kind.Name+".checksum.status"]++
			}
		}
		for name, n := range sums {
			if want := strings.TrimSuffix(strings.Repeat("1|", n), "|"); row[name] != want {
				t.Errorf("%s, frame %d: %s is %q, want %s (good)", s.stream.Name, s.k, name, row[name], want)
			}
		}
		if s.stream.Name == "qinq" && !strings.HasPrefix(row["frame.protocols"], "eth:ethertype:ieee8021ad:ethertype:vlan:ethertype:ip:udp") {
			t.Errorf("qinq is read as %s", row["frame.protocols"])
		}
	}
	for _, k := range packet.Kinds() {
		for i := range k.Fields {
			if f := &k.Fields[i]; !f.Auto && plain(k, f) && !checked[k.Wireshark(f)] {
				t.Errorf("%s was compared in no frame", k.Wireshark(f))
			}
		}
	}
}

// decode has tshark read the frames: a map of field to its values joined by | for each.
func decode(t *testing.T, tshark string, all []sent, names []string) []map[string]string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "frames.pcap")
	file, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	w := pcapgo.NewWriter(file)
	if err := w.WriteFileHeader(65535, layers.LinkTypeEthernet); err != nil {
		t.Fatal(err)
	}
	for _, s := range all {
		if err := w.WritePacket(gopacket.CaptureInfo{Timestamp: time.Unix(0, 0), CaptureLength: len(s.frame), Length: len(s.frame)}, s.frame); err != nil {
			t.Fatal(err)
		}
	}
	args := []string{"-n", "-r", path, "-T", "fields", "-E", "separator=/t", "-E", "aggregator=|"}
	for _, o := range []string{"ip.check_checksum:TRUE", "udp.check_checksum:TRUE", "tcp.check_checksum:TRUE", "tcp.relative_sequence_numbers:FALSE", "ip.defragment:FALSE"} {
		args = append(args, "-o", o)
	}
	for _, name := range names {
		args = append(args, "-e", name)
	}
	cmd := exec.Command(tshark, args...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("tshark: %v: %s", err, stderr.String())
	}
	lines := strings.Split(strings.TrimSuffix(string(out), "\n"), "\n")
	if len(lines) != len(all) {
		t.Fatalf("tshark read %d of %d frames", len(lines), len(all))
	}
	var rows []map[string]string
	for _, line := range lines {
		row := map[string]string{}
		for i, v := range strings.Split(line, "\t") {
			row[names[i]] = v
		}
		rows = append(rows, row)
	}
	return rows
}

// number reads what tshark prints: upper and lower half.
func number(t *testing.T, s string) []uint64 {
	t.Helper()
	switch {
	case s == "True":
		return []uint64{0, 1}
	case s == "False":
		return []uint64{0, 0}
	case strings.Count(s, ":") == 5 && len(s) == 17:
		n, err := strconv.ParseUint(strings.ReplaceAll(s, ":", ""), 16, 48)
		if err != nil {
			t.Fatal(err)
		}
		return []uint64{0, n}
	}
	if a, err := netip.ParseAddr(s); err == nil {
		var r [2]uint64
		b := a.As16()
		if a.Is4() {
			copy(b[:12], make([]byte, 12))
		}
		for i, c := range b {
			r[i/8] = r[i/8]<<8 | uint64(c)
		}
		return r[:]
	}
	n, err := strconv.ParseUint(s, 0, 64)
	if err != nil {
		t.Errorf("tshark printed %q", s)
	}
	return []uint64{0, n}
}

func TestGopacketAgrees(t *testing.T) {
	for _, s := range sendAll(t, everyKind(t)) {
		p := gopacket.NewPacket(s.frame, layers.LayerTypeEthernet, gopacket.Default)
		var network gopacket.NetworkLayer
		for _, l := range p.Layers() {
			if n, ok := l.(gopacket.NetworkLayer); ok {
				network = n
			}
			if l4, ok := l.(interface {
				SetNetworkLayerForChecksum(gopacket.NetworkLayer) error
			}); ok && network != nil {
				if err := l4.SetNetworkLayerForChecksum(network); err != nil {
					t.Fatal(err)
				}
			}
			// It does not know that a routing header changes the pseudo header.
			if c, ok := l.(gopacket.LayerWithChecksum); ok && !strings.Contains(s.stream.Name, "routing") {
				if err, sum := c.VerifyChecksum(); err != nil || !sum.Valid {
					t.Errorf("%s, frame %d: %v, checksum of %s: %+v", s.stream.Name, s.k, err, l.LayerType(), sum)
				}
			}
		}
		want := s.fields()
		same := func(name string, got ...uint64) {
			if fmt.Sprint(want[name]) != fmt.Sprint(got) {
				t.Errorf("%s, frame %d: %s is %v, want %v", s.stream.Name, s.k, name, got, want[name])
			}
		}
		if s.stream.Name == "old" {
			continue // gopacket does not know the TPID 0x9100
		}
		l, ok := packet.Walk(s.frame)
		if bad := packet.VerifySums(s.frame, &l); !ok || bad >= 0 {
			t.Errorf("%s, frame %d: header %d has a wrong checksum", s.stream.Name, s.k, bad)
		}
		if len(s.stream.Layers) > 4 || strings.Contains(s.stream.Name, "ip ip") {
			continue // it finds the first header of a kind only
		}
		i := 0
		for _, l := range s.stream.Layers {
			if l.Kind.Name == "raw" {
				break
			}
			if i >= len(p.Layers()) || strings.ToLower(p.Layers()[i].LayerType().String()) != gopacketName(l.Kind.Name) {
				t.Fatalf("%s: gopacket reads %v", s.stream.Name, p.Layers())
			}
			i++
		}
		if ip, ok := p.NetworkLayer().(*layers.IPv4); ok {
			src, dst := ip.SrcIP.To4(), ip.DstIP.To4()
			same("ip.src", 0, uint64(src[0])<<24|uint64(src[1])<<16|uint64(src[2])<<8|uint64(src[3]))
			same("ip.dst", 0, uint64(dst[0])<<24|uint64(dst[1])<<16|uint64(dst[2])<<8|uint64(dst[3]))
			same("ip.ttl", 0, uint64(ip.TTL))
			same("ip.id", 0, uint64(ip.Id))
			same("ip.len", 0, uint64(ip.Length))
			same("ip.frag_offset", 0, uint64(ip.FragOffset))
		}
		if ip, ok := p.NetworkLayer().(*layers.IPv6); ok {
			same("ipv6.flow", 0, uint64(ip.FlowLabel))
			same("ipv6.hlim", 0, uint64(ip.HopLimit))
			same("ipv6.plen", 0, uint64(ip.Length))
		}
		switch l4 := p.TransportLayer().(type) {
		case *layers.UDP:
			same("udp.srcport", 0, uint64(l4.SrcPort))
			same("udp.dstport", 0, uint64(l4.DstPort))
			same("udp.length", 0, uint64(l4.Length))
		case *layers.TCP:
			same("tcp.seq", 0, uint64(l4.Seq))
			same("tcp.ack", 0, uint64(l4.Ack))
			same("tcp.window_size_value", 0, uint64(l4.Window))
			same("tcp.urgent_pointer", 0, uint64(l4.Urgent))
		}
	}
}

// A given checksum or length is sent as given, though it is wrong, and tshark says so.
func TestWrongOnPurpose(t *testing.T) {
	tshark := need.Tool(t, "tshark")
	s := []stream.Stream{of("wrong", []stream.Layer{layer(t, "eth"), layer(t, "ip", "checksum", "0xbad", "ttl", inc(1, 1, 9)), layer(t, "udp", "checksum", "0xbad")}, 64)}
	for _, row := range decode(t, tshark, sendAll(t, s), []string{"ip.checksum", "ip.checksum.status", "udp.checksum", "udp.checksum.status"}) {
		if row["ip.checksum"] != "0x0bad" || row["udp.checksum"] != "0x0bad" || row["ip.checksum.status"] != "0" || row["udp.checksum.status"] != "0" {
			t.Errorf("%v", row)
		}
	}
}

// gopacketName is what the decoder calls a header, in small letters.
func gopacketName(kind string) string {
	if name := map[string]string{"eth": "ethernet", "vlan": "dot1q", "ip": "ipv4", "icmp": "icmpv4", "hopopts": "ipv6hopbyhop"}[kind]; name != "" {
		return name
	}
	return kind
}
