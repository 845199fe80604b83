package stream

import (
	"fmt"
	"net/netip"
	"strconv"
	"strings"
	"time"

	"github.com/wirespeed/wirespeed/internal/packet"
)

// replayKey is one setting of a replay: its name in a stream file, which is that of the flag with _ for -, and its reader.
type replayKey struct {
	name string
	doc  string // one line for the schema
	read func(r *Replay, text string) *fault
}

// flag is the setting as a flag.
func (k *replayKey) flag() string { return "--" + strings.ReplaceAll(k.name, "_", "-") }

// replayKeys are the settings that have one value each; pcap and map_ip are read by themselves.
func replayKeys() []replayKey {
	keys := []replayKey{
		{"speed", "Divides the recorded gaps: 2 is twice as fast. Default 1.", readSpeed},
		{"loop", "How often the capture is sent; 0 is again and again. Default 1.", readLoop},
		{"limit", "Only the first packets of the capture.", readLimit},
		{"max_gap", "No gap between frames is longer: 10ms, 1s.", readMaxGap},
		{"preload", "true: make the whole sequence ready before the first frame; false: read while sending; auto (default): true where it fits in 128 MiB.", readPreload},
		{"pad", "Fills frames up that were cut by the capture or are below 64 bytes: zero or random.", readPad},
		{"allow_skip", "true: send the rest of a capture of which some frames cannot be sent.", readAllowSkip},
		{"l2", "DST,SRC: two MAC addresses that make packets without an Ethernet header Ethernet.", readL2},
		{"signature", "full or short: a test signature in every UDP or TCP payload that has room. Default none.", readReplaySignature},
		{"vlan", "Id of the outermost VLAN tag, which is added where there is none; none takes all tags away.", readVLAN},
	}
	edit := func(name, doc string, fields ...string) {
		keys = append(keys, replayKey{name, doc, func(r *Replay, text string) *fault { return readEdit(r, name, text, fields...) }})
	}
	edit("src_mac", "Source MAC address.", "eth.src")
	edit("dst_mac", "Destination MAC address.", "eth.dst")
	edit("ttl", "Time to live or hop limit of the outermost IP header.", "ip.ttl", "ipv6.hlim")
	edit("src_port", "Source port of the outermost UDP or TCP header.", "udp.srcport", "tcp.srcport")
	edit("dst_port", "Destination port of the outermost UDP or TCP header.", "udp.dstport", "tcp.dstport")
	for _, way := range []string{"src", "dst"} {
		keys = append(keys, replayKey{way + "_ip", "Address in the outermost IPv4 or IPv6 header, whichever version it is of.", func(r *Replay, text string) *fault {
			kind := "ip"
			if strings.Contains(text, ":") {
				kind = "ipv6"
			}
			return readEdit(r, way+"_ip", text, kind+"."+way)
		}})
	}
	return keys
}

func newReplay(file string) *Replay { return &Replay{File: file, Speed: 1, Loop: 1, Signature: "none"} }

// checkReplay finds what does not go together; at gives the place of a setting.
func checkReplay(r *Replay, n *notes, at func(key string) located, given map[string]bool, rated bool) {
	r.Recorded = !rated
	if rated {
		for _, key := range []string{"speed", "max_gap"} {
			if given[key] {
				n.at(at(key), "the recorded gaps are not kept where a rate is given", "leave it or the rate out")
			}
		}
	}
	if r.File == "-" && r.Loop != 1 && r.Preload != PreloadYes {
		n.at(at("loop"), "a pipe can be read only once", "preload it, or give a file")
	}
}

func readSpeed(r *Replay, text string) *fault {
	v, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
	if err != nil || !(v >= 1e-6 && v <= 1e6) {
		return &fault{fmt.Sprintf("speed %q is not a number from 0.000001 to 1000000", shorten(text)), "2 is twice as fast as recorded, 0.5 half as fast; as fast as possible is a rate of max"}
	}
	r.Speed = v
	return nil
}

func readLoop(r *Replay, text string) *fault {
	v, ok := number(text)
	if !ok {
		return &fault{fmt.Sprintf("loop %q is not a number from 0 on", shorten(text)), "give how often the capture is sent; 0 is again and again"}
	}
	r.Loop = v
	return nil
}

func readLimit(r *Replay, text string) *fault {
	v, ok := number(text)
	if !ok || v == 0 {
		return &fault{fmt.Sprintf("limit %q is not a number from 1 on", shorten(text)), "give how many packets of the capture are read"}
	}
	r.Limit = v
	return nil
}

func readMaxGap(r *Replay, text string) *fault {
	d, err := time.ParseDuration(strings.TrimSpace(text))
	if err != nil || d <= 0 {
		return &fault{fmt.Sprintf("max_gap %q is no time above 0", shorten(text)), "write it with its unit, as in 100ms; without gaps is a rate of max"}
	}
	r.MaxGap = d
	return nil
}

func readPreload(r *Replay, text string) *fault {
	return oneOf("preload", text, map[string]func(){
		"auto": func() { r.Preload = PreloadAuto }, "true": func() { r.Preload = PreloadYes }, "false": func() { r.Preload = PreloadNo },
	}, "auto, true, false")
}

func readPad(r *Replay, text string) *fault {
	return oneOf("pad", text, map[string]func(){"zero": func() { r.Pad = PadZero }, "random": func() { r.Pad = PadRandom }}, "zero, random")
}

func readAllowSkip(r *Replay, text string) *fault {
	return oneOf("allow_skip", text, map[string]func(){"true": func() { r.AllowSkip = true }, "false": func() { r.AllowSkip = false }}, "true, false")
}

func readReplaySignature(r *Replay, text string) *fault {
	set := func(s string) func() { return func() { r.Signature = s } }
	if strings.TrimSpace(text) == "auto" {
		return &fault{"a replay has no automatic signature: it would overwrite payloads unasked", "give full or short, or leave it out: none is the default of a replay"}
	}
	return oneOf("signature", text, map[string]func(){"none": set("none"), "full": set("full"), "short": set("short")}, "none, full, short (of a replay)")
}

func oneOf(what, text string, values map[string]func(), known string) *fault {
	do := values[strings.TrimSpace(text)]
	if do == nil {
		return &fault{fmt.Sprintf("unknown %s %q", what, shorten(text)), "known: " + known}
	}
	do()
	return nil
}

func readL2(r *Replay, text string) *fault {
	dst, src, ok := strings.Cut(text, ",")
	field := packet.Lookup("eth").Field("dst")
	l2 := &L2{}
	for _, m := range []struct {
		text string
		into *[6]byte
	}{{dst, &l2.Dst}, {src, &l2.Src}} {
		n, err := packet.ParseNum(field, m.text)
		if err != nil || !ok {
			return &fault{fmt.Sprintf("l2 %q is not two MAC addresses", shorten(text)), "write destination and source, as in 02:00:00:00:00:02,02:00:00:00:00:01"}
		}
		for i := range m.into {
			m.into[i] = byte(n.Lo >> (40 - 8*i))
		}
	}
	r.L2 = l2
	return nil
}

func readVLAN(r *Replay, text string) *fault {
	text = strings.TrimSpace(text)
	if text == "none" {
		r.Untag = true
		return nil
	}
	if len(splitTags(text)) > 1 || strings.Contains(text, ":") {
		return &fault{fmt.Sprintf("%q is more than the id of one tag", shorten(text)), "give the id of the outermost tag: the others of a capture stay as they are; none takes all away"}
	}
	return readEdit(r, "vlan", text, "vlan.id")
}

// readEdit reads one value for the field in several kinds of headers.
func readEdit(r *Replay, name, text string, fields ...string) *fault {
	for _, f := range fields {
		kindName, fieldName, _ := strings.Cut(f, ".")
		kind := packet.Lookup(kindName)
		field := kind.Field(fieldName)
		v, bad := parseValue(field, text)
		if bad != nil {
			return bad
		}
		r.Edits = append(r.Edits, Edit{Flag: name, Kind: kind, Field: field, Value: v})
	}
	return nil
}

// readMap reads FROM=TO.
func readMap(r *Replay, text string) *fault {
	const mend = "write prefixes of equal length, as in 10.0.0.0/8=198.18.0.0/8"
	from, to, ok := strings.Cut(text, "=")
	if !ok {
		return &fault{fmt.Sprintf("map %q is not FROM=TO", shorten(text)), mend}
	}
	var m PrefixMap
	for _, p := range []struct {
		text string
		into *netip.Prefix
	}{{from, &m.From}, {to, &m.To}} {
		v, err := parsePrefix(strings.TrimSpace(p.text))
		if err != nil {
			return &fault{fmt.Sprintf("%q is no address prefix", shorten(p.text)), mend}
		}
		*p.into = v
	}
	switch {
	case m.From.Addr().Is4() != m.To.Addr().Is4():
		return &fault{fmt.Sprintf("%s and %s are not of the same version of IP", m.From, m.To), mend}
	case m.From.Bits() != m.To.Bits():
		return &fault{fmt.Sprintf("%s and %s are not of equal length", m.From, m.To), mend}
	}
	r.Maps = append(r.Maps, m)
	return nil
}

// parsePrefix takes an address alone as a prefix of its full length.
func parsePrefix(text string) (netip.Prefix, error) {
	if !strings.Contains(text, "/") {
		a, err := netip.ParseAddr(text)
		if err != nil || a.Zone() != "" || a.Is4In6() {
			return netip.Prefix{}, fmt.Errorf("%q is no address", text)
		}
		return netip.PrefixFrom(a, a.BitLen()), nil
	}
	p, err := netip.ParsePrefix(text)
	if err != nil || p.Addr().Is4In6() {
		return netip.Prefix{}, fmt.Errorf("%q is no prefix", text)
	}
	return p.Masked(), nil
}
