package archtest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
)

const module = "github.com/wirespeed/wirespeed"

// A file is one Go file of the module.
type file struct {
	name string // from the root, with slashes
	src  []byte
	ast  *ast.File
	fset *token.FileSet
}

// generated files are not held to sizes.
func (f *file) generated() bool { return ast.IsGenerated(f.ast) }

func (f *file) line(p token.Pos) int { return f.fset.Position(p).Line }

func (f *file) at(p token.Pos) string { return f.name + ":" + strconv.Itoa(f.line(p)) }

// paths are what it imports; packages of this module without the module's name.
func (f *file) paths() []string {
	var all []string
	for _, i := range f.ast.Imports {
		p, _ := strconv.Unquote(i.Path.Value)
		all = append(all, strings.TrimPrefix(p, module+"/"))
	}
	return all
}

func (f *file) imports(p string) bool { return slices.Contains(f.paths(), p) }

// local are the packages of this module that it imports.
func (f *file) local() []string {
	var all []string
	for _, i := range f.ast.Imports {
		p, _ := strconv.Unquote(i.Path.Value)
		if rest, ok := strings.CutPrefix(p, module+"/"); ok {
			all = append(all, rest)
		}
	}
	return all
}

// A pkg is one package with its files; files holds no tests.
type pkg struct {
	path  string // from the root
	files []*file
	tests []*file
}

// library: neither a program nor made for tests alone.
func (p *pkg) library() bool {
	return p.name() != "main" && !slices.Contains(forTests, p.path)
}

func (p *pkg) name() string { return p.files[0].ast.Name.Name }

// A source is the module as it lies on disk.
type source struct {
	fset     *token.FileSet
	packages []*pkg
	texts    map[string]string // every text file that people write, Go included
}

var readOnce = sync.OnceValues(read)

// A rule looks at the whole module and says what breaks it.
type rule func(*source) (problems []string)

// holds runs a rule on the module.
func holds(t *testing.T, r rule) {
	t.Helper()
	s, err := readOnce()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range r(s) {
		t.Error(p)
	}
}

// root is the module's folder, seen from this package.
const root = "../.."

func read() (*source, error) {
	texts := map[string]string{}
	err := filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, p)
		if err != nil {
			return err
		}
		rel = filepath.ToSlash(rel)
		if d.IsDir() {
			hidden := strings.HasPrefix(d.Name(), ".") && rel != "." && rel != ".ci"
			if hidden || d.Name() == "testdata" || rel == "tools" || rel == "internal/dep" {
				return fs.SkipDir
			}
			return nil
		}
		if !slices.ContainsFunc(textEnds, func(end string) bool { return strings.HasSuffix(rel, end) }) {
			return nil
		}
		text, err := os.ReadFile(p)
		texts[rel] = string(text)
		return err
	})
	if err != nil {
		return nil, err
	}
	return newSource(texts)
}

// textEnds are the names of files that people write.
var textEnds = []string{".go", ".c", ".h", ".md", ".yaml", ".json", ".txtar", "Makefile", "/run", "/install-deps", ".mod"}

// newSource sorts files into packages.
func newSource(texts map[string]string) (*source, error) {
	s := &source{fset: token.NewFileSet(), texts: texts}
	byPath := map[string]*pkg{}
	for _, name := range slices.Sorted(maps.Keys(texts)) {
		if !strings.HasSuffix(name, ".go") {
			continue
		}
		tree, err := parser.ParseFile(s.fset, name, texts[name], parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		f := &file{name: name, src: []byte(texts[name]), ast: tree, fset: s.fset}
		p := byPath[path.Dir(name)]
		if p == nil {
			p = &pkg{path: path.Dir(name)}
			byPath[p.path] = p
		}
		if strings.HasSuffix(name, "_test.go") {
			p.tests = append(p.tests, f)
		} else {
			p.files = append(p.files, f)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(byPath)) {
		if p := byPath[name]; len(p.files) > 0 {
			s.packages = append(s.packages, p)
		}
	}
	return s, nil
}
