package replay

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/wirespeed/wirespeed/internal/packet"
	"github.com/wirespeed/wirespeed/internal/pcapio/pcaptest"
	"github.com/wirespeed/wirespeed/stream"
)

// Every file that generators are known to stumble over sends exactly what can be sent of it, byte for byte, and is refused
// with counts and reasons where that is not all of it.
func TestKnownFiles(t *testing.T) {
	for _, row := range pcaptest.Rows() {
		for _, file := range row.Files {
			path := write(t, file.Bytes)
			for _, allow := range []bool{false, true} {
				for _, mend := range []pcaptest.Mend{0, pcaptest.Pad, pcaptest.L2, pcaptest.Pad | pcaptest.L2} {
					t.Run(fmt.Sprintf("%s/%s/%v/%d", row.Name, file.Name, allow, mend), func(t *testing.T) {
						r := stream.ReplayFlags{PCAP: path, AllowSkip: allow, MaxGap: "1000000h"}
						if mend&pcaptest.Pad != 0 {
							r.Pad = "zero"
						}
						if mend&pcaptest.L2 != 0 {
							r.L2 = "02:00:00:00:00:02,02:00:00:00:00:01"
						}
						knownFile(t, file, set(t, stream.Flags{}, r), mend)
					})
				}
			}
		}
	}
}

func knownFile(t *testing.T, file pcaptest.File, r *stream.Replay, mend pcaptest.Mend) {
	t.Helper()
	var want []pcaptest.Packet
	why := map[string]uint64{}
	for _, p := range file.Packets {
		if p.Why == "" || p.Mend != 0 && p.Mend&^mend == 0 {
			want = append(want, p)
		} else {
			why[p.Why]++
		}
	}
	broken := file.Damage != nil && !file.Damage.Cut
	if file.Refused != "" || len(want) == 0 || !r.AllowSkip && (broken || len(why) > 0) {
		bad := refusal(t, r, Limits{})
		switch {
		case file.Refused != "" && !strings.Contains(bad.Message, file.Refused):
			t.Errorf("%q lacks %q", bad.Message, file.Refused)
		case len(why) > 0 && len(want)+len(why) > 0 && !broken:
			if part := fmt.Sprintf("%d of %d packets cannot be sent", len(file.Packets)-len(want), len(file.Packets)); !strings.Contains(bad.Message, part) {
				t.Errorf("%q lacks %q", bad.Message, part)
			}
		}
		return
	}
	c := open(t, r, Limits{})
	got := frames(c)
	f := c.Facts()
	if len(got) != len(want) || f.SkippedFrames() != uint64(len(file.Packets)-len(want)) || f.Packets != uint64(len(file.Packets)) {
		t.Fatalf("%d frames, want %d; skipped %v", len(got), len(want), f.Skipped)
	}
	if (f.Damage != "") != (file.Damage != nil) || file.Damage != nil && !strings.Contains(f.Damage, fmt.Sprintf("offset %d", file.Damage.Offset)) {
		t.Errorf("damage %q, want %+v", f.Damage, file.Damage)
	}
	for i, p := range want {
		data := p.Data[:min(len(p.Data), max(0, p.Orig-p.FCSLen))]
		if p.Link == linkEthernet && !bytes.HasPrefix(got[i], data) || p.Link != linkEthernet && !bytes.HasPrefix(got[i], []byte{2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1}) {
			t.Errorf("frame %d: %x\nof %x", i, got[i], data)
		}
		if p.Link == linkEthernet && p.Mend == 0 && len(got[i]) != len(data) {
			t.Errorf("frame %d: %d bytes of %d", i, len(got[i]), len(data))
		}
	}
	// The gaps are those of the capture where times go on.
	due := dues(c)
	for i := 1; i < len(want); i++ {
		if gap := want[i].TimeNs - want[i-1].TimeNs; f.Backwards == 0 && f.Untimed == 0 && due[i]-due[i-1] != uint64(gap) {
			t.Errorf("gap %d is %d, want %d", i, due[i]-due[i-1], gap)
		}
	}
}

// Row by row, what the files are there for beyond that.
func TestKnownFilesEdited(t *testing.T) {
	edited := func(name string, f stream.Flags, r stream.ReplayFlags) *Capture {
		r.PCAP, r.AllowSkip = write(t, firstOf(t, name).Bytes), true
		return open(t, set(t, f, r), Limits{})
	}
	everything := stream.Flags{SrcMAC: "02:00:00:00:00:01", SrcIP: "198.18.0.9", DstIP: "2001:2::9", SrcPort: "7", TTL: "9"}
	for _, name := range []string{"microseconds", "tags", "labels", "extension headers", "odd IPv4", "UDP checksums", "frames with a length"} {
		plain, c := edited(name, stream.Flags{}, stream.ReplayFlags{}), edited(name, everything, stream.ReplayFlags{})
		f := c.Facts()
		refused := map[uint64]bool{}
		for _, s := range f.Skipped {
			if s.Reason != "edit_refused" {
				t.Errorf("%s: %v", name, s)
			}
			for _, n := range s.Packets {
				refused[n] = true
			}
		}
		var before [][]byte
		for i, b := range frames(plain) {
			if !refused[uint64(i+1)] {
				before = append(before, b)
			}
		}
		after := frames(c)
		if len(before) != len(after) {
			t.Fatalf("%s: %d frames, %d edited, refused %v", name, len(before), len(after), f.Skipped)
		}
		for i := range after {
			var was, is packet.Layout
			was.Walk(before[i])
			is.Walk(after[i])
			if packet.VerifySums(before[i], &was) != packet.VerifySums(after[i], &is) || len(before[i]) != len(after[i]) {
				t.Errorf("%s, frame %d: the first wrong checksum was at header %d, is at %d\n%x\n%x", name, i, packet.VerifySums(before[i], &was), packet.VerifySums(after[i], &is), before[i], after[i])
			}
		}
		t.Logf("%s: %d edited, %d refused, edits that found nothing: %v", name, len(after), len(refused), f.Edits)
	}
	if f := edited("odd IPv4", everything, stream.ReplayFlags{}).Facts(); len(f.Skipped) != 1 || f.Skipped[0].Count < 2 {
		t.Errorf("of the odd IPv4 frames %v were refused: those with a header length of 16 bytes and of 65535 bytes must be", f.Skipped)
	}
}

// firstOf is the first file of a row.
func firstOf(t *testing.T, row string) pcaptest.File {
	t.Helper()
	for _, r := range pcaptest.Rows() {
		if r.Name == row {
			return r.Files[0]
		}
	}
	t.Fatalf("no row %q", row)
	return pcaptest.File{}
}
