// Command check is what `make test` runs: every check of the source, then every test, in an order that keeps tests with root
// from disturbing each other. It prints what fails and what is skipped, the closing lines of go test, and as its last line
// how many checks and tests passed and failed. Under CI=true a skip is a failure.
//
// One step runs at a time, each a child process of the go command; nothing is shared between them.
package main

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"
)

func main() {
	quick := flag.Bool("quick", false, "only what needs neither root nor minutes")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	r := &runner{ctx: ctx, out: os.Stdout, ci: os.Getenv("CI") == "true"}
	r.source()
	r.tests(*quick)
	os.Exit(r.close())
}

// runner runs steps and adds up what came of them.
type runner struct {
	ctx     context.Context
	out     io.Writer
	ci      bool
	tally   tally
	missing []string // steps that could not run here, and why
}

// step runs one command; its output is shown only where it fails. fail looks at the output of a command that succeeded.
func (r *runner) step(name string, fail func(output string) bool, env []string, command ...string) {
	began := time.Now()
	cmd := exec.CommandContext(r.ctx, command[0], command[1:]...)
	cmd.Env = append(os.Environ(), env...)
	out, err := cmd.CombinedOutput()
	if err == nil && (fail == nil || !fail(string(out))) {
		r.tally.passed++
		fmt.Fprintf(r.out, "pass  %s (%.1fs)\n", name, time.Since(began).Seconds())
		return
	}
	r.tally.fail(name)
	fmt.Fprintf(r.out, "FAIL  %s: %s\n%s", name, strings.Join(command, " "), out)
	if err != nil {
		fmt.Fprintln(r.out, err)
	}
}

func (r *runner) skip(name, why string) {
	r.missing = append(r.missing, name+": "+why)
	fmt.Fprintf(r.out, "skip  %s: %s\n", name, why)
}

// source checks what can be seen without running a test.
func (r *runner) source() {
	static := []string{"CGO_ENABLED=0"}
	r.step("gofmt", func(out string) bool { return out != "" }, nil, "gofmt", "-l", ".")
	r.step("build", nil, static, "go", "build", "-trimpath", "-buildvcs=false", "-o", os.DevNull, "./cmd/wirespeed")
	r.step("vet", nil, static, "go", "vet", "./...")
	r.step("staticcheck", nil, static, "go", "tool", "-modfile=tools/go.mod", "staticcheck", "./...")
	r.generated()
}

// tests runs the packages that need no root side by side, then again with the race detector, and the others one after the
// other: their threads are pinned and their rates compared, so two at a time would disturb each other.
func (r *runner) tests(quick bool) {
	free, rooted, err := packages(r.ctx)
	if err != nil {
		r.tally.fail("go list")
		fmt.Fprintln(r.out, "FAIL  go list:", err)
		return
	}
	r.goTest("tests", []string{"CGO_ENABLED=0"}, append([]string{"-count=1"}, free...)...)
	if quick {
		return
	}
	r.goTest("tests that may use root, one package at a time", []string{"CGO_ENABLED=0"}, append([]string{"-count=1", "-p=1", "-timeout=8m"}, rooted...)...)
	if _, err := exec.LookPath("gcc"); err != nil {
		r.skip("race detector", "needs gcc; `make install-deps` installs it")
		return
	}
	free = slices.DeleteFunc(free, func(p string) bool { return strings.HasSuffix(p, "/internal/archtest") }) // reads files only
	free = append(free, "./internal/replay")                                                                  // wants a program only, and reads ahead in a goroutine
	r.goTest("race detector", []string{"CGO_ENABLED=1"}, append([]string{"-race", "-count=1"}, free...)...)
	r.goTest("race detector, engines and changes to the host", []string{"CGO_ENABLED=1"},
		append([]string{"-race", "-count=1", "-p=1", "-run=Contract|Undo|Restore|Line"}, raced...)...)
}

// raced are the packages with root of which goroutines share something; -run above chooses the tests that do it.
var raced = []string{"./internal/engine/packetsock", "./internal/engine/xdp", "./internal/lab", "./internal/tune"}

// needs are the packages whose import by a test says that it may want root.
var needs = []string{"/internal/lab/need", "/internal/lab/labtest", "/internal/engine/enginetest"}

// packages lists those with tests, apart by whether they may want root.
func packages(ctx context.Context) (free, rooted []string, err error) {
	const form = `{{if or .TestGoFiles .XTestGoFiles}}{{.ImportPath}} {{join .TestImports " "}} {{join .XTestImports " "}}{{end}}`
	cmd := exec.CommandContext(ctx, "go", "list", "-f", form, "./...")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, nil, fmt.Errorf("%w: %s", err, stderr.String())
	}
	for line := range strings.Lines(string(out)) {
		path, imports, _ := strings.Cut(strings.TrimSpace(line), " ")
		switch {
		case path == "":
		case wantsRoot(append(strings.Fields(imports), path)):
			rooted = append(rooted, path)
		default:
			free = append(free, path)
		}
	}
	return free, rooted, nil
}

func wantsRoot(imports []string) bool {
	for _, i := range imports {
		for _, n := range needs {
			if strings.HasSuffix(i, n) {
				return true
			}
		}
	}
	return false
}

// close prints what was skipped and failed and the line that ends everything. It returns the exit status.
func (r *runner) close() int {
	if r.ctx.Err() != nil {
		r.tally.fail("interrupted")
	}
	skipped := append(r.missing, r.tally.skipped...)
	slices.Sort(skipped)
	skipped = slices.Compact(skipped) // a test skipped with and without the race detector
	for _, s := range skipped {
		fmt.Fprintln(r.out, "skipped:", s)
	}
	failed := r.tally.failed
	if r.ci && len(skipped) > 0 {
		fmt.Fprintln(r.out, "CI=true: every skip is a failure")
		for _, s := range skipped {
			failed = append(failed, "skipped: "+s)
		}
	}
	for _, f := range failed {
		fmt.Fprintln(r.out, "failed:", f)
	}
	if n := len(skipped); n > 0 && !r.ci {
		fmt.Fprintf(r.out, "%d skipped\n", n)
	}
	fmt.Fprintf(r.out, "%d passed, %d failed\n", r.tally.passed, len(failed))
	if len(failed) > 0 || r.tally.passed == 0 {
		return 1
	}
	return 0
}
