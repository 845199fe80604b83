package main

import (
	"bytes"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
)

// clangFile records the clang that made the committed objects: another major version makes other bytes.
const clangFile = "internal/bpf/CLANG"

// generated compiles the eBPF sources again and compares with what is committed.
func (r *runner) generated() {
	const step = "generated code is up to date"
	want, err := os.ReadFile(clangFile)
	if err != nil {
		r.tally.fail(step + ": " + err.Error())
		return
	}
	out, err := exec.CommandContext(r.ctx, "clang", "--version").Output()
	if err != nil {
		r.skip(step, "needs clang; `make install-deps` installs it")
		return
	}
	if have := major(string(out)); have != strings.TrimSpace(string(want)) {
		// Not a skip: other versions of clang are right too, and make other bytes.
		r.tally.passed++
		r.note(step, "not compared: clang "+have+" here, "+strings.TrimSpace(string(want))+" made it")
		return
	}
	before := objects()
	r.step("go generate", nil, nil, "go", "generate", "./...")
	now := objects()
	for path, old := range before {
		if !bytes.Equal(old, now[path]) {
			r.tally.fail(step + ": " + path + " differed and is made anew; look at it and commit it")
			return
		}
	}
	r.tally.passed++
}

// objects reads the committed output of bpf2go.
func objects() map[string][]byte {
	found := map[string][]byte{}
	_ = filepath.WalkDir("internal", func(path string, d fs.DirEntry, err error) error {
		if err == nil && (strings.HasSuffix(path, ".o") || strings.HasSuffix(path, "_bpfel.go") || strings.HasSuffix(path, "_bpfeb.go")) {
			if b, err := os.ReadFile(path); err == nil {
				found[path] = b
			}
		}
		return nil
	})
	return found
}

// major is the first number behind the word version.
func major(version string) string {
	m := regexp.MustCompile(`version (\d+)`).FindStringSubmatch(version)
	if m == nil {
		return "unknown"
	}
	return m[1]
}
