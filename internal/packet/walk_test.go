package packet_test

import (
	"encoding/hex"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/wirespeed/wirespeed/internal/packet"
)

const (
	macs  = "020000000002020000000001"
	ip4   = "4500002400000000011180a7c0a80001c0a80002" // 36 bytes: UDP with 8 of payload
	udp8  = "0009000900100000"
	eight = "0102030405060708"
)

func unhex(t testing.TB, s string) []byte {
	b, err := hex.DecodeString(strings.ReplaceAll(s, " ", ""))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestWalk(t *testing.T) {
	pad := strings.Repeat("00", 10)
	tcp20 := "00090009000000000000000050100000000000000"[:40]
	for _, c := range []struct {
		name, frame string
		want        packet.Layout
	}{
		{"raw", macs + "88b5" + eight, packet.Layout{EtherType: 0x88b5, L3: 14, Payload: 14, End: 22}},
		{"udp, padded", macs + "0800" + ip4 + udp8 + eight + pad, packet.Layout{EtherType: 0x800, Proto: 17, Version: 4, L3: 14, L4: 34, Payload: 42, End: 50}},
		{"two tags", macs + "88a80001 8100 0002 0800" + ip4 + udp8 + eight, packet.Layout{EtherType: 0x800, Proto: 17, Version: 4, VLANs: 2, L3: 22, L4: 42, Payload: 50, End: 58}},
		{"old tag", macs + "9100 0002 88b5" + eight, packet.Layout{EtherType: 0x88b5, VLANs: 1, L3: 18, Payload: 18, End: 26}},
		{"options", macs + "0800" + "46" + ip4[2:4] + "0028" + ip4[8:] + "01010101" + udp8 + eight, packet.Layout{EtherType: 0x800, Proto: 17, Version: 4, L3: 14, L4: 38, Payload: 46, End: 54}},
		{"other protocol", macs + "0800" + ip4[:18] + "fd" + ip4[20:] + udp8 + eight, packet.Layout{EtherType: 0x800, Proto: 253, Version: 4, L3: 14, Payload: 34, End: 50}},
		{"tcp", macs + "0800" + "45000030" + ip4[8:18] + "06" + ip4[20:] + tcp20 + eight, packet.Layout{EtherType: 0x800, Proto: 6, Version: 4, L3: 14, L4: 34, Payload: 54, End: 62}},
		{"tcp with options", macs + "0800" + "45000030" + ip4[8:18] + "06" + ip4[20:] + tcp20[:24] + "60" + tcp20[26:] + eight, packet.Layout{EtherType: 0x800, Proto: 6, Version: 4, L3: 14, L4: 34, Payload: 58, End: 62}},
		{"tcp, bad offset", macs + "0800" + "45000030" + ip4[8:18] + "06" + ip4[20:] + tcp20[:24] + "f0" + tcp20[26:] + eight, packet.Layout{EtherType: 0x800, Proto: 6, Version: 4, L3: 14, L4: 34, Payload: 54, End: 62, BadLength: true}},
		{"first fragment", macs + "0800" + ip4[:12] + "2000" + ip4[16:] + udp8 + eight, packet.Layout{EtherType: 0x800, Proto: 17, Version: 4, L3: 14, L4: 34, Payload: 42, End: 50, Fragment: true}},
		{"later fragment", macs + "0800" + ip4[:12] + "0001" + ip4[16:] + udp8 + eight, packet.Layout{EtherType: 0x800, Proto: 17, Version: 4, L3: 14, Payload: 34, End: 50, Fragment: true}},
		{"not all there", macs + "0800" + ip4 + udp8 + eight[:8], packet.Layout{EtherType: 0x800, Proto: 17, Version: 4, L3: 14, L4: 34, Payload: 42, End: 46, BadLength: true}},
		{"udp length", macs + "0800" + ip4 + "000900090011 0000" + eight, packet.Layout{EtherType: 0x800, Proto: 17, Version: 4, L3: 14, L4: 34, Payload: 42, End: 50, BadLength: true}},
		{"udp length, less than there is", macs + "0800" + ip4 + "00090009000c 0000" + eight, packet.Layout{EtherType: 0x800, Proto: 17, Version: 4, L3: 14, L4: 34, Payload: 42, End: 50, BadLength: true}},
		{"ip header too long", macs + "0800" + "4f" + ip4[2:] + udp8 + eight, packet.Layout{EtherType: 0x800, L3: 14, Payload: 14, End: 50, BadLength: true}},
		{"ip cut short", macs + "0800" + ip4[:20], packet.Layout{EtherType: 0x800, L3: 14, Payload: 14, End: 24}},
		{"ipv6 udp", macs + "86dd" + "60000000 0010 11 01" + strings.Repeat("20", 32) + udp8 + eight + pad, packet.Layout{EtherType: 0x86dd, Proto: 17, Version: 6, L3: 14, L4: 54, Payload: 62, End: 70}},
		{"ipv6 fragment", macs + "86dd" + "60000000 0010 2c 01" + strings.Repeat("20", 32) + udp8 + eight, packet.Layout{EtherType: 0x86dd, Version: 6, L3: 14, Payload: 62, End: 70, Fragment: true}},
	} {
		got, ok := packet.Walk(unhex(t, c.frame))
		got.Stack, got.Depth = [packet.MaxStack]packet.Header{}, 0
		if diff := cmp.Diff(c.want, got); diff != "" || !ok {
			t.Errorf("%s: %v\n%s", c.name, ok, diff)
		}
	}
	for _, short := range []string{"", macs, macs + "8100", macs + "8100 0001 08"} {
		if _, ok := packet.Walk(unhex(t, short)); ok {
			t.Errorf("%q was taken for a frame", short)
		}
	}
}

func TestVerify(t *testing.T) {
	sum := slowSum(unhex(t, "c0a80001c0a8000200110010"+udp8+eight))
	for _, c := range []struct {
		sum  uint16
		want bool
	}{{0, true}, {^sum, true}, {^sum + 1, false}} {
		b := unhex(t, macs+"0800"+ip4+udp8+eight+"ffff")
		b[40], b[41] = byte(c.sum>>8), byte(c.sum)
		l, _ := packet.Walk(b)
		if got := packet.VerifyL4(b, &l); got != c.want {
			t.Errorf("checksum %#x: %v", c.sum, got)
		}
	}
	// IPv6 knows no UDP without a checksum (RFC 8200 8.1).
	b := unhex(t, macs+"86dd"+"60000000 0010 11 01"+strings.Repeat("20", 32)+udp8+eight)
	if l, _ := packet.Walk(b); packet.VerifyL4(b, &l) {
		t.Error("UDP over IPv6 with checksum 0 was called right")
	}
}

// sound is what holds for every layout, whatever the frame.
func sound(t *testing.T, b []byte, l *packet.Layout) {
	t.Helper()
	if l.L3 > l.Payload || l.L4 > l.Payload || l.L4 != 0 && l.L4 < l.L3 || l.Payload > l.End || l.End > len(b) {
		t.Fatalf("%+v of %d bytes", l, len(b))
	}
	if l.Depth < 1 || l.Depth > packet.MaxStack || l.Stack[0].Kind != packet.HeaderEth || l.Stack[0].Off != 0 {
		t.Fatalf("the stack is %+v", l.Stack[:max(0, l.Depth)])
	}
	at, end := 0, len(b)
	for _, h := range l.Stack[:l.Depth] {
		if h.Kind == 0 || h.Kind > packet.HeaderVXLAN || int(h.Off) < at || h.Len == 0 || int(h.Off)+int(h.Len) > int(h.End) || int(h.End) > end {
			t.Fatalf("%+v stands behind %d and reaches beyond %d: %+v", h, at, end, l.Stack[:l.Depth])
		}
		at, end = int(h.Off)+int(h.Len), int(h.End)
	}
	if at != l.Payload {
		t.Fatalf("the last header ends at %d, the payload begins at %d", at, l.Payload)
	}
}

// Nothing read is outside of the frame, every header lies inside the one below it, and a layout that is used again is as
// good as a new one.
func FuzzWalk(f *testing.F) {
	f.Add(unhex(f, macs+"0800"+ip4+udp8+eight))
	f.Add(unhex(f, macs+"88a80001 8100 0002 86dd"+"60000000 0010 06 01"+strings.Repeat("20", 32)+udp8+eight+eight))
	for _, n := range nests() {
		f.Add(build(f, n, testPayload).frame)
	}
	var used packet.Layout
	f.Fuzz(func(t *testing.T, b []byte) {
		l, ok := packet.Walk(b)
		if used.Walk(b) != ok || used.Depth != l.Depth || used.Payload != l.Payload || used.End != l.End || used.BadLength != l.BadLength {
			t.Fatalf("a layout used again is %+v, a new one %+v", used, l)
		}
		if !ok {
			return
		}
		sound(t, b, &l)
		packet.VerifyL4(b, &l)
		if wrong := packet.VerifySums(b, &l); wrong >= l.Depth {
			t.Fatalf("header %d of %d is wrong", wrong, l.Depth)
		}
		if _, ok := packet.ParseSignature(b[l.Payload:l.End]); ok && l.End-l.Payload < packet.ShortLen {
			t.Fatal("a signature was read from too few bytes")
		}
	})
}

// Every frame cut anywhere, and with any byte of its headers turned, is walked soundly.
func TestWalkOfDamagedFrames(t *testing.T) {
	for _, n := range nests() {
		b := build(t, n, testPayload)
		for i := range b.frame {
			cut := append([]byte(nil), b.frame[:i]...)
			if l, ok := packet.Walk(cut); ok {
				sound(t, cut, &l)
				packet.VerifySums(cut, &l)
			}
		}
		for i := range b.hdr {
			for _, x := range []byte{0x00, 0x01, 0x45, 0x80, 0xff} {
				turned := append([]byte(nil), b.frame...)
				turned[i] = x
				if l, ok := packet.Walk(turned); ok {
					sound(t, turned, &l)
					packet.VerifySums(turned, &l)
				}
			}
		}
	}
}

func TestWalkAllocatesNothing(t *testing.T) {
	for _, n := range nests() {
		b := build(t, n, testPayload).frame
		if n := testing.AllocsPerRun(10, func() {
			l, _ := packet.Walk(b)
			packet.VerifyL4(b, &l)
			packet.VerifySums(b, &l)
			packet.ParseSignature(b[l.Payload:l.End])
		}); n != 0 {
			t.Fatalf("%v allocations", n)
		}
	}
}

func BenchmarkWalk(b *testing.B) {
	plain := unhex(b, macs+"0800"+ip4+udp8+eight)
	deep := nests()[len(nests())-1]
	for _, c := range []struct {
		name  string
		frame []byte
	}{{"udp", plain}, {deep.name, build(b, deep, testPayload).frame}} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			var l packet.Layout
			for range b.N {
				l.Walk(c.frame)
				packet.VerifyL4(c.frame, &l)
				packet.ParseSignature(c.frame[l.Payload:l.End])
			}
		})
	}
}
