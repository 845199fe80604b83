package replay

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/wirespeed/wirespeed/internal/pcapio"
	"github.com/wirespeed/wirespeed/internal/wire"
)

// flagName is an edit as a flag, without its dashes.
func flagName(key string) string { return strings.ReplaceAll(key, "_", "-") }

// ethernet makes the packet an Ethernet frame, as long as it was where --pad fills it up. Judge has said that it can be one.
func (m *maker) ethernet(p *pcapio.Packet) (b []byte, padded bool) {
	var dst, src [6]byte
	if l2 := m.replay.L2; l2 != nil {
		dst, src = l2.Dst, l2.Src
	}
	b = p.AppendEthernet(m.buf[:0], dst, src)
	if missing := p.FrameLen() - len(p.Frame()); missing > 0 {
		return m.pad(b, len(b)+missing, p.Number), true
	}
	return b, false
}

// detail says of a packet what its reason leaves open.
func (m *maker) detail(p *pcapio.Packet, reason pcapio.Reason) string {
	have, had := len(p.Frame()), p.FrameLen()
	switch reason {
	case pcapio.LinkTypeReason:
		if m.judge.L2 {
			return fmt.Sprintf("link type %s: %s", p.Link, p.LinkProblem())
		}
		return "link type " + p.Link.String()
	case pcapio.TooShort:
		return fmt.Sprintf("%d bytes were captured", have)
	case pcapio.Truncated:
		return fmt.Sprintf("%d of its %d bytes without FCS were captured", have, had)
	case pcapio.BelowMinimum:
		return fmt.Sprintf("%d bytes with FCS, and Ethernet has at least %d", have+fcs, wire.MinFrame)
	case pcapio.Merged:
		return fmt.Sprintf("%d bytes that were several frames", had)
	default:
		return m.limits.tooLong(max(have, had)+fcs, min(cmp.Or(m.limits.MaxFrame, wire.MaxFrame), wire.MaxFrame))
	}
}
