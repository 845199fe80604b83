package lab

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"time"

	"golang.org/x/sys/unix"

	"github.com/wirespeed/wirespeed/internal/host"
	"github.com/wirespeed/wirespeed/internal/tune"
)

// Stdio is what a program is given to read from and write to.
type Stdio struct {
	In       io.Reader
	Out, Err io.Writer
}

// Resolve finds the namespace that a user means: a namespace of a lab, or a lab's name for its first one.
func Resolve(j *tune.Journal, name string) (netns string, err error) {
	all, err := List(j)
	if err != nil {
		return "", err
	}
	for _, l := range all {
		for _, n := range l.Namespaces {
			if n == name {
				return n, nil
			}
		}
	}
	for _, l := range all {
		if l.Name == name && len(l.Namespaces) > 0 {
			return l.Namespaces[0], nil
		}
	}
	return "", fmt.Errorf("%q: %w", name, ErrNoLab)
}

// Exec runs a program inside a network namespace and returns its exit status; 128 plus the signal that ended it, as
// shells do. When ctx is done the program is interrupted, and killed 15 s later.
func Exec(ctx context.Context, netns string, argv []string, stdio Stdio) (exit int, err error) {
	if len(argv) == 0 {
		return 0, errNoProgram
	}
	ns, err := host.OpenNS(netns)
	if err != nil {
		return 0, err
	}
	defer ns.Close()
	cmd := interruptible(ctx, argv, stdio)
	err = ns.Do(func() error { // the program inherits the namespaces of the thread that starts it
		showDevices()
		return cmd.Start()
	})
	if err == nil {
		err = cmd.Wait()
	}
	return status(err, argv[0])
}

// Replace turns this process into a program inside a network namespace: terminal, signals and status are the program's
// own. It returns only when that fails.
func Replace(netns string, argv []string) error {
	if len(argv) == 0 {
		return errNoProgram
	}
	path, err := exec.LookPath(argv[0])
	if err != nil {
		return fmt.Errorf("run %s: %w", argv[0], err)
	}
	ns, err := host.OpenNS(netns)
	if err != nil {
		return err
	}
	defer ns.Close()
	return ns.Do(func() error {
		showDevices()
		return fmt.Errorf("run %s: %w", argv[0], unix.Exec(path, argv, os.Environ()))
	})
}

var errNoProgram = errors.New("no program to run: name it behind --")

// showDevices mounts a /sys that shows the devices of the calling thread's namespace, for it alone, as ip-netns(8) does.
// Programs that do not look there need none, so a refusal is no error.
func showDevices() {
	if unix.Unshare(unix.CLONE_NEWNS) != nil || unix.Mount("", "/", "none", unix.MS_SLAVE|unix.MS_REC, "") != nil {
		return
	}
	if unix.Unmount("/sys", unix.MNT_DETACH) == nil {
		_ = unix.Mount("wirespeed", "/sys", "sysfs", 0, "")
	}
}

// interruptible is a program that is asked to end when ctx is done.
func interruptible(ctx context.Context, argv []string, stdio Stdio) *exec.Cmd {
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = stdio.In, stdio.Out, stdio.Err
	cmd.Cancel = func() error { return cmd.Process.Signal(unix.SIGINT) }
	cmd.WaitDelay = 15 * time.Second
	return cmd
}

// status separates a program that ended with a status from one that could not be run.
func status(err error, name string) (exit int, _ error) {
	bad, ok := errors.AsType[*exec.ExitError](err)
	switch {
	case ok && bad.ExitCode() >= 0:
		return bad.ExitCode(), nil
	case ok:
		if ws, ok := bad.Sys().(interface{ Signal() unix.Signal }); ok {
			return 128 + int(ws.Signal()), nil
		}
	case errors.Is(err, context.Canceled):
		return 0, nil // it was interrupted and ended well
	}
	if err != nil {
		return 0, fmt.Errorf("run %s: %w", name, err)
	}
	return 0, nil
}

// onLockedThread runs f on a thread that outlives what f starts: a death signal is sent when the *thread* that forked ends.
func onLockedThread(f func() error) error {
	done := make(chan error, 1)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		done <- f()
	}()
	return <-done
}
