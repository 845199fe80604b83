package pcapio_test

import (
	"bytes"
	"net/netip"
	"strings"
	"testing"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"

	"github.com/wirespeed/wirespeed/internal/pcapio"
	"github.com/wirespeed/wirespeed/internal/pcapio/pcaptest"
)

// TestOtherLinkTypesBecomeEthernet: gopacket finds in the frame what was in the packet.
func TestOtherLinkTypesBecomeEthernet(t *testing.T) {
	t.Parallel()
	dst, src := [6]byte{2, 0, 0, 0, 0, 0x22}, [6]byte{2, 0, 0, 0, 0, 0x11}
	for _, name := range []string{"sll.pcap", "sll2.pcap", "raw.pcap", "raw-ipv4.pcap", "raw-ipv6.pcap", "null.pcap", "loop.pcap"} {
		f := pcaptest.Named(name)
		r, err := pcapio.NewReader(bytes.NewReader(f.Bytes))
		if err != nil {
			t.Fatal(err)
		}
		var p pcapio.Packet
		for r.Next(&p) == nil {
			b := p.AppendEthernet([]byte("before"), dst, src)
			if !bytes.HasPrefix(b, []byte("before")) {
				t.Fatalf("%s: packet %d is not appended", name, p.Number)
			}
			d := gopacket.NewPacket(b[len("before"):], layers.LayerTypeEthernet, gopacket.Default)
			if d.ErrorLayer() != nil {
				t.Errorf("%s: packet %d: %v", name, p.Number, d.ErrorLayer().Error())
				continue
			}
			e := d.LinkLayer().(*layers.Ethernet)
			if !bytes.Equal(e.DstMAC, dst[:]) || !bytes.Equal(e.SrcMAC, src[:]) {
				t.Errorf("%s: packet %d: from %s to %s", name, p.Number, e.SrcMAC, e.DstMAC)
			}
			flow := d.NetworkLayer().NetworkFlow()
			from, _ := netip.AddrFromSlice(flow.Src().Raw())
			if from != netip.MustParseAddr("198.18.0.1") && from != netip.MustParseAddr("2001:2::1") {
				t.Errorf("%s: packet %d: from %s", name, p.Number, from)
			}
			if d.TransportLayer() == nil || d.TransportLayer().LayerType() != layers.LayerTypeUDP {
				t.Errorf("%s: packet %d: %v", name, p.Number, d)
			}
			if tagged := d.Layer(layers.LayerTypeDot1Q) != nil; tagged != (name == "sll.pcap" && p.Number == 3) {
				t.Errorf("%s: packet %d: tagged: %v", name, p.Number, tagged)
			}
		}
		if p.Number == 0 {
			t.Errorf("%s has no packets", name)
		}
	}
}

// TestLinkProblem: what does not fit its link type is said with the bytes at fault, and what does is no problem.
func TestLinkProblem(t *testing.T) {
	t.Parallel()
	cooked := "\x00\x00\x00\x01\x00\x06\x02\x00\x00\x00\x00\x01\x00\x00"
	for _, c := range []struct {
		link pcapio.LinkType
		data string
		want string
	}{
		{pcapio.LinkRaw, "\x45" + strings.Repeat("\x00", 59), ""},
		{pcapio.LinkRaw, "\xff" + strings.Repeat("\x00", 59), "first byte, ff, begins neither IPv4 nor IPv6"},
		{pcapio.LinkIPv6, strings.Repeat("\x00", 60), "first byte, 00"},
		{pcapio.LinkNull, "\x07\x00\x00\x00" + strings.Repeat("\x00", 60), "07000000, are the address family of neither"},
		{pcapio.LinkLoop, "\x00\x00\x00\x02" + strings.Repeat("\x00", 60), ""},
		{pcapio.LinkSLL, cooked + "\x00\x0c" + strings.Repeat("\x00", 60), "protocol 0x000c of hardware type 1"},
		{pcapio.LinkSLL2, "\x00\x0c\x00\x00\x00\x00\x00\x01\x03\x38" + strings.Repeat("\x00", 60), "protocol 0x000c of hardware type 824"},
		{pcapio.LinkSLL, cooked, ""}, // too short
		{105, strings.Repeat("\x00", 60), "nothing of this type"},
	} {
		p := pcapio.Packet{Data: []byte(c.data), Orig: len(c.data), Link: c.link}
		got := p.LinkProblem()
		if (got == "") != (c.want == "") || !strings.Contains(got, c.want) || (got != "") != (pcapio.Judge(&p, pcapio.Options{L2: true}) == pcapio.LinkTypeReason) {
			t.Errorf("%v: %q, want %q", c.link, got, c.want)
		}
	}
}

// TestCookedLengths: a cooked packet that was a frame with a length becomes one again.
func TestCookedLengths(t *testing.T) {
	t.Parallel()
	head := "\x00\x00\x00\x01\x00\x06\x02\x00\x00\x00\x00\x01\x00\x00\x00\x04"
	p := pcapio.Packet{Data: []byte(head + strings.Repeat("\x42", 50)), Orig: 66, Link: pcapio.LinkSLL}
	b := p.AppendEthernet(nil, [6]byte{}, [6]byte{})
	if len(b) != 64 || b[12] != 0 || b[13] != 50 || pcapio.Judge(&p, pcapio.Options{L2: true}) != 0 {
		t.Errorf("% x", b)
	}
	p.Orig = 2000 // no length
	if b := p.AppendEthernet(nil, [6]byte{}, [6]byte{}); b != nil || pcapio.Judge(&p, pcapio.Options{L2: true}) != pcapio.LinkTypeReason {
		t.Errorf("% x", b)
	}
}

// TestFCSIsNotSent: whole, cut, and longer than what there is.
func TestFCSIsNotSent(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ captured, orig, fcs, want, had int }{
		{64, 64, 4, 60, 60}, {64, 64, 0, 64, 64}, {62, 64, 4, 60, 60}, {40, 64, 4, 40, 60}, {3, 3, 4, 0, 0}, {0, 0, 4, 0, 0},
	} {
		p := pcapio.Packet{Data: make([]byte, c.captured), Orig: c.orig, FCSLen: c.fcs}
		if len(p.Frame()) != c.want || p.FrameLen() != c.had {
			t.Errorf("%+v: %d of %d", c, len(p.Frame()), p.FrameLen())
		}
	}
}
