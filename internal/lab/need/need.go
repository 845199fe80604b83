// Package need lets a test say what it needs of the machine. What is missing skips the test visibly, and fails it where
// CI is "true": there nothing may be missing. Test code only; safe from any goroutine a testing.TB is.
package need

import (
	"os"
	"os/exec"
	"testing"
)

// Root needs effective uid 0.
func Root(t testing.TB) {
	t.Helper()
	if os.Geteuid() != 0 {
		missing(t, "needs root; run `sudo make test`")
	}
}

// Tool needs a program on PATH, and returns its path.
func Tool(t testing.TB, name string) (path string) {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		missing(t, "needs the program "+name+"; `make test` installs it: "+err.Error())
	}
	return path
}

func missing(t testing.TB, why string) {
	t.Helper()
	if os.Getenv("CI") == "true" {
		t.Fatal(why)
	}
	t.Skip(why)
}
