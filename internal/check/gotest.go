package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"time"
)

// tally counts checks and tests.
type tally struct {
	passed  int
	failed  []string
	skipped []string // with the reason
}

func (t *tally) fail(name string) { t.failed = append(t.failed, name) }

// event is a line of `go test -json`; see `go doc test2json` and `go help buildjson`.
type event struct {
	Action     string
	Package    string
	ImportPath string // of build events
	Test       string
	Output     string
}

// goTest runs go test and shows the closing line of every package, and the whole output of what failed.
func (r *runner) goTest(name string, env []string, args ...string) {
	began := time.Now()
	fmt.Fprintf(r.out, "go test: %s\n", name)
	cmd := exec.CommandContext(r.ctx, "go", append([]string{"test", "-json"}, args...)...)
	cmd.Env = append(os.Environ(), env...)
	cmd.Stderr = r.out
	pipe, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		r.tally.fail(name)
		fmt.Fprintln(r.out, "FAIL ", name, err)
		return
	}
	before := len(r.tally.failed)
	err = r.tally.read(pipe, r.out)
	if wait := cmd.Wait(); err == nil {
		err = wait
	}
	if err != nil && len(r.tally.failed) == before { // go test failed, yet no test said so
		r.tally.fail(name + ": " + err.Error())
	}
	fmt.Fprintf(r.out, "go test: %s: %.1fs\n", name, time.Since(began).Seconds())
}

// key is one test, or with an empty test a package.
type key struct{ pkg, test string }

// read adds the events of one go test.
func (t *tally) read(events io.Reader, out io.Writer) error {
	output := map[key]*strings.Builder{}
	ended := map[key]bool{} // tests below which an end has been counted
	lines := bufio.NewScanner(events)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		var e event
		if json.Unmarshal(lines.Bytes(), &e) != nil { // not an event: something of the go command itself
			fmt.Fprintln(out, lines.Text())
			continue
		}
		t.event(e, output, ended, out)
	}
	return lines.Err()
}

func (t *tally) event(e event, output map[key]*strings.Builder, ended map[key]bool, out io.Writer) {
	k := key{e.Package, e.Test}
	switch e.Action {
	case "build-output":
		fmt.Fprint(out, e.Output)
	case "output":
		if e.Test == "" && isClosing(e.Output) {
			fmt.Fprint(out, e.Output)
			return
		}
		b := output[k]
		if b == nil {
			b = &strings.Builder{}
			output[k] = b
		}
		b.WriteString(e.Output)
	case "pass":
		if e.Test != "" {
			t.passed++
		}
		delete(output, k)
	case "skip":
		if e.Test != "" {
			t.skipped = append(t.skipped, name(k)+": "+reason(output[k]))
		}
		delete(output, k)
	case "fail":
		t.failEvent(k, output, ended, out)
	}
}

// failEvent counts a failed test once, not its parents and its package again.
func (t *tally) failEvent(k key, output map[key]*strings.Builder, ended map[key]bool, out io.Writer) {
	if b := output[k]; b != nil {
		fmt.Fprint(out, b.String())
	}
	delete(output, k)
	if !ended[k] {
		t.fail(name(k))
		for o, b := range output { // a panic or a time limit ends a package with tests still open
			if k.test == "" && o.pkg == k.pkg && o.test != "" {
				fmt.Fprint(out, b.String())
			}
		}
	}
	ended[key{k.pkg, ""}] = true
	for parent := k.test; parent != ""; {
		i := max(strings.LastIndexByte(parent, '/'), 0)
		parent = parent[:i]
		ended[key{k.pkg, parent}] = true
	}
}

func name(k key) string {
	short := k.pkg[strings.LastIndexByte(k.pkg, '/')+1:]
	if k.test == "" {
		return k.pkg
	}
	return short + "." + k.test
}

// isClosing: go test's own line about a package.
func isClosing(line string) bool {
	return strings.HasPrefix(line, "ok  \t") || strings.HasPrefix(line, "FAIL\t") || strings.HasPrefix(line, "?   \t")
}

// reason is what a skipped test said: the line before "--- SKIP", without the file's name.
func reason(b *strings.Builder) string {
	if b == nil {
		return "no reason given"
	}
	why := "no reason given"
	for line := range strings.Lines(b.String()) {
		line = strings.TrimSpace(line)
		if _, text, ok := strings.Cut(line, ".go:"); ok {
			if _, text, ok = strings.Cut(text, ": "); ok {
				why = text
			}
		}
	}
	return why
}
