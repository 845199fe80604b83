package stream

import (
	"io"
	"os"
	"strings"

	"github.com/wirespeed/wirespeed/internal/packet"
)

// Flags is one stream as the flags of a command line describe it, each as it was written; empty means not given. Every
// header field takes a constant or a modifier.
type Flags struct {
	File               string // path of a definition; of the other flags only Rate goes with it
	Size               string
	SrcMAC, DstMAC     string
	SrcIP, DstIP       string // both IPv4 or both IPv6
	SrcPort, DstPort   string
	Proto              string // udp (default) or tcp
	VLAN               string // tags, outermost first: 100 or 0x88a8:100,200
	TTL                string
	Payload, Signature string
	Rate, Burst        string
}

// FromFlags makes a definition. The error is an Errors: its mistakes carry the flag as their path, or line and column
// where they lie in the file. A file that cannot be read is one mistake too.
func FromFlags(f Flags) (*Set, error) {
	if f.File != "" {
		return f.fromFile()
	}
	n := &notes{}
	b := flagReader{notes: n}
	set := &Set{}
	if f.Rate != "" {
		var bad *fault
		set.Rate, bad = parseRate(f.Rate)
		n.fault(flagAt("--rate"), bad)
	}
	st := Stream{Weight: 1, Layers: b.layers(f)}
	if f.Size != "" {
		var bad *fault
		st.Size, bad = parseSizes(f.Size)
		b.src.sized = true
		b.src.broken = n.fault(flagAt("--size"), bad) || b.src.broken
	}
	if f.Payload != "" {
		var bad *fault
		st.Payload, bad = parseFill(f.Payload)
		n.fault(flagAt("--payload"), bad)
	}
	if f.Signature != "" {
		var bad *fault
		st.Signature, bad = parseSignature(f.Signature)
		n.fault(flagAt("--signature"), bad)
	}
	if f.Burst != "" {
		var bad *fault
		st.Burst, bad = parseBurst(f.Burst)
		n.fault(flagAt("--burst"), bad)
	}
	b.src.size = flagAt("--size")
	set.Streams = []Stream{st}
	check(set, []source{b.src}, n)
	if err := n.err(); err != nil {
		return nil, err
	}
	return set, nil
}

func flagAt(flag string) located { return located{path: flag} }

func (f Flags) fromFile() (*Set, error) {
	n := &notes{}
	for _, g := range []struct{ flag, value string }{
		{"--size", f.Size}, {"--src-mac", f.SrcMAC}, {"--dst-mac", f.DstMAC}, {"--src-ip", f.SrcIP}, {"--dst-ip", f.DstIP},
		{"--src-port", f.SrcPort}, {"--dst-port", f.DstPort}, {"--proto", f.Proto}, {"--vlan", f.VLAN}, {"--ttl", f.TTL},
		{"--payload", f.Payload}, {"--signature", f.Signature}, {"--burst", f.Burst},
	} {
		if g.value != "" {
			n.at(flagAt(g.flag), "a file describes its streams whole", "write it into "+f.File+", or leave out --file")
		}
	}
	data, err := readLimited(f.File)
	if err != nil {
		n.at(flagAt("--file"), "the file cannot be read: "+err.Error(), "give the path of a stream definition")
		return nil, n.err()
	}
	set, err := Parse(f.File, data)
	if bad, ok := err.(Errors); ok {
		n.list = append(n.list, bad...)
	}
	if f.Rate != "" {
		rate, bad := parseRate(f.Rate)
		if !n.fault(flagAt("--rate"), bad) && set != nil {
			set.Rate = rate
		}
	}
	if err := n.err(); err != nil {
		return nil, err
	}
	return set, nil
}

// readLimited reads no more than Parse takes and a byte: a device such as /dev/zero has no end.
func readLimited(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, maxFile+1))
}

// flagReader builds the layers of the flags.
type flagReader struct {
	*notes
	src source
}

// given is one field and the flag that sets it.
type given struct{ field, flag, value string }

func (b *flagReader) layers(f Flags) []Layer {
	out := []Layer{b.layer("eth", "--dst-mac", given{"dst", "--dst-mac", f.DstMAC}, given{"src", "--src-mac", f.SrcMAC})}
	if f.VLAN != "" {
		for _, tag := range splitTags(f.VLAN) {
			tpid, id, stacked := strings.Cut(tag, ":")
			if !stacked {
				tpid, id = "", tag
			}
			if strings.TrimSpace(id) == "" || stacked && strings.TrimSpace(tpid) == "" {
				b.at(flagAt("--vlan"), "a tag is empty", "write 100, 100,200 or 0x88a8:100,200")
				continue
			}
			out = append(out, b.layer("vlan", "--vlan", given{"tpid", "--vlan", tpid}, given{"id", "--vlan", id}))
		}
	}
	l3, ttl := "ip", "ttl"
	if strings.Contains(f.SrcIP, ":") || strings.Contains(f.DstIP, ":") {
		l3, ttl = "ipv6", "hlim"
	}
	out = append(out, b.layer(l3, "--dst-ip", given{ttl, "--ttl", f.TTL}, given{"src", "--src-ip", f.SrcIP}, given{"dst", "--dst-ip", f.DstIP}))
	l4 := "udp"
	if f.Proto != "" {
		l4 = strings.ToLower(f.Proto)
	}
	if l4 != "udp" && l4 != "tcp" {
		message, mend := unknown("protocol", f.Proto, []string{"udp", "tcp"})
		b.at(flagAt("--proto"), message, mend)
		l4 = "udp"
	}
	return append(out, b.layer(l4, "--proto", given{"srcport", "--src-port", f.SrcPort}, given{"dstport", "--dst-port", f.DstPort}))
}

func (b *flagReader) layer(name, flag string, fields ...given) Layer {
	kind := packet.Lookup(name)
	values := make([]*Value, len(kind.Fields))
	src := layerSource{located: flagAt(flag), fields: map[string]located{}}
	for i := range kind.Fields {
		for _, g := range fields {
			if g.field != kind.Fields[i].Name || g.value == "" {
				continue
			}
			v, bad := parseValue(&kind.Fields[i], g.value)
			if b.fault(flagAt(g.flag), bad) {
				v = Value{}
			}
			values[i] = &v
			src.fields[g.field] = flagAt(g.flag)
		}
	}
	b.src.layers = append(b.src.layers, src)
	l, err := NewLayer(kind, inOrder(kind, values), nil)
	b.fault(flagAt(flag), faultOf(err))
	return l
}

// splitTags cuts at the commas outside parentheses: inc(1,1,10),200 is two tags.
func splitTags(text string) []string {
	var out []string
	depth, from := 0, 0
	for i, c := range text {
		switch c {
		case '(':
			depth++
		case ')':
			depth--
		case ',':
			if depth == 0 {
				out = append(out, text[from:i])
				from = i + 1
			}
		}
	}
	return append(out, text[from:])
}
