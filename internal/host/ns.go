package host

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime"

	"golang.org/x/sys/unix"
)

// NetnsDir is where named network namespaces live (ip-netns(8)).
const NetnsDir = "/run/netns"

// NS is a handle on a network namespace. It holds a file descriptor, so the namespace lives at least as long.
type NS struct {
	Name string // empty: our own
	fd   int
}

// OpenNS opens a named network namespace, or with an empty name the caller's own.
func OpenNS(name string) (*NS, error) {
	path := "/proc/thread-self/ns/net"
	if name != "" {
		path = NetnsDir + "/" + name
	}
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if errors.Is(err, fs.ErrNotExist) && name != "" {
		return nil, fmt.Errorf("no network namespace %q; `ip netns list` shows those there are: %w", name, fs.ErrNotExist)
	}
	if err != nil {
		return nil, fmt.Errorf("network namespace %q: %w", name, err)
	}
	return &NS{Name: name, fd: fd}, nil
}

// NSFromFd makes a handle that owns fd.
func NSFromFd(name string, fd int) *NS { return &NS{Name: name, fd: fd} }

// Fd is valid until Close.
func (n *NS) Fd() int { return n.fd }

// Close releases the handle.
func (n *NS) Close() error { return os.NewSyscallError("close", unix.Close(n.fd)) }

// Do runs f on a thread of its own inside the namespace and waits. The thread is never given back: it ends with the
// goroutine, so neither namespace nor affinity leak. f must not keep the thread beyond its return.
func (n *NS) Do(f func() error) error {
	done := make(chan error, 1)
	go func() {
		runtime.LockOSThread()
		if err := unix.Setns(n.fd, unix.CLONE_NEWNET); err != nil {
			done <- fmt.Errorf("enter network namespace %q: %w", n.Name, err)
			return
		}
		done <- f()
	}()
	return <-done
}
