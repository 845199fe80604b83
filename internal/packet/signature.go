package packet

import "encoding/binary"

// Form is the form of the test signature: the first bytes of the payload behind the last header, big endian.
type Form uint8

// The forms of the signature.
const (
	FormNone  Form = iota
	FormShort      // 8 bytes: magic 2, run 1, stream 1, sequence 4
	FormFull       // 18 bytes: magic 2, run 1, flags 1, stream 2, sequence 4, time 8
)

// The two magics and the lengths of the two forms.
const (
	MagicFull  = 0x5753
	MagicShort = 0x5773

	FullLen  = 18
	ShortLen = 8
)

// String is the form's name in options and reports.
func (f Form) String() string {
	switch f {
	case FormFull:
		return "full"
	case FormShort:
		return "short"
	default:
		return "none"
	}
}

// Len is the number of bytes of the form.
func (f Form) Len() int {
	switch f {
	case FormFull:
		return FullLen
	case FormShort:
		return ShortLen
	default:
		return 0
	}
}

// The flags byte of the full form: version in bits 7 to 5, kind of time in bits 4 and 3, then three flags.
const (
	FlagVersion = 1 << 5 // version 1

	TimeNone   = 0 << 3 // the time field is 0
	TimeFrame  = 1 << 3 // the clock was read for this frame
	TimeShared = 2 << 3 // the clock was read once for up to 16 frames, or once for a batch; this frame is not before it
	TimeMask   = 3 << 3

	FlagFirst = 1 << 2 // sequence number 0
	FlagLast  = 1 << 1 // the last frame of this stream id in this run
	FlagProbe = 1 << 0 // reserved
)

// Offsets in the full form. The short form has magic, run, stream (1 byte, at 3) and sequence (at 4).
const (
	SigRun    = 2
	SigFlags  = 3
	SigStream = 4
	SigSeq    = 6
	SigTime   = 10

	SigShortStream = 3
	SigShortSeq    = 4
)

// Signature is a decoded signature.
type Signature struct {
	Form   Form
	Run    uint8
	Flags  uint8 // 0 in the short form
	Stream uint16
	Seq    uint32 // low half of the sequence number
	Time   uint64 // CLOCK_MONOTONIC ns; 0 in the short form
}

// Put writes the signature in its form. b has room for Form.Len() bytes. Of the stream the short form keeps the low 8 bits.
func (s *Signature) Put(b []byte) {
	switch s.Form {
	case FormFull:
		b = b[:FullLen]
		binary.BigEndian.PutUint16(b, MagicFull)
		b[SigRun], b[SigFlags] = s.Run, s.Flags
		binary.BigEndian.PutUint16(b[SigStream:], s.Stream)
		binary.BigEndian.PutUint32(b[SigSeq:], s.Seq)
		binary.BigEndian.PutUint64(b[SigTime:], s.Time)
	case FormShort:
		b = b[:ShortLen]
		binary.BigEndian.PutUint16(b, MagicShort)
		b[SigRun], b[SigShortStream] = s.Run, uint8(s.Stream)
		binary.BigEndian.PutUint32(b[SigShortSeq:], s.Seq)
	}
}

// ParseSignature decodes the signature at the start of a payload; false where there is none, it is cut short, or it has a
// version that is not known here. In the last case alone its Form is not FormNone: in a frame that is not whole the version
// may be what was broken.
func ParseSignature(b []byte) (Signature, bool) {
	if len(b) < ShortLen {
		return Signature{}, false
	}
	switch binary.BigEndian.Uint16(b) {
	case MagicShort:
		return Signature{Form: FormShort, Run: b[SigRun], Stream: uint16(b[SigShortStream]), Seq: binary.BigEndian.Uint32(b[SigShortSeq:])}, true
	case MagicFull:
		if len(b) < FullLen {
			return Signature{}, false
		}
		return Signature{
			Form: FormFull, Run: b[SigRun], Flags: b[SigFlags],
			Stream: binary.BigEndian.Uint16(b[SigStream:]), Seq: binary.BigEndian.Uint32(b[SigSeq:]), Time: binary.BigEndian.Uint64(b[SigTime:]),
		}, b[SigFlags]&(7<<5) == FlagVersion
	default:
		return Signature{}, false
	}
}
