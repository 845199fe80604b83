package main

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"github.com/wirespeed/wirespeed/internal/bpf"
)

// generated compiles the eBPF sources again and compares with what is committed, where the clang here is of the major
// version that made it: others are right too, and make other bytes.
func (r *runner) generated() {
	const step = "generated code is up to date"
	out, err := exec.CommandContext(r.ctx, "clang", "--version").Output()
	if err != nil {
		r.skip(step, "needs clang; `make install-deps` installs it")
		return
	}
	if have := clangMajor(string(out)); have != strconv.Itoa(bpf.ClangMajor) {
		fmt.Fprintf(r.out, "note  %s: not compared: clang %s is here, %d made it\n", step, have, bpf.ClangMajor)
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

// clangMajor is the first number behind the word version.
func clangMajor(version string) string {
	m := regexp.MustCompile(`version (\d+)`).FindStringSubmatch(version)
	if m == nil {
		return "unknown"
	}
	return m[1]
}
