package doctest

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/wirespeed/wirespeed/internal/cli"
	"github.com/wirespeed/wirespeed/internal/lab/need"
)

// root is the folder of the source, seen from this package.
const root = "../.."

// pages are the documents: name -> text.
func pages(t *testing.T) map[string]string {
	t.Helper()
	all := map[string]string{}
	for _, pattern := range []string{"*.md", "docs/*.md", "examples/*.md", "examples/*/*.md"} {
		names, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, n := range names {
			text, err := os.ReadFile(n)
			if err != nil {
				t.Fatal(err)
			}
			rel, err := filepath.Rel(root, n)
			if err != nil {
				t.Fatal(err)
			}
			all[rel] = string(text)
		}
	}
	if len(all) < 4 {
		t.Fatalf("only %d documents found", len(all))
	}
	return all
}

func TestEveryCommandInTheDocumentsParses(t *testing.T) {
	found := 0
	for name, text := range pages(t) {
		for _, b := range blocks(text) {
			if !b.shell() {
				continue
			}
			for _, c := range commands(b) {
				found++
				if err := cli.Parse(c.args); err != nil {
					t.Errorf("%s:%d: wirespeed %s: %v", name, c.line, strings.Join(c.args, " "), err)
				}
			}
		}
	}
	if found < 10 {
		t.Errorf("only %d commands found in all documents", found)
	}
}

// TestEveryMakeTargetInTheDocumentsExists looks at blocks and at code in sentences.
func TestEveryMakeTargetInTheDocumentsExists(t *testing.T) {
	rules, err := os.ReadFile(filepath.Join(root, "Makefile"))
	if err != nil {
		t.Fatal(err)
	}
	target := regexp.MustCompile("(?m)(?:^|`)make ([a-z-]+)")
	for name, text := range pages(t) {
		for _, m := range target.FindAllStringSubmatch(text, -1) {
			if !regexp.MustCompile("(?m)^" + m[1] + ":").Match(rules) {
				t.Errorf("%s: the Makefile has no target %s", name, m[1])
			}
		}
	}
}

// TestBlocksRun runs the marked blocks of every page, in order.
func TestBlocksRun(t *testing.T) {
	bin := build(t)
	ran := 0
	for name, text := range pages(t) {
		marked := slices.DeleteFunc(blocks(text), func(b block) bool { return !b.runs() })
		if len(marked) == 0 {
			continue
		}
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			for _, b := range marked {
				ran++
				runBlock(t, b, bin, dir)
			}
		})
	}
	if ran == 0 {
		t.Error("no document has a block that runs")
	}
}

// blockLimit ends a block that hangs.
const blockLimit = 2 * time.Minute

func runBlock(t *testing.T, b block, bin, dir string) {
	t.Helper()
	if b.has("root") {
		need.Root(t)
	}
	before := labs(t, bin)
	ctx, cancel := context.WithTimeout(t.Context(), blockLimit)
	defer cancel()
	cmd := exec.CommandContext(ctx, "bash", "-euo", "pipefail", "-c", b.text)
	cmd.Dir = dir
	if b.has("here") {
		cmd.Dir = root
	}
	cmd.Env = append(os.Environ(), "PATH="+bin+":"+os.Getenv("PATH")+":/usr/sbin:/sbin")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // so that what it left in the background ends too
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGINT) }
	cmd.WaitDelay = 10 * time.Second
	out, err := cmd.CombinedOutput()
	if cmd.Process != nil {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
	}
	if err != nil {
		t.Errorf("line %d: %v\n%s\nprinted:\n%s", b.line, err, b.text, out)
	}
	for name := range labs(t, bin) {
		if before[name] {
			continue
		}
		if err == nil {
			t.Errorf("line %d leaves the lab %s behind", b.line, name)
		}
		if out, err := exec.Command(filepath.Join(bin, "wirespeed"), "lab", "down", name).CombinedOutput(); err != nil {
			t.Errorf("lab down %s: %v: %s", name, err, out)
		}
	}
}

// labs are the names of the labs there are.
func labs(t *testing.T, bin string) map[string]bool {
	t.Helper()
	out, err := exec.Command(filepath.Join(bin, "wirespeed"), "lab", "list", "--json").Output()
	if err != nil {
		t.Fatalf("wirespeed lab list --json: %v: %s", err, out)
	}
	var list struct{ Labs []struct{ Name string } }
	if err := json.Unmarshal(out, &list); err != nil {
		t.Fatalf("wirespeed lab list --json: %v: %s", err, out)
	}
	names := map[string]bool{}
	for _, l := range list.Labs {
		names[l.Name] = true
	}
	return names
}

// build makes the binary as `make build` does and returns its folder.
func build(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	cmd := exec.Command("go", "build", "-trimpath", "-buildvcs=false", "-o", filepath.Join(dir, "wirespeed"), "./cmd/wirespeed")
	cmd.Dir = root
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return dir
}
