package packetsock

import (
	"encoding/binary"
	"errors"
	"fmt"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/wirespeed/wirespeed/internal/analyse"
)

// The receive ring: 32 MiB hold about 200,000 small frames, 100 ms at 2 million frames a second.
const (
	blockSize = 1 << 20
	blocks    = 32
	frameSize = 2048 // only has to divide the block: this version packs frames
	retireMs  = 10   // a block that is not full is handed over after this
	pollMs    = 10   // how soon a stop is seen
)

// rxRing is a TPACKET_V3 ring (Documentation/networking/packet_mmap.rst), walked by one goroutine.
type rxRing struct {
	fd     int
	memory []byte
	next   int // block
}

// newRxRing is called in the device's namespace. Frames arrive from its return on.
func newRxRing(ifindex int) (*rxRing, error) {
	// Protocol 0 until bind, so that nothing arrives before the ring is there.
	fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	r := &rxRing{fd: fd}
	if err := r.setUp(ifindex); err != nil {
		r.close()
		return nil, err
	}
	return r, nil
}

func (r *rxRing) setUp(ifindex int) (err error) {
	// The version first; room before each frame for a VLAN tag that the kernel took off.
	for _, o := range []struct {
		name   string
		option int
		value  int
	}{{"version", unix.PACKET_VERSION, unix.TPACKET_V3}, {"reserve", unix.PACKET_RESERVE, vlanTag}, {"ignore outgoing", unix.PACKET_IGNORE_OUTGOING, 1}} {
		if err := unix.SetsockoptInt(r.fd, unix.SOL_PACKET, o.option, o.value); err != nil {
			return fmt.Errorf("packet socket, %s: %w", o.name, err)
		}
	}
	req := unix.TpacketReq3{Block_size: blockSize, Block_nr: blocks, Frame_size: frameSize, Frame_nr: blocks * blockSize / frameSize, Retire_blk_tov: retireMs}
	if err := unix.SetsockoptTpacketReq3(r.fd, unix.SOL_PACKET, unix.PACKET_RX_RING, &req); err != nil {
		return fmt.Errorf("receive ring of %d MiB: %w", blocks*blockSize>>20, err)
	}
	if r.memory, err = unix.Mmap(r.fd, 0, blocks*blockSize, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED|unix.MAP_POPULATE); err != nil {
		return fmt.Errorf("map the receive ring: %w", err)
	}
	// Test frames need not carry the address of this port. The membership ends with the socket.
	all := unix.PacketMreq{Ifindex: int32(ifindex), Type: unix.PACKET_MR_PROMISC}
	if err := unix.SetsockoptPacketMreq(r.fd, unix.SOL_PACKET, unix.PACKET_ADD_MEMBERSHIP, &all); err != nil {
		return fmt.Errorf("receive frames to all addresses: %w", err)
	}
	every := uint16(unix.ETH_P_ALL)
	return unix.Bind(r.fd, &unix.SockaddrLinklayer{Protocol: every<<8 | every>>8, Ifindex: ifindex})
}

func (r *rxRing) header() *unix.TpacketHdrV1 {
	b := (*unix.TpacketBlockDesc)(unsafe.Pointer(&r.memory[r.next*blockSize]))
	return (*unix.TpacketHdrV1)(unsafe.Pointer(&b.Hdr))
}

// ready is whether the kernel has handed over the next block.
func (r *rxRing) ready() bool {
	return atomic.LoadUint32(&r.header().Block_status)&unix.TP_STATUS_USER != 0
}

// block analyses the next block, which is ready, and gives it back. clock turns its time stamps into CLOCK_MONOTONIC.
func (r *rxRing) block(a *analyse.Analyser, clock *stampClock) {
	h := r.header()
	block := r.memory[r.next*blockSize : (r.next+1)*blockSize]
	at := h.Offset_to_first_pkt
	for range h.Num_pkts {
		p := (*unix.Tpacket3Hdr)(unsafe.Pointer(&block[at]))
		from, to := at+uint32(p.Mac), at+uint32(p.Mac)+p.Snaplen
		if p.Status&unix.TP_STATUS_VLAN_VALID != 0 {
			from = putTag(block, from, p)
		}
		a.Frame(block[from:to], clock.at(int64(p.Sec)*1e9+int64(p.Nsec)))
		at += p.Next_offset
	}
	atomic.StoreUint32(&h.Block_status, unix.TP_STATUS_KERNEL)
	r.next = (r.next + 1) % blocks
}

// putTag puts the outermost tag back that the kernel took off: the addresses move four bytes down, into the reserve.
func putTag(block []byte, from uint32, p *unix.Tpacket3Hdr) uint32 {
	tpid := uint16(unix.ETH_P_8021Q)
	if p.Status&unix.TP_STATUS_VLAN_TPID_VALID != 0 {
		tpid = p.Hv1.Vlan_tpid
	}
	copy(block[from-vlanTag:], block[from:from+12])
	binary.BigEndian.PutUint16(block[from+8:], tpid)
	binary.BigEndian.PutUint16(block[from+10:], uint16(p.Hv1.Vlan_tci))
	return from - vlanTag
}

// wait returns when there may be a block, or after 10 ms.
func (r *rxRing) wait() error {
	fds := []unix.PollFd{{Fd: int32(r.fd), Events: unix.POLLIN}}
	if _, err := unix.Poll(fds, pollMs); err != nil && !errors.Is(err, unix.EINTR) { // Go's own signals interrupt
		return fmt.Errorf("poll: %w", err)
	}
	if fds[0].Revents&unix.POLLERR != 0 {
		// The device went down: reading the error clears it, and frames come again when it is up.
		if _, err := unix.GetsockoptInt(r.fd, unix.SOL_SOCKET, unix.SO_ERROR); err != nil {
			return fmt.Errorf("error of the socket: %w", err)
		}
	}
	return nil
}

// dropped is what found the ring full since it was asked last: reading resets the kernel's counts.
func (r *rxRing) dropped() (uint64, error) {
	s, err := unix.GetsockoptTpacketStatsV3(r.fd, unix.SOL_PACKET, unix.PACKET_STATISTICS)
	if err != nil {
		return 0, fmt.Errorf("drops of the receive ring: %w", err)
	}
	return uint64(s.Drops), nil
}

func (r *rxRing) close() {
	if r.memory != nil {
		_ = unix.Munmap(r.memory)
	}
	_ = unix.Close(r.fd)
}
