package packetsock

import (
	"encoding/binary"
	"errors"
	"fmt"
	"sync/atomic"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/wirespeed/wirespeed/internal/analyse"
	"github.com/wirespeed/wirespeed/internal/capture"
	"github.com/wirespeed/wirespeed/internal/engine"
)

// The receive ring: 32 MiB hold about 200,000 small frames, 100 ms at 2 million frames a second. A capture has more, since
// a disk takes its time.
const (
	blockSize = 1 << 20 // more than the longest frame, so that none is cut: the kernel merges up to 512 KiB
	blocks    = 32
	frameSize = 2048 // only has to divide the block: this version packs frames
	retireMs  = 10   // a block that is not full is handed over after this
	// recordRetireMs is that of a capture, which nobody waits for: the kernel wakes the receiver less often.
	recordRetireMs = 40
	pollMs         = 10 // how soon a stop is seen
)

// rxConfig is what a receive ring is to do.
type rxConfig struct {
	ifindex  int
	blocks   int
	retireMs uint32
	offloads bool // frames come with what the kernel left to the hardware: checksums, segmentation
	outgoing bool // frames that this host sends come too
	filter   []capture.Instruction
}

// rxRing is a TPACKET_V3 ring (Documentation/networking/packet_mmap.rst), walked by one goroutine.
type rxRing struct {
	fd      int
	memory  []byte
	blocks  int
	next    int // block
	retire  time.Duration
	capture bool // what arrives is written
}

// newRxRing is called in the device's namespace. Frames arrive from its return on.
func newRxRing(c rxConfig) (*rxRing, error) {
	// Protocol 0 until bind, so that nothing arrives before the ring and the filter are there.
	fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	r := &rxRing{fd: fd, blocks: c.blocks, retire: time.Duration(c.retireMs) * time.Millisecond, capture: c.offloads}
	if err := r.setUp(c); err != nil {
		r.close()
		return nil, err
	}
	return r, nil
}

// An option is one of the packet socket's.
type option struct {
	name          string
	option, value int
}

func (r *rxRing) setUp(c rxConfig) (err error) {
	// The version first; room before each frame for a VLAN tag that the kernel took off.
	options := []option{{"version", unix.PACKET_VERSION, unix.TPACKET_V3}, {"reserve", unix.PACKET_RESERVE, vlanTag}}
	if !c.outgoing {
		options = append(options, option{"ignore outgoing", unix.PACKET_IGNORE_OUTGOING, 1})
	}
	if c.offloads {
		options = append(options, option{"offload header", unix.PACKET_VNET_HDR, 1})
	}
	for _, o := range options {
		if err := unix.SetsockoptInt(r.fd, unix.SOL_PACKET, o.option, o.value); err != nil {
			return fmt.Errorf("packet socket, %s: %w", o.name, err)
		}
	}
	if err := r.attach(c.filter); err != nil {
		return err
	}
	req := unix.TpacketReq3{
		Block_size: blockSize, Block_nr: uint32(c.blocks), Frame_size: frameSize, Frame_nr: uint32(c.blocks * (blockSize / frameSize)), Retire_blk_tov: c.retireMs,
	}
	if err := unix.SetsockoptTpacketReq3(r.fd, unix.SOL_PACKET, unix.PACKET_RX_RING, &req); err != nil {
		return fmt.Errorf("receive ring of %d MiB: %w", c.blocks*blockSize>>20, err)
	}
	if r.memory, err = unix.Mmap(r.fd, 0, c.blocks*blockSize, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED|unix.MAP_POPULATE); err != nil {
		return fmt.Errorf("map the receive ring: %w", err)
	}
	// Test frames need not carry the address of this port. The membership ends with the socket.
	all := unix.PacketMreq{Ifindex: int32(c.ifindex), Type: unix.PACKET_MR_PROMISC}
	if err := unix.SetsockoptPacketMreq(r.fd, unix.SOL_PACKET, unix.PACKET_ADD_MEMBERSHIP, &all); err != nil {
		return fmt.Errorf("receive frames to all addresses: %w", err)
	}
	every := uint16(unix.ETH_P_ALL)
	if err := unix.Bind(r.fd, &unix.SockaddrLinklayer{Protocol: every<<8 | every>>8, Ifindex: c.ifindex}); err != nil || !c.offloads {
		return err
	}
	return ethernet(r.fd)
}

// ethernet refuses devices whose frames have no Ethernet header: a capture says what its packets begin with.
func ethernet(fd int) error {
	a, err := unix.Getsockname(fd)
	if err != nil {
		return err
	}
	if l, ok := a.(*unix.SockaddrLinklayer); ok && l.Hatype != unix.ARPHRD_ETHER && l.Hatype != unix.ARPHRD_LOOPBACK {
		return engine.InputError("its frames have no Ethernet header, so they are not written here; tcpdump -w writes them")
	}
	return nil
}

// attach sets the filter of the socket, which no frame has reached yet.
func (r *rxRing) attach(filter []capture.Instruction) error {
	if len(filter) == 0 {
		return nil
	}
	raw := make([]unix.SockFilter, len(filter))
	for i, in := range filter {
		raw[i] = unix.SockFilter(in)
	}
	err := unix.SetsockoptSockFprog(r.fd, unix.SOL_SOCKET, unix.SO_ATTACH_FILTER, &unix.SockFprog{Len: uint16(len(raw)), Filter: &raw[0]})
	if errors.Is(err, unix.EINVAL) {
		return engine.InputError("the kernel does not take the filter: it is no program of tcpdump -ddd")
	}
	if err != nil {
		return fmt.Errorf("attach the filter: %w", err)
	}
	return nil
}

func (r *rxRing) header() *unix.TpacketHdrV1 {
	b := (*unix.TpacketBlockDesc)(unsafe.Pointer(&r.memory[r.next*blockSize]))
	return (*unix.TpacketHdrV1)(unsafe.Pointer(&b.Hdr))
}

// ready is whether the kernel has handed over the next block.
func (r *rxRing) ready() bool {
	return atomic.LoadUint32(&r.header().Block_status)&unix.TP_STATUS_USER != 0
}

// begun is when the first frame of the next block, which is ready, arrived.
func (r *rxRing) begun() time.Time {
	ts := &r.header().Ts_first_pkt
	return time.Unix(int64(ts.Sec), int64(ts.Usec)) // this version counts ns
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
		a.Frame(block[from:to], clock.at(stampOf(p)))
		at += p.Next_offset
	}
	r.giveBack(h)
}

// record is block, and writes the frames to rec as they were on the wire. The ring was made with offloads.
func (r *rxRing) record(a *analyse.Analyser, clock *stampClock, rec *recording) {
	h := r.header()
	block := r.memory[r.next*blockSize : (r.next+1)*blockSize]
	at := h.Offset_to_first_pkt
	for range h.Num_pkts {
		p := (*unix.Tpacket3Hdr)(unsafe.Pointer(&block[at]))
		from, to := at+uint32(p.Mac), at+uint32(p.Mac)+p.Snaplen
		merged := finish(block, from, to)
		orig := int(p.Len)
		if p.Status&unix.TP_STATUS_VLAN_VALID != 0 {
			from = putTag(block, from, p)
			orig += vlanTag
		}
		stamp := stampOf(p)
		outgoing := block[at+pktType] == unix.PACKET_OUTGOING
		if outgoing && rec.out || !outgoing && rec.in {
			rec.Frame(stamp, orig, block[from:to], merged, outgoing)
		}
		if !outgoing {
			a.Frame(block[from:to], clock.at(stamp))
		}
		at += p.Next_offset
	}
	r.giveBack(h)
}

// pktType is where sll_pkttype lies behind the start of a frame's header: in the address behind the header itself, which
// has a size that TPACKET_ALIGN keeps.
const pktType = unix.SizeofTpacket3Hdr + 10

func stampOf(p *unix.Tpacket3Hdr) int64 { return int64(p.Sec)*1e9 + int64(p.Nsec) }

func (r *rxRing) giveBack(h *unix.TpacketHdrV1) {
	atomic.StoreUint32(&h.Block_status, unix.TP_STATUS_KERNEL)
	r.next = (r.next + 1) % r.blocks
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
	var err error
	if r.capture {
		err = pollQuietly(fds)
	} else {
		_, err = unix.Poll(fds, pollMs)
	}
	if err != nil && !errors.Is(err, unix.EINTR) { // Go's own signals interrupt
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

// pollQuietly is Poll of which the runtime is not told: it would take this thread's place for others hundreds of times a
// second, and that costs more than writing the frames does. When it needs the thread it interrupts the wait.
func pollQuietly(fds []unix.PollFd) error {
	limit := unix.Timespec{Nsec: pollMs * int64(time.Millisecond)}
	if _, _, e := unix.RawSyscall6(unix.SYS_PPOLL, uintptr(unsafe.Pointer(&fds[0])), 1, uintptr(unsafe.Pointer(&limit)), 0, 0, 0); e != 0 {
		return e
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
