package program_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"strings"
	"testing"

	"github.com/wirespeed/wirespeed/internal/packet"
	"github.com/wirespeed/wirespeed/internal/program"
	"github.com/wirespeed/wirespeed/stream"
)

// parsed compiles a definition in YAML.
func parsed(t testing.TB, text string) (*program.Program, error) {
	t.Helper()
	set, err := stream.Parse("f.yaml", []byte(text))
	if err != nil {
		return nil, err
	}
	p, err := program.Compile(set)
	if err != nil {
		t.Fatalf("parsed, and then: %v", err)
	}
	return p, nil
}

// mustParse is parsed of what has no mistake.
func mustParse(t testing.TB, text string) *program.Program {
	t.Helper()
	p, err := parsed(t, text)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// A source port that counts through all ports, a random destination and a checksum, in a million frames: every checksum is
// right, every port and (nearly) every address comes, and a second run gives the same.
func TestMillionFrames(t *testing.T) {
	p := mustParse(t, `
streams:
- size: 64
  layers:
  - eth
  - ip: {dst: "rand(198.18.0.0,198.18.15.255,7)"}
  - udp: {srcport: "inc(1,1,65535)"}
`)
	one, two := p.Bind(program.Binding{Queues: 1}), p.Bind(program.Binding{Queues: 1})
	const n = 500
	a, b := make([]program.Frame, n), make([]program.Frame, n)
	for i := range a {
		a[i].Buf, b[i].Buf = make([]byte, 64), make([]byte, 64)
	}
	ports, addrs := make([]bool, 1<<16), make([]bool, 1<<12)
	for round := range 1000000 / n {
		if one.Fill(a, 0) != n || two.Fill(b, 0) != n {
			t.Fatal("Fill stopped")
		}
		for i := range a {
			f := a[i].Buf[:a[i].Len]
			l, ok := packet.Walk(f)
			if bad := packet.VerifySums(f, &l); !ok || bad >= 0 || f[40]|f[41] == 0 {
				t.Fatalf("frame %d: checksum of header %d is wrong: %x", round*n+i, bad, f)
			}
			if !bytes.Equal(f, b[i].Buf[:b[i].Len]) {
				t.Fatalf("frame %d of the second run differs", round*n+i)
			}
			ports[binary.BigEndian.Uint16(f[34:])] = true
			addrs[binary.BigEndian.Uint16(f[32:])&0xfff] = true
		}
	}
	for v := 1; v < 1<<16; v++ {
		if !ports[v] {
			t.Fatalf("port %d never came", v)
		}
	}
	for v, hit := range addrs {
		if !hit { // 244 draws for each: none is left out but with a chance of e^-244
			t.Fatalf("address %d never came", v)
		}
	}
}

// Sizes below the smallest frame, below the headers and above the largest are refused; all between are made to the byte.
func TestSizesOfFrames(t *testing.T) {
	def := func(size int, l3 string) string {
		return fmt.Sprintf("streams:\n- {size: %d, layers: [eth, %s, udp], signature: none}\n", size, l3)
	}
	for _, size := range []int{64, 65, 66, 67, 1518, 1519, 1522, 1526, 9000, 9014, 9018, 9216, 9728, 16109, 16110} {
		for _, l3 := range []string{"ip", "ipv6"} {
			p, err := parsed(t, def(size, l3))
			if l3 == "ipv6" && size < 66 {
				if err == nil || !strings.Contains(err.Error(), "give a size of 66 or more") {
					t.Errorf("IPv6 UDP of %d bytes: %v", size, err)
				}
				continue
			}
			if err != nil {
				t.Fatal(err)
			}
			f := []program.Frame{{Buf: make([]byte, 16110)}}
			p.Bind(program.Binding{Queues: 1}).Fill(f, 0)
			b := f[0].Buf[:f[0].Len]
			if l, ok := packet.Walk(b); len(b) != size-4 || !ok || l.BadLength || l.End != len(b) || packet.VerifySums(b, &l) >= 0 {
				t.Errorf("%s of %d bytes: %d bytes, %+v", l3, size, len(b), l)
			}
		}
	}
	for _, size := range []int{0, 59, 60, 61, 63, 16111} {
		if _, err := parsed(t, def(size, "ip")); err == nil || !strings.Contains(err.Error(), "f.yaml:2:10: streams[0].size: ") {
			t.Errorf("size %d: %v", size, err)
		}
	}
}

// Stacks of labels and tags, chains of extension headers, options and fragments: the frame is what was written, its
// checksums are right where they can be, and the walk agrees.
func TestOddStacks(t *testing.T) {
	for _, c := range []struct {
		name, layers string
		depth        int
		sums         bool // all that the walk finds are right
		hex          string
	}{
		{"priority tag", "eth, {vlan: {id: 0, priority: 7}}, ip, udp", 4, true, "8100e0000800"},
		{"service and customer tag", "eth, {vlan: {tpid: 0x88a8, id: 4095}}, vlan, ip, udp", 5, true, "88a80fff810000010800"},
		{"old tag", "eth, {vlan: {tpid: 0x9100}}, vlan, vlan, ip, udp", 6, true, "9100000181000001810000010800"},
		{"17 labels", "eth, " + strings.Repeat("{mpls: {label: 1000}}, ", 17) + "ip, {udp: {srcport: \"inc(1,1,9)\"}}", 20, true, "003e8101" + "450000"},
		{"bottom in the middle", "eth, {mpls: {bottom: 1}}, mpls, ip, udp", -1, false, "8847000101010001010145"},
		{"bottom never", "eth, mpls, {mpls: {bottom: 0}}, ip, udp", -1, false, "0001000100010001"},
		{"chain", "eth, ipv6, hopopts, {routing: {segleft: 1, addresses: \"2001:2::7\"}}, fraghdr, dstopts, {udp: {srcport: \"inc(1,1,9)\"}}", 7, true, "2b00010400000000" + "2c020401"},
		{"all options", "eth, {ip: {options: " + strings.Repeat("01", 40) + "}}, {udp: {dstport: \"inc(1,1,9)\"}}", 3, true, "08004f00"},
		{"length of the header below what is possible", "eth, {ip: {hdr_len: 16}}, udp", -1, false, "08004400"},
		{"header length beyond the options", "eth, {ip: {hdr_len: 60}}, udp", -1, false, "08004f00"},
		{"total length beyond the frame", "eth, {ip: {len: 9999}}, udp", -1, false, "0800450027" + "0f"},
		{"TTL 0, both flags", "eth, {ip: {ttl: 0, flags.df: 1, flags.mf: 1}}, udp", 3, true, "600000" + "11"},
		{"first fragment", "eth, {ip: {flags.mf: 1}}, {udp: {checksum: 0xbeef}}", 3, true, "beef"},
		{"later fragment", "eth, {ip: {frag_offset: 185, proto: udp}}", 2, true, "000000b90111"},
		{"fragment of IPv6", "eth, ipv6, {fraghdr: {offset: 1, more: 1}}, {udp: {checksum: 5}}", 3, true, "11000009"},
		{"UDP without a checksum", "eth, ip, {udp: {checksum: 0, srcport: \"inc(1,1,9)\"}}", 3, true, "00da0000"},
	} {
		p, err := parsed(t, "streams:\n- layers: ["+c.layers+"]\n  size: 256\n")
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		im := p.Bind(program.Binding{Queues: 1, TimeKind: packet.TimeFrame})
		for range 9 {
			f := next(t, im, 12345)
			b := f.Buf[:f.Len]
			l, ok := packet.Walk(b)
			if !ok || c.depth >= 0 && l.Depth != c.depth || c.sums && packet.VerifySums(b, &l) >= 0 {
				t.Errorf("%s: %d headers, wrong checksum at %d", c.name, l.Depth, packet.VerifySums(b, &l))
			}
			if !strings.Contains(fmt.Sprintf("%x", b), c.hex) {
				t.Errorf("%s: %s is not in %x", c.name, c.hex, b)
			}
		}
	}
}

// Steps and ranges of 128 bits, through the definition's text.
func TestWideFields(t *testing.T) {
	p := mustParse(t, `
streams:
- size: 128
  layers:
  - eth
  - ipv6:
      src: rand(2001:2::, 2001:2:0:ffff:ffff:ffff:ffff:ffff, 5)
      dst: inc(2001:db8::5, 0:0:0:1::, 1000)
  - udp
  payload:
    modify:
    - {offset: 19, bit: 3, bits: 128, value: "dec(0x10000000000000003, 1, 6)"}
`)
	im := p.Bind(program.Binding{Queues: 1, TimeKind: packet.TimeFrame})
	dst, below := packet.Field{Bits: 128}, packet.Field{Bit: 3, Bits: 128}
	for k := range uint64(1200) {
		f := next(t, im, 1)
		b := f.Buf[:f.Len]
		src := packet.Num{Hi: 0x2001000200000000 + program.SplitMix64(^uint64(5), k)>>32*65536>>32, Lo: program.SplitMix64(5, k)}
		if got := dst.Get(b, 22); got != src {
			t.Fatalf("frame %d comes from %x, want %x", k, got, src)
		}
		if got, want := dst.Get(b, 38), (packet.Num{Hi: 0x20010db800000000 + k%1000, Lo: 5}); got != want {
			t.Fatalf("frame %d goes to %x, want %x", k, got, want)
		}
		if got, want := below.Get(b, 62+19), (packet.Num{Hi: 1, Lo: 3}).Sub(packet.Num{Lo: k % 6}); got != want {
			t.Fatalf("frame %d: payload %x, want %x", k, got, want)
		}
		if l, ok := packet.Walk(b); !ok || packet.VerifySums(b, &l) >= 0 {
			t.Fatalf("frame %d: wrong checksum", k)
		}
	}
}

// A VXLAN frame with everything varied has a sum for each of its four checksums, the innermost first; the outer UDP
// checksum takes in both inner ones.
func TestSumsWithinSums(t *testing.T) {
	s := mustParse(t, `
streams:
- layers:
  - eth
  - ip: {ttl: "inc(1,1,9)"}
  - udp: {srcport: "inc(1,1,9)"}
  - vxlan
  - eth
  - ip: {ttl: "inc(1,1,9)"}
  - udp: {srcport: "inc(1,1,9)"}
`).Streams[0]
	var got []string
	for _, sum := range s.Sums {
		got = append(got, fmt.Sprintf("%d:%b", sum.Off, sum.Into))
	}
	if want := "90:100 74:100 40:0 24:0"; strings.Join(got, " ") != want {
		t.Errorf("sums are %v, want %s", got, want)
	}
}
