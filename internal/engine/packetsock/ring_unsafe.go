package packetsock

import (
	"errors"
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/wirespeed/wirespeed/internal/program"
)

// ring is the frames and the socket of one queue. It implements engine.Ring: a frame completes when sendmmsg took it.
type ring struct {
	fd     int
	device string

	frames []program.Frame
	iovs   []unix.Iovec
	msgs   []mmsghdr
	next   int // of the reserved frames, the first that was not taken yet
	taken  int // since the last Reclaim
}

// mmsghdr is struct mmsghdr of socket.h on 64-bit machines.
type mmsghdr struct {
	hdr unix.Msghdr
	len uint32
	_   [4]byte
}

const cacheLine = 64

// newRing makes a socket inside the namespace and buffers for the longest frame of the program.
func (p *port) newRing(prog *program.Program) (*ring, error) {
	size := 0
	for i := range prog.Streams {
		lens := prog.Streams[i].Lens
		size = max(size, lens[len(lens)-1])
	}
	size = (size + cacheLine - 1) &^ (cacheLine - 1)
	r := &ring{fd: -1, device: p.link.Name, frames: make([]program.Frame, maxBatch), iovs: make([]unix.Iovec, maxBatch), msgs: make([]mmsghdr, maxBatch)}
	buf := make([]byte, maxBatch*size)
	for i := range r.frames {
		r.frames[i].Buf = buf[i*size : (i+1)*size : (i+1)*size]
		r.iovs[i].Base = &r.frames[i].Buf[0]
		r.msgs[i].hdr.Iov, r.msgs[i].hdr.Iovlen = &r.iovs[i], 1
	}
	err := p.ns.Do(func() (err error) {
		r.fd, err = sendSocket(p.link.Index, p.qdisc)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("packet socket on %s: %w", p.link.Name, err)
	}
	return r, nil
}

// sendBuffer bounds what the kernel holds for a socket: frames in a qdisc, or in a card's ring. The usual limit (208 KiB)
// is less than a card's ring of small frames.
const sendBuffer = 8 << 20

// sendSocket makes a socket that is bound to a device of the calling thread's namespace and receives nothing: its protocol
// is 0.
func sendSocket(ifindex int, qdisc bool) (fd int, err error) {
	fd, err = unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return -1, err
	}
	if !qdisc {
		err = unix.SetsockoptInt(fd, unix.SOL_PACKET, unix.PACKET_QDISC_BYPASS, 1)
	}
	if err == nil {
		err = unix.Bind(fd, &unix.SockaddrLinklayer{Ifindex: ifindex})
	}
	if err != nil {
		_ = unix.Close(fd)
		return -1, err
	}
	// Beyond the limit it takes CAP_NET_ADMIN of the first namespace; less will do.
	if unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_SNDBUFFORCE, sendBuffer) != nil {
		_ = unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_SNDBUF, sendBuffer)
	}
	return fd, nil
}

// Reserve returns up to n frames.
func (r *ring) Reserve(n int) []program.Frame {
	r.next = 0
	return r.frames[:min(n, len(r.frames))]
}

// Commit hands the next n frames to the kernel with one system call.
func (r *ring) Commit(n int) (taken int, err error) {
	for i := r.next; i < r.next+n; i++ {
		r.iovs[i].Len = uint64(r.frames[i].Len)
	}
	for {
		k, _, e := unix.Syscall6(unix.SYS_SENDMMSG, uintptr(r.fd), uintptr(unsafe.Pointer(&r.msgs[r.next])), uintptr(n), unix.MSG_DONTWAIT, 0, 0)
		if e == 0 {
			r.next += int(k)
			r.taken += int(k)
			return int(k), nil
		}
		if e != unix.EINTR {
			return 0, r.failure(e)
		}
	}
}

// failure says which errors end a run. ENOBUFS: the device or the qdisc dropped this frame; EAGAIN: the socket's buffer is
// full; ENOMEM passes: the frame is sent again.
func (r *ring) failure(e unix.Errno) error {
	switch e {
	case unix.ENOBUFS, unix.EAGAIN, unix.ENOMEM:
		return nil
	case unix.ENETDOWN:
		return fmt.Errorf("%s went down during the run", r.device)
	case unix.ENXIO, unix.ENODEV:
		return fmt.Errorf("%s is gone", r.device)
	default:
		return fmt.Errorf("sendmmsg on %s: %w", r.device, e)
	}
}

// Reclaim returns how many frames the kernel took since the last call.
func (r *ring) Reclaim() int {
	n := r.taken
	r.taken = 0
	return n
}

// Check says whether the device takes nothing because its link is down, which a socket past the qdisc sees as a full device.
func (r *ring) Check() error {
	req, err := unix.NewIfreq(r.device)
	if err == nil {
		err = unix.IoctlIfreq(r.fd, unix.SIOCGIFFLAGS, req)
	}
	switch {
	case errors.Is(err, unix.ENODEV):
		return fmt.Errorf("%s is gone", r.device)
	case err != nil:
		return nil // it may be renamed; the next frame tells
	case req.Uint16()&unix.IFF_UP == 0:
		return fmt.Errorf("%s went down during the run", r.device)
	case req.Uint16()&unix.IFF_RUNNING == 0:
		return fmt.Errorf("%s lost its carrier during the run", r.device)
	}
	return nil
}

func (r *ring) close() { _ = unix.Close(r.fd) }
