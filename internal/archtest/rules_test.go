package archtest

import (
	"strings"
	"testing"
)

// TestRulesFindWhatTheyForbid gives every rule a module that breaks it.
func TestRulesFindWhatTheyForbid(t *testing.T) {
	const doc = "// Package wire is a sample.\npackage wire\n"
	for name, c := range map[string]struct {
		rule rule
		file string // path of the only file
		text string
		want string // in a problem; empty: there is none
	}{
		"upward import":    {importsGoDown, "internal/wire/a.go", doc + `import _ "` + module + `/internal/engine"`, "strictly down"},
		"sideways import":  {importsGoDown, "internal/engine/xdp/a.go", `package xdp; import _ "` + module + `/internal/engine/packetsock"`, "strictly down"},
		"unknown package":  {importsGoDown, "internal/novel/a.go", "package novel", "not in the table"},
		"engine listed":    {importRulesKept, "internal/trial/a.go", `package trial; import _ "` + module + `/internal/engine/xdp"`, "only internal/cli"},
		"procedure":        {importRulesKept, "internal/procedure/mlr/a.go", `package mlr; import _ "` + module + `/internal/engine"`, "a procedure sees only"},
		"testing imported": {importRulesKept, "internal/wire/a.go", doc + `import _ "testing"`, "only tests"},
		"unsafe":           {noBannedImports, "internal/wire/a.go", doc + `import _ "unsafe"`, "unsafe only"},
		"unsafe permitted": {noBannedImports, "internal/wire/a_unsafe.go", doc + `import _ "unsafe"`, ""},
		"exec":             {noBannedImports, "internal/host/a.go", `package host; import _ "os/exec"`, "no programs"},
		"cgo":              {noBannedImports, "internal/host/a.go", `package host; import "C"`, "no cgo"},
		"panic":            {noBannedCalls, "internal/wire/a.go", doc + "func f() { panic(1) }", "panic in a library"},
		"print":            {noBannedCalls, "internal/wire/a.go", doc + `import "fmt"` + "\nfunc f() { fmt.Println() }", "fmt.Println in a library"},
		"exit":             {noBannedCalls, "internal/wire/a.go", doc + `import "os"` + "\nfunc f() { os.Exit(1) }", "os.Exit in a library"},
		"exit in main":     {noBannedCalls, "cmd/wirespeed/a.go", "package main\nimport \"os\"\nfunc main() { os.Exit(1) }", ""},
		"system call":      {noBannedCalls, "internal/wire/a.go", doc + "func f() { unix.Syscall(1, 2, 3, 4) }", "bare system call"},
		"init":             {noBannedCalls, "internal/wire/a.go", doc + "func init() {}", "init function"},
		"vague name":       {tellingNames, "internal/utils/a.go", "package utils", "says nothing"},
		"global state":     {noMutableGlobals, "internal/wire/a.go", doc + "var n int", "has no value"},
		"global changed":   {noMutableGlobals, "internal/wire/a.go", doc + "var n = []int{1}\nfunc f() { n[0]++ }", "assigns to package variable n"},
		"global table":     {noMutableGlobals, "internal/wire/a.go", doc + "var n = []int{1}\nfunc f(n []int) { n[0]++ }", ""},
		"long file":        {sizesKept, "internal/wire/a.go", doc + strings.Repeat("\n", maxFile), "lines; files have"},
		"long function":    {sizesKept, "internal/wire/a.go", doc + "func f() {" + strings.Repeat("\n", maxFunction) + "}", "wire/a.go f has"},
		"no package doc":   {packagesDocumented, "internal/wire/a.go", "package wire", "0 package comments"},
		"other doc":        {packagesDocumented, "internal/wire/a.go", "// Wire is.\npackage wire", "its comment begins"},
		"no comment":       {exportsDocumented, "internal/wire/a.go", doc + "func F() {}", "F has no comment"},
		"left open":        {nothingLeftOpen, "README.md", "TO" + "DO: later", "README.md:1"},
		"format":           {formatted, "internal/wire/a.go", doc + "func  f() {}", "not gofmt-ed"},
		"not in the page":  {architectureCurrent, "internal/wire/a.go", doc, "does not show"},
		"no fuzz test":     {decodersFuzzed, "internal/wire/a.go", doc, "has no fuzz test"},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := newSource(map[string]string{c.file: c.text})
			if err != nil {
				t.Fatal(err)
			}
			got := strings.Join(c.rule(s), "\n")
			if c.want == "" && strings.Contains(got, c.file) || !strings.Contains(got, c.want) {
				t.Errorf("problems:\n%s\nwant %q", got, c.want)
			}
		})
	}
}
