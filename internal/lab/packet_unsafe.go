package lab

import (
	"encoding/binary"
	"errors"
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"
)

// packetSocket opens an AF_PACKET socket on a port: one that receives what arrives there, or one that only sends.
func packetSocket(p ForwardPort, receive bool) (fd int, err error) {
	fd = -1
	err = p.NS.Do(func() error {
		l, err := p.NS.Link(p.Device)
		if err != nil {
			return err
		}
		// Protocol 0 receives nothing, so the options are there before the first frame.
		if fd, err = unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC, 0); err != nil {
			return fmt.Errorf("packet socket: %w", err)
		}
		protocol := uint16(0)
		if receive {
			protocol = unix.ETH_P_ALL
			for _, o := range []struct{ level, name, value int }{
				{unix.SOL_PACKET, unix.PACKET_AUXDATA, 1}, // the kernel takes VLAN tags out of the frame
				{unix.SOL_PACKET, unix.PACKET_IGNORE_OUTGOING, 1},
				{unix.SOL_SOCKET, unix.SO_RCVBUFFORCE, 64 << 20},
			} {
				if err := unix.SetsockoptInt(fd, o.level, o.name, o.value); err != nil {
					return fmt.Errorf("packet socket: option %d: %w", o.name, err)
				}
			}
		}
		network := binary.NativeEndian.Uint16([]byte{byte(protocol >> 8), byte(protocol)})
		if err := unix.Bind(fd, &unix.SockaddrLinklayer{Protocol: network, Ifindex: l.Index}); err != nil {
			return fmt.Errorf("packet socket on %s: %w", p.Device, err)
		}
		return nil
	})
	if err != nil && fd >= 0 {
		_ = unix.Close(fd)
		fd = -1
	}
	return fd, err
}

// Sizes of a batch.
const (
	batchFrames = 64
	frameRoom   = 16 << 10 // jumbo frames and their tags
	vlanTag     = 4        // bytes kept free in front for a tag put back
	controlRoom = 64       // one tpacket_auxdata with its header
)

// mmsghdr is struct mmsghdr of recvmmsg(2).
type mmsghdr struct {
	hdr unix.Msghdr
	n   uint32
	_   [4]byte
}

// frameBatch are the buffers of one system call. Frames lie in it until the next receive.
type frameBatch struct {
	frames  []byte // batchFrames times vlanTag + frameRoom
	control []byte
	in, out [batchFrames]mmsghdr
	inVec   [batchFrames]unix.Iovec
	outVec  [batchFrames]unix.Iovec
	tagged  [batchFrames]bool
}

func newFrameBatch() *frameBatch {
	b := &frameBatch{frames: make([]byte, batchFrames*(vlanTag+frameRoom)), control: make([]byte, batchFrames*controlRoom)}
	for i := range b.in {
		b.inVec[i].Base = &b.frames[i*(vlanTag+frameRoom)+vlanTag]
		b.inVec[i].SetLen(frameRoom)
		b.in[i].hdr.Iov, b.out[i].hdr.Iov = &b.inVec[i], &b.outVec[i]
		b.in[i].hdr.SetIovlen(1)
		b.out[i].hdr.SetIovlen(1)
	}
	return b
}

// receive takes what is there, up to a batch, without waiting.
func (b *frameBatch) receive(fd int) (n int, err error) {
	for i := range b.in {
		b.in[i].hdr.Control = &b.control[i*controlRoom]
		b.in[i].hdr.SetControllen(controlRoom)
	}
	r, _, e := unix.Syscall6(unix.SYS_RECVMMSG, uintptr(fd), uintptr(unsafe.Pointer(&b.in[0])), batchFrames, unix.MSG_DONTWAIT, 0, 0)
	switch {
	case e == unix.EAGAIN || e == unix.EINTR || e == unix.ENETDOWN: // down: frames may come again
		return 0, nil
	case e != 0:
		return 0, fmt.Errorf("receive frames: %w", e)
	}
	for i := range int(r) {
		b.tagged[i] = b.putTag(i)
	}
	return int(r), nil
}

// frame is frame i of the last receive.
func (b *frameBatch) frame(i int) []byte {
	start := i*(vlanTag+frameRoom) + vlanTag
	end := start + int(b.in[i].n)
	if b.tagged[i] {
		start -= vlanTag
	}
	return b.frames[start:end]
}

// putTag puts the VLAN tag back that the kernel took out (packet(7), PACKET_AUXDATA).
func (b *frameBatch) putTag(i int) bool {
	const statusVlan, statusTPID = 1 << 4, 1 << 6 // TP_STATUS_VLAN_VALID, TP_STATUS_VLAN_TPID_VALID
	length := int(b.in[i].hdr.Controllen)
	c := b.control[i*controlRoom:][:min(length, controlRoom)]
	if len(c) < unix.CmsgLen(auxdataLen) {
		return false
	}
	aux := c[unix.CmsgLen(0):]
	native := binary.NativeEndian
	status, tci, tpid := native.Uint32(aux), native.Uint16(aux[16:]), native.Uint16(aux[18:])
	if status&statusVlan == 0 {
		return false
	}
	if status&statusTPID == 0 {
		tpid = unix.ETH_P_8021Q
	}
	f := b.frames[i*(vlanTag+frameRoom):]
	copy(f[:12], f[vlanTag:]) // both addresses
	binary.BigEndian.PutUint16(f[12:], tpid)
	binary.BigEndian.PutUint16(f[14:], tci)
	return true
}

// auxdataLen is struct tpacket_auxdata: status, len, snaplen, mac, net, vlan_tci, vlan_tpid.
const auxdataLen = 20

// send hands over frames in order. It returns how many the kernel took; those it refuses are left out.
func (b *frameBatch) send(fd int, frames [][]byte) (sent int, err error) {
	for len(frames) > 0 {
		n := min(len(frames), batchFrames)
		for i, f := range frames[:n] {
			b.outVec[i].Base = &f[0]
			b.outVec[i].SetLen(len(f))
		}
		r, _, e := unix.Syscall6(unix.SYS_SENDMMSG, uintptr(fd), uintptr(unsafe.Pointer(&b.out[0])), uintptr(n), 0, 0, 0)
		switch {
		case e == 0:
			sent += int(r)
			frames = frames[r:]
		case e == unix.EINTR:
		case errors.Is(e, unix.ENOBUFS) || e == unix.ENETDOWN || e == unix.EMSGSIZE:
			frames = frames[1:]
		default:
			return sent, fmt.Errorf("send frames: %w", e)
		}
	}
	return sent, nil
}

// socketDrops are the frames that found the socket's buffer full since the last call.
func socketDrops(fd int) uint64 {
	var s unix.TpacketStats
	size := uint32(unsafe.Sizeof(s))
	_, _, e := unix.Syscall6(unix.SYS_GETSOCKOPT, uintptr(fd), unix.SOL_PACKET, unix.PACKET_STATISTICS, uintptr(unsafe.Pointer(&s)), uintptr(unsafe.Pointer(&size)), 0)
	if e != 0 {
		return 0
	}
	return uint64(s.Drops)
}
