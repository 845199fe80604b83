package stream

import (
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestReplayFlags(t *testing.T) {
	s, err := FromReplayFlags(Flags{SrcMAC: "02:00:00:00:00:01", DstIP: "2001:2::1", SrcPort: "inc(1,1,10)", VLAN: "none", TTL: "9", Signature: "full"},
		ReplayFlags{PCAP: "a.pcap", Speed: "2", Loop: "0", Limit: "7", MaxGap: "1ms", Preload: "false", Pad: "random", L2: "02:00:00:00:00:02,02:00:00:00:00:03", AllowSkip: true,
			MapIP: []string{"10.1.2.3/8=198.18.0.0/8", "2001:db8::1=2001:2::1"}})
	if err != nil {
		t.Fatal(err)
	}
	r := s.Replay
	if r.File != "a.pcap" || !r.Recorded || r.Speed != 2 || r.Loop != 0 || r.Limit != 7 || r.MaxGap != time.Millisecond || r.Preload != PreloadNo || r.Pad != PadRandom ||
		!r.AllowSkip || !r.Untag || r.Signature != "full" || r.L2.Dst != [6]byte{2, 0, 0, 0, 0, 2} || r.L2.Src != [6]byte{2, 0, 0, 0, 0, 3} {
		t.Errorf("%+v", r)
	}
	if len(r.Maps) != 2 || r.Maps[0].From != netip.MustParsePrefix("10.0.0.0/8") || r.Maps[1].To != netip.MustParsePrefix("2001:2::1/128") {
		t.Errorf("maps %v", r.Maps)
	}
	byFlag := map[string][]string{}
	for _, e := range r.Edits {
		byFlag[e.Flag] = append(byFlag[e.Flag], e.Kind.Name+"."+e.Field.Name)
	}
	for flag, want := range map[string]string{"src_mac": "eth.src", "dst_ip": "ipv6.dst", "src_port": "udp.srcport tcp.srcport", "ttl": "ip.ttl ipv6.hlim"} {
		if got := strings.Join(byFlag[flag], " "); got != want {
			t.Errorf("%s edits %s, want %s", flag, got, want)
		}
	}
	if s, err := FromReplayFlags(Flags{Rate: "max"}, ReplayFlags{PCAP: "-"}); err != nil || s.Replay.Recorded {
		t.Errorf("a rate does not replace the gaps: %v", err)
	}
	if s, err := FromReplayFlags(Flags{Size: "128"}, ReplayFlags{}); err != nil || s.Replay != nil || len(s.Streams) != 1 {
		t.Errorf("flags without a capture: %v", err)
	}
}

// Every mistake is named with its flag and what to write instead.
func TestReplayFlagsRefuse(t *testing.T) {
	p := ReplayFlags{PCAP: "a.pcap"}
	with := func(change func(*ReplayFlags)) ReplayFlags { r := p; change(&r); return r }
	for want, x := range map[string]struct {
		f Flags
		r ReplayFlags
	}{
		"--size: it does not go with --pcap":        {Flags{Size: "64"}, p},
		"--payload: it does not":                    {Flags{Payload: "inc"}, p},
		"--proto: it does not":                      {Flags{Proto: "tcp"}, p},
		"--burst: it does not":                      {Flags{Burst: "1/1ms"}, p},
		"--signature: a replay has no automatic":    {Flags{Signature: "auto"}, p},
		"--signature: unknown signature":            {Flags{Signature: "ful"}, p},
		"--speed: the recorded gaps are not kept":   {Flags{Rate: "max"}, with(func(r *ReplayFlags) { r.Speed = "2" })},
		"--max-gap: the recorded gaps are not kept": {Flags{Rate: "1kpps"}, with(func(r *ReplayFlags) { r.MaxGap = "1s" })},
		"--speed: speed \"0\" is not":               {Flags{}, with(func(r *ReplayFlags) { r.Speed = "0" })},
		"--speed: speed \"nan\" is not":             {Flags{}, with(func(r *ReplayFlags) { r.Speed = "nan" })},
		"--loop: loop \"-1\" is not":                {Flags{}, with(func(r *ReplayFlags) { r.Loop = "-1" })},
		"--loop: a pipe can be read only once":      {Flags{}, ReplayFlags{PCAP: "-", Loop: "2"}},
		"--limit: limit \"0\" is not":               {Flags{}, with(func(r *ReplayFlags) { r.Limit = "0" })},
		"--max-gap: max_gap \"0\"":                  {Flags{}, with(func(r *ReplayFlags) { r.MaxGap = "0" })},
		"--pad: unknown pad":                        {Flags{}, with(func(r *ReplayFlags) { r.Pad = "ones" })},
		"--l2: l2 \"02:00:00:00:00:01\" is not two": {Flags{}, with(func(r *ReplayFlags) { r.L2 = "02:00:00:00:00:01" })},
		"--vlan: \"1,2\" is more than the id":       {Flags{VLAN: "1,2"}, p},
		"--vlan: 5000 does not fit":                 {Flags{VLAN: "5000"}, p},
		"--src-port: 65536 does not fit":            {Flags{SrcPort: "65536"}, p},
		"--map-ip: map \"10.0.0.0/8\" is not":       {Flags{}, with(func(r *ReplayFlags) { r.MapIP = []string{"10.0.0.0/8"} })},
		"not of equal length":                       {Flags{}, with(func(r *ReplayFlags) { r.MapIP = []string{"10.0.0.0/8=11.0.0.0/9"} })},
		"not of the same version":                   {Flags{}, with(func(r *ReplayFlags) { r.MapIP = []string{"10.0.0.0/8=2001:2::/8"} })},
		"--map-ip: there is no capture":             {Flags{}, ReplayFlags{MapIP: []string{"1.0.0.0/8=2.0.0.0/8"}}},
		"--allow-skip: there is no capture":         {Flags{}, ReplayFlags{AllowSkip: true}},
		"--pcap: a file describes a replay whole":   {Flags{File: "x.yaml"}, p},
	} {
		_, err := FromReplayFlags(x.f, x.r)
		if err == nil || !strings.Contains(err.Error(), want) || err.(Errors)[0].Mend == "" {
			t.Errorf("%v; want %q and a mend", err, want)
		}
	}
}

func TestReplayInAFile(t *testing.T) {
	s, err := Parse("dir/x.yaml", []byte(`
rate: 1kpps
replay:
  pcap: sub/a.pcap
  loop: 3
  preload: true
  map_ip:
    - 10.0.0.0/8=198.18.0.0/8
  src_port: inc(1,1,9)
  ttl: 64
`))
	if err != nil {
		t.Fatal(err)
	}
	r := s.Replay
	if r.File != "dir/sub/a.pcap" || r.Recorded || r.Loop != 3 || r.Preload != PreloadYes || len(r.Maps) != 1 || len(r.Edits) != 4 {
		t.Errorf("%+v", r)
	}
	for text, want := range map[string]string{
		"replay: {loop: 2}":                                 "x.yaml:1:9: replay: no capture",
		"replay: {pcap: a, lop: 2}":                         `unknown key "lop"; did you mean "loop"?`,
		"replay: {pcap: a, speed: fast}":                    "x.yaml:1:26: replay.speed: speed",
		"rate: max\nreplay: {pcap: a, speed: 2}":            "x.yaml:2:26: replay.speed: the recorded gaps",
		"replay: {pcap: a}\nstreams: [{layers: [eth]}]":     "streams and a replay",
		"replay: [a]":                                       "must be a mapping",
		"replay: {pcap: a, map_ip: [1.0.0.0/8=2.0.0.0/9]}":  "not of equal length",
		"replay: {pcap: '-', loop: 2}":                      "a pipe can be read only once",
		"replay: {pcap: a, vlan: 0x88a8:1}":                 "more than the id of one tag",
		"replay: {pcap: a, allow_skip: perhaps}":            "unknown allow_skip",
		"replay: {pcap: a, src_ip: 10.0.0.1, src_ip: 10.1}": "was given before",
	} {
		if _, err := Parse("x.yaml", []byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v; want %q", text, err, want)
		}
	}
}

// A rate on the command line replaces the recorded gaps of a file's replay.
func TestRateOverAFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.yaml")
	if err := os.WriteFile(path, []byte("replay: {pcap: a.pcap}"), 0o600); err != nil {
		t.Fatal(err)
	}
	for rate, recorded := range map[string]bool{"": true, "max": false} {
		if s, err := FromReplayFlags(Flags{File: path, Rate: rate}, ReplayFlags{}); err != nil || s.Replay.Recorded != recorded {
			t.Errorf("--rate %q: %v", rate, err)
		}
	}
}
