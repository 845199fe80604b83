package stream

import (
	"cmp"
	"encoding/hex"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/wirespeed/wirespeed/internal/packet"
)

// maxLayers is the most headers of one stream: more than any frame has that somebody takes apart.
const maxLayers = 64

// NewLayer gives a kind the shape that the fields and the data ask for, and finds the fields in it. The error is one
// sentence. Fields are those of the kind, in any order; data is nil where the user gave none.
func NewLayer(kind *packet.Kind, fields []FieldValue, data []byte) (Layer, error) {
	l := Layer{Kind: kind, Fields: slices.Clone(fields)}
	if kind.Shape == nil {
		if len(data) > 0 {
			return l, fmt.Errorf("%s has no room for data", kind.Name)
		}
		return l, nil
	}
	shaped, err := kind.Shape(l.Has, data)
	if err != nil {
		return l, err
	}
	shaped.Follows = kind.Follows // a shape changes nothing about its neighbours
	l.Kind = shaped
	if shaped.Data != nil {
		l.Data = shaped.Data.Bytes
	}
	for i, v := range l.Fields {
		if l.Fields[i].Field = shaped.Field(v.Field.Name); l.Fields[i].Field == nil {
			return l, fmt.Errorf("%s has no %s in this shape", kind.Name, v.Field.Name)
		}
	}
	return l, nil
}

// layers reads the list of headers. A header without fields may be written as its name alone.
func (d *decoder) layers(v *node, at located, src *source) []Layer {
	const mend = "begin each header with a dash, the outermost first: `- eth`"
	if d.is(v, sequence, at, "needs a list of headers", mend) && len(v.list) == 0 {
		d.at(at, "the list of headers is empty", mend)
	}
	src.broken = src.broken || len(v.list) == 0
	if len(v.list) > maxLayers {
		d.at(at, fmt.Sprintf("%d headers", len(v.list)), fmt.Sprintf("a stream has up to %d", maxLayers))
		src.broken = true
		return nil
	}
	var out []Layer
	for i, e := range v.list {
		l, here, ok := d.layer(e, located{e.pos, fmt.Sprintf("%s[%d]", at.path, i)})
		if !ok {
			src.broken = true
			continue
		}
		out = append(out, l)
		src.layers = append(src.layers, here)
	}
	return out
}

// layerSource is where a header and its fields stood.
type layerSource struct {
	located
	fields map[string]located
}

// of is the place of a field, or of the header where the field was not given.
func (l *layerSource) of(field string) located {
	if at, ok := l.fields[field]; ok {
		return at
	}
	return l.located
}

// layer reads one header; ok is false after a mistake that leaves its kind or its length unknown.
func (d *decoder) layer(e *node, at located) (l Layer, src layerSource, ok bool) {
	name, body := keyed{pos: e.pos, name: e.text}, &node{pos: e.pos, kind: empty}
	src.located = at
	switch {
	case e.kind == scalar:
	case e.kind == mapping && len(e.keys) == 1:
		name, body = e.keys[0], e.keys[0].value
	case e.kind == mapping && len(e.keys) > 1:
		d.at(located{e.keys[1].pos, at.path}, "a header is one key", "begin each header with a dash of its own, and indent its fields below its name")
		return l, src, false
	case e.kind == refused:
		return l, src, false
	default:
		d.at(at, "a header is needed", "known: "+strings.Join(kindNames(), ", "))
		return l, src, false
	}
	kind := d.kind(name.name)
	if kind == nil {
		message, mend := unknown("header", name.name, kindNames())
		d.at(located{name.pos, at.path}, message, mend)
		return l, src, false
	}
	src.located = located{name.pos, join(at.path, kind.Name)}
	b := layerBody{kind: kind, values: make([]*Value, len(kind.Fields)), places: map[string]located{}}
	switch {
	case body.kind == empty:
	case body.kind != mapping && kind.Data != nil && len(kind.Fields) == 0: // - raw: hex:DEADBEEF
		d.data(body, located{body.pos, src.path}, &b)
	default:
		d.body(body, src.located, &b)
	}
	src.fields = b.places
	if b.broken {
		return l, src, false
	}
	l, err := NewLayer(kind, inOrder(kind, b.values), b.data)
	if err != nil {
		return l, src, !d.fault(src.located, faultOf(err))
	}
	return l, src, true
}

// layerBody is what was given for one header.
type layerBody struct {
	kind   *packet.Kind
	values []*Value // by field of the kind
	places map[string]located
	data   []byte
	broken bool // the data is wrong: the length is unknown
}

// body reads the fields of one header, in whatever order.
func (d *decoder) body(v *node, at located, b *layerBody) {
	for i, k := range v.keys { // ip.ttl is as good as ttl
		for _, prefix := range []string{b.kind.Name, cmp.Or(b.kind.Prefix, b.kind.Name)} {
			if name, ok := strings.CutPrefix(k.name, prefix+"."); ok {
				v.keys[i].name = name
			}
		}
	}
	d.keys(v, at, "header "+b.kind.Name, fieldNames(b.kind), func(i int, k keyed, at located) {
		if i == len(b.kind.Fields) {
			d.data(k.value, at, b)
			return
		}
		f := &b.kind.Fields[i]
		b.places[f.Name] = at
		b.values[i] = &Value{} // whatever is wrong with it: that it was given is known
		d.scalar(k.value, at, func(t string) *fault {
			val, bad := parseValue(f, t)
			if bad == nil {
				b.values[i] = &val
			}
			return bad
		})
	})
}

func inOrder(kind *packet.Kind, values []*Value) []FieldValue {
	var out []FieldValue
	for i, v := range values {
		if v != nil {
			out = append(out, FieldValue{Field: &kind.Fields[i], Value: *v})
		}
	}
	return out
}

// kind is packet.Lookup with one table for all headers of the definition.
func (d *decoder) kind(name string) *packet.Kind {
	if d.kinds == nil {
		d.kinds = map[string]*packet.Kind{}
		for _, k := range packet.Kinds() {
			d.kinds[k.Name] = k
		}
	}
	return d.kinds[name]
}

func kindNames() []string {
	var names []string
	for _, k := range packet.Kinds() {
		names = append(names, k.Name)
	}
	return names
}

// fieldNames are the keys that a header takes: its fields, and last its data.
func fieldNames(k *packet.Kind) []string {
	var names []string
	for i := range k.Fields {
		names = append(names, k.Fields[i].Name)
	}
	if k.Data != nil {
		names = append(names, k.Data.Name)
	}
	return names
}

// data reads the bytes behind a header's fields: one value, or a list of them one after the other.
func (d *decoder) data(v *node, at located, b *layerBody) {
	parts := []*node{v}
	if v.kind == sequence {
		parts = v.list
	}
	b.data = []byte{} // given, if empty
	for _, p := range parts {
		if p.kind != scalar {
			d.is(p, scalar, located{p.pos, at.path}, "needs a value", "write "+dataForms(b.kind.Data)+"; inside { } put each in quotes")
			b.broken = true
			continue
		}
		bytes, bad := parseLayerData(b.kind.Data, p.text)
		if d.fault(located{p.pos, at.path}, bad) {
			b.broken = true
		}
		b.data = append(b.data, bytes...)
	}
}

func dataForms(d *packet.Data) string {
	if d.Type == packet.IPv6 {
		return "addresses, one behind the other: 2001:2::1, 2001:2::2"
	}
	return "hex:DEADBEEF, DEADBEEF or text:hello"
}

// parseLayerData reads hex:..., text:..., digits alone or, where there are addresses, those.
func parseLayerData(d *packet.Data, text string) ([]byte, *fault) {
	if t, ok := strings.CutPrefix(text, "text:"); ok {
		return []byte(t), nil
	}
	bare := strings.TrimSpace(text)
	t, isHex := strings.CutPrefix(bare, "hex:")
	if !isHex && d.Type == packet.IPv6 {
		return parseAddresses(bare)
	}
	bytes, err := parseHex(strings.TrimPrefix(t, "0x"))
	if err != nil {
		return nil, &fault{fmt.Sprintf("%q is not pairs of hexadecimal digits", shorten(t)), "write " + dataForms(d)}
	}
	return bytes, nil
}

func parseAddresses(text string) ([]byte, *fault) {
	var out []byte
	for p := range strings.SplitSeq(text, ",") {
		a, err := netip.ParseAddr(strings.TrimSpace(p))
		if err != nil || !a.Is6() || a.Zone() != "" {
			return nil, &fault{fmt.Sprintf("%q is not an IPv6 address", shorten(p)), "write 2001:2::1, 2001:2::2, or all bytes as hex:..."}
		}
		b := a.As16()
		out = append(out, b[:]...)
	}
	return out, nil
}

// parseHex reads pairs of hexadecimal digits, between which there may be blanks and colons.
func parseHex(text string) ([]byte, error) {
	b, err := hex.DecodeString(strings.NewReplacer(" ", "", ":", "", "\n", "").Replace(text))
	if err == nil && len(b) == 0 {
		return nil, errors.New("nothing")
	}
	return b, err
}
