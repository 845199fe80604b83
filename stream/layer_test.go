package stream

import (
	"encoding/hex"
	"strings"
	"testing"

	"github.com/wirespeed/wirespeed/internal/packet"
)

// parse1 is the one stream of a definition.
func parse1(t *testing.T, keys, layers string) *Stream {
	t.Helper()
	set, err := Parse("f.yaml", []byte(one(keys, layers)))
	if err != nil {
		t.Fatal(err)
	}
	return &set.Streams[0]
}

func TestDataBehindFields(t *testing.T) {
	for _, c := range []struct {
		layer, data string
		length      int
	}{
		{"raw: hex:DEADBEEF", "deadbeef", 4},
		{"raw: DEADBEEF", "deadbeef", 4},
		{"raw: 00112233", "00112233", 4},
		{"raw: {data: hex:de ad be ef}", "deadbeef", 4},
		{"raw: {data: de:ad:be:ef}", "deadbeef", 4},
		{"raw: [text:ab, hex:0a]", "61620a", 3},
		{"raw: text:a b", "612062", 3},
		{"ip: {options: 940400}", "94040000", 24},
		{"ip: {ip.options: hex:94040000, ttl: 3}", "94040000", 24},
		{"ipv6:", "", 40},
	} {
		st := parse1(t, "", "  - eth\n  - "+c.layer)
		l := st.Layers[1]
		if hex.EncodeToString(l.Data) != c.data || l.Kind.Len != c.length || l.Kind.Shape != nil {
			t.Errorf("%s: data %x, length %d", c.layer, l.Data, l.Kind.Len)
		}
		if h := st.Headers(100); len(h) != 14+c.length || hex.EncodeToString(h[len(h)-len(l.Data):]) != c.data {
			t.Errorf("%s: headers %x", c.layer, h)
		}
	}
}

func TestAddressesAndShapes(t *testing.T) {
	st := parse1(t, "", "  - eth\n  - ipv6\n  - routing:\n      segleft: 1\n      addresses: [2001:2::1, 2001:2::2]\n  - udp")
	if l := st.Layers[2]; l.Kind.Len != 40 || l.Data[15] != 1 || l.Data[31] != 2 {
		t.Errorf("%d bytes, %x", l.Kind.Len, l.Data)
	}
	sum := st.Checksums()[0]
	if len(sum.Addresses) != 2 || sum.Addresses[0] != (Span{22, 38}) || sum.Addresses[1] != (Span{62, 78}) || sum.Unknown != "" {
		t.Errorf("the checksum covers %+v, want the source and the final destination", sum)
	}
	st = parse1(t, "", "  - eth\n  - ip\n  - gre: {key: 7}\n  - ip")
	if l := st.Layers[2]; l.Kind.Len != 8 || l.Kind.Field("key").Bit != 32 || l.Fields[0].Field != l.Kind.Field("key") || st.Headers(100)[34] != 0x20 {
		t.Errorf("gre with a key: %d bytes", l.Kind.Len)
	}
	if l := parse1(t, "", "  - eth\n  - ip\n  - gre\n  - ip").Layers[2]; l.Kind.Len != 4 || l.Kind.Checksum != nil {
		t.Errorf("gre alone: %d bytes", l.Kind.Len)
	}
}

// Every mistake of layers, data, payload fields and checksums has its line, and all come at once.
func TestMistakesOfStacks(t *testing.T) {
	for _, c := range []struct{ keys, layers, want string }{
		{"", "  - eth\n  - raw", "4:5: streams[0].layers[1].raw: raw has no bytes; give them as data"},
		{"", "  - eth\n  - raw: hex:ABC", `4:10: streams[0].layers[1].raw: "ABC" is not pairs of hexadecimal digits; write hex:DEADBEEF`},
		{"", "  - eth\n  - raw: {data: [AB, {}]}", "4:22: streams[0].layers[1].raw.data: needs a value, not a mapping"},
		{"", "  - eth\n  - ip: {options: " + strings.Repeat("00", 41) + "}", "4:5: streams[0].layers[1].ip: ip.options has 41 bytes; give at most 40"},
		{"", "  - eth\n  - ipv6\n  - routing: {addresses: 198.18.0.1}", `5:26: streams[0].layers[2].routing.addresses: "198.18.0.1" is not an IPv6 address`},
		{"", "  - eth\n  - raw: 00\n  - raw: {dat: 00}", `5:11: streams[0].layers[2].raw: unknown key "dat"; did you mean "data"?`},
		{"", "  - raw: 0011223344", "3:5: streams[0].layers[0].raw: raw of 5 bytes stands where Ethernet has 14"},
		{"", "  - eth\n  - vxlan", "4:5: streams[0].layers[1].vxlan: vxlan cannot stand on eth; put udp or raw before it"},
		{"", "  - eth\n  - ip: {flags.mf: 1}\n  - udp: {srcport: \"inc(1,1,9)\"}", "5:20: streams[0].layers[2].udp.srcport: udp.srcport changes, and udp.checksum over it cannot be computed: the packet is a fragment"},
		{"", "  - eth\n  - ip: {frag_offset: 5, src: \"inc(198.18.0.1,1,9)\"}\n  - udp", "4:31: streams[0].layers[1].ip.src: ip.src changes, and udp.checksum"},
		{"", "  - eth\n  - ipv6\n  - fraghdr: {more: 1}\n  - icmpv6: {code: \"inc(1,1,9)\"}", "6:20: streams[0].layers[3].icmpv6.code: icmpv6.code changes, and icmpv6.checksum"},
		{"", "  - eth\n  - raw: 00\n  - udp: {srcport: \"inc(1,1,9)\"}", "udp.checksum over it cannot be computed: no IP header with addresses stands below it; give udp.checksum a value, such as 0,"},
		{"", "  - eth\n  - raw: 00\n  - ip: {ttl: \"inc(1,1,9)\"}", "5:15: streams[0].layers[2].ip.ttl: ip.ttl changes, and what ip.checksum covers begins at the odd offset 15"},
		{"  signature: full\n", "  - eth\n  - raw: 00\n  - ip\n  - udp", "7:14: streams[0].signature: the signature changes, and what udp.checksum covers begins at the odd offset 35"},
		{"  signature: full\n", "  - eth\n  - ip\n  - udp\n  - raw: 00", "7:14: streams[0].signature: the signature would begin at the odd offset 43, and udp.checksum covers it"},
		{"", "  - eth\n  - ipv6\n  - routing: {segleft: \"inc(1,1,2)\", addresses: \"2001:2::1\"}\n  - udp", "udp.checksum cannot be computed: ipv6.routing.segleft changes, and with it the destination that counts"},
		{"", "  - eth\n  - ipv6\n  - routing: {segleft: \"inc(1,1,2)\", addresses: \"2001:2::1\"}\n  - udp: {srcport: \"inc(1,1,9)\"}", "ipv6.routing.segleft changes, and with it the destination that counts"},
		{"  payload: {modify: [{offset: 10, bits: 32, value: \"inc(0,1,100)\"}]}\n", udp4, "6:22: streams[0].payload.modify[0]: payload[10] lies in the signature full, the first 18 bytes of the payload; begin at offset 18 or later, or give `signature: none`"},
		{"  size: 64\n  payload: {modify: [{offset: 18, bits: 9, value: 1}]}\n", udp4, "7:22: streams[0].payload.modify[0]: payload[18] ends 2 bytes behind the smallest frame, of 64 bytes; give a size of 66 or more"},
		{"  size: 65\n  payload: {modify: [{offset: 18, bits: 8, value: \"inc(1,1,9)\"}]}\n", udp4, "payload[18] varies the last byte of frames of 65 bytes, an odd number; give a size of 66 or more"},
		{"  size: 65\n  signature: none\n", "  - eth\n  - ip\n  - raw: " + strings.Repeat("00", 19) + "\n  - udp: {checksum: \"inc(1,1,9)\"}", "udp.checksum varies the last byte of frames of 65 bytes, an odd number; give a size of 66 or more"},
		{"  payload: {modify: [{offset: 20, bits: 32, value: 0}, {offset: 22, bits: 8, value: 0}]}\n", udp4, "payload[20] and payload[22] are the same bits of the frame"},
		{"  payload: {modify: [{offset: 20, bits: 129, value: 0}]}\n", udp4, `bits "129" is not a number from 1 to 128`},
		{"  payload: {modify: [{offset: 20, value: 0}]}\n", udp4, "a payload field needs offset, bits and value"},
		{"  payload: {modify: [{offset: 20, bits: 8, value: 256}]}\n", udp4, "256 does not fit; the field has 8 bits, 0 to 255"},
		{"  payload: {modify: {offset: 20}}\n", udp4, "needs a list of payload fields, not a mapping"},
	} {
		_, err := Parse("f.yaml", []byte(one(c.keys, c.layers)))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s%s\ngot  %v\nwant %s", c.layers, c.keys, err, c.want)
		}
	}
	_, err := Parse("f.yaml", []byte(one("  payload: {modify: [{offset: 1, bits: 8, value: 1}]}\n",
		"  - eth\n  - ip: {flags.mf: 1, ttl: 300}\n  - udp: {srcport: \"inc(1,1,9)\", dstport: \"inc(1,1,9)\"}")))
	if all, ok := err.(Errors); !ok || len(all) != 4 {
		t.Errorf("%d mistakes, want 4:\n%v", len(all), err)
	}
}

// More checksums that change than there can be sums are refused, and fewer are not.
func TestNumberOfSums(t *testing.T) {
	deep := func(n int) string {
		return "  - eth\n" + strings.Repeat("  - ip\n  - udp\n  - vxlan\n  - eth\n", n) + "  - ip: {ttl: \"inc(1,1,9)\"}\n"
	}
	for n, ok := range map[int]bool{7: true, 8: false} { // n UDP checksums and one of IP
		_, err := Parse("f.yaml", []byte(one("  size: 1518\n  signature: none\n", deep(n))))
		if (err == nil) != ok || !ok && !strings.Contains(err.Error(), "9 checksums change from frame to frame, 8 is the most") {
			t.Errorf("%d: %v", n+1, err)
		}
	}
}

// Addresses and TTL that their author left open are those of the outermost headers alone.
func TestFillsTheOutermostAlone(t *testing.T) {
	set, err := Parse("f.yaml", []byte("streams:\n- layers: [eth, ip, gre, eth, {ip: {ttl: 9}}, udp]\n- layers: [{raw: 0102030405060708090a0b0c0800}, ip, ipv6]\n"))
	if err != nil {
		t.Fatal(err)
	}
	c := set.Clone()
	if !c.NeedsDstMAC() {
		t.Error("no address is asked for")
	}
	c.SetMACs([6]byte{2, 0, 0, 0, 0, 5}, [6]byte{2, 0, 0, 0, 0, 6})
	c.SetTTL(64)
	if c.NeedsDstMAC() || !set.NeedsDstMAC() {
		t.Error("the copy is not filled, or the original is")
	}
	tunnel, plain := c.Streams[0], c.Streams[1]
	for i, want := range map[int]int{0: 2, 1: 1, 3: 0, 4: 1} {
		if got := len(tunnel.Layers[i].Fields); got != want {
			t.Errorf("layer %d has %d fields", i, got)
		}
	}
	if len(plain.Layers[1].Fields) != 1 || len(plain.Layers[2].Fields) != 0 || plain.HasEthernet() || !tunnel.HasEthernet() {
		t.Errorf("plain: %+v", plain.Layers)
	}
	only := &Set{Streams: c.Streams[1:]}
	if only.NeedsDstMAC() {
		t.Error("raw bytes need an address")
	}
}

// The shape of a value that was given wrong is not lost: one mistake, not two.
func TestMistakeInAField(t *testing.T) {
	_, err := Parse("f.yaml", []byte(one("", "  - eth\n  - ip\n  - gre: {key: x}\n  - ip")))
	if all, ok := err.(Errors); !ok || len(all) != 1 {
		t.Errorf("%v", err)
	}
}

func TestFormOfOddHeaders(t *testing.T) {
	for layers, want := range map[string]packet.Form{
		"  - eth\n  - llc":                        packet.FormNone,
		"  - eth\n  - llc\n  - snap":              packet.FormFull,
		"  - eth\n  - ip\n  - udp\n  - vxlan":     packet.FormFull,
		"  - eth\n  - raw: 0000\n  - ip":          packet.FormNone, // a receiver does not look behind raw bytes
		"  - eth\n  - raw: 00\n  - ip\n  - udp":   packet.FormNone,
		"  - eth\n  - ip: {flags.mf: 1}\n  - udp": packet.FormFull,
	} {
		if got := parse1(t, "", layers).Form(); got != want {
			t.Errorf("%s: form %v, want %v", layers, got, want)
		}
	}
}

// Everything that is wrong in a definition comes at once, in the order of the lines.
func TestAllMistakesAtOnce(t *testing.T) {
	_, err := Parse("f.yaml", []byte(`streams:
- name: one
  sise: 64
  layers:
  - eth: {dst: 00:ab:cd:ef:00}
  - vlan: {id: 5000}
  - ipv6: {src: 198.18.0.1}
  - udp: {dstport: 65536}
- name: one
  size: 64
  layers: [eth, ipv6, tcp]
`))
	all, ok := err.(Errors)
	if !ok {
		t.Fatalf("error is %v", err)
	}
	var got []string
	for _, m := range all {
		got = append(got, m.Error())
	}
	want := []string{
		`f.yaml:3:3: streams[0]: unknown key "sise"; did you mean "size"?`,
		`f.yaml:5:16: streams[0].layers[0].eth.dst: "00:ab:cd:ef:00" is not a MAC address`,
		`f.yaml:6:16: streams[0].layers[1].vlan.id: 5000 does not fit; the field has 12 bits`,
		`f.yaml:7:17: streams[0].layers[2].ipv6.src: "198.18.0.1" is an IPv4 address`,
		`f.yaml:8:20: streams[0].layers[3].udp.dstport: 65536 does not fit; the field has 16 bits`,
		`f.yaml:9:9: streams[1].name: stream 1 has the name "one" already`,
		`f.yaml:10:9: streams[1].size: size 64 is smaller than the headers: eth 14 + ipv6 40 + tcp 20 + FCS 4 bytes make 78`,
	}
	for i := range max(len(got), len(want)) {
		if i >= len(got) || i >= len(want) || !strings.HasPrefix(got[i], want[i]) {
			t.Fatalf("mistakes:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	}
}

// A step lies in 64 bits wherever they are; only a carry that runs further has none.
func TestWindow(t *testing.T) {
	f := packet.Lookup("ipv6").Field("dst")
	for text, want := range map[string]int{
		"inc(2001:2::,1,1000)":                     0,
		"inc(2001:2::,0:0:0:1::,1000)":             64,
		"inc(2001:2:0:0:ffff::,0:0:0:0:1::,9)":     48,
		"dec(2001:2:0:1::,0:0:0:0:0:1::,9)":        32,
		"inc(2001:2::ffff:ffff:ffff:ff00,256,9)":   8,
		"inc(2001:2:0:0:ffff:ffff:ffff:fff0,1,9)":  0,
		"inc(2001:2:0:0:ffff:ffff:ffff:fff0,1,17)": -1,
		"inc(2001:2::1,1000:0:0:0:8000::,2)":       63,
		"inc(2001:2::1:0,0:1::1:0,9)":              -1,
	} {
		v, bad := parseValue(f, text)
		if bad != nil {
			if want == -1 {
				t.Errorf("%s: %v, few values can be written out", text, *bad)
			}
			continue
		}
		low, ok := v.Window()
		if !ok {
			low = -1
		}
		if low != want {
			t.Errorf("%s: window at %d, want %d", text, low, want)
		}
	}
}
