package packet_test

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/wirespeed/wirespeed/internal/packet"
	"pgregory.net/rapid"
)

// A shaped kind has what was given, where it says, and leaves the kind that it was made of as it was.
func TestShape(t *testing.T) {
	shaped := slices.DeleteFunc(packet.Kinds(), func(k *packet.Kind) bool { return k.Shape == nil })
	rapid.Check(t, func(t *rapid.T) {
		k := rapid.SampledFrom(shaped).Draw(t, "kind")
		var names []string
		for i := range k.Fields {
			if rapid.Bool().Draw(t, "given") {
				names = append(names, k.Fields[i].Name)
			}
		}
		var data []byte
		if k.Data != nil {
			data = rapid.SliceOfN(rapid.ByteRange(1, 255), 1, k.Data.Max).Draw(t, "data")
		}
		before, was := *k, bytes.Clone(data)
		s, err := k.Shape(func(name string) bool { return slices.Contains(names, name) }, data)
		if err != nil {
			t.Fatal(err)
		}
		if k.Len != before.Len || !bytes.Equal(data, was) {
			t.Fatal("the kind or the data changed")
		}
		if s.Shape != nil || s.Name != k.Name || s.Header != k.Header {
			t.Fatalf("%+v", s)
		}
		fields := s.Len
		if s.Data != nil {
			fields -= len(s.Data.Bytes)
			if !bytes.HasPrefix(s.Data.Bytes, data) || len(s.Data.Bytes) >= len(data)+8 {
				t.Fatalf("%d bytes became %d", len(data), len(s.Data.Bytes))
			}
		}
		for i := range s.Fields {
			if f := &s.Fields[i]; f.Bit+f.Bits > fields*8 {
				t.Fatalf("%s lies behind %d bytes", f.Name, fields)
			}
		}
		for _, name := range names {
			if s.Field(name) == nil {
				t.Fatalf("%s was given and is not there", name)
			}
		}
		unit := map[string]int{"ip": 4, "tcp": 4, "gre": 4, "hopopts": 8, "dstopts": 8, "routing": 8}[s.Name]
		if unit > 0 && s.Len%unit != 0 {
			t.Fatalf("%s has %d bytes, which it cannot say", s.Name, s.Len)
		}
	})
	for _, k := range shaped {
		if k.Data == nil {
			continue
		}
		_, err := k.Shape(func(string) bool { return false }, make([]byte, k.Data.Max+1))
		if err == nil || !strings.Contains(err.Error(), k.Name) {
			t.Errorf("%s took more than its largest data: %v", k.Name, err)
		}
	}
}

// Options are filled up by what each protocol skips.
func TestPadding(t *testing.T) {
	for _, c := range []struct{ kind, data, want string }{
		{"ip", "", ""},
		{"ip", "94040000", "94040000"},
		{"ip", "01", "01000000"},
		{"tcp", "020405b403", "020405b403000000"},
		{"hopopts", "", "010400000000"},
		{"hopopts", "050200000100", "050200000100"},
		{"hopopts", "0502000001", "050200000100"},
		{"dstopts", "05020000", "050200000100"},
		{"dstopts", "05020000010000", "05020000010000" + "01050000000000"},
		{"dstopts", "0502000001000000", "0502000001000000" + "010400000000"},
		{"routing", addr1, addr1},
		{"routing", "0102", "0102000000000000"},
		{"icmpv6", "010203", "010203"},
		{"raw", "010203", "010203"},
	} {
		k, err := packet.Lookup(c.kind).Shape(func(string) bool { return false }, unhex(t, c.data))
		if err != nil || !bytes.Equal(k.Data.Bytes, unhex(t, c.want)) {
			t.Errorf("%s %s: %x, %v, want %s", c.kind, c.data, k.Data.Bytes, err, c.want)
		}
	}
}

// Whatever a kind stands on announces it, so that Walk finds it there; and what is given wins.
func TestEveryKindIsAnnounced(t *testing.T) {
	kinds := map[string]*packet.Kind{}
	for _, k := range packet.Kinds() {
		kinds[k.Name] = k
	}
	// way is a shortest stack from eth to a kind.
	way := map[string]string{"eth": "eth"}
	for again := true; again; {
		again = false
		for name, k := range kinds {
			for _, below := range k.Follows {
				if w := way[below]; below != "raw" && w != "" && (way[name] == "" || len(strings.Fields(w))+1 < len(strings.Fields(way[name]))) {
					way[name], again = w+" "+name, true
				}
			}
		}
	}
	for name, k := range kinds {
		if way[name] == "" {
			t.Errorf("nothing leads to %s", name)
		}
		for _, below := range k.Follows {
			if k.Header == 0 || below == "raw" {
				continue
			}
			n := stack(way[below]+" "+name, way[below]+" "+name)
			b := build(t, n, bytes.Repeat([]byte{0}, 64))
			l, ok := packet.Walk(b.frame)
			if i := len(b.kinds) - 1; !ok || l.BadLength || l.Depth <= i || l.Stack[i].Kind != k.Header || int(l.Stack[i].Off) != b.at[i] {
				t.Errorf("%s: %v, %s", n.name, ok, kindsOf(&l))
			}
		}
	}
}

func TestWhatIsGivenWins(t *testing.T) {
	for _, c := range []struct{ text, kind, field, want string }{
		{"eth[type=0x1234] ip udp", "eth", "type", "4660"},
		{"eth ip[hdr_len=40,+94040000] udp", "ip", "hdr_len", "40"},
		{"eth ip[version=5,proto=99,len=7] udp", "ip", "proto", "99"},
		{"eth ip tcp[hdr_len=60]", "tcp", "hdr_len", "60"},
		{"eth ip udp[dstport=9] vxlan eth", "udp", "dstport", "9"},
		{"eth mpls[bottom=1] mpls ip udp", "mpls", "bottom", "1"},
		{"eth llc[dsap=1] snap ip", "llc", "dsap", "1"},
		{"eth[type=5] llc", "eth", "type", "5"},
		{"eth ip gre[flags.checksum=0,key=5]", "gre", "flags.checksum", "0"},
		{"eth ip gre[flags_and_version=0xffff]", "gre", "flags_and_version", "65535"},
		{"eth ipv6 dstopts[len=9] udp", "dstopts", "len", "9"},
		{"eth ipv6 routing[srh.last_entry=4,+" + addr1 + addr2 + "] udp", "routing", "srh.last_entry", "4"},
	} {
		b := build(t, stack(c.text, c.text), testPayload)
		i := slices.IndexFunc(b.kinds, func(k *packet.Kind) bool { return k.Name == c.kind })
		f := b.kinds[i].Field(c.field)
		if got := packet.FormatNum(f, f.Get(b.frame, b.at[i])); got != c.want {
			t.Errorf("%s: %s.%s is %s", c.text, c.kind, c.field, got)
		}
	}
}

func BenchmarkKinds(b *testing.B) {
	for range b.N {
		packet.Kinds()
	}
}
