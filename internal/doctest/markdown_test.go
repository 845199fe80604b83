package doctest

import (
	"slices"
	"strings"
	"testing"
)

// A block is a fenced piece of a page.
type block struct {
	line  int      // of its first line, from 1
	words []string // behind the fence: language first
	text  string
}

func (b block) has(word string) bool { return slices.Contains(b.words, word) }

// shell: its lines are commands.
func (b block) shell() bool {
	return len(b.words) > 0 && slices.Contains([]string{"sh", "bash"}, b.words[0])
}

func (b block) runs() bool { return b.shell() && b.has("run") }

// blocks finds the fenced blocks of a page.
func blocks(page string) (all []block) {
	var open *block
	n := 0
	for line := range strings.Lines(page) {
		n++
		info, fence := strings.CutPrefix(strings.TrimSpace(line), "```")
		switch {
		case fence && open == nil:
			open = &block{line: n + 1, words: strings.Fields(info)}
		case fence:
			all = append(all, *open)
			open = nil
		case open != nil:
			open.text += line
		}
	}
	return all
}

// A command is one line that calls wirespeed.
type command struct {
	line int
	args []string
}

// commands finds the calls of wirespeed in a shell block: alone, behind sudo, in a pipe, or as go run ./cmd/wirespeed.
func commands(b block) (all []command) {
	joined := strings.ReplaceAll(b.text, "\\\n", "\x00")
	n := b.line
	for line := range strings.Lines(joined) {
		for _, words := range simple(strings.ReplaceAll(line, "\x00", " ")) {
			if args, ok := wirespeed(words); ok {
				all = append(all, command{n, args})
			}
		}
		n += 1 + strings.Count(line, "\x00")
	}
	return all
}

// prefixes stand before the program in documents.
var prefixes = []string{"$", "sudo", "exec", "time", "!"}

func wirespeed(words []string) ([]string, bool) {
	for len(words) > 0 && slices.Contains(prefixes, words[0]) {
		words = words[1:]
	}
	for _, name := range [][]string{{"wirespeed"}, {"./wirespeed"}, {"go", "run", "./cmd/wirespeed"}} {
		if len(words) >= len(name) && slices.Equal(words[:len(name)], name) {
			return words[len(name):], true
		}
	}
	return nil, false
}

// simple splits a line into simple commands, each into words: quotes are taken away, comments and redirections too. It
// knows as much of the shell as documents need.
func simple(line string) (all [][]string) {
	var words []string
	var word strings.Builder
	var quote rune
	inWord := false
	endWord := func() {
		if inWord {
			words = append(words, word.String())
		}
		word.Reset()
		inWord = false
	}
	endCommand := func() {
		endWord()
		if words = withoutRedirections(words); len(words) > 0 {
			all = append(all, words)
		}
		words = nil
	}
	for i, c := range line {
		switch {
		case quote != 0 && c == quote:
			quote = 0
		case quote != 0:
			word.WriteRune(c)
		case c == '\'' || c == '"':
			quote, inWord = c, true
		case c == '#' && !inWord:
			endCommand()
			return all
		case c == ' ' || c == '\t' || c == '\n':
			endWord()
		case c == '&' && i > 0 && line[i-1] == '>': // 2>&1
			word.WriteRune(c)
		case c == '|' || c == ';' || c == '&' || c == '(' || c == ')':
			endCommand()
		default:
			word.WriteRune(c)
			inWord = true
		}
	}
	endCommand()
	return all
}

func withoutRedirections(words []string) (kept []string) {
	for i := 0; i < len(words); i++ {
		w := strings.TrimLeft(words[i], "012")
		switch {
		case w == ">" || w == ">>" || w == "<":
			i++ // and the file
		case strings.HasPrefix(w, ">") || strings.HasPrefix(w, "<"):
		default:
			kept = append(kept, words[i])
		}
	}
	return kept
}

func TestCommandsAreFound(t *testing.T) {
	page := "text\n\n```sh run root\n" +
		"sudo wirespeed send va --count 10 > out.json   # ten frames\n" +
		"wirespeed send va \\\n  --src-port 'inc(1,1,5)' | grep x && ./wirespeed ports 2>&1\n" +
		"# wirespeed comment\n" +
		"wait; go run ./cmd/wirespeed demo\n" +
		"```\n\n```text\nwirespeed says\n```\n"
	all := blocks(page)
	if len(all) != 2 || !all[0].runs() || !all[0].has("root") || all[1].shell() {
		t.Fatalf("blocks %+v", all)
	}
	want := []command{
		{4, []string{"send", "va", "--count", "10"}},
		{5, []string{"send", "va", "--src-port", "inc(1,1,5)"}},
		{5, []string{"ports"}},
		{8, []string{"demo"}},
	}
	got := commands(all[0])
	if !slices.EqualFunc(got, want, func(a, b command) bool { return a.line == b.line && slices.Equal(a.args, b.args) }) {
		t.Errorf("commands %v, want %v", got, want)
	}
}
