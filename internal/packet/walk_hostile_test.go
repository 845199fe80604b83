package packet_test

import (
	"strings"
	"testing"

	"github.com/wirespeed/wirespeed/internal/packet"
)

// kindsOf lists the headers that Walk found, and what stands out about them.
func kindsOf(l *packet.Layout) string {
	var out []string
	for _, h := range l.Stack[:l.Depth] {
		out = append(out, h.Kind.String())
	}
	if l.Fragment {
		out = append(out, "fragment")
	}
	if l.BadLength {
		out = append(out, "bad length")
	}
	return strings.Join(out, " ")
}

const (
	ip6    = "60000000 0010 11 01" + "20010002000000000000000000000001" + "20010002000000000000000000000002" // 16 bytes of UDP
	vxlan8 = "0800000000000100"
)

// ip6with is an IPv6 header with a next header and a payload length.
func ip6with(nxt, plen string) string { return "60000000" + plen + nxt + ip6[17:] }

// ip4with is an IPv4 header with a protocol and a total length.
func ip4with(proto, total string) string { return "4500" + total + ip4[8:18] + proto + ip4[20:] }

// What nobody sends on purpose: stacks without end, bits that lie, chains that run out of the frame.
func TestWalkOfOddFrames(t *testing.T) {
	for _, c := range []struct{ name, frame, want string }{
		// LLC, and lengths that are none.
		{"a length and LLC", macs + "0011 424203" + strings.Repeat("00", 43), "eth llc"},
		{"type 0x05ff", macs + "05ff" + eight, "eth llc bad length"},
		{"length 0", macs + "0000" + strings.Repeat("00", 46), "eth"},
		{"length 2", macs + "0002 aaaa03" + eight, "eth"},
		{"LLC with two bytes of control", macs + "0004 42420101" + eight, "eth llc"},
		{"SNAP cut short", macs + "0005 aaaa030000 00080045", "eth llc"},
		{"SNAP, RFC 1042 tunnel", macs + "002c aaaa030000f80800" + ip4 + udp8 + eight, "eth llc snap ip udp"},
		{"SNAP with a length for a type", macs + "0010 aaaa030000000010" + eight, "eth llc snap"},
		// VLAN stacks.
		{"30 tags", macs + "8100" + strings.Repeat("00018100", 29) + "00010800" + ip4 + udp8 + eight, "eth" + strings.Repeat(" vlan", 23)},
		// Labels.
		{"bottom too early", macs + "8847 00010101 00011001 00012101" + ip4 + udp8 + eight, "eth mpls"},
		{"bottom never", macs + "8847 00010001", "eth mpls"},
		{"labels without bottom", macs + "8847" + strings.Repeat("00010001", 40), "eth" + strings.Repeat(" mpls", 23)},
		{"label cut short", macs + "8847 000101", "eth"},
		{"label, then IPv4 that is too long", macs + "8847 00010101" + ip4with("11", "0fff") + udp8, "eth mpls"},
		{"label, then IPv6 that is too long", macs + "8847 00010101" + ip6with("11", "0011") + udp8 + eight, "eth mpls"},
		{"label, then a control word", macs + "8847 00010101 00000000" + macs + "0800" + ip4 + udp8 + eight, "eth mpls"},
		// IPv6 chains.
		{"chain to the end", macs + "86dd" + ip6with("00", "0010") + "0000000000000000" + "0000000000000000", "eth ipv6 hopopts hopopts bad length"},
		{"chain that leaves the frame", macs + "86dd" + ip6with("3c", "0010") + "11ff000000000000" + "0000000000000000", "eth ipv6 bad length"},
		{"chain cut in the middle", macs + "86dd" + ip6with("3c", "0004") + "11000000", "eth ipv6 bad length"},
		{"payload length lies", macs + "86dd" + ip6with("11", "ffff") + udp8 + eight, "eth ipv6 udp bad length"},
		{"first fragment", macs + "86dd" + ip6with("2c", "0018") + "1100000100000007" + udp8 + eight, "eth ipv6 fraghdr udp fragment"},
		{"later fragment", macs + "86dd" + ip6with("2c", "0018") + "1100000800000007" + udp8 + eight, "eth ipv6 fraghdr fragment"},
		{"fragment of one piece", macs + "86dd" + ip6with("2c", "0018") + "1100000000000007" + udp8 + eight, "eth ipv6 fraghdr udp"},
		{"no next header", macs + "86dd" + ip6with("3b", "0010") + udp8 + eight, "eth ipv6"},
		{"ICMP of IPv4 in IPv6", macs + "86dd" + ip6with("01", "0010") + udp8 + eight, "eth ipv6"},
		// IPv4.
		{"IHL 15", macs + "0800 4f00004c" + ip4[8:] + strings.Repeat("01", 40) + udp8 + eight, "eth ip udp"},
		{"IHL 4", macs + "0800 44" + ip4[2:] + udp8 + eight, "eth bad length"},
		{"total length beyond the frame", macs + "0800" + ip4with("11", "ffff") + udp8 + eight, "eth ip udp bad length"},
		{"total length below the header", macs + "0800" + ip4with("11", "0013") + udp8 + eight, "eth ip udp bad length"},
		{"DF and MF", macs + "0800" + ip4[:12] + "6000" + ip4[16:] + udp8 + eight, "eth ip udp fragment"},
		{"version 5", macs + "0800 55" + ip4[2:] + udp8 + eight, "eth"},
		{"VXLAN in a first fragment", macs + "0800" + ip4[:12] + "2000" + ip4[16:] + "000912b500100000" + vxlan8, "eth ip udp fragment"},
		{"IP in a first fragment", macs + "0800 45000038000020000004" + "0000" + ip4[24:] + ip4 + udp8 + eight, "eth ip fragment"},
		// Tunnels.
		{"GRE, routing", macs + "0800" + ip4with("2f", "0024") + "40000800" + udp8 + eight, "eth ip"},
		{"GRE, version 1", macs + "0800" + ip4with("2f", "0024") + "0001880b" + udp8 + eight, "eth ip"},
		{"GRE, words missing", macs + "0800" + ip4with("2f", "001c") + "b000080000000000", "eth ip bad length"},
		{"GRE in a first fragment", macs + "0800 4500002a00002000002f0000" + ip4[24:] + "00006558" + macs + "0800" + "00000000", "eth ip gre fragment"},
		{"VXLAN on another port", macs + "0800" + ip4with("11", "0032") + "00090009001e0000" + vxlan8 + macs + "0800", "eth ip udp"},
		{"UDP length too small", macs + "0800" + ip4 + "00090009000c0000" + eight, "eth ip udp bad length"},
		{"UDP length below its header", macs + "0800" + ip4 + "0009000900070000" + eight, "eth ip udp bad length"},
		{"VXLAN without its flag", macs + "0800" + ip4 + "000912b500100000" + eight, "eth ip udp"},
		{"VXLAN with nothing in it", macs + "0800" + ip4 + "000912b500100000" + vxlan8, "eth ip udp vxlan"},
		{"ARP cut short", macs + "0806 0001080006040001", "eth bad length"},
		{"ARP of other addresses", macs + "0806 0001080002020001" + eight + "0000", "eth arp"},
	} {
		b := unhex(t, c.frame)
		l, ok := packet.Walk(b)
		if got := kindsOf(&l); got != c.want || !ok {
			t.Errorf("%s: %v, %s, want %s", c.name, ok, got, c.want)
			continue
		}
		sound(t, b, &l)
	}
}

// IP in IP in IP ...: what is behind MaxStack counts as payload.
func TestWalkIsBounded(t *testing.T) {
	n := nest{name: "deep", layers: []layer{{kind: "eth"}}}
	for range 2 * packet.MaxStack {
		n.layers = append(n.layers, layer{kind: "ip"})
	}
	b := build(t, n, testPayload)
	l, ok := packet.Walk(b.frame)
	if !ok || l.Depth != packet.MaxStack || l.Payload != b.at[packet.MaxStack] || l.BadLength {
		t.Fatalf("%v %+v", ok, l)
	}
	// And a frame larger than 16 bits count, as a receiver that merges segments makes them.
	large := build(t, stack("large", "eth vlan raw[+"+strings.Repeat("00", 9000)+"]"), make([]byte, 70000)).frame
	if l, ok := packet.Walk(large); !ok || l.End != len(large) || int(l.Stack[0].End) != len(large) {
		t.Fatalf("%v %+v", ok, l)
	}
}

// The checksums that are left alone, and those that must not be zero.
func TestVerifySumsOfOddFrames(t *testing.T) {
	for _, c := range []struct {
		name, text string
		want       int
	}{
		{"UDP without a checksum", "eth ip udp[checksum=0]", -1},
		{"UDP without a checksum over IPv6", "eth ipv6 udp[checksum=0]", 2},
		{"a wrong IP checksum", "eth ip[checksum=1] udp", 1},
		{"a fragment", "eth ip[flags.mf=1] udp[checksum=1]", -1},
		{"a later fragment", "eth ip[frag_offset=9] udp[checksum=1]", -1},
		{"a fragment of IPv6", "eth ipv6 fraghdr[more=1] udp[checksum=1]", -1},
		{"IPv6 in one piece", "eth ipv6 fraghdr udp[checksum=1]", 3},
		{"a fragment of ICMP", "eth ip[flags.mf=1] icmp[checksum=1]", -1},
		{"wrong GRE", "eth ip gre[checksum=1] ip udp", 2},
		{"GRE in a fragment", "eth ip[flags.mf=1] gre[checksum=1]", -1},
		{"a fragment in a tunnel, wrong around it", "eth ip udp[checksum=1] vxlan eth ip[flags.mf=1] udp[checksum=1]", 2},
		{"zero inside a tunnel", "eth ipv6 udp vxlan eth ip udp[checksum=0]", -1},
		{"zero around IPv6", "eth ip udp[checksum=0] vxlan eth ipv6 udp", -1},
		{"zero over IPv6 around IPv4", "eth ipv6 udp[checksum=0] vxlan eth ip udp", 2},
		{"a fixed wrong one", "eth vlan ip tcp[checksum=0xdead]", 3},
	} {
		b := build(t, stack(c.name, c.text), testPayload)
		l, _ := packet.Walk(b.frame)
		if got := packet.VerifySums(b.frame, &l); got != c.want {
			t.Errorf("%s: %d, want %d (%s)", c.name, got, c.want, kindsOf(&l))
		}
	}
}
