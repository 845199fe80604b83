package lab

import (
	"errors"
	"fmt"
	"os"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/wirespeed/wirespeed/internal/host"
	"github.com/wirespeed/wirespeed/internal/tune"
)

// Demo is two private namespaces joined by a veth pair. They have no names: nothing of them outlives the process, even
// when it is killed.
type Demo struct {
	A, B         *host.NS // closed by Close
	PortA, PortB string   // addresses of the ports without engine; good in this process while the demo is open
	// Unregistered says why `lab list` does not show it; nil where it does.
	Unregistered error

	close func() error
}

// NewDemo makes a demonstration's lab with ports va and vb of the given number of queues. Needs root, or the copy that
// Reexec starts; an error that is a *UsernsError there means that the host gives the copy no powers.
func NewDemo(j *tune.Journal, queues int) (*Demo, error) {
	a, err := privateNS()
	if err != nil {
		return nil, demoError(err)
	}
	b, err := privateNS()
	if err != nil {
		return nil, errors.Join(demoError(err), a.Close())
	}
	if err := Wire(a, b, DevA, DevB, queues); err != nil {
		return nil, errors.Join(demoError(err), a.Close(), b.Close())
	}
	d := &Demo{A: a, B: b, PortA: DevA + "@" + a.Name, PortB: DevB + "@" + b.Name}
	undo, err := d.register(j)
	if err != nil { // a demonstration needs no disk
		d.Unregistered, undo = err, func() error { return nil }
	}
	d.close = sync.OnceValue(func() error { return errors.Join(a.Close(), b.Close(), undo()) })
	return d, nil
}

func (d *Demo) register(j *tune.Journal) (undo func() error, err error) {
	p := tune.Private{Paths: []string{d.A.Name, d.B.Name}}
	for _, ns := range []*host.NS{d.A, d.B} {
		inode, err := ns.Inode()
		if err != nil {
			return nil, err
		}
		p.Inodes = append(p.Inodes, inode)
	}
	name := fmt.Sprintf("demo-%d", os.Getpid())
	return j.In(tune.Group{Kind: KindDemo, Name: name}).Do(p)
}

// Close removes the lab. It may be called more than once.
func (d *Demo) Close() error { return d.close() }

// privateNS makes a network namespace that lives as long as the handle. Its name is the descriptor's path in /proc.
func privateNS() (*host.NS, error) {
	fd := -1
	err := host.OnThread(func() (err error) {
		if err = unix.Unshare(unix.CLONE_NEWNET); err == nil {
			// Not /proc/self: that is the main thread's. The descriptor keeps the namespace when the thread has ended.
			fd, err = unix.Open("/proc/thread-self/ns/net", unix.O_RDONLY|unix.O_CLOEXEC, 0)
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("private network namespace: %w", err)
	}
	return host.NSFromFd(fmt.Sprintf("/proc/%d/fd/%d", os.Getpid(), fd), fd), nil
}

// demoError adds what to do about a missing privilege.
func demoError(err error) error {
	if Inside() {
		return explainUserns(err, "/proc/sys")
	}
	if errors.Is(err, unix.EPERM) {
		return fmt.Errorf("%w; run it with sudo", err)
	}
	return err
}
