package enginetest

import (
	"bytes"
	"encoding/binary"
	"slices"
	"testing"

	"github.com/wirespeed/wirespeed/internal/engine"
	"github.com/wirespeed/wirespeed/internal/packet"
	"github.com/wirespeed/wirespeed/internal/program"
	"github.com/wirespeed/wirespeed/stream"
)

// The streams of a replay's program.
const (
	streamSigned = iota
	streamUnsigned
)

// Replay makes a program of whole frames, without FCS, that are due as given, once. Those of sign carry a signature of the
// form: they are UDP over IPv4 with room for it. Its two streams are those with a signature and those without.
func Replay(t testing.TB, form packet.Form, frames [][]byte, due []uint64, sign func(i int) bool) *program.Program {
	t.Helper()
	s := &program.Sequence{Rounds: 1}
	var lens []int
	for i, b := range frames {
		b = bytes.Clone(b)
		e := program.SequenceFrame{At: len(s.Bytes), Len: uint16(len(b)), Stream: streamUnsigned}
		if due != nil {
			e.Due = due[i]
		}
		if sign(i) {
			signFrame(t, form, b, &e)
		}
		lens = append(lens, len(b))
		s.Frames = append(s.Frames, e)
		s.Bytes = append(append(s.Bytes, b...), make([]byte, -len(b)&7)...)
		s.Period = e.Due + 1_000_000
	}
	slices.Sort(lens)
	lens = slices.Compact(lens)
	return &program.Program{Sequence: s, Streams: []program.Stream{
		{Name: "signed", Set: &stream.Stream{}, Form: form, Lens: lens, HasTime: form == packet.FormFull},
		{Name: "unsigned", Set: &stream.Stream{}, Lens: lens},
	}}
}

// signFrame puts the constant part of a signature into a frame.
func signFrame(t testing.TB, form packet.Form, b []byte, e *program.SequenceFrame) {
	t.Helper()
	l, ok := packet.Walk(b)
	if !ok || l.Proto != packet.ProtoUDP || l.Version != 4 || l.End-l.Payload < form.Len() {
		t.Fatalf("no room for a signature in %x", b)
	}
	clear(b[l.Payload:][:form.Len()])
	magic := uint16(packet.MagicFull)
	if form == packet.FormShort {
		magic = packet.MagicShort
	}
	binary.BigEndian.PutUint16(b[l.Payload:], magic)
	b[l.L4+6], b[l.L4+7] = 0, 0
	base := packet.Sum(packet.PseudoSum(b[l.L3+12:l.L3+20], packet.ProtoUDP, l.End-l.L4), b[l.L4:l.End])
	e.Stream, e.Sig, e.Sum, e.Base, e.ZeroIsNone = streamSigned, uint16(l.Payload), uint16(l.L4+6), packet.Fold(base), true
}

// A Pieces is a source that hands a sequence over in pieces. Each comes when it has been asked for three times, in memory
// that the next one overwrites.
type Pieces struct {
	Of    *program.Sequence
	Size  int // frames of a piece
	at    int
	asked int
	piece program.Sequence
}

// Next hands over the next piece.
func (s *Pieces) Next() (*program.Sequence, program.SourceState) {
	left := len(s.Of.Frames) - s.at
	if left == 0 {
		return nil, program.SourceEnd
	}
	if s.asked++; s.asked%3 != 0 {
		return nil, program.SourceLater
	}
	n := min(s.Size, left)
	s.piece.Bytes, s.piece.Frames = s.piece.Bytes[:0], s.piece.Frames[:0]
	for _, e := range s.Of.Frames[s.at : s.at+n] {
		from := e.At
		e.At = len(s.piece.Bytes)
		s.piece.Bytes = append(s.piece.Bytes, s.Of.Bytes[from:from+int(e.Len)+-int(e.Len)&7]...)
		s.piece.Frames = append(s.piece.Frames, e)
	}
	s.at += n
	s.piece.Rounds, s.piece.Final = 1, n == left
	return &s.piece, program.SourceReady
}

// Err is nil.
func (s *Pieces) Err() error { return nil }

// plain are frames of the given sizes with FCS, UDP over IPv4, every second with a tag, each with bytes of its own.
func plain(sizes ...int) (frames [][]byte) {
	for i, size := range sizes {
		more := size - 4 - 42
		if i%2 == 1 {
			more -= 4
		}
		payload := make([]byte, more)
		for j := range payload {
			payload[j] = byte(i + j)
		}
		f := udp(payload)[:42+more]
		if i%2 == 1 {
			f = append(append(append([]byte{}, f[:12]...), 0x81, 0, 0x20, byte(i)), f[12:]...)
		}
		frames = append(frames, f)
	}
	return frames
}

func never(int) bool  { return false }
func always(int) bool { return true }

// replayPlan sends a program's sequence on the given queues.
func replayPlan(p *program.Program, queues int) engine.Plan {
	return engine.Plan{Program: p, Run: testRun, IDBase: idBase, Queues: queues, Stamp: engine.StampFrame}
}

// expectReplay is what a receiver is told of it: what has no signature is known by its addresses.
func expectReplay(p engine.Plan) engine.Expect {
	e := expect(p)
	e.SrcMACs, e.EtherTypes, e.VLANs = [][6]byte{{2, 0, 0, 0, 0, 1}}, []uint16{packet.EtherIPv4}, 1
	return e
}
