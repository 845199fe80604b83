package replay

import (
	"runtime"
	"testing"

	"github.com/wirespeed/wirespeed/internal/pcapio/pcaptest"
	"github.com/wirespeed/wirespeed/internal/program"
	"github.com/wirespeed/wirespeed/stream"
)

// Whatever a capture holds and whatever is changed: nothing crashes or hangs, frames are what a port can send, and reading it
// while it is sent gives the same number of them.
func FuzzReplay(f *testing.F) {
	f.Add(pcapBytes(linkEthernet, record{data: udp4(40)}, record{ns: 7, data: udp4(40)[:50], orig: 82}), uint16(0xffff))
	f.Add(pcapBytes(113, record{data: udp4(60)}), uint16(0x1ff))
	f.Add(pcapBytes(101, record{data: udp4(60)[14:]}), uint16(0x3ff))
	for _, text := range []string{"[eth, ipv6, udp, vxlan, eth, ip, tcp]", "[eth, vlan, mpls, ip, udp]", "[eth, ipv6, hopopts, routing, fraghdr, tcp]", "[eth, arp]", "[eth, llc, snap, ip, udp]"} {
		s, err := stream.Parse("seed", []byte("streams: [{signature: none, size: 204, layers: "+text+"}]"))
		if err != nil {
			f.Fatal(err)
		}
		p, err := program.Compile(s)
		if err != nil {
			f.Fatal(err)
		}
		b := []program.Frame{{Buf: make([]byte, 200)}}
		p.Bind(program.Binding{Queues: 1}).Fill(b, 0)
		f.Add(pcapBytes(linkEthernet, record{data: b[0].Buf}), uint16(0xff))
	}
	for _, file := range pcaptest.Files() {
		f.Add(file.Bytes, uint16(0xb6f))
	}
	f.Fuzz(func(t *testing.T, data []byte, with uint16) {
		if len(data) > 1<<16 {
			return
		}
		has := func(bit uint) bool { return with>>bit&1 == 1 }
		given := func(bit uint, text string) string {
			if has(bit) {
				return text
			}
			return ""
		}
		flags := stream.Flags{
			SrcMAC: given(0, "02:00:00:00:00:01"), SrcIP: given(1, "inc(198.18.0.1,1,9)"), DstIP: given(2, "2001:2::1"), SrcPort: given(3, "rand(1,9,1)"),
			VLAN: given(4, "none"), TTL: given(5, "3"), Signature: given(6, "full"), Rate: "max",
		}
		if has(7) {
			flags.VLAN = "7"
		}
		r := stream.ReplayFlags{AllowSkip: true, Pad: given(8, "random"), L2: given(9, "02:00:00:00:00:02,02:00:00:00:00:03"), PCAP: write(t, data)}
		if has(10) {
			r.MapIP = []string{"0.0.0.0/1=128.0.0.0/1", "::/1=8000::/1"}
		}
		c, err := Open(t.Context(), set(t, flags, r), Limits{MaxFrame: 1518, MaxTag: 4})
		if err != nil {
			return
		}
		facts := c.Facts()
		if n := len(c.Program.Sequence.Frames); n == 0 || uint64(n) != facts.Frames || facts.Packets != facts.Frames+facts.SkippedFrames() {
			t.Fatalf("%d frames, %+v", n, facts)
		}
		for _, b := range frames(c) {
			if len(b) < minNoFCS || len(b) > 1518 {
				t.Fatalf("a frame of %d bytes", len(b))
			}
		}
		if has(11) {
			return
		}
		r.Preload = "false"
		again := open(t, set(t, flags, r), Limits{MaxFrame: 1518, MaxTag: 4})
		n := uint64(0)
		for {
			q, state := again.Program.Source.Next()
			if state == program.SourceEnd {
				break
			}
			if state == program.SourceLater {
				runtime.Gosched()
			}
			if state == program.SourceReady {
				n += uint64(len(q.Frames))
			}
		}
		if n != facts.Frames {
			t.Fatalf("%d frames while sending, %d before", n, facts.Frames)
		}
	})
}
