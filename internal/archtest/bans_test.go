package archtest

import (
	"fmt"
	"go/ast"
	"slices"
	"strings"
	"testing"
)

// within says whether a package is one of the folders or below one.
func within(p string, folders ...string) bool {
	return slices.ContainsFunc(folders, func(f string) bool { return p == f || strings.HasPrefix(p, f+"/") })
}

// nearKernel are the folders that may use unsafe and bare system calls in any file.
var nearKernel = []string{"internal/engine", "internal/bpf", "internal/nic", "internal/host", "internal/tune", "internal/lab"}

// bannedImports by path.
var bannedImports = []struct {
	path, why string
	permitted func(p *pkg, f *file) bool
}{
	{"unsafe", "unsafe only in files named *_unsafe.go and in the folders near the kernel", func(p *pkg, f *file) bool {
		return strings.HasSuffix(f.name, "_unsafe.go") || within(p.path, nearKernel...)
	}},
	{"os/exec", "no programs are started: netlink, ioctl, sysfs and procfs are read directly", func(p *pkg, f *file) bool {
		return within(p.path, "internal/lab", "internal/nic/qtest", "internal/check", "bench")
	}},
	{"C", "no cgo: the binary is static", never},
	{"log", "a library returns errors", never},
	{"log/slog", "a library returns errors", never},
	{"io/ioutil", "deprecated", never},
	{"math/rand", "math/rand/v2, or SplitMix64 where the values are part of a stream", never},
	{"github.com/gopacket/gopacket/pcap", "uses cgo", never},
	{"github.com/gopacket/gopacket/pfring", "uses cgo", never},
}

func never(*pkg, *file) bool { return false }

func TestBannedImports(t *testing.T) { holds(t, noBannedImports) }

func noBannedImports(s *source) (problems []string) {
	for _, p := range s.packages {
		for _, f := range p.files {
			for _, b := range bannedImports {
				if f.imports(b.path) && !b.permitted(p, f) {
					problems = append(problems, fmt.Sprintf("%s imports %s: %s", f.name, b.path, b.why))
				}
			}
		}
	}
	return problems
}

// rawCalls are bare system calls.
var rawCalls = []string{"Syscall", "Syscall6", "RawSyscall", "RawSyscall6", "SyscallNoError", "RawSyscallNoError"}

// libraryBans are names that no library uses.
var libraryBans = map[string]string{
	"os.Exit":        "only main ends the process",
	"os.Stdout":      "output goes to a writer that the caller gives",
	"os.Stderr":      "output goes to a writer that the caller gives",
	"os.Stdin":       "input comes from a reader that the caller gives",
	"os.Args":        "arguments are given by the caller",
	"fmt.Print":      "output goes to a writer that the caller gives",
	"fmt.Printf":     "output goes to a writer that the caller gives",
	"fmt.Println":    "output goes to a writer that the caller gives",
	"debug.Stack":    "only main reports a fault",
	"runtime.Goexit": "a library returns",
}

func TestBannedCalls(t *testing.T) { holds(t, noBannedCalls) }

func noBannedCalls(s *source) (problems []string) {
	for _, p := range s.packages {
		for _, f := range p.files {
			ast.Inspect(f.ast, func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.SelectorExpr:
					problems = append(problems, bannedSelector(p, f, n)...)
				case *ast.CallExpr:
					id, ok := n.Fun.(*ast.Ident)
					if ok && p.library() && (id.Name == "panic" || id.Name == "print" || id.Name == "println") {
						problems = append(problems, fmt.Sprintf("%s: %s in a library: return an error", f.at(n.Pos()), id.Name))
					}
				case *ast.FuncDecl:
					if n.Recv == nil && n.Name.Name == "init" {
						problems = append(problems, fmt.Sprintf("%s: init function: build the value where it is used", f.at(n.Pos())))
					}
				}
				return true
			})
		}
	}
	return problems
}

func bannedSelector(p *pkg, f *file, s *ast.SelectorExpr) (problems []string) {
	x, ok := s.X.(*ast.Ident)
	if !ok {
		return nil
	}
	if why, banned := libraryBans[x.Name+"."+s.Sel.Name]; banned && p.library() {
		problems = append(problems, fmt.Sprintf("%s: %s.%s in a library: %s", f.at(s.Pos()), x.Name, s.Sel.Name, why))
	}
	raw := (x.Name == "unix" || x.Name == "syscall") && slices.Contains(rawCalls, s.Sel.Name)
	if raw && !strings.HasSuffix(f.name, "_unsafe.go") && !within(p.path, nearKernel...) {
		problems = append(problems, fmt.Sprintf("%s: bare system call: only in files named *_unsafe.go and in %s", f.at(s.Pos()), strings.Join(nearKernel, ", ")))
	}
	return problems
}

// vagueNames say nothing about what a package is for.
var vagueNames = []string{"common", "types", "helpers", "helper", "misc", "shared", "base", "core", "tools", "lib", "constants", "models"}

func TestPackagesHaveTellingNames(t *testing.T) { holds(t, tellingNames) }

func tellingNames(s *source) (problems []string) {
	for _, p := range s.packages {
		if n := p.name(); slices.Contains(vagueNames, n) || strings.HasPrefix(n, "util") || strings.HasSuffix(n, "utils") {
			problems = append(problems, fmt.Sprintf("package %s: %q says nothing; name it after what it does", p.path, n))
		}
	}
	return problems
}
