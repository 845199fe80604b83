package packet_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/wirespeed/wirespeed/internal/packet"
	"pgregory.net/rapid"
)

func TestKindsAreSound(t *testing.T) {
	for _, k := range packet.Kinds() {
		if packet.Lookup(k.Name).Name != k.Name {
			t.Errorf("Lookup(%q)", k.Name)
		}
		if k.Header != 0 && k.Header.String() != k.Name {
			t.Errorf("%s is %s for Walk", k.Name, k.Header)
		}
		covered := make([]bool, k.Len*8)
		for i := range k.Fields {
			f := &k.Fields[i]
			if f.Bits < 1 || f.Bits > 128 || f.Bit+f.Bits > k.Len*8 || f.Doc == "" {
				t.Errorf("%s: %+v", k.Wireshark(f), f)
			}
			if f.Max().Less(f.Default) {
				t.Errorf("%s: the default does not fit", k.Wireshark(f))
			}
			for name, v := range f.Values {
				if f.Max().Less(packet.Num{Lo: v}) {
					t.Errorf("%s: %s does not fit", k.Wireshark(f), name)
				}
			}
			for b := max(0, f.Bit); b < f.Bit+f.Bits; b++ {
				covered[b] = true
			}
		}
		for b, ok := range covered {
			if !ok {
				t.Errorf("%s: no field has bit %d", k.Name, b)
			}
		}
		if k.Checksum != nil {
			if f := k.Field(k.Checksum.Field); f == nil || f.Bit != k.Checksum.Off*8 || !f.Auto || k.Checksum.Off%2 != 0 {
				t.Errorf("%s: checksum", k.Name)
			}
		}
		for _, below := range k.Follows {
			if packet.Lookup(below) == nil {
				t.Errorf("%s follows %q", k.Name, below)
			}
		}
	}
	if packet.Lookup("x25") != nil {
		t.Error("there is no x25")
	}
}

// withFields are the kinds but raw.
func withFields() []*packet.Kind {
	return slices.DeleteFunc(packet.Kinds(), func(k *packet.Kind) bool { return len(k.Fields) == 0 })
}

func TestPutGet(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		k := rapid.SampledFrom(withFields()).Draw(t, "kind")
		f := &k.Fields[rapid.IntRange(0, len(k.Fields)-1).Draw(t, "field")]
		b := rapid.SliceOfN(rapid.Byte(), 2+k.Len, 2+k.Len).Draw(t, "frame")
		n := packet.Num{Hi: rapid.Uint64Max(f.Max().Hi).Draw(t, "hi"), Lo: rapid.Uint64Max(f.Max().Lo).Draw(t, "lo")}
		old, was := string(b), f.Get(b, 2)
		f.Put(b, 2, n)
		if got := f.Get(b, 2); got != n {
			t.Fatalf("%v became %v", n, got)
		}
		if f.Put(b, 2, was); string(b) != old {
			t.Fatal("Put changed its neighbours")
		}
	})
}

func TestNumRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		k := rapid.SampledFrom(withFields()).Draw(t, "kind")
		f := &k.Fields[rapid.IntRange(0, len(k.Fields)-1).Draw(t, "field")]
		n := packet.Num{Hi: rapid.Uint64Max(f.Max().Hi).Draw(t, "hi"), Lo: rapid.Uint64Max(f.Max().Lo).Draw(t, "lo")}
		got, err := packet.ParseNum(f, packet.FormatNum(f, n))
		if err != nil || got != n {
			t.Fatalf("%s: %v is written %q and read %v, %v", k.Wireshark(f), n, packet.FormatNum(f, n), got, err)
		}
	})
}

func TestParseNum(t *testing.T) {
	for _, c := range []struct {
		kind, field, text string
		want              packet.Num
		err               string
	}{
		{"eth", "dst", "02:00:5e:10:00:ff", packet.Num{Lo: 0x02005e1000ff}, ""},
		{"eth", "dst", "2-0-5E-10-0-FF", packet.Num{Lo: 0x02005e1000ff}, ""},
		{"eth", "dst", "02:00:00:00:01", packet.Num{}, "six bytes"},
		{"eth", "dst", "02:00:00:00:00:00:01", packet.Num{}, "six bytes"},
		{"eth", "dst", "02::00:00:00:01", packet.Num{}, "six bytes"},
		{"eth", "dst", "02:00:00:00:00:1ff", packet.Num{}, "six bytes"},
		{"eth", "type", "ipv6", packet.Num{Lo: 0x86dd}, ""},
		{"eth", "type", "ipx", packet.Num{}, "nor one of arp, eth, ip, ipv6, mpls, test"},
		{"vlan", "id", "4095", packet.Num{Lo: 4095}, ""},
		{"vlan", "id", "5000", packet.Num{}, "5000 does not fit: the field has 12 bits, 0 to 4095"},
		{"vlan", "id", "-1", packet.Num{}, "below 0"},
		{"vlan", "id", "", packet.Num{}, "not a number"},
		{"vlan", "id", "0x", packet.Num{}, "not a number"},
		{"vlan", "id", "1_0", packet.Num{}, "not a number"},
		{"vlan", "id", "010", packet.Num{Lo: 10}, ""},
		{"udp", "dstport", "65535", packet.Num{Lo: 65535}, ""},
		{"udp", "dstport", "0xFFFF", packet.Num{Lo: 65535}, ""},
		{"udp", "dstport", "65536", packet.Num{}, "0 to 65535"},
		{"udp", "dstport", strings.Repeat("9", 60), packet.Num{}, "128 bits"},
		{"ip", "hdr_len", "20", packet.Num{Lo: 5}, ""},
		{"ip", "hdr_len", "21", packet.Num{}, "multiple of 4"},
		{"ip", "hdr_len", "64", packet.Num{}, "0 to 60"},
		{"ip", "src", "198.18.0.1", packet.Num{Lo: 0xc6120001}, ""},
		{"ip", "src", "198.18.0.256", packet.Num{}, "not an IPv4 address"},
		{"ip", "src", "2001:2::1", packet.Num{}, "is an IPv6 address; this field takes IPv4"},
		{"ipv6", "src", "2001:2::1", packet.Num{Hi: 0x2001000200000000, Lo: 1}, ""},
		{"ipv6", "src", "198.18.0.1", packet.Num{}, "is an IPv4 address; this field takes IPv6"},
		{"ipv6", "src", "fe80::1%eth0", packet.Num{}, "has a zone"},
		{"ipv6", "src", "hello", packet.Num{}, "not an IPv6 address"},
		{"tcp", "flags", "syn|ack", packet.Num{Lo: 0x12}, ""},
		{"tcp", "flags", "syn|0x100", packet.Num{Lo: 0x102}, ""},
		{"tcp", "flags", "syn|xyz", packet.Num{}, "nor one of"},
	} {
		got, err := packet.ParseNum(packet.Lookup(c.kind).Field(c.field), c.text)
		if c.err == "" && (err != nil || got != c.want) {
			t.Errorf("%s.%s %q: %v, %v", c.kind, c.field, c.text, got, err)
		}
		if c.err != "" && (err == nil || !strings.Contains(err.Error(), c.err) || strings.Contains(err.Error(), "\n")) {
			t.Errorf("%s.%s %q: %v", c.kind, c.field, c.text, err)
		}
	}
}

// What is read fits the field and reads the same after it is written.
func FuzzParseNum(f *testing.F) {
	for _, s := range []string{"02:00:00:00:00:01", "198.18.0.1", "2001:2::1", "0x12", "syn|ack", "20"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		for _, k := range packet.Kinds() {
			for i := range k.Fields {
				f := &k.Fields[i]
				n, err := packet.ParseNum(f, s)
				if err != nil {
					continue
				}
				if again, err := packet.ParseNum(f, packet.FormatNum(f, n)); err != nil || again != n || f.Max().Less(n) {
					t.Fatalf("%s: %q is %v, written %q", k.Wireshark(f), s, n, packet.FormatNum(f, n))
				}
			}
		}
	})
}
