package xdp

import (
	"errors"
	"fmt"
	"runtime"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/link"
	"golang.org/x/sys/unix"
)

// anchor keeps a program in the kernel's XDP dispatcher until release is called. A BPF_PROG_RUN with repeat above 1 puts the
// program in and takes it out again, and taking it out waits for an RCU grace period in every call: 0.4 ms on an idle
// machine, 27 ms on a busy one (kernel/bpf/dispatcher.c). A program that is attached anywhere stays in.
//
// Anywhere is `lo` of a network namespace of its own, in generic mode: there it sees no packet, and lo takes one program
// only. The namespace is held by its descriptor: if it died the link would silently be gone, and with it the anchor.
func anchor(prog *ebpf.Program) (release func() error, err error) {
	done := make(chan error, 1)
	go func() {
		runtime.LockOSThread() // never unlocked: the thread ends here, and nobody finds himself in the namespace
		done <- func() error {
			if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
				return fmt.Errorf("network namespace for the anchor: %w", err)
			}
			// /proc/self would be the main thread's.
			fd, err := unix.Open("/proc/thread-self/ns/net", unix.O_RDONLY|unix.O_CLOEXEC, 0)
			if err != nil {
				return fmt.Errorf("network namespace for the anchor: %w", err)
			}
			const lo = 1
			l, err := link.AttachXDP(link.XDPOptions{Program: prog, Interface: lo, Flags: link.XDPGenericMode})
			if err != nil {
				_ = unix.Close(fd)
				return fmt.Errorf("anchor the transmit program: %w", err)
			}
			release = func() error { return errors.Join(l.Close(), unix.Close(fd)) }
			return nil
		}()
	}()
	err = <-done
	return release, err
}
