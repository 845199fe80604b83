package trial

import (
	"testing"

	"github.com/wirespeed/wirespeed/stream"
)

// The destination that is asked for is the one of all streams whose MAC address is open.
func TestDestination(t *testing.T) {
	for _, c := range []struct{ name, yaml, want string }{
		{"the default", "streams: [{layers: [eth, ip, udp]}]", "198.19.0.1"},
		{"the default of IPv6", "streams: [{size: 100, layers: [eth, ipv6, udp]}]", "2001:2:0:1::1"},
		{"given", "streams: [{layers: [eth, {ip: {dst: 192.0.2.7}}, udp]}]", "192.0.2.7"},
		{"behind a tag", "streams: [{layers: [eth, {vlan: {id: 7}}, {ip: {dst: 192.0.2.7}}, udp]}]", "192.0.2.7"},
		{"the outer one of a tunnel", "streams: [{size: 200, layers: [eth, {ip: {dst: 192.0.2.7}}, gre, {ip: {dst: 192.0.2.8}}, udp]}]", "192.0.2.7"},
		{"the same twice", "streams: [{name: a, layers: [eth, ip, udp]}, {name: b, layers: [eth, {ip: {dst: 198.19.0.1}}, udp]}]", "198.19.0.1"},
		{"two", "streams: [{name: a, layers: [eth, ip, udp]}, {name: b, layers: [eth, {ip: {dst: 192.0.2.7}}, udp]}]", ""},
		{"two families", "streams: [{name: a, layers: [eth, ip, udp]}, {name: b, size: 100, layers: [eth, ipv6, udp]}]", ""},
		{"many", "streams: [{layers: [eth, {ip: {dst: \"inc(192.0.2.7,1,9)\"}}, udp]}]", ""},
		{"the MAC address is given", "streams: [{name: a, layers: [{eth: {dst: 02:00:00:00:00:07}}, ip, udp]}, {name: b, layers: [eth, {ip: {dst: 192.0.2.7}}, udp]}]", "192.0.2.7"},
		{"no IP", "streams: [{layers: [{eth: {type: 0x88b5}}]}]", ""},
	} {
		set, err := stream.Parse(c.name, []byte(c.yaml))
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		got := ""
		if a := destination(set); a.IsValid() {
			got = a.String()
		}
		if got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}
