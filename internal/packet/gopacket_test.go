package packet_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"
)

// gopacketNames are the decoder's names of our kinds.
var gopacketNames = map[gopacket.LayerType]string{
	layers.LayerTypeEthernet: "eth", layers.LayerTypeDot1Q: "vlan", layers.LayerTypeLLC: "llc", layers.LayerTypeSNAP: "snap",
	layers.LayerTypeMPLS: "mpls", layers.LayerTypeARP: "arp", layers.LayerTypeIPv4: "ip", layers.LayerTypeIPv6: "ipv6",
	layers.LayerTypeIPv6HopByHop: "hopopts", layers.LayerTypeIPv6Routing: "routing", layers.LayerTypeIPv6Fragment: "fraghdr",
	layers.LayerTypeIPv6Destination: "dstopts", layers.LayerTypeUDP: "udp", layers.LayerTypeTCP: "tcp", layers.LayerTypeICMPv4: "icmp",
	layers.LayerTypeICMPv6: "icmpv6", layers.LayerTypeGRE: "gre", layers.LayerTypeVXLAN: "vxlan",
}

// gopacketStops are frames that the decoder does not follow to the end, and the last layer that it sees.
var gopacketStops = map[string]string{
	"ethernet on mpls": "mpls",    // it guesses IP only
	"all extensions":   "fraghdr", // it takes what is in a fragment header for a part, also where it is the whole
}

// An independent decoder sees the same headers, and calls the same checksums right.
func TestGopacketAgrees(t *testing.T) {
	for _, n := range nests() {
		b := build(t, n, testPayload)
		var want, got []string
		for _, k := range b.kinds {
			want = append(want, k.Name)
		}
		p := gopacket.NewPacket(b.frame, layers.LayerTypeEthernet, gopacket.Default)
		var network gopacket.NetworkLayer
		for _, l := range p.Layers() {
			name, known := gopacketNames[l.LayerType()]
			if !known {
				continue
			}
			got = append(got, name)
			if ip, ok := l.(gopacket.NetworkLayer); ok {
				network = ip
			}
			if s, ok := l.(interface {
				SetNetworkLayerForChecksum(gopacket.NetworkLayer) error
			}); ok && network != nil {
				if err := s.SetNetworkLayerForChecksum(network); err != nil {
					t.Errorf("%s: %v", n.name, err)
				}
			}
			// The decoder does not know that a routing header changes the pseudo header.
			routed := strings.Contains(strings.Join(want, " "), "routing") && name != "ip"
			if c, ok := l.(gopacket.LayerWithChecksum); ok && !routed {
				if err, sum := c.VerifyChecksum(); err != nil || !sum.Valid {
					t.Errorf("%s: %s: %v, checksum %+v", n.name, name, err, sum)
				}
			}
		}
		if last, ok := gopacketStops[n.name]; ok {
			want = want[:slices.Index(want, last)+1]
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: the decoder sees %q, want %q (%v)", n.name, got, want, p.ErrorLayer())
		}
	}
}
