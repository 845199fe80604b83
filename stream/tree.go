package stream

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
)

// What is read at most; all far beyond any definition a person writes. The parser recurses, and its time grows with the
// square of the depth, so depth is bounded before it begins.
const (
	maxFile  = 1 << 20
	maxDepth = 32  // of mappings and lists
	maxOpen  = 256 // brackets that are open at once, and indicators such as "- " at the start of one line
	// The parser's time grows with the square of the keys of one mapping, and of the documents.
	maxKeyLines  = 1 << 14 // lines with a colon
	maxDocuments = 8       // lines that begin a document
)

// node is a value of a YAML or JSON file with its place. Scalars are kept as they were written: 0x88a8 stays 0x88a8, and
// 02:00:00:00:00:02 is nobody's number in base 60.
type node struct {
	pos
	kind nodeKind
	text string  // scalar
	keys []keyed // mapping, in the order of the file
	list []*node // sequence
	flow bool    // mapping or sequence in { } or [ ]
}

type nodeKind uint8

const (
	scalar nodeKind = iota
	empty           // nothing, null or ~
	mapping
	sequence
	refused // a mistake that was already noted: nothing more is said about it
)

func (k nodeKind) String() string {
	return [...]string{"a single value", "nothing", "a mapping", "a list", "refused"}[k]
}

type keyed struct {
	pos
	name  string
	value *node
}

// readTree parses one YAML or JSON document. It returns nil after a mistake that leaves nothing to look at.
func readTree(data []byte, n *notes) *node {
	start := pos{1, 1}
	if len(data) > maxFile {
		n.add(start, "", fmt.Sprintf("the file has %d bytes, more than the %d that a definition may have", len(data), maxFile), "use a modifier instead of a long list")
		return nil
	}
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	if t := bytes.TrimLeft(data, " \t\r\n"); len(t) > 0 && (t[0] == '{' || t[0] == '[') {
		// JSON may be indented with tabs, YAML may not. Strings of JSON hold no raw tab, so nothing else changes.
		data = bytes.ReplaceAll(data, []byte{'\t'}, []byte{' '})
	}
	if p, deep := tooDeep(data); deep {
		n.add(p, "", "nested too deep", fmt.Sprintf("a definition needs no more than %d levels", maxDepth))
		return nil
	}
	if p, what := tooMany(data); what != "" {
		n.add(p, "", what, "use modifiers and sizes that vary instead of more streams")
		return nil
	}
	file, err := parseYAML(data)
	if err != nil {
		p, message := start, ""
		if ye, ok := errors.AsType[yaml.Error](err); ok {
			message = ye.GetMessage() // Error would print the source, in time that grows with the square of its length
			if t := ye.GetToken(); t != nil && t.Position != nil {
				p = pos{max(1, t.Position.Line), max(1, t.Position.Column)}
			}
		} else {
			message = err.Error()
		}
		n.add(p, "", "not YAML or JSON: "+shorten(firstLine(message)), "look at the indentation, the brackets and the quotes around here")
		return nil
	}
	var docs []ast.Node
	for _, d := range file.Docs {
		if d != nil && d.Body != nil && d.Body.Type() != ast.CommentType {
			docs = append(docs, d.Body)
		}
	}
	if len(docs) == 0 {
		n.add(start, "", "the file is empty", "a definition has at least `streams:` with one stream")
		return nil
	}
	if len(docs) > 1 {
		n.add(place(docs[1], start), "", "a second document begins here", "a file holds one definition: put all streams under one `streams:`")
	}
	return convert(docs[0], start, 0, n)
}

// tooDeep finds where more is opened than any definition needs. It does not know quotes and comments: the limit is far
// above what they hold.
func tooDeep(data []byte) (pos, bool) {
	open, number := 0, 0
	for line := range bytes.Lines(data) {
		number++
		starts, leading := 0, true
		for column, c := range line {
			switch c {
			case '[', '{':
				open++
			case ']', '}':
				open = max(0, open-1)
			case '-', '?', '&', '*', '!', ':':
				if leading {
					starts++
				}
			case ' ', '\t':
			default:
				leading = false
			}
			if open > maxOpen || starts > maxOpen {
				return pos{number, column + 1}, true
			}
		}
	}
	return pos{}, false
}

// tooMany finds where there is more of something than any definition needs; what is empty where there is not.
func tooMany(data []byte) (p pos, what string) {
	keys, docs, number := 0, 0, 0
	for line := range bytes.Lines(data) {
		number++
		if bytes.HasPrefix(line, []byte("---")) {
			docs++
		}
		if bytes.IndexByte(line, ':') >= 0 {
			keys++
		}
		switch {
		case docs > maxDocuments:
			return pos{number, 1}, fmt.Sprintf("more than %d documents", maxDocuments)
		case keys > maxKeyLines:
			return pos{number, 1}, fmt.Sprintf("more than %d lines with keys", maxKeyLines)
		}
	}
	return pos{}, ""
}

// parseYAML guards against faults of the YAML parser: whatever the bytes are, the caller gets an error, not a crash.
func parseYAML(data []byte) (f *ast.File, err error) {
	defer func() {
		if r := recover(); r != nil {
			f, err = nil, fmt.Errorf("the parser cannot read it (%v)", r)
		}
	}()
	return parser.ParseBytes(data, 0, parser.AllowDuplicateMapKey())
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(s, "\n")
	return line
}

// place is where a node begins, or fallback where the parser does not say.
func place(a ast.Node, fallback pos) pos {
	if m, ok := a.(*ast.MappingNode); ok && !m.IsFlowStyle && len(m.Values) > 0 {
		return place(m.Values[0].Key, fallback) // its own token is the first colon
	}
	if m, ok := a.(*ast.MappingValueNode); ok {
		return place(m.Key, fallback)
	}
	if a == nil || a.GetToken() == nil || a.GetToken().Position == nil {
		return fallback
	}
	p := a.GetToken().Position
	if p.Line < 1 || p.Column < 1 {
		return fallback
	}
	return pos{p.Line, p.Column}
}

// convert turns the parser's node into ours; what a definition may not hold becomes a mistake and an empty node.
func convert(a ast.Node, outer pos, depth int, n *notes) *node {
	out := &node{pos: place(a, outer), kind: empty}
	if depth > maxDepth {
		out.kind = refused
		n.add(out.pos, "", "nested too deep", fmt.Sprintf("a definition needs no more than %d levels", maxDepth))
		return out
	}
	switch v := a.(type) {
	case nil, *ast.NullNode:
	case *ast.MappingNode:
		out.kind, out.flow = mapping, v.IsFlowStyle
		for _, kv := range v.Values {
			addKey(out, kv, depth, n)
		}
	case *ast.MappingValueNode:
		out.kind = mapping
		addKey(out, v, depth, n)
	case *ast.SequenceNode:
		out.kind, out.flow = sequence, v.IsFlowStyle
		for _, e := range v.Values {
			out.list = append(out.list, convert(e, out.pos, depth+1, n))
		}
	case *ast.StringNode:
		out.kind, out.text = scalar, v.Value
	case *ast.LiteralNode:
		out.kind, out.text = scalar, v.Value.Value
	case *ast.AnchorNode, *ast.AliasNode, *ast.TagNode, *ast.MergeKeyNode:
		out.kind = refused
		n.add(out.pos, "", "anchors, aliases, merge keys and tags are not read", "write the value out")
	case ast.ScalarNode:
		out.kind = scalar
		if t := v.GetToken(); t != nil {
			out.text = t.Value
		}
	default:
		out.kind = refused
		n.add(out.pos, "", "this kind of YAML value is not read", "write a value, a mapping or a list")
	}
	return out
}

func addKey(m *node, kv *ast.MappingValueNode, depth int, n *notes) {
	p := place(kv.Key, m.pos)
	key, ok := kv.Key.(ast.ScalarNode)
	if !ok || kv.Key.Type() == ast.MergeKeyType {
		n.add(p, "", "a key must be a plain word", "write `key: value`")
		return
	}
	name := ""
	if s, isString := kv.Key.(*ast.StringNode); isString {
		name = s.Value
	} else if t := key.GetToken(); t != nil {
		name = t.Value
	}
	m.keys = append(m.keys, keyed{pos: p, name: name, value: convert(kv.Value, p, depth+1, n)})
}
