package tune

import (
	"errors"
	"fmt"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/wirespeed/wirespeed/internal/host"
)

// ErrLocked says that another wirespeed holds the port.
var ErrLocked = errors.New("another wirespeed holds the port")

// LockPort takes the lock of one side ("tx" or "rx") of a device: the abstract unix socket @wirespeed/<ifindex>/<side> in the
// device's network namespace. It vanishes with the process, so a crash leaves nothing behind.
func LockPort(ns *host.NS, ifindex int, side string) (release func(), err error) {
	fd := -1
	err = ns.Do(func() error {
		var err error
		fd, err = unix.Socket(unix.AF_UNIX, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
		if err != nil {
			return fmt.Errorf("lock of the port: socket: %w", err)
		}
		err = unix.Bind(fd, &unix.SockaddrUnix{Name: fmt.Sprintf("@wirespeed/%d/%s", ifindex, side)})
		if err == nil {
			return nil
		}
		unix.Close(fd)
		if errors.Is(err, unix.EADDRINUSE) {
			return ErrLocked
		}
		return fmt.Errorf("lock of the port: %w", err)
	})
	if err != nil {
		return nil, err
	}
	return sync.OnceFunc(func() { unix.Close(fd) }), nil
}
