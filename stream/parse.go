package stream

import (
	"fmt"
	"strings"
	"time"

	"github.com/wirespeed/wirespeed/internal/packet"
	"github.com/wirespeed/wirespeed/internal/wire"
)

// Parse reads a definition in YAML or JSON; name is the file's name for messages. It is strict: what it does not know is
// a mistake. The error is an Errors with every mistake of the file, each with line and column.
func Parse(name string, data []byte) (*Set, error) {
	n := &notes{file: name}
	root := readTree(data, n)
	if root == nil {
		return nil, n.err()
	}
	d := &decoder{notes: n}
	set := d.set(root)
	if d.replaying != nil {
		d.replaying.check(n, d.rated)
	}
	check(set, d.sources, n)
	if err := n.err(); err != nil {
		return nil, err
	}
	return set, nil
}

// decoder turns a tree into a Set and remembers where the parts stood.
type decoder struct {
	*notes
	sources   []source
	replaying *replaySource // nil: streams are sent
	rated     bool          // a common rate was given
	kinds     map[string]*packet.Kind
}

// located is a place and its name.
type located struct {
	pos
	path string
}

// source says where the parts of one stream came from; a part that was not given has the place of the stream.
type source struct {
	stream, name, weight, size, signature, rate located
	layers                                      []layerSource
	modify                                      []located // payload fields
	sized                                       bool      // a size was given and understood
	broken                                      bool      // a layer is missing or wrong: lengths are unknown
}

func (n *notes) at(l located, message, mend string) { n.add(l.pos, l.path, message, mend) }

func (n *notes) fault(l located, bad *fault) bool {
	if bad != nil {
		n.at(l, bad.message, bad.mend)
	}
	return bad != nil
}

// field is one key that a mapping may have.
type field struct {
	name string
	read func(v *node, at located)
}

// mapping walks the keys of v, which must be a mapping, and calls the reader of each; unknown and repeated keys are
// mistakes.
func (d *decoder) mapping(v *node, at located, what string, fields []field) {
	known := make([]string, len(fields))
	for i, f := range fields {
		known[i] = f.name
	}
	d.keys(v, at, what, known, func(i int, k keyed, at located) { fields[i].read(k.value, at) })
}

// keys is mapping for any list of known keys.
func (d *decoder) keys(v *node, at located, what string, known []string, read func(i int, k keyed, at located)) {
	if !d.is(v, mapping, at, what+" must be a mapping", "its keys are "+strings.Join(known, ", ")) {
		return
	}
	seen := make(map[string]pos, len(v.keys))
	torn := false // inside a value that YAML has cut at its commas
	for _, k := range v.keys {
		here := located{k.pos, join(at.path, k.name)}
		if torn && k.value.kind == empty {
			torn = !strings.HasSuffix(k.name, ")")
			continue
		}
		torn = v.flow && k.value.kind == scalar && strings.Contains(k.value.text, "(") && !strings.Contains(k.value.text, ")")
		if torn {
			d.at(located{k.value.pos, here.path}, "inside { } a comma ends the value",
				fmt.Sprintf(`put it in quotes: %s: "%s,...)"`, k.name, k.value.text))
			continue
		}
		i := index(known, k.name)
		if i < 0 {
			message, mend := unknown("key", k.name, known)
			d.at(located{k.pos, at.path}, message, mend)
			continue
		}
		if first, again := seen[known[i]]; again {
			d.at(here, fmt.Sprintf("key %q was given before, in line %d", k.name, first.line), "keep one of them")
			continue
		}
		seen[known[i]] = k.pos
		here.pos = k.value.pos
		read(i, k, here)
	}
}

func index(known []string, name string) int {
	for i, k := range known {
		if k == name {
			return i
		}
	}
	return -1
}

func join(path, name string) string {
	if path == "" {
		return shorten(name)
	}
	return path + "." + shorten(name)
}

// scalar gives the text of a single value; anything else is a mistake.
func (d *decoder) scalar(v *node, at located, read func(text string) *fault) {
	if d.is(v, scalar, at, "needs a single value", "write it behind the colon") {
		d.fault(at, read(v.text))
	}
}

// is reports whether the value is of the kind; if not, that is a mistake, unless it is one already.
func (d *decoder) is(v *node, kind nodeKind, at located, needs, mend string) bool {
	if v.kind != kind && v.kind != refused {
		d.at(at, needs+", not "+v.kind.String(), mend)
	}
	return v.kind == kind
}

func (d *decoder) set(root *node) *Set {
	s := &Set{}
	at := located{pos: root.pos}
	found := false
	d.mapping(root, at, "a definition", []field{
		{"rate", func(v *node, at located) {
			d.rated = true
			d.scalar(v, at, func(t string) (bad *fault) { s.Rate, bad = parseRate(t); return bad })
		}},
		{"replay", func(v *node, at located) {
			d.replaying = d.replay(v, at)
			s.Replay = d.replaying.replay
		}},
		{"streams", func(v *node, at located) {
			found = true
			const mend = "begin each stream with a dash: `- name: one`"
			if d.is(v, sequence, at, "needs a list of streams", mend) && len(v.list) == 0 {
				d.at(at, "the list of streams is empty", mend)
			}
			for i, e := range v.list {
				d.stream(s, e, located{e.pos, fmt.Sprintf("%s[%d]", at.path, i)})
			}
		}},
	})
	switch {
	case found && s.Replay != nil:
		d.at(at, "streams and a replay", "give one of them")
	case !found && s.Replay == nil && root.kind == mapping:
		d.at(at, "no streams", "a definition has `streams:` with at least one stream, or a `replay:`")
	}
	return s
}

func (d *decoder) stream(set *Set, v *node, at located) {
	st := Stream{Weight: 1}
	src := source{stream: at, name: at, weight: at, size: at, signature: at, rate: at}
	layers, weighted := false, false
	text := func(keep *located, read func(t string) *fault) func(*node, located) {
		return func(v *node, at located) {
			if keep != nil {
				*keep = at
			}
			d.scalar(v, at, read)
		}
	}
	d.mapping(v, at, "a stream", []field{
		{"name", text(&src.name, func(t string) *fault { st.Name = t; return checkName(t) })},
		{"weight", text(&src.weight, func(t string) (bad *fault) { weighted = true; st.Weight, bad = parseWeight(t); return bad })},
		{"size", text(&src.size, func(t string) (bad *fault) {
			st.Size, bad = parseSizes(t)
			src.sized = true
			src.broken = src.broken || bad != nil
			return bad
		})},
		{"layers", func(v *node, at located) {
			layers = true
			st.Layers = d.layers(v, at, &src)
		}},
		{"payload", func(v *node, at located) {
			d.mapping(v, at, "a payload", []field{
				{"fill", text(nil, func(t string) (bad *fault) { st.Payload, bad = parseFill(t); return bad })},
				{"modify", func(v *node, at located) { d.modify(&st, v, at, &src) }},
			})
		}},
		{"signature", text(&src.signature, func(t string) (bad *fault) { st.Signature, bad = parseSignature(t); return bad })},
		{"rate", text(&src.rate, func(t string) *fault {
			r, bad := parseRate(t)
			st.Rate = &r
			return bad
		})},
		{"start_after", text(nil, func(t string) (bad *fault) { st.StartAfter, bad = parseWait(t); return bad })},
		{"burst", text(nil, func(t string) (bad *fault) { st.Burst, bad = parseBurst(t); return bad })},
	})
	if !layers {
		src.broken = true
		if v.kind == mapping {
			d.at(at, "no layers", "give `layers:`, the outermost first: `- eth`")
		}
	}
	if st.Rate != nil && weighted {
		d.at(src.rate, "a stream has either a weight or a rate of its own", "take one of them away")
	}
	set.Streams = append(set.Streams, st)
	d.sources = append(d.sources, src)
}

func parseRate(text string) (wire.Rate, *fault) {
	r, err := wire.ParseRate(strings.TrimSpace(text))
	return r, faultOf(err)
}

// parseSizes keeps the text as it was written.
func parseSizes(text string) (Sizes, *fault) {
	text = strings.TrimSpace(text)
	w, err := wire.ParseSizes(text)
	s := Sizes{Op: SizeCycle, Cycle: w.Cycle, Min: w.Min, Max: w.Max, Seed: w.Seed, Text: text}
	if w.Random {
		s.Op = SizeRandom
	}
	return s, faultOf(err)
}

const maxWeight = 65536

func parseWeight(text string) (int, *fault) {
	w, ok := number(text)
	if !ok || w < 1 || w > maxWeight {
		return 1, &fault{fmt.Sprintf("weight %q is not a number from 1 to %d", shorten(text), maxWeight),
			"weights say how many frames of each stream there are in one round"}
	}
	return int(w), nil
}

func parseSignature(text string) (string, *fault) {
	switch text {
	case "auto":
		return "", nil
	case "full", "short", "none":
		return text, nil
	}
	message, mend := unknown("signature", text, []string{"auto", "full", "short", "none"})
	return "", &fault{message, mend}
}

func checkName(name string) *fault {
	if name == "" || len(name) > 64 || strings.ContainsFunc(name, func(r rune) bool { return r < ' ' || r == 0x7f }) {
		return &fault{fmt.Sprintf("name %q is empty, longer than 64 bytes or not on one line", shorten(name)), "give a short name"}
	}
	return nil
}

func parseWait(text string) (time.Duration, *fault) {
	d, err := time.ParseDuration(strings.TrimSpace(text))
	if err != nil || d < 0 {
		return 0, &fault{fmt.Sprintf("%q is no time from 0 on", shorten(text)), "write a number with its unit: 10ms, 1.5s"}
	}
	return d, nil
}

// parseBurst reads N/GAP: N frames back to back, begun every GAP.
func parseBurst(text string) (*Burst, *fault) {
	const mend = "write frames/time from start to start of bursts: 32/1ms"
	frames, gap, ok := strings.Cut(strings.TrimSpace(text), "/")
	if !ok {
		return nil, &fault{fmt.Sprintf("burst %q is not N/GAP", shorten(text)), mend}
	}
	n, ok := number(frames)
	if !ok || n == 0 {
		return nil, &fault{fmt.Sprintf("a burst of %q frames is no burst", shorten(frames)), mend}
	}
	d, err := time.ParseDuration(strings.TrimSpace(gap))
	if err != nil || d <= 0 {
		return nil, &fault{fmt.Sprintf("%q is no time above 0", shorten(gap)), mend}
	}
	return &Burst{Frames: n, Gap: d}, nil
}
