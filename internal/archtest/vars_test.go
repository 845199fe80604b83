package archtest

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"testing"
)

// TestNoMutableGlobals: a package variable is a table or an error made once: it has a value from the start, and nothing in
// the package assigns to it or to a part of it.
func TestNoMutableGlobals(t *testing.T) { holds(t, noMutableGlobals) }

func noMutableGlobals(s *source) (problems []string) {
	for _, p := range s.packages {
		if !slices.Contains(forTests, p.path) {
			problems = append(problems, mutableGlobals(s, p)...)
		}
	}
	return problems
}

func mutableGlobals(s *source, p *pkg) (problems []string) {
	var files []*ast.File
	for _, f := range p.files {
		files = append(files, f.ast)
	}
	info := &types.Info{Defs: map[*ast.Ident]types.Object{}, Uses: map[*ast.Ident]types.Object{}}
	// Imports are not resolved: names of the package itself are all that is needed, so errors are expected.
	conf := types.Config{Error: func(error) {}, FakeImportC: true}
	_, _ = conf.Check(p.path, s.fset, files, info)
	global := map[types.Object]bool{}
	for _, f := range p.files {
		for _, d := range f.ast.Decls {
			g, ok := d.(*ast.GenDecl)
			if !ok || g.Tok != token.VAR {
				continue
			}
			for _, spec := range g.Specs {
				v := spec.(*ast.ValueSpec)
				for _, n := range v.Names {
					global[info.Defs[n]] = true
					if len(v.Values) == 0 && !embedded(g) && n.Name != "_" {
						problems = append(problems, f.at(n.Pos())+": package variable "+n.Name+" has no value: state belongs into a type")
					}
				}
			}
		}
	}
	for _, f := range p.files {
		ast.Inspect(f.ast, func(n ast.Node) bool {
			for _, target := range targets(n) {
				id := rootOf(target)
				if o := info.Uses[id]; id != nil && o != nil && global[o] {
					problems = append(problems, f.at(target.Pos())+": assigns to package variable "+id.Name+": state belongs into a type")
				}
			}
			return true
		})
	}
	return problems
}

// targets are the expressions that a statement changes.
func targets(n ast.Node) []ast.Expr {
	switch n := n.(type) {
	case *ast.AssignStmt:
		if n.Tok != token.DEFINE {
			return n.Lhs
		}
	case *ast.IncDecStmt:
		return []ast.Expr{n.X}
	}
	return nil
}

// rootOf is x in x, x.f, x[i] and *x.
func rootOf(e ast.Expr) *ast.Ident {
	for {
		switch v := e.(type) {
		case *ast.Ident:
			return v
		case *ast.SelectorExpr:
			e = v.X
		case *ast.IndexExpr:
			e = v.X
		case *ast.StarExpr:
			e = v.X
		case *ast.ParenExpr:
			e = v.X
		default:
			return nil
		}
	}
}

func embedded(g *ast.GenDecl) bool {
	if g.Doc == nil {
		return false
	}
	for _, c := range g.Doc.List {
		if len(c.Text) > 10 && c.Text[:10] == "//go:embed" {
			return true
		}
	}
	return false
}
