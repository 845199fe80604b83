package stream

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/wirespeed/wirespeed/internal/packet"
	"github.com/wirespeed/wirespeed/internal/wire"
)

// brief is one line for each layer and field of the first stream.
func brief(s *Set) []string {
	var out []string
	for _, l := range s.Streams[0].Layers {
		line := l.Kind.Name
		for _, f := range l.Fields {
			line += fmt.Sprintf(" %s=%s", f.Field.Name, packet.FormatNum(f.Field, f.Value.Start))
			if f.Value.Op != Fixed {
				line += ":" + f.Value.Op.String()
			}
		}
		out = append(out, line)
	}
	return out
}

func TestFromFlags(t *testing.T) {
	tests := []struct {
		name  string
		flags Flags
		want  []string
		size  string
	}{
		{"nothing", Flags{}, []string{"eth", "ip", "udp"}, "64"},
		{"IPv4", Flags{SrcMAC: "02:00:00:00:00:01", DstIP: "198.18.0.9", TTL: "3", SrcPort: "inc(1000,1,10)", Size: "128,256"},
			[]string{"eth src=02:00:00:00:00:01", "ip ttl=3 dst=198.18.0.9", "udp srcport=1000:inc"}, "128,256"},
		{"IPv6 by one address", Flags{SrcIP: "2001:2::5", TTL: "3"}, []string{"eth", "ipv6 hlim=3 src=2001:2::5", "udp"}, "84"},
		{"IPv6 in a modifier", Flags{DstIP: "inc(2001:2::5,1,9)", Proto: "TCP", Signature: "none"}, []string{"eth", "ipv6 dst=2001:2::5:inc", "tcp"}, "78"},
		{"tags", Flags{VLAN: "0x88a8:inc(1,1,10), 200"}, []string{"eth", "vlan tpid=34984 id=1:inc", "vlan id=200", "ip", "udp"}, "72"},
		{"short", Flags{VLAN: "7", Signature: "short"}, []string{"eth", "vlan id=7", "ip", "udp"}, "64"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s, err := FromFlags(tt.flags)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(tt.want, brief(s)); d != "" {
				t.Errorf("layers (-want +got):\n%s", d)
			}
			if s.Streams[0].Size.Text != tt.size || s.Streams[0].Weight != 1 || s.Streams[0].Name != "stream1" {
				t.Errorf("stream is %+v", s.Streams[0])
			}
		})
	}
}

func TestFromFlagsNothingIsDefault(t *testing.T) {
	s, err := FromFlags(Flags{})
	if err != nil {
		t.Fatal(err)
	}
	d := Default()
	if diff := cmp.Diff(brief(d), brief(s)); diff != "" || d.Streams[0].Name != s.Streams[0].Name || d.Rate != s.Rate ||
		!cmp.Equal(d.Streams[0].Size, s.Streams[0].Size) || d.Streams[0].Weight != s.Streams[0].Weight {
		t.Errorf("default is %+v, no flags give %+v", d.Streams[0], s.Streams[0])
	}
}

func TestFromFlagsNamesEveryMistake(t *testing.T) {
	_, err := FromFlags(Flags{
		Size: "20", SrcMAC: "1:2:3:4:5", DstMAC: "x", SrcIP: "1.2.3", DstIP: "2001:2::1", SrcPort: "65536", DstPort: "rand(9,1,1)",
		Proto: "upd", VLAN: "5000,,:3", TTL: "256", Payload: "0x100", Signature: "fulll", Rate: "0pps", Burst: "1",
	})
	var bad Errors
	if !errors.As(err, &bad) {
		t.Fatalf("error is %v", err)
	}
	var flags []string
	for _, m := range bad {
		flags = append(flags, m.Path)
		if m.Mend == "" || m.Line != 0 {
			t.Errorf("no mend, or a line, in %+v", m)
		}
	}
	want := strings.Fields("--rate --src-mac --dst-mac --vlan --vlan --ttl --src-ip --proto --src-port --dst-port --size --payload --signature --burst")
	slicesEqualAsSets(t, want, flags)
	if !strings.Contains(err.Error(), "--vlan: 5000 does not fit; the field has 12 bits, 0 to 4095") {
		t.Errorf("error is\n%v", err)
	}
	_, err = FromFlags(Flags{Size: "64", DstIP: "2001:2::1", Proto: "tcp"})
	if err == nil || !strings.HasPrefix(err.Error(), "--size: size 64 is smaller than the headers") {
		t.Errorf("error is %v", err)
	}
}

func slicesEqualAsSets(t *testing.T, want, got []string) {
	t.Helper()
	count := map[string]int{}
	for _, w := range want {
		count[w]++
	}
	for _, g := range got {
		count[g]--
	}
	for k, n := range count {
		if n != 0 {
			t.Errorf("%s: %+d", k, -n)
		}
	}
}

func TestFromFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s.yaml")
	if err := os.WriteFile(path, []byte("rate: 5pps\nstreams:\n- layers: [eth]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := FromFlags(Flags{File: path})
	if err != nil || s.Rate.Num != 5 {
		t.Fatalf("%+v, %v", s, err)
	}
	if s, err = FromFlags(Flags{File: path, Rate: "gap=1us"}); err != nil || s.Rate.Kind != wire.RateGap {
		t.Errorf("--rate does not win: %+v, %v", s, err)
	}
	if _, err = FromFlags(Flags{File: path, Rate: "-1pps", TTL: "4", Burst: "4/1s"}); err == nil || strings.Count(err.Error(), "\n") != 2 {
		t.Errorf("error is %v", err)
	}
	if _, err = FromFlags(Flags{File: path + "x"}); err == nil || !strings.HasPrefix(err.Error(), "--file: the file cannot be read") {
		t.Errorf("error is %v", err)
	}
	if err := os.WriteFile(path, []byte("streams:\n- layer: [eth]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err = FromFlags(Flags{File: path}); err == nil || !strings.Contains(err.Error(), path+":2:3: ") {
		t.Errorf("error is %v", err)
	}
}

func TestFillingOnlyWhatIsOpen(t *testing.T) {
	s, err := Parse("t", []byte("streams:\n- layers: [{eth: {type: 5}}, ip, udp]\n- layers: [{eth: {src: 02:00:00:00:00:aa, dst: 02:00:00:00:00:bb}}, {ipv6: {hlim: 3}}]\n"))
	if err != nil {
		t.Fatal(err)
	}
	if !s.NeedsDstMAC() {
		t.Error("the first stream has no destination")
	}
	s.SetMACs([6]byte{2, 0, 0, 0, 0, 1}, [6]byte{2, 0, 0, 0, 0, 2})
	s.SetTTL(64)
	s.SetTTL(9) // is filled already
	if s.NeedsDstMAC() {
		t.Error("a destination is missing still")
	}
	want := []string{"eth dst=02:00:00:00:00:02 src=02:00:00:00:00:01 type=5", "ip ttl=64", "udp"}
	if d := cmp.Diff(want, brief(s)); d != "" {
		t.Errorf("first stream (-want +got):\n%s", d)
	}
	want = []string{"eth dst=02:00:00:00:00:bb src=02:00:00:00:00:aa", "ipv6 hlim=3"}
	if d := cmp.Diff(want, brief(&Set{Streams: s.Streams[1:]})); d != "" {
		t.Errorf("second stream (-want +got):\n%s", d)
	}
}

func TestAFileWithoutAnEndIsRefused(t *testing.T) {
	if _, err := FromFlags(Flags{File: "/dev/zero"}); err == nil || !strings.Contains(err.Error(), "more than the 1048576") {
		t.Errorf("%v", err)
	}
}
