package tune

import (
	"errors"
	"unsafe"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// The functions here act on devices of the calling thread's namespace.

func setGRO(name string, on bool) error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	value := struct{ cmd, data uint32 }{cmd: unix.ETHTOOL_SGRO}
	if on {
		value.data = 1
	}
	var ifr struct {
		name [unix.IFNAMSIZ]byte
		data unsafe.Pointer
		_    [16]byte
	}
	copy(ifr.name[:unix.IFNAMSIZ-1], name)
	ifr.data = unsafe.Pointer(&value)
	if _, _, e := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), unix.SIOCETHTOOL, uintptr(unsafe.Pointer(&ifr))); e != 0 {
		return e
	}
	return nil
}

func byIndex(index int) netlink.Link {
	return &netlink.Device{LinkAttrs: netlink.LinkAttrs{Index: index}}
}

func setMTU(index, mtu int) error { return netlink.LinkSetMTU(byIndex(index), mtu) }

func setUp(index int, up bool) error {
	if up {
		return netlink.LinkSetUp(byIndex(index))
	}
	return netlink.LinkSetDown(byIndex(index))
}

func detachXDP(index int) error {
	err := netlink.LinkSetXdpFd(byIndex(index), -1)
	if errors.Is(err, unix.EBUSY) {
		return errors.New("it is held by a BPF link; `bpftool link` shows whose, and ending that process detaches it")
	}
	return err
}

func accessible(path string, mode uint32) bool { return unix.Access(path, mode) == nil }
