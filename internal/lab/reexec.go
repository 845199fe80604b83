package lab

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// insideEnv marks the copy of this program that Reexec started.
const insideEnv = "WIRESPEED_INSIDE"

// Inside says whether this process is the copy that Reexec started.
func Inside() bool { return os.Getenv(insideEnv) == "1" }

// UsernsError says that this host forbids what an ordinary user needs for a namespace of his own.
type UsernsError struct {
	Reason, Mend string
	Err          error
}

func (e *UsernsError) Error() string { return e.Reason + "; " + e.Mend }

// Unwrap gives the cause.
func (e *UsernsError) Unwrap() error { return e.Err }

// Reexec runs this program again as root of a new user namespace that owns a new network namespace. Both end with it,
// and it ends with this process. It returns the copy's exit status; an error that is a *UsernsError means that the host
// forbids it. When ctx is done the copy is interrupted once, and killed 15 s later.
func Reexec(ctx context.Context, args []string, stdio Stdio) (exit int, err error) {
	cmd := interruptible(ctx, append([]string{"/proc/self/exe"}, args...), stdio)
	cmd.Args[0] = "wirespeed" // for ps(1)
	cmd.Env = append(os.Environ(), insideEnv+"=1")
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Setpgid:    true, // Ctrl-C at the terminal reaches the copy once: from us
		Cloneflags: syscall.CLONE_NEWUSER | syscall.CLONE_NEWNET,
		// One id may be mapped without privilege, our own; any other than 0 inside would lose its capabilities at execve.
		UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}},
		// gid_map may be written only after setgroups was denied.
		GidMappingsEnableSetgroups: false,
		Pdeathsig:                  syscall.SIGKILL,
	}
	started := false
	err = onLockedThread(func() error {
		if err := cmd.Start(); err != nil {
			return err
		}
		started = true
		return cmd.Wait()
	})
	if err != nil && !started {
		return 0, explainUserns(err, "/proc/sys")
	}
	return status(err, "wirespeed in a namespace of its own")
}

// explainUserns finds out why there is no user namespace, or one without powers. Other errors are returned as they are.
// sys is /proc/sys.
func explainUserns(err error, sys string) error {
	if !errors.Is(err, fs.ErrPermission) && !errors.Is(err, unix.ENOSPC) && !errors.Is(err, unix.EINVAL) {
		return err
	}
	for _, s := range []struct {
		file    string
		forbids func(int) bool
		allow   int
	}{
		{"kernel/apparmor_restrict_unprivileged_userns", func(v int) bool { return v != 0 }, 0},
		{"kernel/unprivileged_userns_clone", func(v int) bool { return v == 0 }, 1}, // Debian's
		{"user/max_user_namespaces", func(v int) bool { return v == 0 }, 10000},
		{"user/max_net_namespaces", func(v int) bool { return v == 0 }, 10000},
	} {
		b, bad := os.ReadFile(sys + "/" + s.file)
		v, notNumber := strconv.Atoi(strings.TrimSpace(string(b)))
		if bad != nil || notNumber != nil || !s.forbids(v) {
			continue
		}
		name := strings.ReplaceAll(s.file, "/", ".")
		return &UsernsError{
			Reason: fmt.Sprintf("this host gives ordinary users no user namespaces (%s is %d)", name, v),
			Mend:   fmt.Sprintf("run it with sudo, or allow them with `sudo sysctl %s=%d`", name, s.allow), Err: err,
		}
	}
	return &UsernsError{
		Reason: fmt.Sprintf("this host gives user %d no user namespace (%v)", os.Getuid(), err),
		Mend:   "run it with sudo; in a container, start that with the right to make user namespaces (seccomp, user.max_user_namespaces)", Err: err,
	}
}
