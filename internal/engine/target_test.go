package engine

import (
	"strings"
	"testing"
)

func TestParseTarget(t *testing.T) {
	engines := []string{"xdp", "packet", "pcap", "null"}
	for text, want := range map[string]Target{
		"va":                             {Device: "va"},
		"xdp:va@A":                       {Engine: "xdp", Device: "va", Netns: "A"},
		"packet:eth0?qdisc=use":          {Engine: "packet", Device: "eth0"},
		"va@A?speed=1G&qdisc=use":        {Device: "va", Netns: "A"},
		"null:":                          {Engine: "null"},
		"pcap:./a b@c:d/e.pcap?speed=1G": {Engine: "pcap", Device: "./a b@c:d/e.pcap"},
	} {
		got, err := ParseTarget(text, engines)
		if err != nil || got.Engine != want.Engine || got.Device != want.Device || got.Netns != want.Netns || got.Text != text {
			t.Errorf("%q: %+v, %v; want %+v", text, got, err, want)
		}
	}
	if got, _ := ParseTarget("va?speed=1G&qdisc=use", engines); got.Options.Get("speed") != "1G" || got.Options.Get("qdisc") != "use" {
		t.Errorf("options %v", got.Options)
	}
	for _, text := range []string{"", "xdp:", "@A", "va@", "va@?speed=1G", "warp:va", "va?%zz", "null@A:"} {
		if got, err := ParseTarget(text, engines); err == nil {
			t.Errorf("%q was read as %+v", text, got)
		}
	}
}

func TestTargetForPeople(t *testing.T) {
	for want, target := range map[string]Target{
		"va": {Device: "va", Engine: "xdp"}, "va@A": {Device: "va", Netns: "A"}, "pcap:a.pcap": {Engine: "pcap", Device: "a.pcap"}, "null": {Engine: "null"},
	} {
		if got := target.String(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// FuzzParseTarget: what is read back from the address of a target is the same target.
func FuzzParseTarget(f *testing.F) {
	f.Add("xdp:va@A?speed=1G")
	f.Add("va@")
	f.Add("xdp:0000:02:03.0")
	f.Fuzz(func(t *testing.T, text string) {
		engines := []string{"xdp", "packet"}
		got, err := ParseTarget(text, engines)
		if err != nil {
			return
		}
		if got.Device == "" || strings.Contains(got.Device, "@") {
			t.Fatalf("%q names the device %q", text, got.Device)
		}
		address := got.String()
		if got.Engine != "" { // a PCI address has colons: only behind an engine
			address = got.Engine + ":" + address
		}
		again, err := ParseTarget(address, engines)
		if err != nil || again.Device != got.Device || again.Netns != got.Netns {
			t.Errorf("%q is %q, which reads as %+v, %v", text, got, again, err)
		}
	})
}
