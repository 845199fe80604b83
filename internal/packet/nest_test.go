package packet_test

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/wirespeed/wirespeed/internal/packet"
)

// A layer of a frame that a test builds: the kind's name, what is given as "field=value", and the bytes of Data.
type layer struct {
	kind  string
	given []string
	data  string // hexadecimal
}

// A nest is a frame by its layers. The payload is behind them.
type nest struct {
	name   string
	layers []layer
}

// stack reads "eth vlan ip udp" with fields and data in brackets behind a name: "ip[ttl=9,id=7] gre[key=1]", data as +hex.
func stack(name, text string) nest {
	n := nest{name: name}
	for _, word := range strings.Fields(text) {
		kind, args, _ := strings.Cut(strings.TrimSuffix(word, "]"), "[")
		l := layer{kind: kind}
		for _, a := range strings.FieldsFunc(args, func(r rune) bool { return r == ',' }) {
			if data, ok := strings.CutPrefix(a, "+"); ok {
				l.data = data
			} else {
				l.given = append(l.given, a)
			}
		}
		n.layers = append(n.layers, l)
	}
	return n
}

const (
	addr1 = "20010002000000000000000000000011"
	addr2 = "20010002000000000000000000000022"
)

// nests are frames of every kind in many nestings, all of them whole.
func nests() []nest {
	labels := strings.Repeat("mpls ", 17)
	return []nest{
		stack("arp request", "eth[dst=ff:ff:ff:ff:ff:ff] arp"),
		stack("arp reply in a tag", "eth vlan[id=7,priority=5,dei=1] arp[opcode=reply,dst.hw_mac=02:00:00:00:00:09]"),
		stack("three tags", "eth vlan[tpid=0x88a8,id=100] vlan[id=0] vlan[id=4095] ip udp"),
		stack("llc", "eth llc[dsap=0x10,ssap=0x10]"),
		stack("snap ip", "eth llc snap ip udp"),
		stack("snap in a tag", "eth vlan llc snap ipv6 tcp"),
		stack("snap arp", "eth llc snap arp"),
		stack("snap of an organization", "eth llc snap[oui=0x123456,pid=0x789a]"),
		stack("one label", "eth mpls[label=1048575,exp=5,ttl=64] ip udp"),
		stack("three labels", "eth mpls mpls[label=17] mpls[label=18] ipv6 tcp"),
		stack("seventeen labels", "eth "+labels+"ip udp"),
		stack("ethernet on mpls", "eth vlan mpls[label=77] eth[dst=02:0a:00:00:00:01] ip udp"),
		stack("mpls in ip", "eth ip mpls ip udp"),
		stack("ip options", "eth ip[dsfield.dscp=46,dsfield.ecn=1,id=7,flags.df=1,ttl=64,+94040000] udp"),
		stack("ip options padded", "eth ip[+01940400000101] tcp"),
		stack("most ip options", "eth ip[+"+strings.Repeat("01", 40)+"] udp[srcport=5,dstport=7]"),
		stack("tcp options", "eth ip tcp[flags=syn,seq=1,ack=2,window_size_value=3,+020405b4010303070402] "),
		stack("tcp flags", "eth ip tcp[flags=psh|ack|urg,urgent_pointer=1]"),
		stack("icmp", "eth ip icmp[ident=258,seq=3]"),
		stack("icmp reply", "eth vlan ip[+94040000] icmp[type=0,ident=5]"),
		stack("icmpv6", "eth ipv6[flow=7,tclass.dscp=46,tclass.ecn=1] icmpv6[echo.identifier=258,echo.sequence_number=3]"),
		stack("all extensions", "eth ipv6 hopopts[+050200000100] routing[+"+addr1+"] fraghdr[ident=9] dstopts udp"),
		stack("hop-by-hop alone", "eth ipv6 hopopts icmpv6"),
		stack("segments left", "eth ipv6 routing[segleft=1,srh.tag=5,srh.flags=0,+"+addr1+addr2+"] udp"),
		stack("mobile ipv6", "eth ipv6 routing[type=2,segleft=1,+"+addr1+"] dstopts tcp"),
		stack("source routing", "eth ipv6 routing[type=0,segleft=2,src.reserved=0,+"+addr1+addr2+"] icmpv6"),
		stack("long options", "eth ipv6 dstopts[+1e14"+strings.Repeat("ab", 20)+"] tcp"),
		stack("gre", "eth ip gre ip udp"),
		stack("gre with everything", "eth ip gre[flags.checksum=1,key=7,sequence_number=8] ipv6 udp"),
		stack("gre with a key in ipv6", "eth ipv6 gre[key=0xffffffff] ip icmp"),
		stack("gre with a sequence", "eth ip gre[sequence_number=9,offset=0] mpls ip tcp"),
		stack("ethernet in gre", "eth ip gre eth vlan ip udp"),
		stack("nothing in gre", "eth ip gre[key=1]"),
		stack("vxlan", "eth ip udp[srcport=50000] vxlan[vni=0xabcdef,gbp=5,flags=0x8800] eth ip tcp"),
		stack("vxlan in ipv6", "eth ipv6 udp vxlan[reserved8=3] eth vlan ipv6 udp"),
		stack("arp in vxlan", "eth ip udp vxlan eth arp"),
		stack("ip in ip", "eth ip ip udp"),
		stack("6in4", "eth ip ipv6 tcp"),
		stack("4in6", "eth ipv6 ip udp"),
		stack("6in6", "eth ipv6 dstopts ipv6 icmpv6"),
		stack("deep", "eth vlan mpls ip gre[key=5,flags.checksum=1] eth ip udp vxlan eth vlan ipv6 hopopts dstopts tcp"),
	}
}

// built is a frame with the layers it was built of.
type built struct {
	nest
	frame []byte
	kinds []*packet.Kind
	at    []int
	hdr   int
}

// build makes the frame of a nest as the table says: defaults, data, Finish, what is given, checksums from the innermost on.
func build(t testing.TB, n nest, payload []byte) built {
	t.Helper()
	b := built{nest: n}
	for _, l := range n.layers {
		k := packet.Lookup(l.kind)
		if k == nil {
			t.Fatalf("%s: there is no %s", n.name, l.kind)
		}
		given := func(name string) bool {
			return slices.ContainsFunc(l.given, func(g string) bool { return strings.HasPrefix(g, name+"=") })
		}
		if k.Shape != nil {
			var err error
			if k, err = k.Shape(given, unhex(t, l.data)); err != nil {
				t.Fatalf("%s: %v", n.name, err)
			}
		}
		b.kinds, b.at = append(b.kinds, k), append(b.at, b.hdr)
		b.hdr += k.Len
	}
	b.frame = append(make([]byte, b.hdr), payload...)
	for i, k := range b.kinds {
		for j := range k.Fields {
			if f := &k.Fields[j]; f.Default != (packet.Num{}) {
				f.Put(b.frame, b.at[i], f.Default)
			}
		}
		if k.Data != nil {
			copy(b.frame[b.at[i]+k.Len-len(k.Data.Bytes):], k.Data.Bytes)
		}
	}
	for i, k := range b.kinds {
		var next *packet.Kind
		if i+1 < len(b.kinds) {
			next = b.kinds[i+1]
		}
		if k.Finish != nil {
			k.Finish(b.frame[b.at[i]:b.at[i]+k.Len], next, len(b.frame)-b.at[i]-k.Len)
		}
	}
	for i, k := range b.kinds {
		for _, g := range n.layers[i].given {
			name, value, _ := strings.Cut(g, "=")
			f := k.Field(name)
			if f == nil {
				t.Fatalf("%s: %s has no %s", n.name, k.Name, name)
			}
			v, err := packet.ParseNum(f, value)
			if err != nil {
				t.Fatalf("%s: %s: %v", n.name, g, err)
			}
			f.Put(b.frame, b.at[i], v)
		}
	}
	for i := len(b.kinds) - 1; i >= 0; i-- {
		b.checksum(i)
	}
	return b
}

// checksum writes the checksum of one layer, in the plainest way.
func (b *built) checksum(i int) {
	c := b.kinds[i].Checksum
	if c == nil || slices.ContainsFunc(b.layers[i].given, func(g string) bool { return strings.HasPrefix(g, c.Field+"=") }) {
		return
	}
	covered := slices.Clone(b.frame[b.at[i]:])
	if c.HeaderOnly {
		covered = covered[:b.kinds[i].Len]
	}
	if n := len(covered); c.Pseudo != 0 {
		if n%2 != 0 {
			covered = append(covered, 0)
		}
		covered = append(covered, 0, c.Pseudo, byte(n>>8), byte(n))
		covered = append(covered, b.addresses(i)...)
	}
	sum := ^slowSum(covered)
	if sum == 0 && c.ZeroIsNone {
		sum = 0xffff
	}
	binary.BigEndian.PutUint16(b.frame[b.at[i]+c.Off:], sum)
}

// addresses are those of the pseudo header of layer i.
func (b *built) addresses(i int) []byte {
	var final []byte
	for i--; ; i-- {
		h := b.frame[b.at[i] : b.at[i]+b.kinds[i].Len]
		switch k := b.kinds[i]; {
		case k.Name == "ip":
			return h[12:20]
		case k.Name == "ipv6" && final != nil:
			return append(slices.Clone(h[8:24]), final...)
		case k.Name == "ipv6":
			return h[8:40]
		case k.FinalDst != nil:
			if off, ok := k.FinalDst(h); ok {
				final = h[off : off+16]
			}
		}
	}
}

var testPayload = []byte("0123456789abcdefghijklmnopqrstuvwxyz")

// Walk finds every header that the table can build, where it was put, and every checksum is right until a bit is turned.
func TestWalkFindsWhatIsBuilt(t *testing.T) {
	seen := map[string]bool{}
	for _, n := range nests() {
		b := build(t, n, testPayload)
		var l packet.Layout
		if !l.Walk(b.frame) || l.BadLength || l.Fragment {
			t.Errorf("%s: %+v", n.name, l)
			continue
		}
		var got, want []string
		for _, h := range l.Stack[:l.Depth] {
			got = append(got, fmt.Sprintf("%s %d+%d..%d", h.Kind, h.Off, h.Len, h.End))
		}
		for i, k := range b.kinds {
			seen[k.Name] = true
			want = append(want, fmt.Sprintf("%s %d+%d..%d", k.Header, b.at[i], k.Len, len(b.frame)))
		}
		if !slices.Equal(got, want) || l.Payload != b.hdr || l.End != len(b.frame) {
			t.Errorf("%s: payload %d to %d, want %d to %d\n got %q\nwant %q", n.name, l.Payload, l.End, b.hdr, len(b.frame), got, want)
		}
		if wrong := packet.VerifySums(b.frame, &l); wrong >= 0 || !packet.VerifyL4(b.frame, &l) {
			t.Errorf("%s: the checksum of header %d is wrong", n.name, wrong)
		}
		for i, k := range b.kinds {
			if k.Checksum == nil {
				continue
			}
			turned := slices.Clone(b.frame)
			turned[b.at[i]+k.Checksum.Off] ^= 0x40
			if wrong := packet.VerifySums(turned, &l); wrong != i {
				t.Errorf("%s: a wrong checksum of header %d was found in %d", n.name, i, wrong)
			}
			if packet.VerifyL4(turned, &l) && b.at[i] == l.L4 {
				t.Errorf("%s: VerifyL4 did not see a wrong checksum of header %d", n.name, i)
			}
		}
	}
	for _, k := range packet.Kinds() {
		if !seen[k.Name] && k.Header != 0 {
			t.Errorf("%s is in no frame", k.Name)
		}
	}
}

// Raw bytes go anywhere; Walk takes them for payload.
func TestRaw(t *testing.T) {
	for _, c := range []struct {
		text    string
		payload int
		mark    uint64 // what the header below says
	}{
		{"raw[+0200000000020200000000010800]", 14, 0},
		{"eth raw[+abcdef]", 14, 0x88b5},
		{"eth ip raw[+abcdef]", 34, 253},
		{"eth ipv6 dstopts raw[+abcdef]", 62, 253},
		{"eth[type=0x8863] raw[+1100000100160021] ip udp", 14, 0x8863},
	} {
		b := build(t, stack(c.text, c.text), testPayload)
		l, ok := packet.Walk(b.frame)
		if !ok || l.Payload != c.payload || l.BadLength {
			t.Errorf("%s: %v %+v", c.text, ok, l)
		}
		if c.mark == 0 {
			continue
		}
		i := slices.IndexFunc(b.kinds, func(k *packet.Kind) bool { return k.Name == "raw" }) - 1
		for _, name := range []string{"type", "proto", "nxt"} {
			if f := b.kinds[i].Field(name); f != nil && f.Get(b.frame, b.at[i]).Lo != c.mark {
				t.Errorf("%s: %s announces %#x", c.text, b.kinds[i].Name, f.Get(b.frame, b.at[i]).Lo)
			}
		}
	}
	if _, err := packet.Lookup("raw").Shape(func(string) bool { return false }, nil); err == nil {
		t.Error("raw without bytes was taken")
	}
}
