package stream

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// A Mistake is one thing that is wrong in a definition.
type Mistake struct {
	File         string // as given to Parse; empty for flags
	Line, Column int    // from 1; both 0 for flags, whose Path is the flag
	Path         string // streams[0].layers[1].ip.ttl, or --ttl
	Message      string // what is wrong
	Mend         string // what to write instead
}

// Error is one line: position, path, what is wrong and the mend.
func (m Mistake) Error() string {
	var b strings.Builder
	if m.Line > 0 {
		fmt.Fprintf(&b, "%s:%d:%d: ", cmp.Or(m.File, "stream"), m.Line, m.Column)
	}
	if m.Path != "" {
		b.WriteString(m.Path + ": ")
	}
	b.WriteString(m.Message)
	if m.Mend != "" {
		b.WriteString("; " + m.Mend)
	}
	return b.String()
}

// Errors are all mistakes of one definition, in the order of their positions. It is never empty as an error.
type Errors []Mistake

// Error has one line for each mistake.
func (e Errors) Error() string {
	lines := make([]string, len(e))
	for i, m := range e {
		lines[i] = m.Error()
	}
	return strings.Join(lines, "\n")
}

// pos is a place in a file; the zero pos belongs to a flag.
type pos struct{ line, col int }

// notes collects mistakes. The same mistake at the same place is kept once.
type notes struct {
	file string
	list Errors
	seen map[Mistake]bool
}

// maxMistakes are noted at most: more would hide each other.
const maxMistakes = 1000

func (n *notes) add(p pos, path, message, mend string) {
	if len(n.list) >= maxMistakes {
		return
	}
	if len(n.list) == maxMistakes-1 {
		path, message, mend = "", fmt.Sprintf("there are more than %d mistakes", maxMistakes-1), "mend those first"
	}
	m := Mistake{File: n.file, Line: p.line, Column: p.col, Path: path, Message: message, Mend: mend}
	if n.seen[m] {
		return
	}
	if n.seen == nil {
		n.seen = map[Mistake]bool{}
	}
	n.seen[m] = true
	n.list = append(n.list, m)
}

// err is nil without mistakes, else an Errors in the order of positions.
func (n *notes) err() error {
	if len(n.list) == 0 {
		return nil
	}
	slices.SortStableFunc(n.list, func(a, b Mistake) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	return n.list
}

// nearest is the known word with the smallest edit distance to word, where that distance is small enough to be a slip of
// the finger; else empty.
func nearest(word string, known []string) string {
	word = strings.ToLower(word)
	limit := max(1, min(3, len(word)/2))
	best, at := "", limit+1
	for _, k := range known {
		if d := distance(word, strings.ToLower(k)); d < at {
			best, at = k, d
		}
	}
	return best
}

// distance counts insertions, deletions, substitutions and swaps of neighbours (restricted Damerau-Levenshtein). Words
// beyond 64 bytes are nobody's slip and are cut.
func distance(a, b string) int {
	a, b = a[:min(len(a), 64)], b[:min(len(b), 64)]
	var rows [3][65]int
	before, last, now := &rows[0], &rows[1], &rows[2]
	for j := range len(b) + 1 {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		now[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			now[j] = min(last[j]+1, now[j-1]+1, last[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				now[j] = min(now[j], before[j-2]+1)
			}
		}
		before, last, now = last, now, before
	}
	return last[len(b)]
}

// unknown is the message and mend for a word that is not among the known ones.
func unknown(what, word string, known []string) (message, mend string) {
	message = fmt.Sprintf("unknown %s %q", what, shorten(word))
	if n := nearest(word, known); n != "" {
		return message, fmt.Sprintf("did you mean %q?", n)
	}
	return message, "known: " + strings.Join(known, ", ")
}

// shorten keeps what a user wrote from flooding the message.
func shorten(s string) string {
	const most = 60
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "..."
}

// fault is a mistake that does not yet know its place.
type fault struct{ message, mend string }

// faultOf takes an error of the form "what is wrong: what to write" apart, at the first colon or semicolon outside quotes;
// nil for nil.
func faultOf(err error) *fault {
	if err == nil {
		return nil
	}
	text, quoted := err.Error(), false
	for i := 0; i+1 < len(text); i++ {
		switch {
		case text[i] == '\\' && quoted:
			i++
		case text[i] == '"':
			quoted = !quoted
		case !quoted && (text[i] == ':' || text[i] == ';') && text[i+1] == ' ':
			return &fault{text[:i], text[i+2:]}
		}
	}
	return &fault{message: text}
}
