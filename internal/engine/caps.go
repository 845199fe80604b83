package engine

import (
	"fmt"
	"strings"

	"github.com/wirespeed/wirespeed/internal/program"
)

// Caps is what an engine can do at a target.
type Caps struct {
	Engine   string
	Problems []Problem // why it does not work there; empty: it works, as far as can be known without sending
	Unknown  []string  // what could not be found out; the first 100 ms of a run decide
	MaxFrame int       // bytes with FCS
	MaxTag   int       // bytes that a frame whose outermost tag is 802.1Q (0x8100) may have beyond MaxFrame
	// MaxQueues that can send, or receive, at the same time.
	MaxQueues int
	MaxVLANs  int  // tags that a receiver reads; 0: any number
	Paces     bool // keeps a rate
	Stamps    bool // writes the time into the signature
	Captures  bool // its receiver writes frames to a file
	Preloads  bool // sends only what was in memory before its first frame
	Link      Link
}

// Link is what is known of the device below.
type Link struct {
	Name, Netns, Driver, Kind string
	Index, MTU                int
	Up, Carrier               bool
	SpeedBps                  uint64 // of real hardware or declared; 0: none
	SpeedDeclared             bool
	MAC                       [6]byte
	TxQueues, RxQueues        int
	DefaultRoute, SSH         bool // carries the default route, or this terminal's session
	// PeerMAC is that of a veth's peer where it was found.
	PeerMAC *[6]byte
	PeerMTU int // of that peer; 0: not found
}

// A Problem is a reason why something does not work, and what would mend it.
type Problem struct {
	Reason string
	Mend   string // a command or a sentence
	// Mendable: the engine would mend it itself, given Config.MayMend.
	Mendable bool
}

func (p Problem) String() string {
	if p.Mend == "" {
		return p.Reason
	}
	return p.Reason + "; mend: " + p.Mend
}

// NoCarrier is the problem of a device without one: the same words from every engine, so that they are said once.
func NoCarrier(t Target) Problem {
	return Problem{Reason: t.String() + " has no carrier", Mend: "connect the cable, or set the other end up"}
}

// Carries says whether the engine can run the plan. It is pure.
func (c Caps) Carries(p Plan) error {
	if len(c.Problems) > 0 {
		return fmt.Errorf("%s: %s", c.Engine, c.problems())
	}
	if len(p.Unsupported) > 0 {
		return fmt.Errorf("%s: not run by this engine yet: %s", c.Engine, strings.Join(p.Unsupported, ", "))
	}
	if c.Preloads && p.Program.Source != nil {
		return fmt.Errorf("%s: sends frames from the kernel's memory only, not what is read meanwhile: give --preload, or take the packet: engine", c.Engine)
	}
	if err := p.Program.CheckSequence(p.Queues); err != nil {
		return fmt.Errorf("%s: %w", c.Engine, err)
	}
	if err := c.carriesFrames(p.Program); err != nil {
		return err
	}
	if p.Queues > c.MaxQueues {
		return fmt.Errorf("%s: %d queues asked for, %s has %d: give fewer --queues", c.Engine, p.Queues, c.Link.Name, c.MaxQueues)
	}
	if p.Paced() && !c.Paces {
		return fmt.Errorf("%s: cannot keep a rate", c.Engine)
	}
	return nil
}

// carriesFrames says whether the engine can send frames as long as the program's.
func (c Caps) carriesFrames(p *program.Program) error {
	if s := p.Sequence; s != nil {
		for i := range s.Frames {
			f := &s.Frames[i]
			if err := c.carriesFrame(int(f.Len)+4, tagged(s.Bytes[f.At:][:f.Len])); err != nil {
				return fmt.Errorf("%s: frame %d of the replay has %w", c.Engine, i+1, err)
			}
		}
		return nil
	}
	for i := range p.Streams {
		s := &p.Streams[i]
		// Which frames of a source are tagged is not known: who makes it looks at each.
		if err := c.carriesFrame(s.Lens[len(s.Lens)-1]+4, p.Source != nil || tagged(s.Heads[0])); err != nil {
			return fmt.Errorf("%s: stream %q has frames of %w", c.Engine, s.Name, err)
		}
	}
	return nil
}

// tagged reports whether the outermost tag of a frame is 802.1Q.
func tagged(b []byte) bool { return len(b) > 13 && b[12] == 0x81 && b[13] == 0 }

// carriesFrame says whether the engine can send a frame of n bytes with FCS. The error begins with its size.
func (c Caps) carriesFrame(n int, tagged bool) error {
	most := c.MaxFrame
	if tagged {
		most += c.MaxTag
	}
	if n > most {
		return fmt.Errorf("%d bytes with FCS, more than the %d that %s", n, most, c.limit(most))
	}
	if peer := c.Link.PeerMTU + peerHeaders; c.Link.PeerMTU > 0 && n > peer {
		return fmt.Errorf("%d bytes with FCS, more than the %d that the peer of %s takes at its MTU of %d: give shorter frames, or raise the MTU of the peer",
			n, peer, c.Link.Name, c.Link.PeerMTU)
	}
	return nil
}

// peerHeaders are the bytes that a veth's peer takes beyond its MTU, tagged or not: Ethernet, one tag and the FCS, which
// never leaves (net/core/dev.c, __is_skb_forwardable; drivers/net/veth.c, veth_xdp_xmit).
const peerHeaders = 14 + 4 + 4

// limit is what bounds frames to most bytes, and the mend.
func (c Caps) limit(most int) string {
	if c.Link.MTU == 0 || most < c.Link.MTU+14+4 {
		return "this engine can send: give shorter frames, or take another engine"
	}
	return fmt.Sprintf("%s takes at its MTU of %d: give shorter frames, or raise the MTU", c.Link.Name, c.Link.MTU)
}

// CarriesReceive says whether the engine can receive there what is expected. It is pure.
func (c Caps) CarriesReceive(e Expect) error {
	if len(c.Problems) > 0 {
		return fmt.Errorf("%s: %s", c.Engine, c.problems())
	}
	if e.Capture && !c.Captures {
		return fmt.Errorf("%s: does not write what arrives to a file: receive with the packet: engine", c.Engine)
	}
	if c.MaxVLANs > 0 && e.VLANs > c.MaxVLANs {
		return fmt.Errorf("%s: the frames have %d VLAN tags, more than the %d that this engine's receiver reads: give fewer tags, or receive with the packet: engine", c.Engine, e.VLANs, c.MaxVLANs)
	}
	return nil
}

func (c Caps) problems() string {
	all := make([]string, len(c.Problems))
	for i, p := range c.Problems {
		all[i] = p.String()
	}
	return strings.Join(all, "; ")
}
