package stream

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/wirespeed/wirespeed/internal/packet"
	"github.com/wirespeed/wirespeed/internal/wire"
)

const good = `# a comment
rate: 1.2Mpps
streams:
  - name: web
    weight: 3
    size: imix:80:7,570:4,1518:1
    signature: short
    layers:
      - eth: {dst: 02:00:00:00:00:02, src: "inc(02:00:00:00:00:10, 1, 16)"}
      - vlan: {id: 100, tpid: 0x88a8}
      - vlan: {vlan.id: 200}
      - ip:
          dst: rand(198.18.0.0, 198.18.255.255, 7)
          ttl: 5
      - tcp:
          flags: syn|ack
          dstport: list(80, 443, 8080)
    payload: {fill: "hex:DEAD BEEF"}
  - layers: [eth, ipv6, udp]
    start_after: 10ms
    burst: 32/1ms
    rate: 10kpps
`

func TestParseReadsEveryPart(t *testing.T) {
	set, err := Parse("good.yaml", []byte(good))
	if err != nil {
		t.Fatal(err)
	}
	if set.Rate.Kind != wire.RateFPS || set.Rate.Num != 1200000 || len(set.Streams) != 2 {
		t.Fatalf("rate %+v, %d streams", set.Rate, len(set.Streams))
	}
	web, other := set.Streams[0], set.Streams[1]
	if web.Name != "web" || web.Weight != 3 || web.Size.Text != "imix:80:7,570:4,1518:1" || len(web.Size.Cycle) != 12 || web.Signature != "short" {
		t.Errorf("web is %+v", web)
	}
	var got []string
	for _, l := range web.Layers {
		for _, f := range l.Fields {
			got = append(got, fmt.Sprintf("%s.%s %s %x %d %d", l.Kind.Name, f.Field.Name, f.Value.Op, f.Value.Start.Lo, f.Value.Count, len(f.Value.List)))
		}
	}
	want := []string{
		"eth.dst fixed 20000000002 0 0", "eth.src inc 20000000010 16 0",
		"vlan.tpid fixed 88a8 0 0", "vlan.id fixed 64 0 0", "vlan.id fixed c8 0 0",
		"ip.ttl fixed 5 0 0", "ip.dst rand c6120000 0 0",
		"tcp.dstport list 0 0 3", "tcp.flags fixed 12 0 0",
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("fields (-want +got):\n%s", d)
	}
	if web.Payload.Fill != FillData || string(web.Payload.Data) != "\xde\xad\xbe\xef" {
		t.Errorf("payload %+v", web.Payload)
	}
	if other.Name != "stream2" || other.Size.Min != 84 || other.Size.Text != "84" || other.StartAfter != 10*time.Millisecond ||
		*other.Burst != (Burst{32, time.Millisecond}) || other.Rate == nil || len(other.Layers) != 3 {
		t.Errorf("second stream is %+v", other)
	}
	if d := cmp.Diff([]string{`stream "stream2": rate`, `stream "stream2": start_after`, `stream "stream2": burst`}, set.Unsupported()); d != "" {
		t.Errorf("unsupported (-want +got):\n%s", d)
	}
}

func TestParseReadsJSON(t *testing.T) {
	text := "{\n\t\"rate\": \"gap=10us\",\n\t\"streams\": [{\"size\": 128, \"layers\": [{\"eth\": {\"dst\": \"02:00:00:00:00:02\"}}, \"ip\", {\"udp\": {\"dstport\": \"inc(1000,1,10)\", \"srcport\": 53}}]}]\n}\n"
	set, err := Parse("x.json", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	if udp := set.Streams[0].Layers[2]; len(udp.Fields) != 2 || udp.Fields[1].Value.Count != 10 {
		t.Errorf("udp is %+v", udp)
	}
	_, err = Parse("x.json", []byte("{\n\t\"streams\": [{\"size\": 63, \"layers\": [\"eth\"]}]}"))
	if err == nil || !strings.Contains(err.Error(), "x.json:2:23: streams[0].size: ") {
		t.Errorf("error is %v", err)
	}
}

// one wraps fields of a stream and layers into a definition; the layers begin in line 3, in column 5.
func one(keys, layers string) string {
	return "streams:\n- layers:\n" + layers + "\n" + keys
}

const udp4 = "  - eth\n  - ip\n  - udp"

func TestParseNamesEveryMistake(t *testing.T) {
	tests := []struct {
		name, text string
		want       []string // line:column: words of the message
	}{
		{"empty", "", []string{"1:1: file is empty"}},
		{"only a comment", "# nothing\n", []string{"1:1: file is empty"}},
		{"no YAML", "a: [1,\nb: 2", []string{"1:4: not YAML"}},
		{"a list", "- 1\n", []string{"1:1: a definition must be a mapping, not a list"}},
		{"no streams", "rate: max\n", []string{"1:1: no streams"}},
		{"empty streams", "streams: []\n", []string{"1:10: list of streams is empty"}},
		{"two documents", one("", udp4) + "---\na: 1\n", []string{"7:1: second document"}},
		{"anchor", "rate: &x max\n" + one("", udp4), []string{"1:7: anchors"}},
		{"unknown key", "streems:\n", []string{`1:1: unknown key "streems"; did you mean "streams"?`, "1:1: no streams"}},
		{"unknown stream key", one("  wieght: 2\n", udp4), []string{`6:3: unknown key "wieght"; did you mean "weight"?`}},
		{"unknown header", one("", "  - eth\n  - ipv7\n  - udp"), []string{`4:5: unknown header "ipv7"; did you mean "ipv6"?`}},
		{"empty header", one("", "  - eth\n  - {}"), []string{`4:5: a header is needed; known: eth`}},
		{"size before the layers", "streams:\n- size: 0\n  layers: [eth]\n", []string{`2:9: size "0" is too small`}},
		{"unknown field", one("", "  - eth\n  - ip: {tll: 5}"), []string{`4:10: unknown key "tll"; did you mean "ttl"?`}},
		{"key twice", one("  size: 64\n  size: 128\n", udp4), []string{`7:3: key "size" was given before, in line 6`}},
		{"field twice", one("", "  - eth\n  - ip: {ttl: 5, ip.ttl: 6}"), []string{`4:18: key "ttl" was given before`}},
		{"two headers in one item", one("", "  - eth:\n    ip:\n"), []string{"4:5: a header is one key"}},
		{"VLAN 5000", one("", "  - eth\n  - vlan: {id: 5000}"), []string{"4:16: 5000 does not fit; the field has 12 bits, 0 to 4095"}},
		{"MAC of five bytes", one("", "  - eth: {dst: 00:ab:cd:ef:00}"), []string{"3:16: is not a MAC address; write six bytes"}},
		{"IPv4 in IPv6", one("", "  - eth\n  - ipv6:\n      dst: 198.18.0.1\n"), []string{"5:12: is an IPv4 address; this field takes IPv6"}},
		{"IPv6 in IPv4", one("", "  - eth\n  - ip: {dst: 2001:2::1}"), []string{"4:15: is an IPv6 address"}},
		{"port 65536", one("", "  - eth\n  - ip\n  - udp: {dstport: 65536}"), []string{"5:20: 65536 does not fit; the field has 16 bits"}},
		{"negative", one("", "  - eth\n  - ip: {ttl: -1}"), []string{"4:15: -1"}},
		{"a list as value", one("", "  - eth\n  - ip: {ttl: [1, 2]}"), []string{"4:15: needs a single value, not a list"}},
		{"rate 0", "rate: 0pps\n" + one("", udp4), []string{`1:7: is zero`}},
		{"rate negative", "rate: -5Mpps\n" + one("", udp4), []string{`1:7: is negative`}},
		{"stream rate 0", one("  rate: 0bps\n", udp4), []string{`6:9: is zero`}},
		{"rate and weight", one("  rate: 1pps\n  weight: 2\n", udp4), []string{`6:9: either a weight or a rate`}},
		{"start_after", one("  start_after: -1s\n", udp4), []string{`6:16: "-1s" is no time`}},
		{"burst 0", one("  burst: 0/1ms\n", udp4), []string{`6:10: a burst of "0" frames`}},
		{"burst without gap", one("  burst: 10\n", udp4), []string{`6:10: is not N/GAP`}},
		{"burst gap", one("  burst: 10/0s\n", udp4), []string{`6:10: is no time above 0`}},
		{"weight 0", one("  weight: 0\n", udp4), []string{`6:11: weight "0" is not a number from 1`}},
		{"weight 65537", one("  weight: 65537\n", udp4), []string{`6:11: weight "65537"`}},
		{"size text", one("  size: large\n", udp4), []string{`6:9: size "large"`}},
		{"size below headers", one("  size: 64\n", "  - eth\n  - ipv6\n  - tcp"),
			[]string{"6:9: size 64 is smaller than the headers: eth 14 + ipv6 40 + tcp 20 + FCS 4 bytes make 78; give a size of 78"}},
		{"size below the signature", one("  size: 64-128\n  signature: full\n", "  - eth\n  - vlan\n  - ip\n  - udp"),
			[]string{"7:9: size 64 is smaller than the headers and the signature: eth 14 + vlan 4 + ip 20 + udp 8 + signature 18 + FCS 4 bytes make 68"}},
		{"signature", one("  signature: fulll\n", udp4), []string{`6:14: unknown signature "fulll"; did you mean "full"?`}},
		{"fill", one("  payload: {fill: 0x100}\n", udp4), []string{"6:19: more than one byte"}},
		{"fill word", one("  payload: {fill: incc}\n", udp4), []string{`6:19: unknown fill "incc"`}},
		{"fill hex", one("  payload: {fill: \"hex:abc\"}\n", udp4), []string{"6:19: not pairs of hexadecimal digits"}},
		{"payload key", one("  payload: {fil: 0}\n", udp4), []string{`6:13: unknown key "fil"; did you mean "fill"?`}},
		{"names twice", "streams:\n- {name: a, layers: [eth]}\n- {name: a, layers: [eth]}\n", []string{`3:10: stream 1 has the name "a" already`}},
		{"no layers", "streams:\n- name: a\n", []string{"2:3: no layers"}},
		{"no eth", one("", "  - ip\n  - udp"), []string{"3:5: ip cannot be the outermost header; begin the list with `- eth`"}},
		{"eth inside", one("", "  - eth\n  - eth"), []string{"4:5: eth cannot stand on eth"}},
		{"order", one("", "  - eth\n  - udp"), []string{"4:5: udp cannot stand on eth; put ip or ipv6 or"}},
		{"same bits", one("", "  - eth\n  - ip: {dsfield: 1, dsfield.dscp: 2}"), []string{"4:36: ip.dsfield and ip.dsfield.dscp are the same bits"}},
		{"tpid and type", one("", "  - eth: {type: 0x9100}\n  - vlan: {tpid: 0x88a8}"), []string{"4:18: eth.type and vlan.tpid are the same bits"}},
		{"comma in braces", one("", "  - eth\n  - ip: {ttl: inc(1,1,10), id: 5}"), []string{"4:15: a comma ends the value; put it in quotes: ttl: \"inc(1,...)\""}},
		{"modifier", one("", "  - eth\n  - ip:\n      ttl: icn(1,1,10)"), []string{`5:12: unknown modifier "icn"; did you mean "inc"?`}},
		{"not closed", one("", "  - eth\n  - ip:\n      ttl: inc(1,1,10"), []string{"5:12: does not end with one closing"}},
		{"two values", one("", "  - eth\n  - ip:\n      ttl: inc(1,1)"), []string{"5:12: inc takes 3 values, not 2; write inc(start,step,count)"}},
		{"count 0", one("", "  - eth\n  - ip:\n      ttl: inc(1,1,0)"), []string{`5:12: count "0" is not a number from 1`}},
		{"step 0", one("", "  - eth\n  - ip:\n      ttl: inc(1,0,5)"), []string{"5:12: a step of 0 changes nothing"}},
		{"step negative", one("", "  - eth\n  - ip:\n      ttl: inc(9,-1,5)"), []string{`5:12: step "-1" is not a number from 1 on; to go down write dec`}},
		{"inc overflow", one("", "  - eth\n  - ip:\n      ttl: inc(250,2,10)"), []string{"5:12: inc leaves the field's 8 bits after 3 of its 10 values; a count of up to 3 fits"}},
		{"dec below 0", one("", "  - eth\n  - ip:\n      ttl: dec(5,1,7)"), []string{"5:12: dec leaves the field's 8 bits after 6 of its 7"}},
		{"step too large", one("", "  - eth\n  - ip:\n      ttl: inc(0,256,2)"), []string{"5:12: step 256 is larger than the field"}},
		{"64 bits", one("", "  - eth\n  - ipv6:\n      dst: inc(2001:2::ffff:ffff:ffff:ffff,1,65537)"), []string{"5:12: a carry of inc runs through more than 64 bits"}},
		{"rand order", one("", "  - eth\n  - ip:\n      ttl: rand(9,1,0)"), []string{"5:12: smallest value is above the largest"}},
		{"rand wide", one("", "  - eth:\n      dst: rand(02:00:00:00:00:00, 02:02:00:00:00:00, 0)\n"), []string{"4:12: wider than 2^32 and no power of two; a range of 2^33"}},
		{"rand 64 bits", one("", "  - eth\n  - ipv6:\n      dst: rand(2001:2::, 2001:3::, 0)"), []string{"5:12: the range crosses the lower 64 bits"}},
		{"seed", one("", "  - eth\n  - ip:\n      ttl: rand(1,2,x)"), []string{`5:12: seed "x"`}},
		{"list value", one("", "  - eth\n  - ip:\n      ttl: list(1,300)"), []string{"5:12: value 2 of the list: 300 does not fit"}},
		{"list empty", one("", "  - eth\n  - ip:\n      ttl: list()"), []string{"5:12: value 1 of the list"}},
		{"weights", "streams:\n- {weight: 65536, layers: [eth]}\n" + strings.Repeat("- {weight: 65535, layers: [eth]}\n", 4), []string{"2:12: one round of the weights"}},
		{"all at once", "rate: 0pps\n" + one("  size: 20\n  wieght: 1\n", "  - eth: {dst: 1}\n  - vlan: {id: 4096}\n  - ip: {ttl: 256}"),
			[]string{"1:7: is zero", "4:16: MAC", "5:16: 4096", "6:15: 256", "7:9: size", `8:3: unknown key "wieght"`}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			set, err := Parse("f.yaml", []byte(tt.text))
			var bad Errors
			if !errors.As(err, &bad) {
				t.Fatalf("set %v, error %v; want mistakes", set, err)
			}
			if len(bad) != len(tt.want) {
				t.Fatalf("%d mistakes, want %d:\n%v", len(bad), len(tt.want), bad)
			}
			for i, m := range bad {
				place, words, _ := strings.Cut(tt.want[i], " ")
				if got := fmt.Sprintf("%d:%d:", m.Line, m.Column); got != place || !strings.Contains(m.Error(), words) {
					t.Errorf("got  %s\nwant %s", m, tt.want[i])
				}
				if m.Mend == "" {
					t.Errorf("no mend: %s", m)
				}
			}
		})
	}
}

func TestParseAcceptsTheEdges(t *testing.T) {
	for _, layers := range []string{
		"  - eth\n  - vlan: {id: 4095}",
		"  - eth\n  - ip:\n      ttl: inc(0,1,256)",
		"  - eth\n  - ip:\n      ttl: dec(255,1,256)",
		"  - eth:\n      dst: rand(02:00:00:00:00:00, 02:01:ff:ff:ff:ff, 0)",
		"  - eth\n  - ipv6:\n      dst: rand(2001:2::, 2001:2::ffff:ffff:ffff:ffff, 0)",
		"  - eth\n  - ip:\n      dst: inc(198.18.0.0, 0.0.1.0, 256)",
		"  - eth\n  - ip:\n      dst: rand(0.0.0.0, 255.255.255.255, 1)",
		"  - eth\n  - ip: {frag_offset: 8, hdr_len: 20}",
		"  - eth\n  - ip:\n  - udp:\n",
	} {
		if _, err := Parse("f", []byte(one("", layers))); err != nil {
			t.Errorf("%s\n%v", layers, err)
		}
	}
}

// Whatever the bytes are, Parse returns a set or mistakes with a place, and what it returns keeps its own limits.
func FuzzParse(f *testing.F) {
	f.Add([]byte(good))
	f.Add([]byte("{\"streams\": [{\"layers\": [\"eth\"]}]}"))
	f.Add([]byte(one("  size: rand(64,1518,1)\n  payload: {fill: \"text:a\"}\n", "  - eth: {dst: \"list(1,2)\"}\n  - ip: {ttl: inc(1,1,10), id: 5}")))
	f.Add([]byte("a: &x [*x]\n? {a: b}\n: !!set {}\n"))
	f.Add([]byte("\"\\"))
	f.Add([]byte("%YAML 1.2\n---\n|\n a"))
	f.Fuzz(func(t *testing.T, data []byte) {
		set, err := Parse("fuzz", data)
		if err == nil {
			for _, st := range set.Streams {
				if st.Name == "" || st.Weight < 1 || len(st.Layers) == 0 || st.Size.Min < st.headerLen()+wire.FCS {
					t.Fatalf("accepted %+v", st)
				}
			}
			return
		}
		bad, ok := err.(Errors)
		if !ok || len(bad) == 0 || set != nil {
			t.Fatalf("set %v, error %T %v", set, err, err)
		}
		for _, m := range bad {
			if m.Line < 1 || m.Column < 1 || m.Message == "" {
				t.Fatalf("mistake without a place: %+v", m)
			}
		}
	})
}

func TestNearest(t *testing.T) {
	known := []string{"size", "weight", "layers", "signature"}
	for word, want := range map[string]string{"siez": "size", "SIZE": "size", "layer": "layers", "wt": "", "completely": "", "": "", "sgnatuer": "signature"} {
		if got := nearest(word, known); got != want {
			t.Errorf("nearest(%q) = %q, want %q", word, got, want)
		}
	}
}

func TestKindsAreUsable(t *testing.T) {
	for _, k := range packet.Kinds() {
		for i := range k.Fields {
			f := &k.Fields[i]
			if v, bad := parseValue(f, packet.FormatNum(f, f.Max())); bad != nil || v.Start != f.Max() {
				t.Errorf("%s.%s: the largest value is not read back: %v", k.Name, f.Name, bad)
			}
		}
	}
}
