package host

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime"
	"strings"
	"sync"

	"golang.org/x/sys/unix"
)

// NetnsDir is where named network namespaces live (ip-netns(8)).
const NetnsDir = "/run/netns"

// ownNetns is the calling thread's, and so the process's for all threads that did not enter another for good. /proc/self
// would be the main thread's, which may be one that did.
const ownNetns = "/proc/thread-self/ns/net"

// NS is a handle on a network namespace. It holds a file descriptor, so the namespace lives at least as long. Sockets for
// asking the kernel are made inside the namespace on first use and kept until Close.
type NS struct {
	Name string // as OpenNS takes it; empty: our own
	fd   int

	mu   sync.Mutex
	conn *conn
}

// OpenNS opens a named network namespace, or with an empty name the caller's own. A name with a slash is the path of a
// namespace file, such as /proc/PID/ns/net or /proc/self/fd/N: so are namespaces without a name addressed.
func OpenNS(name string) (*NS, error) {
	path := NetnsDir + "/" + name
	switch {
	case name == "":
		path = ownNetns
	case strings.Contains(name, "/"):
		path = name
	}
	// Looked at before it is opened: opening anything else, such as a pipe, can wait or have effects. A file in NetnsDir that
	// nothing is mounted on is what a half-made `ip netns add` leaves.
	var st unix.Statfs_t
	err := unix.Statfs(path, &st)
	if err == nil && st.Type != unix.NSFS_MAGIC {
		return nil, fmt.Errorf("%q is no network namespace: %s is another kind of file; where it is an empty one, `ip netns delete` removes it", name, path)
	}
	fd := -1
	if err == nil {
		fd, err = unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	}
	if errors.Is(err, fs.ErrNotExist) && name != "" {
		return nil, &Absent{What: fmt.Sprintf("no network namespace %q", name), Mend: "`ip netns list` shows those there are"}
	}
	if err != nil {
		return nil, fmt.Errorf("network namespace %q: %w", name, needRoot(err))
	}
	return &NS{Name: name, fd: fd}, nil
}

// NSFromFd makes a handle that owns fd. name is what OpenNS would take for the same namespace.
func NSFromFd(name string, fd int) *NS { return &NS{Name: name, fd: fd} }

// Fd is valid until Close.
func (n *NS) Fd() int { return n.fd }

// Inode identifies the namespace on this machine as long as it lives.
func (n *NS) Inode() (uint64, error) {
	var st unix.Stat_t
	if err := unix.Fstat(n.fd, &st); err != nil {
		return 0, os.NewSyscallError("fstat", err)
	}
	return st.Ino, nil
}

// Close releases the handle. No other method may run meanwhile or later.
func (n *NS) Close() error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.conn != nil {
		n.conn.close()
		n.conn = nil
	}
	return os.NewSyscallError("close", unix.Close(n.fd))
}

// Do runs f on a thread of its own inside the namespace and waits. The thread is never given back: it ends with the
// goroutine, so neither namespace nor affinity leak. f must not keep the thread beyond its return. A namespace that the
// thread is in already is not entered, since that needs CAP_SYS_ADMIN too.
func (n *NS) Do(f func() error) error {
	return OnThread(func() error {
		if n.current() {
			return f()
		}
		if err := unix.Setns(n.fd, unix.CLONE_NEWNET); err != nil {
			return fmt.Errorf("enter network namespace %q: %w", n.Name, needRoot(err))
		}
		return f()
	})
}

// OnThread runs f on a thread of its own, which ends afterwards, and waits. It is never the process's main thread: that one
// cannot end, and /proc/self shows its namespaces and affinity as those of the process.
func OnThread(f func() error) error {
	done := make(chan error, 1)
	go func() {
		runtime.LockOSThread()
		if unix.Gettid() != unix.Getpid() {
			done <- f()
			return // still locked: the thread ends
		}
		// While this goroutine holds the main thread, the next one gets another.
		defer runtime.UnlockOSThread()
		done <- OnThread(f)
	}()
	return <-done
}

// current says whether the namespace is the caller's own.
func (n *NS) current() bool {
	var own unix.Stat_t
	if unix.Stat(ownNetns, &own) != nil {
		return false
	}
	ino, err := n.Inode()
	return err == nil && ino == own.Ino
}

func needRoot(err error) error {
	if errors.Is(err, fs.ErrPermission) {
		return fmt.Errorf("%w; run it with sudo", err)
	}
	return err
}
