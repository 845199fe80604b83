package program_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/wirespeed/wirespeed/internal/lab/need"
	"github.com/wirespeed/wirespeed/internal/packet"
	"github.com/wirespeed/wirespeed/internal/program"
	"github.com/wirespeed/wirespeed/stream"
)

// tshark reads the first frames of every example: none is malformed, and no checksum is wrong but on purpose. What stands
// in the frames is found in the example's name.
func TestTsharkReadsTheExamples(t *testing.T) {
	tshark := need.Tool(t, "tshark")
	files, err := filepath.Glob("../../examples/*.yaml")
	if err != nil || len(files) < 25 {
		t.Fatalf("%d examples, %v", len(files), err)
	}
	protocols := map[string]string{"vxlan": "vxlan:eth:ethertype:ip:udp", "gre": "ip:gre:ip:udp", "mpls": "mpls:ip:udp", "arp-requests": "eth:ethertype:arp",
		"icmp-echo": "ip:icmp", "neighbour-solicitation": "ipv6:icmpv6", "ipv6-extensions": "ipv6.hopopts:ipv6.routing:ipv6.dstopts:udp", "spanning-tree": "eth:llc:stp",
		"snap": "eth:llc:ip:udp", "lldp": "lldp", "qinq": "ieee8021ad:ethertype:vlan:ethertype:ip:udp", "syn-options": "ip:tcp", "fragments": "ip"}
	var all []sent
	var names []string
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		set, err := stream.Parse(file, data)
		if err != nil {
			t.Fatal(err)
		}
		if set.Replay != nil {
			continue
		}
		p, err := program.Compile(set)
		if err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		im := p.Bind(program.Binding{Queues: 1, TimeKind: packet.TimeFrame})
		for range 12 {
			f := next(t, im, 1e9)
			all = append(all, sent{frame: f.Buf[:f.Len]})
			names = append(names, strings.TrimSuffix(filepath.Base(file), ".yaml"))
		}
	}
	status := []string{"ip.checksum.status", "udp.checksum.status", "tcp.checksum.status", "icmp.checksum.status", "icmpv6.checksum.status", "gre.checksum.status"}
	seen := map[string]bool{}
	for i, row := range decode(t, tshark, all, append([]string{"frame.protocols", "_ws.malformed"}, status...)) {
		name := names[i]
		seen[name] = true
		if want := protocols[name]; !strings.Contains(row["frame.protocols"], want) && name != "icmp-echo" {
			t.Errorf("%s is read as %s, want %s", name, row["frame.protocols"], want)
		}
		if name == "wrong-on-purpose" {
			continue
		}
		if row["_ws.malformed"] != "" {
			t.Errorf("%s is malformed: %s", name, row["frame.protocols"])
		}
		for _, s := range status {
			if strings.Contains(row[s], "0") {
				t.Errorf("%s: %s is %q", name, s, row[s])
			}
		}
	}
	for name := range protocols {
		if !seen[name] {
			t.Errorf("there is no example %s", name)
		}
	}
}
