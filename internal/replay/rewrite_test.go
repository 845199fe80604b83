package replay

import (
	"bytes"
	"encoding/binary"
	"net/netip"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/wirespeed/wirespeed/internal/packet"
	"github.com/wirespeed/wirespeed/internal/pcapio"
	"github.com/wirespeed/wirespeed/internal/program"
	"github.com/wirespeed/wirespeed/internal/program/programtest"
	"github.com/wirespeed/wirespeed/stream"
)

// drawn are frames of drawn streams: any nest of any headers, checksums right but where the stream says otherwise.
func drawn(t *rapid.T) (out [][]byte) {
	set := &stream.Set{Streams: []stream.Stream{programtest.Stream(t, "any", 64)}}
	for range 2 {
		set.Streams = append(set.Streams, usual(t))
	}
	for i := range set.Streams {
		p, err := program.Compile(&stream.Set{Streams: set.Streams[i : i+1]})
		if err != nil {
			t.Fatal(err)
		}
		im := p.Bind(program.Binding{Queues: 1})
		for range 2 {
			f := []program.Frame{{Buf: make([]byte, 1<<15)}}
			if im.Fill(f, 0) != 1 {
				t.Fatal("no frame")
			}
			out = append(out, f[0].Buf[:f[0].Len])
		}
	}
	return out
}

// usual is a stream of headers as they usually stand on each other, all fields as they are without being asked.
func usual(t *rapid.T) stream.Stream {
	st := stream.Stream{Name: "usual", Weight: 1, Signature: "none", Payload: stream.Payload{Fill: stream.FillRandom, Seed: rapid.Uint64().Draw(t, "seed")}}
	size := 4
	stacks := append(programtest.Stacks(), []string{"eth", "ipv6", "udp", "vxlan", "eth", "ip", "tcp"}, []string{"eth", "ipv6", "udp", "vxlan", "eth", "vlan", "ip", "udp"}, []string{"eth", "ip", "ip", "ipv6", "udp"})
	for _, name := range rapid.SampledFrom(stacks).Draw(t, "usual stack") {
		var data []byte
		if name == "raw" {
			data = []byte{1, 2, 3, 4}
		}
		l, err := stream.NewLayer(packet.Lookup(name), nil, data)
		if err != nil {
			t.Fatal(err)
		}
		st.Layers = append(st.Layers, l)
		size += l.Kind.Len
	}
	size = max(64, size) + rapid.IntRange(0, 40).Draw(t, "more")
	st.Size = stream.Sizes{Cycle: []int{size}, Min: size, Max: size}
	return st
}

// wrong is by how much each checksum of a frame with this layout differs from the right one, by header; an absent one by
// nothing.
func wrong(b []byte, l *packet.Layout) map[int]uint16 {
	out := map[int]uint16{}
	for i := range l.Stack[:l.Depth] {
		whole := bytes.Clone(b)
		mendOne(whole, l, i)
		at := placeOf(l, i)
		if at == 0 || at+2 > len(b) {
			continue
		}
		is, should := binary.BigEndian.Uint16(b[at:]), binary.BigEndian.Uint16(whole[at:])
		if l.Stack[i].Kind == packet.HeaderUDP && is == 0 {
			out[i] = 0
			continue
		}
		// Ones' complement difference; both zeros are the same.
		d := packet.Fold(uint64(is) + uint64(^should))
		if d == 0xffff {
			d = 0
		}
		out[i] = d
	}
	return out
}

func placeOf(l *packet.Layout, i int) int {
	off := int(l.Stack[i].Off)
	switch l.Stack[i].Kind {
	case packet.HeaderIPv4:
		return off + 10
	case packet.HeaderUDP:
		return off + 6
	case packet.HeaderTCP:
		return off + 16
	case packet.HeaderICMPv6, packet.HeaderICMP:
		return off + 2
	}
	return 0
}

// mendOne makes the checksum of header i right, whatever the others are.
func mendOne(b []byte, l *packet.Layout, i int) {
	at := placeOf(l, i)
	if at == 0 || at+2 > len(b) {
		return
	}
	off, end := int(l.Stack[i].Off), int(l.Stack[i].End)
	var acc uint64
	proto := uint8(0)
	switch l.Stack[i].Kind {
	case packet.HeaderIPv4:
		end = off + int(l.Stack[i].Len)
	case packet.HeaderUDP:
		proto = packet.ProtoUDP
	case packet.HeaderTCP:
		proto = packet.ProtoTCP
	case packet.HeaderICMPv6:
		proto = packet.ProtoICMPv6
	}
	if proto != 0 {
		final := []byte(nil)
		for j := i - 1; j >= 0; j-- {
			h := l.Stack[j]
			if h.Kind == packet.HeaderRouting && b[h.Off+3] > 0 {
				final = b[h.Off+h.Len-16 : h.Off+h.Len]
			}
			if h.Kind == packet.HeaderIPv4 {
				acc = packet.PseudoSum(b[h.Off+12:h.Off+20], proto, end-off)
				break
			}
			if h.Kind == packet.HeaderIPv6 {
				addrs := bytes.Clone(b[h.Off+8 : h.Off+40])
				if final != nil {
					copy(addrs[16:], final)
				}
				acc = packet.PseudoSum(addrs, proto, end-off)
				break
			}
		}
	}
	b[at], b[at+1] = 0, 0
	binary.BigEndian.PutUint16(b[at:], ^packet.Fold(packet.Sum(acc, b[off:end])))
}

// Without edits every frame is sent as it lies in the capture.
func TestNoEditsNoChange(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		in := drawn(rt)
		var records []record
		for i, b := range in {
			records = append(records, record{ns: int64(i) * 1000, data: b})
		}
		out, _ := replayed(t, stream.Flags{}, stream.ReplayFlags{}, records...)
		if !slices.EqualFunc(in, out, bytes.Equal) {
			rt.Fatalf("in\n%x\nout\n%x", in, out)
		}
	})
}

// Edits change the field and nothing else but checksums, which stay as right, or as wrong, as they were.
func TestEditsKeepChecksums(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		var records []record
		in := drawn(rt)
		if len(in) == 0 {
			rt.Skip()
		}
		for i, b := range in {
			if rapid.IntRange(0, 3).Draw(rt, "harm") == 0 { // anything may be wrong, also in a payload
				b[rapid.IntRange(14, len(b)-1).Draw(rt, "at")] ^= byte(rapid.IntRange(1, 255).Draw(rt, "by"))
			}
			records = append(records, record{ns: int64(i), data: b})
		}
		f := stream.Flags{
			SrcMAC: pick(rt, "", "02:00:00:00:00:77"), DstIP: pick(rt, "", "inc(198.18.1.255,1,3)", "2001:2::77", "rand(198.18.0.0,198.18.255.255,1)"),
			SrcIP: pick(rt, "", "198.18.7.7", "inc(2001:2::ffff:ffff:ffff:ffff,1,9)"), SrcPort: pick(rt, "", "7", "inc(65534,1,2)"), DstPort: pick(rt, "", "rand(1,9,3)"),
			TTL: pick(rt, "", "1", "dec(64,1,9)"), VLAN: pick(rt, "", "none", "7"),
		}
		r := stream.ReplayFlags{AllowSkip: true, Pad: "zero", MapIP: []string{"0.0.0.0/1=128.0.0.0/1", "2001::/16=2002::/16"}}
		if rapid.Bool().Draw(rt, "unmapped") {
			r.MapIP = nil
		}
		r.PCAP = write(t, pcapBytes(linkEthernet, records...))
		c, err := Open(t.Context(), set(t, f, r), Limits{})
		if err != nil {
			return // all were refused
		}
		out := frames(c)
		if len(out) != len(in) {
			return // some were refused: which is not said by frame
		}
		for i := range in {
			if f.VLAN != "" {
				continue // offsets move
			}
			l, _ := packet.Walk(in[i]) // a changed port may hide what is behind it
			was, is := wrong(in[i], &l), wrong(out[i], &l)
			for h, d := range was {
				if is[h] != d {
					rt.Fatalf("flags %+v %+v: %s header at %d was wrong by %#x, is by %#x\n%x\n%x", f, r, l.Stack[h].Kind, l.Stack[h].Off, d, is[h], in[i], out[i])
				}
			}
		}
	})
}

func pick(t *rapid.T, values ...string) string { return rapid.SampledFrom(values).Draw(t, "flag") }

func TestEditsChangeWhatTheySay(t *testing.T) {
	in := udp4(40)
	out, c := replayed(t, stream.Flags{
		SrcMAC: "02:00:00:00:00:aa", DstMAC: "02:00:00:00:00:bb", SrcIP: "198.18.0.9", DstIP: "inc(198.18.0.20,1,2)", SrcPort: "7", DstPort: "list(8,9)", TTL: "33", VLAN: "inc(100,1,2)",
	}, stream.ReplayFlags{}, record{data: in}, record{data: in}, record{data: in})
	for i, b := range out {
		if !right(b) {
			t.Errorf("frame %d: a checksum is wrong: %x", i, b)
		}
		want := tag(append(make([]byte, 0, len(in)+4), in...), uint16(100+i%2))
		copy(want, []byte{2, 0, 0, 0, 0, 0xbb, 2, 0, 0, 0, 0, 0xaa})
		want[18+8] = 33
		copy(want[18+12:], []byte{198, 18, 0, 9, 198, 18, 0, byte(20 + i%2)})
		copy(want[38:], []byte{0, 7, 0, byte(8 + i%2)})
		mend(want)
		if !bytes.Equal(b, want) {
			t.Errorf("frame %d\n%x, want\n%x", i, b, want)
		}
	}
	if f := c.Facts(); f.Missed() != 0 || f.Frames != 3 {
		t.Errorf("%+v", f)
	}
}

func TestTags(t *testing.T) {
	in := udp4(60)
	two := append(append(bytes.Clone(in[:12]), 0x88, 0xa8, 0xe0, 0x05, 0x81, 0, 0x30, 7), in[12:]...)
	for vlan, want := range map[string][]byte{
		"":     two,
		"none": in,
		"9":    append(append(bytes.Clone(in[:12]), 0x88, 0xa8, 0xe0, 0x09, 0x81, 0, 0x30, 7), in[12:]...),
	} {
		if out, _ := replayed(t, stream.Flags{VLAN: vlan}, stream.ReplayFlags{}, record{data: two}); !bytes.Equal(out[0], want) {
			t.Errorf("--vlan %q\n%x, want\n%x", vlan, out[0], want)
		}
	}
	short := bytes.Clone(two[:64])
	if out, c := replayed(t, stream.Flags{VLAN: "none"}, stream.ReplayFlags{Pad: "zero"}, record{data: short}); len(out[0]) != 60 || c.Facts().Padded != 1 {
		t.Errorf("%x", out[0])
	}
}

func TestMapIP(t *testing.T) {
	in := udp4(40)
	arp := make([]byte, 60)
	copy(arp, []byte{255, 255, 255, 255, 255, 255, 2, 0, 0, 0, 0, 1, 8, 6, 0, 1, 8, 0, 6, 4, 0, 1, 2, 0, 0, 0, 0, 1, 10, 1, 2, 3, 0, 0, 0, 0, 0, 0, 10, 4, 5, 6})
	out, c := replayed(t, stream.Flags{}, stream.ReplayFlags{MapIP: []string{"10.4.0.0/16=198.18.0.0/16", "10.0.0.0/9=198.19.128.0/9", "172.16.0.0/12=10.0.0.0/12"}},
		record{data: in}, record{data: arp})
	addr := func(b []byte, at int) netip.Addr { a, _ := netip.AddrFromSlice(b[at : at+4]); return a }
	if s, d := addr(out[0], 26).String(), addr(out[0], 30).String(); s != "198.1.2.3" && s != "198.129.2.3" || d != "198.18.5.6" || !right(out[0]) {
		t.Errorf("%s to %s, right %v", s, d, right(out[0]))
	}
	if d := addr(out[1], 38).String(); d != "198.18.5.6" {
		t.Errorf("ARP asks for %s", d)
	}
	if f := c.Facts(); !slices.Equal(f.Unused, []string{"172.16.0.0/12"}) {
		t.Errorf("unused %q", f.Unused)
	}
}

// Of a fragmented datagram the first fragment has the checksum, which covers the addresses; later ones have none.
func TestFragments(t *testing.T) {
	whole := udp4(120)
	cut := func(from, to int, more bool) []byte {
		b := append(bytes.Clone(whole[:34]), whole[34+from:34+to]...)
		binary.BigEndian.PutUint16(b[16:], uint16(20+to-from))
		off := uint16(from / 8)
		if more {
			off |= 0x2000
		}
		binary.BigEndian.PutUint16(b[20:], off)
		b[24], b[25] = 0, 0
		binary.BigEndian.PutUint16(b[24:], ^packet.Fold(packet.Sum(0, b[14:34])))
		return b
	}
	first, second := cut(0, 64, true), cut(64, 128, false)
	out, c := replayed(t, stream.Flags{SrcIP: "198.18.0.9", DstPort: "7"}, stream.ReplayFlags{}, record{data: first}, record{data: second})
	if !bytes.Equal(out[1][34:], second[34:]) {
		t.Error("the later fragment's payload was changed")
	}
	joined := append(append(bytes.Clone(out[0][:34]), out[0][34:]...), out[1][34:]...)
	binary.BigEndian.PutUint16(joined[16:], uint16(len(joined)-14))
	binary.BigEndian.PutUint16(joined[20:], 0)
	l, _ := packet.Walk(joined)
	if !packet.VerifyL4(joined, &l) {
		t.Error("the checksum of the whole datagram is wrong")
	}
	for i, b := range out {
		if packet.Fold(packet.Sum(0, b[14:34])) != 0xffff {
			t.Errorf("fragment %d: header checksum", i)
		}
	}
	if f := c.Facts(); len(f.Edits) != 1 || f.Edits[0] != (Missing{"dst_port", 1}) {
		t.Errorf("%+v", f.Edits)
	}
}

// A checksum around another follows both: the changed address, and the checksums over it.
func TestNestedChecksums(t *testing.T) {
	for _, text := range []string{
		"[eth, ipv6, udp, vxlan, eth, ip, tcp]", "[eth, ipv6, {gre: {flags.checksum: 1}}, ip, udp]", "[eth, ip, udp, vxlan, eth, vlan, ipv6, tcp]",
	} {
		b := made(t, text)
		out, c := replayed(t, stream.Flags{SrcIP: "198.18.77.1", DstPort: "7", TTL: "9"}, stream.ReplayFlags{MapIP: []string{"2001::/16=2002::/16"}}, record{data: b})
		if !right(b) || !right(out[0]) || bytes.Equal(b, out[0]) || c.facts.Missed() > 0 {
			t.Errorf("%s: right before %v, after %v\n%x\n%x", text, right(b), right(out[0]), b, out[0])
		}
	}
}

// With segments left in a routing header the checksum has the final destination, not the one in the IPv6 header.
func TestRoutingHeader(t *testing.T) {
	for _, text := range []string{
		"[eth, ipv6, {routing: {segleft: 1, addresses: \"2001:2::5\"}}, udp]", "[eth, ipv6, {routing: {segleft: 0, addresses: \"2001:2::5\"}}, tcp]",
		"[eth, ipv6, hopopts, dstopts, {routing: {segleft: 1, addresses: \"2001:2::5\"}}, icmpv6]",
	} {
		b := made(t, text)
		out, _ := replayed(t, stream.Flags{SrcIP: "2001:2::77", DstIP: "2001:2::78"}, stream.ReplayFlags{}, record{data: b})
		if !right(b) || !right(out[0]) || bytes.Equal(b, out[0]) {
			t.Errorf("%s: right before %v, after %v\n%x\n%x", text, right(b), right(out[0]), b, out[0])
		}
	}
}

// made is a frame of 200 bytes with the layers that a stream file has.
func made(t *testing.T, layers string) []byte {
	t.Helper()
	s, err := stream.Parse("test", []byte("streams: [{signature: none, size: 204, payload: {fill: inc}, layers: "+layers+"}]"))
	if err != nil {
		t.Fatal(err)
	}
	p, err := program.Compile(s)
	if err != nil {
		t.Fatal(err)
	}
	f := []program.Frame{{Buf: make([]byte, 200)}}
	p.Bind(program.Binding{Queues: 1}).Fill(f, 0)
	return f[0].Buf
}

// What is malformed is sent as it is, and no edit pretends to know better.
func TestMalformed(t *testing.T) {
	frame := func(change func(ip []byte)) []byte {
		b := udp4(40)
		change(b[14:])
		return b
	}
	ah := frame(func(ip []byte) { ip[9] = 51 })
	for name, b := range map[string][]byte{
		"IHL 4":           frame(func(ip []byte) { ip[0] = 0x44 }),
		"IHL 15 too long": frame(func(ip []byte) { ip[0] = 0x4f; binary.BigEndian.PutUint16(ip[2:], 40) }),
		"total length":    frame(func(ip []byte) { binary.BigEndian.PutUint16(ip[2:], 2000) }),
		"TTL 0":           frame(func(ip []byte) { ip[8] = 0 }),
		"DF and MF":       frame(func(ip []byte) { ip[6] = 0x60 }),
		"AH":              ah,
	} {
		if out, _ := replayed(t, stream.Flags{SrcMAC: "02:00:00:00:00:01"}, stream.ReplayFlags{}, record{data: b}); !bytes.Equal(out[0], b) {
			t.Errorf("%s: changed\n%x\n%x", name, b, out[0])
		}
	}
	for name, b := range map[string][]byte{
		"IHL 4": frame(func(ip []byte) { ip[0] = 0x44 }), "total length": frame(func(ip []byte) { binary.BigEndian.PutUint16(ip[2:], 2000) }), "AH": ah,
		"UDP-Lite": frame(func(ip []byte) { ip[9] = 136 }), "TCP cut": frame(func(ip []byte) { ip[9] = 6; ip[6] = 0x20; binary.BigEndian.PutUint16(ip[2:], 28) }),
	} {
		r := set(t, stream.Flags{SrcIP: "198.18.0.9"}, stream.ReplayFlags{PCAP: write(t, pcapBytes(linkEthernet, record{data: udp4(40)}, record{data: b}))})
		bad := refusal(t, r, Limits{})
		for _, want := range []string{"1 of 2 packets", "edit_refused", "packet 2", "--src-ip"} {
			if !bytes.Contains([]byte(bad.Message), []byte(want)) {
				t.Errorf("%s: %q lacks %q", name, bad.Message, want)
			}
		}
	}
}

// UDP's 0 says that there is no checksum and stays; a computed 0 is written as 0xffff.
func TestZeroChecksum(t *testing.T) {
	none := udp4(40)
	none[40], none[41] = 0, 0
	out, _ := replayed(t, stream.Flags{DstIP: "198.18.0.1", SrcPort: "9"}, stream.ReplayFlags{}, record{data: none})
	if out[0][40]|out[0][41] != 0 {
		t.Error("a checksum was made where there was none")
	}
	in := udp4(40)
	// The port for which the checksum comes to 0: the sum of all else, complemented.
	in[34], in[35] = 0, 0
	mend(in)
	port := binary.BigEndian.Uint16(in[40:])
	out, _ = replayed(t, stream.Flags{SrcPort: num(port)}, stream.ReplayFlags{}, record{data: in})
	if !right(out[0]) || out[0][40] != 0xff || out[0][41] != 0xff {
		t.Errorf("checksum %x, right %v", out[0][40:42], right(out[0]))
	}
}

// Making a frame allocates nothing, whatever is changed in it.
func TestMakingAllocatesNothing(t *testing.T) {
	r := set(t, stream.Flags{SrcMAC: "02:00:00:00:00:01", SrcIP: "inc(198.18.0.1,1,9)", DstIP: "rand(198.18.0.0,198.18.255.255,1)", SrcPort: "7", TTL: "9", VLAN: "7", Signature: "full"},
		stream.ReplayFlags{PCAP: "x", MapIP: []string{"0.0.0.0/1=128.0.0.0/1"}, Pad: "random"})
	m, err := newMaker(r, Limits{}, &Facts{})
	if err != nil {
		t.Fatal(err)
	}
	p := pcapio.Packet{Data: udp4(40), Orig: 90, Link: pcapio.LinkEthernet, HasTime: true, Number: 1}
	var f program.SequenceFrame
	if n := testing.AllocsPerRun(1000, func() {
		p.Number, p.TimeNs = p.Number+1, p.TimeNs+1000
		if m.make(&p, &f) == nil {
			t.Fatal("not made")
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkMake(b *testing.B) {
	for name, x := range map[string]stream.Flags{"as it is": {}, "five edits": {SrcMAC: "02:00:00:00:00:01", SrcIP: "inc(198.18.0.1,1,9)", DstIP: "198.18.0.1", SrcPort: "7", TTL: "9"}} {
		b.Run(name, func(b *testing.B) {
			m, err := newMaker(set(b, x, stream.ReplayFlags{PCAP: "x"}), Limits{}, &Facts{})
			if err != nil {
				b.Fatal(err)
			}
			p := pcapio.Packet{Data: udp4(40), Orig: 82, Link: pcapio.LinkEthernet, HasTime: true, Number: 1}
			var f program.SequenceFrame
			for b.Loop() {
				m.make(&p, &f)
			}
		})
	}
}
