package archtest

import (
	"bytes"
	"fmt"
	"go/ast"
	"strings"
	"testing"
)

// The sizes that code keeps to, in lines; tests and generated code are free.
const (
	maxFile     = 500
	maxFunction = 70
)

// longer lists what is over the limit, with its size. It may only shrink: an entry that is no longer true fails. Split by
// concept, not by number, and take the entry out.
var longer = map[string]int{}

func TestSizes(t *testing.T) { holds(t, sizesKept) }

func sizesKept(s *source) (problems []string) {
	sizes := map[string]int{}
	for _, p := range s.packages {
		for _, f := range p.files {
			if f.generated() {
				continue
			}
			if n := bytes.Count(f.src, []byte("\n")); n > maxFile {
				sizes[f.name] = n
			}
			for _, d := range f.ast.Decls {
				fn, ok := d.(*ast.FuncDecl)
				if !ok {
					continue
				}
				if n := f.line(fn.End()) - f.line(fn.Pos()) + 1; n > maxFunction {
					sizes[f.name+" "+function(fn)] = n
				}
			}
		}
	}
	for name, text := range s.texts {
		if n := strings.Count(text, "\n"); (strings.HasSuffix(name, ".c") || strings.HasSuffix(name, ".h")) && n > maxFile {
			sizes[name] = n
		}
	}
	for what, n := range sizes {
		switch old, known := longer[what]; {
		case !known:
			problems = append(problems, fmt.Sprintf("%s has %d lines; files have up to %d, functions up to %d", what, n, maxFile, maxFunction))
		case n > old:
			problems = append(problems, fmt.Sprintf("%s has grown from %d to %d lines", what, old, n))
		case n < old:
			problems = append(problems, fmt.Sprintf("%s has shrunk to %d lines: lower its entry", what, n))
		}
	}
	for what := range longer {
		if sizes[what] == 0 {
			problems = append(problems, fmt.Sprintf("%s keeps the limit now: take its entry out", what))
		}
	}
	return problems
}

func function(fn *ast.FuncDecl) string {
	if fn.Recv == nil {
		return fn.Name.Name
	}
	recv := fn.Recv.List[0].Type
	if s, ok := recv.(*ast.StarExpr); ok {
		recv = s.X
	}
	return fmt.Sprint(recv) + "." + fn.Name.Name
}
