package stream

import (
	"time"

	"github.com/wirespeed/wirespeed/internal/packet"
	"github.com/wirespeed/wirespeed/internal/wire"
)

// A Set is one definition of what a port sends: several streams by weight under one rate.
type Set struct {
	Rate    wire.Rate // common rate; the zero value is max
	Streams []Stream
	Replay  *Replay // a capture that is sent instead of Streams, which is empty then
}

// A Stream is a sequence of frames with the same headers.
type Stream struct {
	Name    string
	Weight  int // 1 to 65536; frames of this stream in one round of the set
	Size    Sizes
	Layers  []Layer // outermost first
	Payload Payload
	Modify  []PayloadField
	// Signature is the asked form: "" (the largest that fits the smallest frame), "full", "short" or "none".
	Signature string

	// Parsed and validated, not yet run by any engine: Load refuses them by name.
	Rate       *wire.Rate
	StartAfter time.Duration
	Burst      *Burst
}

// PayloadField is a field of the payload: Field.Bit counts from the first byte behind the last header, where the signature
// lies if the stream has one; they may not overlap.
type PayloadField struct {
	Field *packet.Field
	Value Value
}

// Burst shapes the schedule: Frames back to back, then a pause until Gap after the burst began.
type Burst struct {
	Frames uint64
	Gap    time.Duration
}

// A Layer is one header. Fields that are not given take the kind's default or are computed.
type Layer struct {
	Kind   *packet.Kind // shaped, see NewLayer: its Len is that of this layer, Data included
	Fields []FieldValue // in the order of the kind's table
	Data   []byte       // the last len(Data) bytes of the layer, padded
}

// FieldValue gives one field of a layer a value.
type FieldValue struct {
	Field *packet.Field
	Value Value
}

// Op says how a value changes from frame to frame.
type Op uint8

// The modifiers. All modifiers of a stream are functions of the stream's own frame index k (0, 1, ...), so they advance
// in step.
const (
	Fixed Op = iota
	Inc      // Start + Step*(k mod Count)
	Dec      // Start - Step*(k mod Count)
	Rand     // Start..Max, by SplitMix64 of Seed and k
	List     // List[k mod len(List)]
)

// Value is a constant or a modifier.
type Value struct {
	Op    Op
	Start packet.Num // Fixed: the value; Rand: the smallest
	Step  packet.Num
	Count uint64
	Max   packet.Num
	Seed  uint64
	List  []packet.Num
}

// Payload fills what follows the signature.
type Payload struct {
	Fill Fill
	Byte byte   // FillByte
	Data []byte // FillData: repeated
	Seed uint64 // FillRandom
}

// Fill is the rule by which payload bytes are made. Byte j of the payload depends on j alone, not on the frame's size.
type Fill uint8

// The fills.
const (
	FillByte   Fill = iota // every byte is Payload.Byte (0 by default)
	FillInc                // byte j is j mod 256
	FillRandom             // SplitMix64 of Seed and j/8
	FillData
)

// SizeOp says how sizes follow one another.
type SizeOp uint8

// Sizes of one stream: always in bytes with the FCS.
const (
	SizeCycle  SizeOp = iota // Cycle, again and again: fixed, listed, swept and IMIX sizes
	SizeRandom               // Min..Max, by SplitMix64 of Seed and k
)

// Sizes is the sequence of frame sizes with FCS, a function of the stream's own frame index.
type Sizes struct {
	Op       SizeOp
	Cycle    []int
	Min, Max int
	Seed     uint64
	Text     string // as it was written, for reports
}
