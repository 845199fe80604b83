package packet

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
