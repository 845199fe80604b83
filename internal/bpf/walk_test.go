package bpf

import (
	"encoding/binary"
	"testing"

	"github.com/cilium/ebpf"
	"pgregory.net/rapid"

	"github.com/wirespeed/wirespeed/internal/engine"
	"github.com/wirespeed/wirespeed/internal/packet"
)

// onion is a frame built from the inside out.
type onion []byte

func (o onion) in(head ...byte) onion { return append(append(onion{}, head...), o...) }

func (o onion) eth(etherType uint16) onion {
	return o.in(binary.BigEndian.AppendUint16([]byte{2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1}, etherType)...)
}

func (o onion) tag(tpid, etherType uint16) onion {
	return o.in(binary.BigEndian.AppendUint16([]byte{0, 7}, etherType)...)
}

// The header checksum of IPv4 is not looked at by receivers.
func (o onion) ip(proto byte, options ...byte) onion {
	h := []byte{byte(0x45 + len(options)/4), 0, 0, 0, 0, 0, 0, 0, 64, proto, 0, 0, 198, 18, 0, 1, 198, 19, 0, 1}
	binary.BigEndian.PutUint16(h[2:], uint16(20+len(options)+len(o)))
	return o.in(append(h, options...)...)
}

func (o onion) ipv6(nxt byte) onion {
	h := make([]byte, 40)
	h[0], h[6], h[7], h[8], h[23], h[24], h[39] = 0x60, nxt, 64, 0x20, 1, 0x20, 9
	binary.BigEndian.PutUint16(h[4:], uint16(len(o)))
	return o.in(h...)
}

// l4 is a header with a checksum at off over itself, what it carries and, with addrs, a pseudo header.
func (o onion) l4(proto byte, addrs []byte, off int, head ...byte) onion {
	b := o.in(head...)
	acc := packet.Sum(0, b)
	if addrs != nil {
		acc = packet.Sum(packet.PseudoSum(addrs, proto, len(b)), b)
	}
	c := ^packet.Fold(acc)
	if c == 0 {
		c = 0xffff
	}
	binary.BigEndian.PutUint16(b[off:], c)
	return b
}

func (o onion) udp(addrs []byte, port uint16) onion {
	n := uint16(8 + len(o))
	return o.l4(17, addrs, 6, 0, 9, byte(port>>8), byte(port), byte(n>>8), byte(n), 0, 0)
}

var (
	addrs4 = []byte{198, 18, 0, 1, 198, 19, 0, 1}
	addrs6 = append(append([]byte{0x20}, append(make([]byte, 14), 1)...), append(append([]byte{0x20}, make([]byte, 14)...), 9)...)
)

// onions are the signature in everything that receivers look into.
func onions(payload onion) map[string]onion {
	udp4, udp6 := payload.udp(addrs4, 9), payload.udp(addrs6, 9)
	tcp := payload.l4(6, addrs4, 16, 0, 9, 0, 9, 0, 0, 0, 0, 0, 0, 0, 0, 0x60, 2, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1)
	final := append(append([]byte{}, addrs6[:16]...), append(make([]byte, 15), 0x77)...)
	routed := func(kind byte) onion {
		return payload.udp(final, 9).in(append([]byte{17, 2, kind, 1, 0, 0, 0, 0}, final[16:]...)...)
	}
	inner := udp4.ip(17).eth(0x0800)
	many := udp4.ip(17)
	for i := range 12 {
		many = many.in(0, 1, 0x10|b2(i == 0), 64)
	}
	five := udp4.ip(17)
	for i := range 5 {
		next := uint16(0x8100)
		if i == 0 {
			next = 0x0800
		}
		five = five.tag(0x8100, next)
	}
	return map[string]onion{
		"options":            udp4.ip(17, 7, 7, 4, 0, 0, 0, 0, 0).eth(0x0800),
		"tcp options":        tcp.ip(6).eth(0x0800),
		"icmp":               payload.l4(0, nil, 2, 8, 0, 0, 0, 1, 2, 3, 4).ip(1).eth(0x0800),
		"icmpv6":             payload.l4(58, addrs6, 2, 128, 0, 0, 0, 1, 2, 3, 4).ipv6(58).eth(0x86dd),
		"five tags":          five.eth(0x8100),
		"one label":          udp4.ip(17).in(0, 1, 0x11, 64).eth(0x8847),
		"twelve labels":      many.eth(0x8847),
		"label, IPv6":        udp6.ipv6(17).in(0, 1, 0x11, 64).eth(0x8848),
		"label, Ethernet":    inner.in(0, 1, 0x11, 64).eth(0x8847),
		"hop-by-hop, dst":    udp6.in(17, 0, 1, 4, 0, 0, 0, 0).in(60, 0, 1, 4, 0, 0, 0, 0).ipv6(0).eth(0x86dd),
		"segment routing":    routed(4).ipv6(43).eth(0x86dd),
		"source routing":     routed(0).ipv6(43).eth(0x86dd),
		"whole in fragment":  udp6.in(17, 0, 0, 0, 1, 2, 3, 4).ipv6(44).eth(0x86dd),
		"gre":                udp4.ip(17).in(0, 0, 8, 0).ip(47).eth(0x0800),
		"gre, key, sequence": udp6.ipv6(17).in(0x30, 0, 0x86, 0xdd, 0, 0, 0, 1, 0, 0, 0, 2).ip(47).eth(0x0800),
		"gre, Ethernet":      inner.in(0, 0, 0x65, 0x58).ip(47).eth(0x0800),
		"vxlan":              inner.in(8, 0, 0, 0, 0, 0, 7, 0).udp(addrs4, 4789).ip(17).eth(0x0800),
		"vxlan, tag":         udp4.ip(17).tag(0x8100, 0x0800).eth(0x8100).in(8, 0, 0, 0, 0, 0, 7, 0).udp(addrs6, 4789).ipv6(17).tag(0x8100, 0x86dd).eth(0x8100),
		"ip in ip":           udp4.ip(17).ip(4).eth(0x0800),
		"ipv6 in ip":         udp6.ipv6(17).ip(41).eth(0x0800),
		"snap":               udp4.ip(17).in(0xaa, 0xaa, 3, 0, 0, 0, 8, 0).length(),
		"llc":                payload.in(0x42, 0x42, 3).length(),
		"arp":                payload.in(0, 1, 8, 0, 6, 4, 0, 1, 2, 0, 0, 0, 0, 1, 198, 18, 0, 1, 0, 0, 0, 0, 0, 0, 198, 19, 0, 1).eth(0x0806),
	}
}

// length is an IEEE 802.3 frame.
func (o onion) length() onion { return o.eth(uint16(len(o))) }

func b2(b bool) byte {
	if b {
		return 1
	}
	return 0
}

// Every onion is peeled, in both forms, and one with a byte changed at its end is corrupt where a checksum covers it.
func TestDeep(t *testing.T) {
	for _, form := range []packet.Form{packet.FormShort, packet.FormFull} {
		f := newFeeder(t, expectOne(form, 0))
		expect := func(name string, b []byte, want string) {
			before := f.read()
			f.feed(b, xdpDrop)
			if got := became(before, f.read()); got != want {
				t.Errorf("%s, form %d: %s, want %s", name, form, got, want)
			}
		}
		for name, b := range onions(onion(sig{form: form, run: testRun, stream: 3}.bytes()).with(11)) {
			l, ok := packet.Walk(b)
			if !ok || l.BadLength || !packet.VerifyL4(b, &l) {
				t.Fatalf("%s is built wrong: %+v", name, l)
			}
			expect(name, b, "frame")
			expect(name+", padded", append(append([]byte{}, b...), 1, 2, 3, 4, 5), "frame")
			if l.L4 != 0 {
				b[len(b)-1] ^= 0x10
				expect(name+", broken", b, "corrupt")
			}
		}
	}
}

func (o onion) with(n int) onion {
	for i := range n {
		o = append(o, byte(i*7))
	}
	return o
}

// verdict is what must become of a frame, by packet.Walk.
func verdict(b []byte) string {
	l, ok := packet.Walk(b)
	if !ok || l.Fragment {
		return "foreign"
	}
	end := l.End
	if l.BadLength {
		end = len(b)
	}
	s, ok := packet.ParseSignature(b[l.Payload:end])
	switch whole := !l.BadLength && packet.VerifyL4(b, &l); {
	case !ok && (whole || s.Form == packet.FormNone):
		return "foreign"
	case s.Run != testRun:
		return "stale"
	case s.Stream != 3 || s.Form != packet.FormFull:
		return "bad stream"
	case whole:
		return "frame"
	default:
		return "corrupt"
	}
}

func became(before, after engine.Received) string {
	count := func(r engine.Received) (frames, corrupt uint64) {
		for _, s := range r.Streams {
			frames, corrupt = frames+s.Frames+s.Duplicate+s.BadSeq+s.Late, corrupt+s.Corrupt
		}
		return
	}
	f0, c0 := count(before)
	f1, c1 := count(after)
	switch {
	case f1 > f0:
		return "frame"
	case c1 > c0:
		return "corrupt"
	case after.Foreign > before.Foreign:
		return "foreign"
	case after.Stale > before.Stale:
		return "stale"
	case after.BadStream > before.BadStream:
		return "bad stream"
	}
	return "nothing"
}

// Whatever is changed in a frame, and wherever it is cut, the program and packet.Walk agree on what it is.
func TestProgramAgreesWithWalk(t *testing.T) {
	f := newFeeder(t, expectOne(packet.FormFull, 0))
	var all []onion
	for _, o := range onions(onion(sig{form: packet.FormFull, run: testRun, stream: 3}.bytes()).with(11)) {
		all = append(all, o)
	}
	rapid.Check(t, func(rt *rapid.T) {
		b := append([]byte{}, all[rapid.IntRange(0, len(all)-1).Draw(rt, "onion")]...)
		for range rapid.IntRange(0, 3).Draw(rt, "changes") {
			b[rapid.IntRange(12, len(b)-1).Draw(rt, "at")] = rapid.Byte().Draw(rt, "byte")
		}
		if rapid.IntRange(0, 3).Draw(rt, "cut") == 0 {
			b = b[:rapid.IntRange(14, len(b)).Draw(rt, "length")]
		}
		before := f.read()
		if _, err := f.Program().Run(&ebpf.RunOptions{Data: b, Repeat: 1}); err != nil {
			rt.Fatal(err)
		}
		got, want := became(before, f.read()), verdict(b)
		if got == "corrupt" && want == "foreign" {
			return // a length that lies ends the packet before its signature, which the fast path sees nevertheless
		}
		if got != want {
			rt.Fatalf("%x: %s, by Walk %s", b, got, want)
		}
	})
}
