package show

import (
	"encoding/binary"
	"slices"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"

	"github.com/wirespeed/wirespeed/internal/packet"
)

// A verifier asks the decoder of one header after the other whether its checksum is right.
type verifier struct {
	frame    []byte
	network  gopacket.NetworkLayer // the nearest below
	fragment bool                  // a header below says that the packet is not whole
}

// verify puts into d what the decoder says of the checksum: nothing where the header has none, or where a part of what it
// covers is elsewhere.
func (v *verifier) verify(d *Layer, l gopacket.Layer, h packet.Header) {
	switch ip := l.(type) {
	case *layers.IPv4:
		v.network = ip
		v.fragment = v.fragment || ip.FragOffset != 0 || ip.Flags&layers.IPv4MoreFragments != 0
		v.ask(d, l)
		return
	case *layers.IPv6:
		v.network = ip
		return
	}
	header := v.frame[h.Off : h.Off+h.Len]
	switch h.Kind {
	case packet.HeaderFragment:
		v.fragment = v.fragment || binary.BigEndian.Uint16(header[2:])&0xfff9 != 0
		return
	case packet.HeaderRouting:
		v.route(header)
		return
	}
	if v.fragment {
		return
	}
	if udp, ok := l.(*layers.UDP); ok && udp.Checksum == 0 {
		if _, six := v.network.(*layers.IPv6); six {
			d.ChecksumOK = new(bool)
			d.Problem = "over IPv6 a UDP checksum of 0 is dropped (RFC 8200 8.1)"
		}
		return
	}
	v.ask(d, l)
}

// route notes the destination that checksums above a routing header take: the decoder does not know of it.
func (v *verifier) route(header []byte) {
	ip, ok := v.network.(*layers.IPv6)
	off, final := packet.Lookup("routing").FinalDst(header)
	if !ok || !final || off+16 > len(header) {
		return
	}
	routed := *ip
	routed.DstIP = slices.Clone(header[off : off+16])
	v.network = &routed
}

func (v *verifier) ask(d *Layer, l gopacket.Layer) {
	c, ok := l.(gopacket.LayerWithChecksum)
	if !ok {
		return
	}
	if gre, ok := l.(*layers.GRE); ok && !gre.ChecksumPresent {
		return
	}
	if n, ok := l.(interface {
		SetNetworkLayerForChecksum(gopacket.NetworkLayer) error
	}); ok && v.network != nil {
		if err := n.SetNetworkLayerForChecksum(v.network); err != nil {
			return
		}
	}
	if err, result := c.VerifyChecksum(); err == nil {
		d.ChecksumOK = &result.Valid
	}
}
