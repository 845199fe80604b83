package archtest

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"testing"
)

// A layer is a set of packages that do not import one another.
type layer struct {
	what     string
	packages []string
}

// layers is the order of the tree, lowest first: a package imports only packages of layers below its own. A package that
// is not here fails the test: decide where it belongs.
var layers = []layer{
	{"arithmetic, bytes, results: pure values", []string{"internal/wire", "internal/packet", "report"}},
	{"capture files made for tests", []string{"internal/pcapio/pcaptest"}},
	{"capture files", []string{"internal/pcapio"}},
	{"what to send", []string{"stream"}},
	{"streams drawn for tests", []string{"internal/program/programtest"}},
	{"what to send, compiled", []string{"internal/program"}},
	{"frames, decoded for people; captures made into what is sent", []string{"internal/show", "internal/replay"}},
	{"facts about the host; what a test needs of it", []string{"internal/host", "internal/lab/need"}},
	{"the seam", []string{"internal/engine"}},
	{"changes to the host, undone", []string{"internal/tune"}},
	{"what engines are built from", []string{"internal/analyse", "internal/bpf", "internal/capture", "internal/engine/txloop", "internal/neighbour"}},
	{"what labs are built from", []string{"internal/lab"}},
	{"topologies for tests", []string{"internal/lab/labtest"}},
	{"the contract of engines", []string{"internal/engine/enginetest"}},
	{"engines", []string{"internal/engine/null", "internal/engine/packetsock", "internal/engine/pcapfile", "internal/engine/xdp"}},
	{"one trial", []string{"internal/trial"}},
	{"results for people", []string{"internal/render"}},
	{"the command line: the only package that lists the engines", []string{"internal/cli"}},
	{"programs", []string{"cmd/wirespeed", "bench", "internal/check"}},
	{"rules, documents and the whole program, tested", []string{"internal/acceptance", "internal/archtest", "internal/doctest"}},
}

func TestImportsOnlyGoDown(t *testing.T) { holds(t, importsGoDown) }

func importsGoDown(s *source) (problems []string) {
	height := map[string]int{}
	for i, l := range layers {
		for _, p := range l.packages {
			if _, twice := height[p]; twice {
				problems = append(problems, fmt.Sprintf("%s stands in the table twice", p))
			}
			height[p] = i
		}
	}
	for _, p := range s.packages {
		own, ok := height[p.path]
		if !ok {
			problems = append(problems, fmt.Sprintf("package %s is not in the table of layers: add it where it belongs", p.path))
			continue
		}
		delete(height, p.path)
		for _, f := range p.files {
			for _, i := range f.local() {
				if at := layerOf(i); at >= own {
					problems = append(problems, fmt.Sprintf("%s (layer %d, %s) imports %s (layer %d): imports go strictly down", f.name, own, layers[own].what, i, at))
				}
			}
		}
	}
	for p := range height {
		problems = append(problems, fmt.Sprintf("the table of layers names %s, which does not exist", p))
	}
	return problems
}

func layerOf(pkg string) int {
	return slices.IndexFunc(layers, func(l layer) bool { return slices.Contains(l.packages, pkg) })
}

// importRules are what the order alone does not say.
var importRules = []struct {
	why       string
	imported  func(string) bool
	permitted func(importer string) bool
}{
	{
		"only internal/cli lists the engines",
		func(i string) bool { return path.Dir(i) == "internal/engine" && !slices.Contains(partsOfEngines, i) },
		func(p string) bool { return p == "internal/cli" },
	},
	{
		"nobody imports the command line but main",
		func(i string) bool { return i == "internal/cli" },
		func(p string) bool { return p == "cmd/wirespeed" },
	},
	{
		"a procedure sees only trial.Measurer, results and statistics",
		func(i string) bool {
			return !slices.Contains([]string{"internal/trial", "report", "internal/wire", "internal/stats"}, i)
		},
		func(p string) bool { return !strings.HasPrefix(p, "internal/procedure/") },
	},
	{
		"only tests use what is made for tests",
		func(i string) bool { return slices.Contains(forTests, i) || i == "testing" },
		func(p string) bool { return slices.Contains(forTests, p) },
	},
	{
		"docs and rules are read by nobody",
		func(i string) bool { return layerOf(i) == len(layers)-1 },
		func(string) bool { return false },
	},
}

var (
	partsOfEngines = []string{"internal/engine/txloop", "internal/engine/enginetest"}
	forTests       = []string{"internal/engine/enginetest", "internal/lab/labtest", "internal/lab/need", "internal/pcapio/pcaptest", "internal/program/programtest"}
)

func TestImportRules(t *testing.T) { holds(t, importRulesKept) }

func importRulesKept(s *source) (problems []string) {
	for _, p := range s.packages {
		for _, f := range p.files {
			for _, rule := range importRules {
				for _, i := range append(f.local(), "testing") {
					if f.imports(i) && rule.imported(i) && !rule.permitted(p.path) {
						problems = append(problems, fmt.Sprintf("%s imports %s: %s", f.name, i, rule.why))
					}
				}
			}
		}
	}
	return problems
}

// TestArchitectureShowsTheLayers: the table for people has the packages of the table above, in the same order, highest first.
func TestArchitectureShowsTheLayers(t *testing.T) { holds(t, architectureCurrent) }

func architectureCurrent(s *source) (problems []string) {
	page := s.texts["ARCHITECTURE.md"]
	_, page, _ = strings.Cut(page, "## Layers")
	page, _, _ = strings.Cut(page, "\n## ")
	rows := strings.Split(page, "\n")
	row := len(rows)
	for _, l := range layers[:len(layers)-1] {
		for i, p := range l.packages {
			at := slices.IndexFunc(rows, func(r string) bool { return strings.Contains(r, "`"+p+"`") })
			switch {
			case at < 0:
				problems = append(problems, "ARCHITECTURE.md does not show the package "+p)
			case i == 0 && at >= row:
				problems = append(problems, "ARCHITECTURE.md shows "+p+" too low")
			case i == 0:
				row = at
			case at != row:
				problems = append(problems, "ARCHITECTURE.md shows "+p+" in another row than "+l.packages[0])
			}
		}
	}
	return problems
}
