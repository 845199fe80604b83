package stream

import (
	"cmp"
	"strings"
)

// ReplayFlags are the flags that only a replay has, each as it was written; empty means not given.
type ReplayFlags struct {
	PCAP                       string // path; "-" is standard input
	Speed, Loop, Limit, MaxGap string
	Preload                    string // "true" or "false"
	Pad, L2                    string
	AllowSkip                  bool
	MapIP                      []string // FROM=TO
}

// byName gives the settings that were written, by their names in a stream file.
func (r *ReplayFlags) byName() map[string]string {
	skip := ""
	if r.AllowSkip {
		skip = "true"
	}
	return map[string]string{
		"speed": r.Speed, "loop": r.Loop, "limit": r.Limit, "max_gap": r.MaxGap, "preload": r.Preload, "pad": r.Pad, "l2": r.L2,
		"allow_skip": skip, "map_ip": strings.Join(r.MapIP, " "),
	}
}

// FromReplayFlags is FromFlags where the flags of a replay may be among those that were given. With a capture the fields of
// f are what its frames are changed to.
func FromReplayFlags(f Flags, r ReplayFlags) (*Set, error) {
	n := &notes{}
	written := r.byName()
	if r.PCAP == "" || f.File != "" {
		message, mend := "there is no capture that it could be for", "add --pcap FILE, or leave it out"
		if f.File != "" {
			message, mend = "a file describes a replay whole", "write it into "+f.File+", under `replay:`, or leave out --file"
			written["pcap"] = r.PCAP
		}
		for _, name := range append([]string{"pcap", "map_ip"}, replayNames()...) {
			if written[name] != "" {
				n.at(flagAt((&replayKey{name: name}).flag()), message, mend)
			}
		}
		if err := n.err(); err != nil {
			return nil, err
		}
		set, err := FromFlags(f)
		if set != nil && set.Replay != nil && f.Rate != "" {
			set.Replay.Recorded = false
		}
		return set, err
	}
	for _, g := range []struct{ flag, value, mend string }{
		{"--size", f.Size, "the frames have the sizes of the capture"},
		{"--proto", f.Proto, "the frames have the headers of the capture"},
		{"--payload", f.Payload, "the frames have the payloads of the capture"},
		{"--burst", f.Burst, "frames leave as they were recorded, or at --rate"},
	} {
		if g.value != "" {
			n.at(flagAt(g.flag), "it does not go with --pcap", "leave it out: "+g.mend)
		}
	}
	set := &Set{Replay: newReplay(r.PCAP)}
	if f.Rate != "" {
		var bad *fault
		set.Rate, bad = parseRate(f.Rate)
		n.fault(flagAt("--rate"), bad)
	}
	for name, value := range map[string]string{
		"src_mac": f.SrcMAC, "dst_mac": f.DstMAC, "src_ip": f.SrcIP, "dst_ip": f.DstIP, "src_port": f.SrcPort, "dst_port": f.DstPort,
		"vlan": f.VLAN, "ttl": f.TTL, "signature": f.Signature,
	} {
		written[name] = value
	}
	given := map[string]bool{}
	for _, k := range replayKeys() {
		if v := written[k.name]; v != "" {
			given[k.name] = true
			n.fault(flagAt(k.flag()), k.read(set.Replay, v))
		}
	}
	for _, m := range r.MapIP {
		n.fault(flagAt("--map-ip"), readMap(set.Replay, m))
	}
	at := func(key string) located { return flagAt((&replayKey{name: key}).flag()) }
	checkReplay(set.Replay, n, at, given, f.Rate != "")
	if err := n.err(); err != nil {
		return nil, err
	}
	return set, nil
}

func replayNames() []string {
	var names []string
	for _, k := range replayKeys() {
		names = append(names, k.name)
	}
	return names
}

// Name is what reports call the capture.
func (r *Replay) Name() string {
	if r.File == "-" {
		return "standard input"
	}
	return cmp.Or(r.File, "capture")
}
