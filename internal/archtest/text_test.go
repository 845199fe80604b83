package archtest

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/format"
	"regexp"
	"slices"
	"strings"
	"testing"
)

func TestEveryPackageIsDocumented(t *testing.T) { holds(t, packagesDocumented) }

func packagesDocumented(s *source) (problems []string) {
	for _, p := range s.packages {
		var docs []string
		for _, f := range p.files {
			if f.ast.Doc != nil {
				docs = append(docs, f.ast.Doc.Text())
			}
		}
		start := "Package " + p.name() + " "
		if p.name() == "main" {
			start = "Command " + last(p.path) + " "
		}
		switch {
		case len(docs) != 1:
			problems = append(problems, fmt.Sprintf("package %s has %d package comments, want 1", p.path, len(docs)))
		case !strings.HasPrefix(docs[0], start):
			problems = append(problems, fmt.Sprintf("package %s: its comment begins %.40q, want %q", p.path, docs[0], start))
		}
	}
	return problems
}

func TestExportedNamesAreDocumented(t *testing.T) { holds(t, exportsDocumented) }

func exportsDocumented(s *source) (problems []string) {
	for _, p := range s.packages {
		for _, f := range p.files {
			if f.generated() {
				continue
			}
			for _, d := range f.ast.Decls {
				switch d := d.(type) {
				case *ast.FuncDecl:
					// A method that an interface asks for is explained there.
					if d.Name.IsExported() && d.Recv == nil && d.Doc == nil {
						problems = append(problems, fmt.Sprintf("%s: %s has no comment", f.at(d.Pos()), d.Name.Name))
					}
				case *ast.GenDecl:
					for _, s := range d.Specs {
						if s, ok := s.(*ast.TypeSpec); ok && s.Name.IsExported() && d.Doc == nil && s.Doc == nil {
							problems = append(problems, fmt.Sprintf("%s: type %s has no comment", f.at(s.Pos()), s.Name.Name))
						}
					}
				}
			}
		}
	}
	return problems
}

func TestNothingIsLeftOpen(t *testing.T) { holds(t, nothingLeftOpen) }

func nothingLeftOpen(s *source) (problems []string) {
	open := regexp.MustCompile(`\b(TO` + `DO|FIX` + `ME|XX` + `X|HA` + `CK)\b`) // apart, so that this file keeps the rule
	for name, text := range s.texts {
		for i, line := range strings.Split(text, "\n") {
			if open.MatchString(line) {
				problems = append(problems, fmt.Sprintf("%s:%d: %s", name, i+1, strings.TrimSpace(line)))
			}
		}
	}
	return problems
}

func TestFormat(t *testing.T) { holds(t, formatted) }

func formatted(s *source) (problems []string) {
	for _, p := range s.packages {
		for _, f := range slices.Concat(p.files, p.tests) {
			want, err := format.Source(f.src)
			if err != nil || !bytes.Equal(want, f.src) {
				problems = append(problems, fmt.Sprintf("%s is not gofmt-ed (%v)", f.name, err))
			}
		}
	}
	return problems
}

// decoders are the packages that read what others wrote; each has a fuzz test.
var decoders = []string{"internal/analyse", "internal/bpf", "internal/engine", "internal/host", "internal/packet", "internal/program", "internal/show", "internal/tune", "internal/wire", "stream"}

func TestDecodersAreFuzzed(t *testing.T) { holds(t, decodersFuzzed) }

func decodersFuzzed(s *source) (problems []string) {
	for _, p := range s.packages {
		fuzzed := false
		for _, f := range p.tests {
			for _, d := range f.ast.Decls {
				fn, ok := d.(*ast.FuncDecl)
				fuzzed = fuzzed || ok && strings.HasPrefix(fn.Name.Name, "Fuzz")
			}
		}
		if slices.Contains(decoders, p.path) && !fuzzed {
			problems = append(problems, fmt.Sprintf("package %s decodes what others wrote and has no fuzz test", p.path))
		}
	}
	return problems
}

func last(p string) string { return p[strings.LastIndexByte(p, '/')+1:] }
