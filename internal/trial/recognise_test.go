package trial

import (
	"errors"
	"strings"
	"testing"

	"github.com/wirespeed/wirespeed/internal/engine"
	"github.com/wirespeed/wirespeed/internal/program"
	"github.com/wirespeed/wirespeed/stream"
)

func TestRecognisable(t *testing.T) {
	const eth, ip, udp = "eth: {}", "ip: {}", "udp: {}"
	for _, c := range []struct {
		name, size, layers string
		guilty             string // empty: a receiver knows the frames
	}{
		{"plain", "64", eth + "," + ip + "," + udp, ""},
		{"fragment", "64", eth + ",ip: {frag_offset: 1}," + udp, "ip.frag_offset"},
		{"more fragments", "64", eth + ",ip: {flags.mf: 1}," + udp, "ip.flags.mf"},
		{"do not fragment", "64", eth + ",ip: {flags.df: 1}," + udp, ""},
		{"header length", "128", eth + ",ip: {hdr_len: 24}," + udp, "ip.hdr_len"},
		{"length", "64", eth + ",ip: {len: 20}," + udp, "ip.len"},
		{"the right length", "64", eth + ",ip: {len: 46}," + udp, ""},
		{"right for one size only", "64,128", eth + ",ip: {len: 46}," + udp, "ip.len"},
		{"EtherType", "64", "eth: {type: 0x86dd}," + ip + "," + udp, "eth.type"},
		{"checksum", "64", eth + "," + ip + ",udp: {checksum: 0x1234}", "udp.checksum"},
		{"no checksum", "64", eth + "," + ip + ",udp: {checksum: 0}", ""},
		{"no checksum over IPv6", "128", eth + ",ipv6: {},udp: {checksum: 0}", "udp.checksum"},
		{"protocol of some frames", "64", eth + ",ip: {proto: \"list(17,17,17,6)\"}," + udp, "ip.proto"},
		{"two at once", "64", "eth: {type: 0x86dd},ip: {len: 20}," + udp, "eth.type, ip.len"},
		{"4 tags", "128", eth + ",vlan: {},vlan: {},vlan: {},vlan: {}," + ip + "," + udp, ""},
		{"IPv6", "128", eth + ",ipv6: {}," + udp, ""},
		{"TCP", "128", eth + "," + ip + ",tcp: {}", ""},
		{"raw", "64", "eth: {type: 0x88b5}", ""},
		{"random sizes", "rand(64,256,1)", eth + "," + ip + "," + udp, ""},
		{"changing addresses", "imix", eth + ",ip: {src: \"inc(10.0.0.1,1,1000)\"}," + udp, ""},
	} {
		text := "streams:\n  - name: one\n    size: " + c.size + "\n    layers:\n"
		for _, l := range splitLayers(c.layers) {
			text += "      - " + l + "\n"
		}
		set, err := stream.Parse("test", []byte(text))
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		set.SetMACs([6]byte{2, 0, 0, 0, 0, 1}, [6]byte{2, 0, 0, 0, 0, 2})
		p, err := program.Compile(set)
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		x := sender{set: set, plan: engine.Plan{Program: p, Run: 7, IDBase: 3, Queues: 2}}
		err = x.recognisable()
		if c.guilty == "" {
			if err != nil {
				t.Errorf("%s: %v", c.name, err)
			}
			continue
		}
		var no *Refusal
		if !errors.As(err, &no) || no.Code != ExitUsage || !strings.Contains(no.Message, "with "+c.guilty+" its frames") {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

// splitLayers splits at the commas between layers.
func splitLayers(s string) (out []string) {
	depth, from := 0, 0
	for i, c := range s {
		switch c {
		case '{', '[':
			depth++
		case '}', ']':
			depth--
		case ',':
			if depth == 0 {
				out = append(out, s[from:i])
				from = i + 1
			}
		}
	}
	return append(out, s[from:])
}
