package show

import (
	"encoding/hex"

	"github.com/wirespeed/wirespeed/internal/packet"
	"github.com/wirespeed/wirespeed/internal/program"
	"github.com/wirespeed/wirespeed/internal/wire"
)

// MakeSequence decodes the first n frames of a sequence as they are, without what a run writes into a signature; dump keeps
// their bytes too.
func MakeSequence(p *program.Program, rate string, n int, dump bool) (*Document, error) {
	doc := &Document{Schema: Schema, Rate: rate, Unsupported: []string{}, Frames: []Frame{}}
	for i := range p.Streams {
		s := &p.Streams[i]
		doc.Streams = append(doc.Streams, Stream{Name: s.Name, Weight: s.Set.Weight, Size: s.Set.Size.Text, Signature: s.Form.String()})
	}
	q := p.Sequence
	var l packet.Layout
	for i := range q.Frames[:min(n, len(q.Frames))] {
		f := &q.Frames[i]
		raw := q.Bytes[f.At : f.At+int(f.Len)]
		l.Walk(raw)
		shown := Frame{Index: i, Stream: p.Streams[f.Stream].Name, Size: len(raw) + wire.FCS, Layers: layersOf(raw, l.Payload), Payload: l.End - l.Payload}
		if f.Sig > 0 {
			form := p.Streams[f.Stream].Form
			shown.Signature = &Signature{Form: form.String()}
			shown.Payload -= form.Len()
		}
		if dump {
			shown.Hex = hex.EncodeToString(raw)
		}
		doc.Frames = append(doc.Frames, shown)
	}
	return doc, nil
}
