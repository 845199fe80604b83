package acceptance

import (
	"fmt"
	"os"
	"runtime"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/wirespeed/wirespeed/internal/host"
	"github.com/wirespeed/wirespeed/internal/tune"
)

// apartEnv marks a process that has its own view of the state's and the namespaces' directories.
const apartEnv = "WIRESPEED_ACCEPTANCE_APART"

// TestMain starts the tests again in a mount namespace of their own: root's state is in one place on a machine, and labs
// of others must be neither seen nor removed.
func TestMain(m *testing.M) {
	if os.Geteuid() == 0 && os.Getenv(apartEnv) == "" {
		fmt.Fprintln(os.Stderr, "acceptance: no mount namespace of its own:", apart())
		os.Exit(2)
	}
	code := m.Run()
	if built.dir != "" {
		_ = os.RemoveAll(built.dir)
	}
	os.Exit(code)
}

// apart replaces this process by the same one with own mounts. It returns only where that fails.
func apart() error {
	runtime.LockOSThread() // only this thread gets the mounts, and the new program has them from it
	if err := unix.Unshare(unix.CLONE_NEWNS); err != nil {
		return err
	}
	if err := unix.Mount("", "/", "none", unix.MS_PRIVATE|unix.MS_REC, ""); err != nil {
		return err
	}
	for _, dir := range []string{tune.StateDir(), host.NetnsDir} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return err
		}
		if err := unix.Mount("acceptance", dir, "tmpfs", 0, "mode=755"); err != nil {
			return fmt.Errorf("%s: %w", dir, err)
		}
	}
	return unix.Exec("/proc/self/exe", os.Args, append(os.Environ(), apartEnv+"=1"))
}
