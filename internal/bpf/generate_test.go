package bpf

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/wirespeed/wirespeed/internal/lab/need"
)

// The committed objects and their Go files are what `go generate` makes of the C files today.
func TestGeneratedIsCurrent(t *testing.T) {
	clang := need.Tool(t, "clang")
	need.Tool(t, "llvm-strip")
	out, err := exec.Command(clang, "--version").Output()
	if err != nil {
		t.Fatal(err)
	}
	if m := regexp.MustCompile(`version (\d+)\.`).FindSubmatch(out); m == nil || string(m[1]) != strconv.Itoa(ClangMajor) {
		version, _, _ := strings.Cut(string(out), "\n")
		if os.Getenv("CI") == "true" {
			t.Fatalf("clang %d made the objects, this is %s; install clang-%d, or generate anew and change ClangMajor", ClangMajor, version, ClangMajor)
		}
		t.Skipf("clang %d made the objects, this is %s", ClangMajor, version)
	}
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	// A copy of what generation reads, as deep below the tools' module as the original.
	root := t.TempDir()
	dir := filepath.Join(root, "internal", "bpf")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, pattern := range []string{"*.c", "*.h", "generate.go", "../../tools/go.mod", "../../tools/go.sum"} {
		files, err := filepath.Glob(filepath.Join(here, pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, from := range files {
			rel, err := filepath.Rel(filepath.Join(here, "..", ".."), from)
			if err != nil {
				t.Fatal(err)
			}
			copyFile(t, from, filepath.Join(root, rel))
		}
	}
	copyFile(t, filepath.Join(here, "..", "..", "go.mod"), filepath.Join(root, "go.mod"))
	generate := exec.Command("go", "generate", ".")
	generate.Dir = dir
	generate.Env = append(os.Environ(), "GOWORK=off", "GOFLAGS=-buildvcs=false")
	if out, err := generate.CombinedOutput(); err != nil {
		t.Fatalf("go generate: %v\n%s", err, out)
	}
	made, err := filepath.Glob(filepath.Join(dir, "*_bpfel.*"))
	if err != nil {
		t.Fatal(err)
	}
	if len(made) == 0 {
		t.Fatal("nothing was generated")
	}
	for _, path := range made {
		want, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(filepath.Join(here, filepath.Base(path)))
		if err != nil {
			t.Error(err)
		} else if !bytes.Equal(got, want) {
			t.Errorf("%s is not what its source makes; run `go generate ./internal/bpf` and commit", filepath.Base(path))
		}
	}
}

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	b, err := os.ReadFile(from)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(to, b, 0o644); err != nil {
		t.Fatal(err)
	}
}

// No path of the machine that built them is left in the objects.
func TestObjectsNameNoPlace(t *testing.T) {
	objects, err := filepath.Glob("*.o")
	if err != nil || len(objects) == 0 {
		t.Fatalf("%d objects: %v", len(objects), err)
	}
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range objects {
		b, err := os.ReadFile(o)
		if err != nil {
			t.Fatal(err)
		}
		for _, bad := range []string{here, "/home/", "/root/", "/tmp/"} {
			if bytes.Contains(b, []byte(bad)) {
				t.Errorf("%s contains %q", o, bad)
			}
		}
	}
}
