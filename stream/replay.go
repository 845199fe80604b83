package stream

import (
	"net/netip"
	"time"

	"github.com/wirespeed/wirespeed/internal/packet"
)

// A Replay is a capture that is sent as it was recorded, or with some of its fields rewritten.
type Replay struct {
	File string // path; "-" is standard input
	// Recorded: frames leave with the gaps of the capture, divided by Speed, none longer than MaxGap. Else Set.Rate is kept.
	Recorded bool
	Speed    float64       // above 0; 1 by default
	MaxGap   time.Duration // 0: no limit
	Loop     uint64        // times; 0: again and again
	Limit    uint64        // frames of the capture; 0: all
	Preload  Preload
	Pad      Pad
	// AllowSkip permits sending the rest of a capture of which some frames cannot be sent.
	AllowSkip bool
	L2        *L2    // makes frames without an Ethernet header Ethernet; nil: they are not sent
	Signature string // "none" (default), "full" or "short": into every frame whose payload has room
	Untag     bool   // takes all VLAN tags behind the outermost addresses away
	Edits     []Edit
	Maps      []PrefixMap // of IP addresses, ARP's too; the first that matches counts. They come before Edits
}

// Preload says whether the whole sequence is made ready before the first frame leaves.
type Preload uint8

// The ways to preload.
const (
	PreloadAuto Preload = iota // where it fits in the memory that is set aside for it
	PreloadYes                 // refused where it does not fit
	PreloadNo
)

// Pad says what a frame that was cut by the capture, or is below the smallest, is filled up with.
type Pad uint8

// The paddings.
const (
	PadNone Pad = iota // such frames cannot be sent
	PadZero
	PadRandom // SplitMix64 of the frame's number in the capture
)

// L2 are the addresses of an Ethernet header that is put before a packet.
type L2 struct{ Dst, Src [6]byte }

// An Edit gives a field of the outermost header of its kind a value, in every frame that has such a header. Modifiers
// count the frames of the capture, also those that are not sent. Neighbours of the same Flag are one edit: of the headers
// that they name a frame's outermost is changed (the port of UDP or TCP). The id of a VLAN tag is that of the tag behind the
// outermost addresses; where there is none, a tag is put there.
type Edit struct {
	Flag  string // "src_port": as it is named in a stream file
	Kind  *packet.Kind
	Field *packet.Field
	Value Value
}

// A PrefixMap puts addresses of From into To, which is as long: the bits behind the prefix stay.
type PrefixMap struct{ From, To netip.Prefix }
