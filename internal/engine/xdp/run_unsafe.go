package xdp

import (
	"fmt"
	"os"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"
)

const unixMmapable = unix.BPF_F_MMAPABLE

// stateMemory is a mapped array entry: a program's state, or a replay while it is written.
type stateMemory struct {
	mem []byte
}

func mapState(fd, size int) (*stateMemory, error) {
	page := os.Getpagesize()
	mem, err := unix.Mmap(fd, 0, (size+page-1)/page*page, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return nil, fmt.Errorf("map %d bytes of a BPF array: %w", size, err)
	}
	return &stateMemory{mem: mem}, nil
}

func (m *stateMemory) unmap() error { return os.NewSyscallError("munmap", unix.Munmap(m.mem)) }

// word is the 64-bit word at an offset. The caller keeps m mapped.
func (m *stateMemory) word(off int16) *uint64 { return (*uint64)(unsafe.Pointer(&m.mem[off])) }

func (m *stateMemory) load(off int16) uint64 { return atomic.LoadUint64(m.word(off)) }

func (m *stateMemory) set(off int16, v uint64) { atomic.StoreUint64(m.word(off), v) }

// progRun is the part of union bpf_attr that BPF_PROG_RUN takes (include/uapi/linux/bpf.h, struct test). The library's
// Program.Run is not used: it starts the call again after EINTR, so a signal could not stop it. The pointers are pointers,
// not numbers, so that the collector sees them.
type progRun struct {
	fd, retval, sizeIn, sizeOut uint32
	in, out                     *byte
	repeat, duration            uint32
	ctxSizeIn, ctxSizeOut       uint32
	ctxIn, ctxOut               *xdpMd
	flags, cpu, batch, _        uint32
}

// xdpMd is struct xdp_md of the same file: data, data_end, data_meta, ingress_ifindex, rx_queue_index, egress_ifindex.
type xdpMd struct{ _, dataEnd, _, ingressIfindex, _, _ uint32 }

// newProgRun makes the argument of live-frame calls. It and all that it points to live on the heap: the kernel reads them
// while the goroutine's stack may move.
func newProgRun(progFD int, template []byte, ifindex, batch int) *progRun {
	return &progRun{
		fd: uint32(progFD), in: &template[0], sizeIn: uint32(len(template)),
		ctxIn: &xdpMd{dataEnd: uint32(len(template)), ingressIfindex: uint32(ifindex)}, ctxSizeIn: uint32(unsafe.Sizeof(xdpMd{})),
		flags: unix.BPF_F_TEST_XDP_LIVE_FRAMES, batch: uint32(batch),
	}
}

// interrupt sends a thread of this process SIGURG, which ends a call early. SIGURG, because the Go runtime takes no notice of
// one that it did not send itself.
func interrupt(tid int) { _ = unix.Tgkill(unix.Getpid(), tid, unix.SIGURG) }

// call runs the program repeat times. It returns early with EINTR on a signal, which is no failure: how much was sent is
// known to the program.
func (r *progRun) call(repeat uint32) unix.Errno {
	r.repeat = repeat
	_, _, e := unix.Syscall(unix.SYS_BPF, unix.BPF_PROG_RUN, uintptr(unsafe.Pointer(r)), unsafe.Sizeof(*r))
	return e
}
