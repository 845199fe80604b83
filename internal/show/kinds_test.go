package show

import (
	"strings"
	"testing"

	"github.com/wirespeed/wirespeed/internal/packet"
	"github.com/wirespeed/wirespeed/stream"
)

// shownOf is the text of the first frame of each stream.
func shownOf(t *testing.T, layers ...string) []string {
	t.Helper()
	var b strings.Builder
	b.WriteString("streams:\n")
	for _, l := range layers {
		b.WriteString("- layers:\n")
		for one := range strings.SplitSeq(l, ";") {
			b.WriteString("  - " + strings.TrimSpace(one) + "\n")
		}
	}
	set, err := stream.Parse("t", []byte(b.String()))
	if err != nil {
		t.Fatal(err)
	}
	return strings.Split(text(t, set, len(layers), false), "\nframe ")[1:]
}

func TestEveryKindIsShown(t *testing.T) {
	cases := []struct {
		layers string
		want   []string
	}{
		{"eth; llc: {dsap: stp, ssap: stp}", []string{"type 0x002e", "llc       dsap 66, ssap 66, control 3"}},
		{"eth; llc; snap; ip", []string{"snap      oui 0, type 0x0800"}},
		{"eth; mpls: {label: 77}; mpls; ipv6; udp", []string{"mpls      label 77, exp 0, bottom 0, ttl 1", "bottom 1", "(right)"}},
		{"eth; arp: {dst.proto_ipv4: 198.18.0.9}", []string{"opcode 1", "dst.proto_ipv4 198.18.0.9"}},
		{"eth; ip: {options: 94040000}; icmp: {ident: 5}", []string{"hdr_len 24", "options 94040000", "icmp      type 8, code 0, checksum 0x", "ident 5"}},
		{"eth; ipv6; hopopts; routing: {segleft: 1, addresses: \"2001:2::7, 2001:2::8\"}; fraghdr; dstopts: {options: 1e0100}; tcp",
			[]string{"hopopts   nxt 43, len 0, options 010400000000", "segleft 1", "addresses 2001:2::7, 2001:2::8", "fraghdr   nxt 60, offset 0, more 0", "options 1e010001", "(right)"}},
		{"eth; ipv6; icmpv6: {data: 01}", []string{"icmpv6    type 128, code 0, checksum 0x", "echo.identifier 0,", "echo.sequence_number 0\n", "(right)"}},
		{"eth; ipv6; icmpv6: {type: 134, reserved: 0x40000708}", []string{"icmpv6    type 134, code 0, checksum 0x", "reserved 1073743624\n", "(right)"}},
		{"eth; ip; icmp: {type: 3, code: 4}", []string{"icmp      type 3, code 4, checksum 0x", "(right)\n"}},
		{"eth; ip; tcp: {options: 020405b4}", []string{"hdr_len 24", " options 020405b4\n", "(right)"}},
		{"eth; ip; gre: {flags.checksum: 1, key: 9, sequence_number: 3}; eth; ip; udp", []string{"gre       flags_and_version 0xb000, proto 0x6558, checksum 0x", "key 9, sequence_number 3"}},
		{"eth; ip; gre; ip", []string{"gre       flags_and_version 0x0000, proto 0x0800\n"}},
		{"eth; ip; udp; vxlan: {vni: 77}; eth; ip; udp", []string{"vxlan     flags 0x0800, gbp 0, vni 77"}},
		{"eth; raw: 0102030405", []string{"raw       len 5, data 0102030405"}},
		{"raw: 0102030405060708090a0b0c88b501", []string{"dst 01:02:03:04:05:06", "raw       len 1, data 01"}},
		{"eth; ip: {proto: 2}; raw: 1600000012345678", []string{"igmp      Type IGMPv2 Membership Report"}},
		{"eth; ip: {hdr_len: 16}; udp", []string{"unknown   "}},
		{"eth; ip: {flags.mf: 1}; udp", []string{"checksum 0x0000\n"}},
		{"eth; ip; udp: {checksum: 0}", []string{"checksum 0x0000\n"}},
		{"eth; ipv6; udp: {checksum: 0}", []string{"checksum 0x0000 (wrong)", "over IPv6 a UDP checksum of 0 is dropped"}},
	}
	var all []string
	seen := map[string]bool{}
	for _, c := range cases {
		all = append(all, c.layers)
	}
	for i, got := range shownOf(t, all...) {
		for _, want := range cases[i].want {
			if !strings.Contains(got, want) {
				t.Errorf("%s: %q is missing in\n%s", cases[i].layers, want, got)
			}
		}
		if strings.Contains(got, "(wrong)") && !strings.Contains(got, "RFC 8200") || strings.Contains(got, "unknown") != strings.Contains(cases[i].layers, "hdr_len: 16") {
			t.Errorf("%s: the decoder disagrees:\n%s", cases[i].layers, got)
		}
		for line := range strings.SplitSeq(got, "\n") {
			name, _, _ := strings.Cut(strings.TrimSpace(line), " ")
			seen[name] = true
		}
	}
	for _, k := range packet.Kinds() {
		if !seen[k.Name] && k.Name != "vlan" {
			t.Errorf("%s is shown in no frame", k.Name)
		}
	}
}
