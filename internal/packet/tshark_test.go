package packet_test

import (
	"bytes"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"
	"github.com/gopacket/gopacket/pcapgo"
	"github.com/wirespeed/wirespeed/internal/lab/need"
	"github.com/wirespeed/wirespeed/internal/packet"
)

// elsewhere are fields that tshark shows by another name or not at all, with the reason.
var elsewhere = map[string]string{
	"vlan.tpid": "is shown as the type of the header below",
}

// hexFields are shown as hexadecimal digits alone.
var hexFields = []string{"ipv6.routing.srh.tag", "ipv6.routing.src.reserved", "icmpv6.reserved"}

// tshark sees every field of every kind with the value that it has, no header malformed, and every checksum good.
func TestTsharkAgrees(t *testing.T) {
	tshark := need.Tool(t, "tshark")
	var all []built
	for _, n := range append(nests(),
		stack("solicitation", "eth[dst=33:33:ff:00:00:22] ipv6[hlim=255] icmpv6[type=neighbour-solicitation,+"+addr2+"0101020000000001]"),
		stack("advertisement", "eth ipv6[hlim=255] icmpv6[type=136,reserved=0x60000000,+"+addr2+"0201020000000001]")) {
		payload := testPayload
		if strings.HasSuffix(n.name, "tion") || strings.HasSuffix(n.name, "ment") {
			payload = nil // what follows would be read as options
		}
		all = append(all, build(t, n, payload))
	}
	names := []string{"_ws.malformed", "frame.protocols", "ieee8021ad.priority", "ieee8021ad.dei", "ieee8021ad.id"}
	for _, k := range packet.Kinds() {
		for i := range k.Fields {
			if name := k.Wireshark(&k.Fields[i]); !slices.Contains(names, name) && name != "vlan.tpid" {
				names = append(names, name)
			}
		}
		if k.Checksum != nil {
			names = append(names, k.Name+".checksum.status")
		}
	}
	compared := map[string]bool{}
	for i, row := range decode(t, tshark, all, names) {
		compareRow(t, &all[i], row, compared)
	}
	for _, k := range packet.Kinds() {
		for i := range k.Fields {
			if name := k.Wireshark(&k.Fields[i]); !compared[name] && elsewhere[name] == "" {
				t.Errorf("%s was compared in no frame", name)
			}
		}
	}
}

// compareRow holds what tshark says of a frame against its bytes.
func compareRow(t *testing.T, b *built, row map[string]string, compared map[string]bool) {
	t.Helper()
	if row["_ws.malformed"] != "" {
		t.Errorf("%s is malformed: %s", b.name, row["frame.protocols"])
	}
	want, sums := map[string][]string{}, map[string]int{}
	for i, k := range b.kinds {
		for j := range k.Fields {
			f := &k.Fields[j]
			name, value := k.Wireshark(f), packet.FormatNum(f, f.Get(b.frame, b.at[i]))
			if k.Name == "vlan" && k.Field("tpid").Get(b.frame, b.at[i]).Lo == packet.TPIDService {
				name = "ieee8021ad." + f.Name // a dissector of its own
			}
			want[name] = append(want[name], number(value))
			if name == "ipv6.version" {
				want["ip.version"] = append(want["ip.version"], number(value)) // one field for both
			}
		}
		if k.Checksum != nil {
			sums[k.Name]++
		}
	}
	for name, n := range sums {
		if got := row[name+".checksum.status"]; got != strings.TrimSuffix(strings.Repeat("1|", n), "|") {
			t.Errorf("%s: %s.checksum.status is %q, want %d of 1 (good)", b.name, name, got, n)
		}
	}
	for name, values := range want {
		if row[name] == "" {
			continue // of another type of message
		}
		var got []string
		for v := range strings.SplitSeq(row[name], "|") {
			if slices.Contains(hexFields, name) {
				v = "0x" + v
			}
			got = append(got, number(v))
		}
		if !slices.Equal(got, values) {
			t.Errorf("%s: %s is %q (%v), want %v", b.name, name, row[name], got, values)
		}
		compared[name] = true
	}
}

// number writes numbers and addresses in one way, however tshark writes them.
func number(s string) string {
	if a, err := netip.ParseAddr(s); err == nil {
		return a.String()
	}
	if v, err := strconv.ParseUint(strings.ReplaceAll(strings.TrimPrefix(s, "0x"), ":", ""), 16, 64); err == nil && (strings.HasPrefix(s, "0x") || strings.Contains(s, ":")) {
		return fmt.Sprint(v)
	}
	return s
}

// decode has tshark read the frames: a map of field to its values joined by | for each.
func decode(t *testing.T, tshark string, all []built, names []string) []map[string]string {
	t.Helper()
	var file bytes.Buffer
	w := pcapgo.NewWriter(&file)
	if err := w.WriteFileHeader(65535, layers.LinkTypeEthernet); err != nil {
		t.Fatal(err)
	}
	for _, b := range all {
		if err := w.WritePacket(gopacket.CaptureInfo{Timestamp: time.Unix(0, 0), CaptureLength: len(b.frame), Length: len(b.frame)}, b.frame); err != nil {
			t.Fatal(err)
		}
	}
	path := filepath.Join(t.TempDir(), "nests.pcap")
	if err := os.WriteFile(path, file.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	args := []string{"-n", "-r", path, "-T", "fields", "-E", "separator=/t", "-E", "aggregator=|"}
	for _, o := range []string{
		"ip.check_checksum:TRUE", "udp.check_checksum:TRUE", "tcp.check_checksum:TRUE", "tcp.relative_sequence_numbers:FALSE",
		"ip.defragment:FALSE", "ipv6.defragment:FALSE",
	} {
		args = append(args, "-o", o)
	}
	args = append(args, "-d", "mpls.label==77,pwethnocw") // it guesses Ethernet on labels only where it knows the vendors
	for _, name := range names {
		args = append(args, "-e", name)
	}
	cmd := exec.Command(tshark, args...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("tshark: %v: %s", err, stderr.String())
	}
	lines := strings.Split(strings.TrimSuffix(string(out), "\n"), "\n")
	if len(lines) != len(all) {
		t.Fatalf("tshark read %d of %d frames: %s", len(lines), len(all), stderr.String())
	}
	var rows []map[string]string
	for _, line := range lines {
		row := map[string]string{}
		for i, v := range strings.Split(line, "\t") {
			row[names[i]] = v
		}
		rows = append(rows, row)
	}
	return rows
}
