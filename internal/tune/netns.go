package tune

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/wirespeed/wirespeed/internal/host"
)

// CreateNetns makes a named network namespace as `ip netns add` does, and brings nothing up in it. It fails where the
// name is taken. Needs CAP_SYS_ADMIN.
func CreateNetns(name string) error {
	if err := checkNetnsName(name); err != nil {
		return err
	}
	if err := shareNetnsDir(); err != nil {
		return fmt.Errorf("network namespace %q: %s: %w", name, host.NetnsDir, needRoot(err))
	}
	path := filepath.Join(host.NetnsDir, name)
	f, err := os.OpenFile(path, os.O_RDONLY|os.O_CREATE|os.O_EXCL, 0)
	if errors.Is(err, fs.ErrExist) {
		return takenName(name)
	}
	if err != nil {
		return fmt.Errorf("network namespace %q: %w", name, needRoot(err))
	}
	_ = f.Close()
	err = host.OnThread(func() error {
		if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
			return err
		}
		// Not /proc/self: that is the main thread's namespace.
		return unix.Mount("/proc/thread-self/ns/net", path, "none", unix.MS_BIND, "")
	})
	if err != nil {
		_ = os.Remove(path)
		return fmt.Errorf("network namespace %q: %w", name, needRoot(err))
	}
	return nil
}

func takenName(name string) error {
	return fmt.Errorf("network namespace %q exists already; choose another name or delete it: %w", name, fs.ErrExist)
}

// DeleteNetns removes the name; the namespace ends with its last process and descriptor. A missing name is no error.
func DeleteNetns(name string) error {
	if err := checkNetnsName(name); err != nil {
		return err
	}
	path := filepath.Join(host.NetnsDir, name)
	err := unix.Unmount(path, unix.MNT_DETACH)
	if err != nil && !errors.Is(err, unix.EINVAL) && !errors.Is(err, unix.ENOENT) {
		return fmt.Errorf("network namespace %q: unmount: %w", name, needRoot(err))
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("network namespace %q: %w", name, needRoot(err))
	}
	return nil
}

func checkNetnsName(name string) error {
	if name == "" || name == "." || name == ".." || strings.ContainsAny(name, "/\x00") {
		return fmt.Errorf("%q is no name for a network namespace", name)
	}
	return nil
}

// shareNetnsDir makes the directory a shared mount, as ip-netns(8) does: without it a name deleted here would stay in
// mount namespaces made meanwhile.
func shareNetnsDir() error {
	if err := os.MkdirAll(host.NetnsDir, 0o755); err != nil {
		return err
	}
	err := unix.Mount("", host.NetnsDir, "none", unix.MS_SHARED|unix.MS_REC, "")
	if !errors.Is(err, unix.EINVAL) {
		return err
	}
	if err := unix.Mount(host.NetnsDir, host.NetnsDir, "none", unix.MS_BIND|unix.MS_REC, ""); err != nil {
		return err
	}
	return unix.Mount("", host.NetnsDir, "none", unix.MS_SHARED|unix.MS_REC, "")
}

func needRoot(err error) error {
	if errors.Is(err, fs.ErrPermission) {
		return fmt.Errorf("%w; run it with sudo", err)
	}
	return err
}
