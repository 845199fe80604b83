package replay

import (
	"bytes"
	"encoding/binary"
	"testing"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"
	"pgregory.net/rapid"

	"github.com/wirespeed/wirespeed/internal/program"
	"github.com/wirespeed/wirespeed/stream"
)

// mismatches asks the decoder which checksums are wrong.
func mismatches(b []byte) (kinds []gopacket.LayerType) {
	p := gopacket.NewPacket(b, layers.LayerTypeEthernet, gopacket.Default)
	err, wrong := p.VerifyChecksums()
	if err != nil {
		return []gopacket.LayerType{gopacket.LayerTypeDecodeFailure}
	}
	for _, w := range wrong {
		kinds = append(kinds, w.Layer.LayerType())
	}
	return kinds
}

// A decoder that is not ours finds every checksum right that it found right before the edits, and the fields as they should be.
func TestGopacketAgrees(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		st := usual(rt)
		p, err := program.Compile(&stream.Set{Streams: []stream.Stream{st}})
		if err != nil {
			rt.Fatal(err)
		}
		f := []program.Frame{{Buf: make([]byte, 1<<12)}}
		p.Bind(program.Binding{Queues: 1}).Fill(f, 0)
		in := f[0].Buf[:f[0].Len]
		for _, tagged := range []string{"", "77"} {
			out, _ := replayed(t, stream.Flags{SrcMAC: "02:00:00:00:00:77", DstIP: "198.18.7.7", SrcPort: "1234", TTL: "33", VLAN: tagged},
				stream.ReplayFlags{AllowSkip: true, MapIP: []string{"2001::/16=2002::/16"}}, record{data: in})
			if before, after := mismatches(in), mismatches(out[0]); len(before) != len(after) {
				rt.Fatalf("wrong before %v, after %v\n%x\n%x", before, after, in, out[0])
			}
			decoded := gopacket.NewPacket(out[0], layers.LayerTypeEthernet, gopacket.Default)
			if e, ok := decoded.LinkLayer().(*layers.Ethernet); !ok || !bytes.Equal(e.SrcMAC, []byte{2, 0, 0, 0, 0, 0x77}) {
				rt.Fatalf("source %v", decoded.LinkLayer())
			}
			if v, ok := decoded.Layer(layers.LayerTypeIPv4).(*layers.IPv4); ok && binary.BigEndian.Uint32(v.DstIP.To4()) != 0xc6120707 {
				rt.Fatalf("destination %v", v.DstIP)
			}
			if v, ok := decoded.Layer(layers.LayerTypeDot1Q).(*layers.Dot1Q); tagged != "" && (!ok || v.VLANIdentifier != 77) {
				rt.Fatalf("tag %v", decoded.Layer(layers.LayerTypeDot1Q))
			}
		}
	})
}
