package show

import (
	"encoding/hex"
	"encoding/json"
	"fmt"

	"github.com/wirespeed/wirespeed/internal/packet"
	"github.com/wirespeed/wirespeed/internal/program"
	"github.com/wirespeed/wirespeed/internal/wire"
	"github.com/wirespeed/wirespeed/stream"
)

// Schema names the version of the JSON document.
const Schema = "wirespeed.show/v1"

// MaxFrames is the most frames that are shown at once.
const MaxFrames = 100000

// Document is what a set would send: its first frames, in the order in which one queue sends them.
type Document struct {
	Schema      string   `json:"schema"`
	Rate        string   `json:"rate"`
	Streams     []Stream `json:"streams"`
	Unsupported []string `json:"unsupported"` // what is defined and no engine runs yet
	Frames      []Frame  `json:"frames"`
}

// Stream is one stream of the set.
type Stream struct {
	Name      string `json:"name"`
	Weight    int    `json:"weight"`
	Size      string `json:"size"` // as written
	Signature string `json:"signature"`
}

// Frame is one decoded frame.
type Frame struct {
	Index     int        `json:"index"`
	Stream    string     `json:"stream"`
	Size      int        `json:"size"` // bytes with FCS
	Layers    []Layer    `json:"layers"`
	Signature *Signature `json:"signature"`     // null: none
	Payload   int        `json:"payload"`       // bytes behind headers and signature
	Hex       string     `json:"hex,omitempty"` // the frame without FCS, where it was asked for
}

// Signature is the test signature of a frame.
type Signature struct {
	Form   string `json:"form"`
	Run    int    `json:"run"`
	Stream int    `json:"stream"`
	Seq    uint32 `json:"seq"`
}

// Layer is one header as the decoder read it.
type Layer struct {
	Name   string
	Fields []Field
	// ChecksumOK says whether the decoder found the checksum right; nil where the header has none.
	ChecksumOK *bool
	// Problem is what the decoder could not read; empty where it could.
	Problem string
}

// Field is one field: a number or a text.
type Field struct {
	Name  string
	Value any
}

// MarshalJSON writes a layer as one object: {"layer":"ip","ttl":1,...}.
func (l Layer) MarshalJSON() ([]byte, error) {
	m := map[string]any{"layer": l.Name}
	for _, f := range l.Fields {
		m[f.Name] = f.Value
	}
	if l.ChecksumOK != nil {
		m["checksum_ok"] = *l.ChecksumOK
	}
	if l.Problem != "" {
		m["problem"] = l.Problem
	}
	return json.Marshal(m)
}

// Make compiles the set and decodes its first n frames, 1 to MaxFrames; dump keeps their bytes too. The run id and the time
// in signatures are 0.
func Make(set *stream.Set, n int, dump bool) (*Document, error) {
	if n < 1 || n > MaxFrames {
		return nil, fmt.Errorf("%d frames cannot be shown: give a number from 1 to %d", n, MaxFrames)
	}
	p, err := program.Compile(set)
	if err != nil {
		return nil, err
	}
	b := program.Binding{Queues: 1, TimeKind: packet.TimeNone}
	if err := p.CheckBinding(b); err != nil {
		return nil, err
	}
	doc := &Document{Schema: Schema, Rate: set.Rate.String(), Unsupported: set.Unsupported()}
	if doc.Unsupported == nil {
		doc.Unsupported = []string{}
	}
	longest := 0
	for i := range p.Streams {
		s := &p.Streams[i]
		longest = max(longest, s.Lens[len(s.Lens)-1])
		doc.Streams = append(doc.Streams, Stream{Name: s.Name, Weight: s.Set.Weight, Size: s.Set.Size.Text, Signature: s.Form.String()})
	}
	im := p.Bind(b)
	frames := []program.Frame{{Buf: make([]byte, longest)}}
	for i := range n {
		if im.Fill(frames, 0) != 1 {
			return nil, fmt.Errorf("frame %d cannot be made", i)
		}
		f := &frames[0]
		raw := f.Buf[:f.Len]
		shown := decode(i, &p.Streams[f.Stream], raw)
		if dump {
			shown.Hex = hex.EncodeToString(raw)
		}
		doc.Frames = append(doc.Frames, shown)
	}
	return doc, nil
}

func decode(index int, s *program.Stream, raw []byte) Frame {
	f := Frame{Index: index, Stream: s.Name, Size: len(raw) + wire.FCS}
	f.Layers = layersOf(raw, s.SigOff)
	f.Payload = len(raw) - s.SigOff
	if sig, ok := packet.ParseSignature(raw[s.SigOff:]); ok && s.Form != packet.FormNone {
		f.Signature = &Signature{Form: sig.Form.String(), Run: int(sig.Run), Stream: int(sig.Stream), Seq: sig.Seq}
		f.Payload -= sig.Form.Len()
	}
	return f
}
