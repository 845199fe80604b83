package show

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/wirespeed/wirespeed/stream"
)

func set(t *testing.T, f stream.Flags) *stream.Set {
	t.Helper()
	s, err := stream.FromFlags(f)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func text(t *testing.T, s *stream.Set, n int, dump bool) string {
	t.Helper()
	d, err := Make(s, n, dump)
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := Text(&b, d); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestTextShowsWhatTheFlagsSay(t *testing.T) {
	got := text(t, set(t, stream.Flags{
		DstMAC: "02:00:00:00:00:77", VLAN: "0x88a8:100,0x9100:200,300", DstIP: "inc(198.18.1.1,1,2)", TTL: "9", Proto: "tcp", DstPort: "list(80,443)", Size: "128",
	}), 2, true)
	for _, want := range []string{
		"stream stream1: size 128, weight 1, signature full", "rate max",
		"eth       dst 02:00:00:00:00:77, src 02:00:00:00:00:01, type 0x88a8",
		"id 100, etype 0x9100", "id 200, etype 0x8100", "id 300, etype 0x0800",
		"ttl 9, proto 6", "(right),\n            src 198.18.0.1, dst 198.18.1.1\n", "src 198.18.0.1, dst 198.18.1.2\n",
		"dstport 80", "dstport 443", "flags ack", "signature full, run 0, stream 0, seq 1", "payload   40 bytes", "00000000  02 00 00 00 00 77 02 00",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is missing in\n%s", want, got)
		}
	}
	for line := range strings.SplitSeq(got, "\n") {
		if len(line) > 80 {
			t.Errorf("%d columns: %s", len(line), line)
		}
	}
	if strings.Contains(got, "wrong") || strings.Contains(got, "unknown") {
		t.Errorf("the decoder disagrees:\n%s", got)
	}
}

func TestIPv6AndNames(t *testing.T) {
	got := text(t, set(t, stream.Flags{DstIP: "2001:2::99", DstPort: "53", Signature: "none", TTL: "64"}), 1, false)
	for _, want := range []string{"66 bytes with FCS", "ipv6 ", "hlim 64", "dst 2001:2::99", "dstport 53", "(right)", "payload   0 bytes"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is missing in\n%s", want, got)
		}
	}
	if strings.Contains(got, "signature full") {
		t.Error("a signature that was not asked for")
	}
}

// A deliberately wrong checksum must be called wrong: the decoder is asked, not this program.
func TestWrongChecksumIsSeen(t *testing.T) {
	s, err := stream.Parse("t", []byte("streams: [{layers: [eth, {ip: {checksum: 0x1234}}, {udp: {checksum: 1}}]}]"))
	if err != nil {
		t.Fatal(err)
	}
	if got := text(t, s, 1, false); strings.Count(got, "(wrong)") != 2 {
		t.Errorf("want two wrong checksums:\n%s", got)
	}
}

func TestDocumentIsJSON(t *testing.T) {
	d, err := Make(set(t, stream.Flags{Size: "imix", Rate: "1kpps", Burst: "4/1ms"}), 12, false)
	if err != nil {
		t.Fatal(err)
	}
	data, err := json.Marshal(d)
	if err != nil {
		t.Fatal(err)
	}
	var back struct {
		Schema, Rate string
		Unsupported  []string
		Frames       []struct {
			Size      int
			Layers    []map[string]any
			Signature *struct{ Seq int }
		}
	}
	if err := json.Unmarshal(data, &back); err != nil {
		t.Fatal(err)
	}
	sizes := map[int]int{}
	for i, f := range back.Frames {
		sizes[f.Size]++
		if f.Signature == nil || f.Signature.Seq != i || f.Layers[1]["layer"] != "ip" || f.Layers[1]["ttl"] != 1.0 || f.Layers[1]["checksum_ok"] != true {
			t.Errorf("frame %d is %+v", i, f)
		}
	}
	if sizes[64] != 7 || sizes[570] != 4 || sizes[1518] != 1 || bytes.Contains(data, []byte(`"hex"`)) || back.Schema != Schema || back.Rate != "1kpps" || len(back.Unsupported) != 1 {
		t.Errorf("sizes %v, document %+v", sizes, back)
	}
}

func TestMakeRefusesCounts(t *testing.T) {
	for _, n := range []int{-1, 0, MaxFrames + 1} {
		if _, err := Make(stream.Default(), n, false); err == nil {
			t.Errorf("%d frames were shown", n)
		}
	}
}
