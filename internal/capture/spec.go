package capture

import (
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/wirespeed/wirespeed/internal/pcapio"
)

// Direction says which frames are written.
type Direction uint8

// The directions.
const (
	In   Direction = iota // received
	Out                   // sent by this host
	Both                  // all
)

// String is the direction as the command line has it.
func (d Direction) String() string {
	switch d {
	case Out:
		return "out"
	case Both:
		return "both"
	default:
		return "in"
	}
}

// Spec is what is to be written, and where.
type Spec struct {
	Path      string // its extension says the format: .pcapng or .pcap
	Overwrite bool   // files of an earlier capture may be replaced
	SnapLen   int    // bytes of a frame, without FCS, that are written; 0: all
	Limit     uint64 // frames; 0: no limit
	Direction Direction
	RingBytes int64 // of the ring between kernel and writer; 0: DefaultRing

	RotateSize int64         // a file has no more bytes than this, unless one frame does; 0: no limit
	RotateTime time.Duration // a file begins no later than this before its last frame; 0: no limit
	Keep       int           // files of a rotation that are kept, the newest; 0: all

	Filter []Instruction // nil: every frame
}

// DefaultRing holds about 900,000 small frames, or 80,000 of full size: what arrives at 10 Gbit/s in 100 ms.
const DefaultRing = 128 << 20

// Bounds of the ring.
const (
	MinRing = 2 << 20
	MaxRing = 4 << 30
)

// MaxSnapLen is the longest length that capture files commonly name.
const MaxSnapLen = 1 << 18

// minRotate keeps a rotation from making a file for every few frames.
const minRotate = 64 << 10

func (s *Spec) rotates() bool { return s.RotateSize > 0 || s.RotateTime > 0 }

// format is what the extension says.
func (s *Spec) format() (pcapio.Format, error) {
	switch ext := strings.ToLower(filepath.Ext(s.Path)); ext {
	case ".pcapng":
		return pcapio.PCAPNG, nil
	case ".pcap":
		return pcapio.PCAP, nil
	default:
		return 0, fmt.Errorf("%s: the name of a capture file says its format: give it the end .pcapng or .pcap", s.Path)
	}
}

// Validate finds what contradicts itself. It touches no file.
func (s *Spec) Validate() error {
	if _, err := s.format(); err != nil {
		return err
	}
	switch {
	case s.SnapLen < 0 || s.SnapLen > MaxSnapLen:
		return fmt.Errorf("--snaplen %d: give 1 to %d", s.SnapLen, MaxSnapLen)
	case s.RotateSize != 0 && s.RotateSize < minRotate:
		return fmt.Errorf("--rotate-size %d: give %d bytes or more", s.RotateSize, minRotate)
	case s.RotateTime < 0:
		return fmt.Errorf("--rotate-time %v: give a time above 0", s.RotateTime)
	case s.Keep < 0 || s.Keep > 0 && !s.rotates():
		return fmt.Errorf("--rotate-keep %d: give --rotate-size or --rotate-time too, after which a new file begins", s.Keep)
	case s.RingBytes != 0 && (s.RingBytes < MinRing || s.RingBytes > MaxRing):
		return fmt.Errorf("--ring %d: give %d to %d bytes", s.RingBytes, MinRing, int64(MaxRing))
	}
	return nil
}
