package stream

import (
	"testing"

	"github.com/wirespeed/wirespeed/internal/packet"
)

// No signature is chosen behind bytes that receivers take for the payload.
func TestSignatureIsChosenWhereItIsFound(t *testing.T) {
	for layers, want := range map[string]packet.Form{
		"[eth, ip, udp]": packet.FormFull,
		"[eth, ip, udp, vxlan, eth, ipv6, dstopts, tcp]": packet.FormFull,
		"[eth, mpls, eth, ip, icmp]":                     packet.FormFull,
		"[eth, arp]":                                     packet.FormFull,
		"[eth, ip, raw: {data: 0x01020304}]":             packet.FormNone,
		"[eth, ipv6, icmpv6: {type: 135, data: 0x20010002000000000000000000000022}]": packet.FormNone,
		"[eth, ip: {flags.mf: 1}, udp]":                                              packet.FormFull, // refused where somebody is to find it
	} {
		set, err := Parse("f.yaml", []byte("streams:\n  - layers: "+layers+"\n"))
		if err != nil {
			t.Errorf("%s: %v", layers, err)
			continue
		}
		if got := set.Streams[0].Form(); got != want {
			t.Errorf("%s: signature %s, want %s", layers, got, want)
		}
	}
}
