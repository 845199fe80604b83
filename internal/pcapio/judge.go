package pcapio

import "github.com/wirespeed/wirespeed/internal/wire"

// A Reason is why a packet cannot be sent; 0 is that it can.
type Reason uint8

// The reasons, in the order in which they are looked for.
const (
	LinkTypeReason Reason = iota + 1 // it is no Ethernet frame and is not to be, or cannot be, made one
	TooShort                         // fewer bytes were captured than an Ethernet header has
	Merged                           // the capture says that it was made of several frames
	TooLong                          // longer than the largest frame
	Truncated                        // fewer bytes were captured than it had
	BelowMinimum                     // shorter than the smallest frame
	reasons
)

// Reasons are all reasons, for tables.
func Reasons() []Reason {
	all := make([]Reason, 0, reasons-1)
	for r := Reason(1); r < reasons; r++ {
		all = append(all, r)
	}
	return all
}

// String is the word for the reason in results.
func (r Reason) String() string {
	switch r {
	case LinkTypeReason:
		return "link_type"
	case TooShort:
		return "too_short"
	case Merged:
		return "merged"
	case TooLong:
		return "too_long"
	case Truncated:
		return "truncated"
	case BelowMinimum:
		return "below_minimum"
	}
	return ""
}

// Mend is what a person can do about it who judged by these options.
func (r Reason) Mend(o Options) string {
	switch r {
	case LinkTypeReason:
		if o.L2 {
			return "--allow-skip leaves them out: no Ethernet header makes frames of them"
		}
		return "--l2 DST,SRC puts an Ethernet header before packets of LINUX_SLL, LINUX_SLL2, RAW, NULL and LOOP; no other type can be sent"
	case TooShort:
		return "--allow-skip leaves them out"
	case Merged:
		return "capture with merging off: ethtool -K DEV gro off lro off at the receiver, and where that is a veth, ethtool -K PEER tso off gso off at the sender"
	case TooLong:
		return "raise the MTU, or capture with GRO, LRO, TSO and GSO off"
	case Truncated:
		return "--pad zero or --pad random fills them up to their length"
	case BelowMinimum:
		return "--pad zero or --pad random fills them up to 64 bytes"
	}
	return ""
}

// Options are what Judge goes by.
type Options struct {
	MaxFrame int  // bytes with FCS; 0: the longest frame there is
	MaxTag   int  // bytes that a frame whose outermost tag is 0x8100 may have beyond
	Pad      bool // packets that are cut or too short are filled up
	L2       bool // packets of other link types get an Ethernet header
}

// Judge says whether a packet can be sent, as it is or made Ethernet, and why not.
func Judge(p *Packet, o Options) Reason {
	if p.Link != LinkEthernet && !(o.L2 && p.Link.Convertible()) {
		return LinkTypeReason
	}
	have, had := len(p.Frame()), p.FrameLen()
	if p.Link != LinkEthernet {
		_, at, ok := p.Network()
		switch {
		case at > have:
			return TooShort
		case !ok:
			return LinkTypeReason
		}
		have, had = have-at+etherHead, had-at+etherHead
	} else if have < etherHead {
		return TooShort
	}
	if p.Merged {
		return Merged
	}
	most := o.MaxFrame
	if most == 0 {
		most = wire.MaxFrame
	}
	if p.Link == LinkEthernet && p.Data[12] == 0x81 && p.Data[13] == 0 {
		most += o.MaxTag
	}
	switch {
	case max(have, had)+wire.FCS > most:
		return TooLong
	case o.Pad:
		return 0
	case have < had:
		return Truncated
	case have+wire.FCS < wire.MinFrame:
		return BelowMinimum
	}
	return 0
}
