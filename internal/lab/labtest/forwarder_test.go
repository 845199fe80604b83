package labtest

import (
	"encoding/binary"
	"slices"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/wirespeed/wirespeed/internal/host"
	"github.com/wirespeed/wirespeed/internal/lab"
)

// socket opens a packet socket; with protocol 0 it only sends.
func socket(t *testing.T, ns *host.NS, device string, protocol uint16) int {
	t.Helper()
	fd := -1
	err := ns.Do(func() error {
		l, err := ns.Link(device)
		if err != nil {
			return err
		}
		if fd, err = unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC, 0); err != nil {
			return err
		}
		network := binary.NativeEndian.Uint16([]byte{byte(protocol >> 8), byte(protocol)})
		return unix.Bind(fd, &unix.SockaddrLinklayer{Protocol: network, Ifindex: l.Index})
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Close(fd) })
	if err := unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &unix.Timeval{Usec: 500_000}); err != nil {
		t.Fatal(err)
	}
	return fd
}

// etherType is for local experiments (IEEE 802).
const etherType = 0x88b5

func send(t *testing.T, fd int, n int) {
	t.Helper()
	for i := range n {
		frame := make([]byte, 60)
		copy(frame, []byte{2, 0, 0, 0, 0, 9, 2, 0, 0, 0, 0, 8, etherType >> 8, etherType & 0xff, byte(i)})
		if _, err := unix.Write(fd, frame); err != nil {
			t.Fatal(err)
		}
	}
}

// receive returns the numbers of the frames until none comes any more.
func receive(fd int) (numbers []byte) {
	b := make([]byte, 2048)
	for {
		n, err := unix.Read(fd, b)
		if err == unix.EINTR { // a signal of the Go runtime: a read with a time limit is not taken up again by the kernel
			continue
		}
		if err != nil {
			return numbers
		}
		if n >= 15 {
			numbers = append(numbers, b[14])
		}
	}
}

func TestForwarderHurtsChosenFrames(t *testing.T) {
	c := TestChain(t, "t-host", 1)
	f := c.Forward(t, lab.Path{Impair: func(i uint64, frame []byte) lab.Action {
		return map[uint64]lab.Action{2: {Drop: true}, 4: {Duplicate: 1}, 6: {Behind: 1}, 8: {Delay: 20 * time.Millisecond}, 9: {Corrupt: true, At: 14}}[i]
	}})
	rx := socket(t, c.NSB, "vb", etherType)
	send(t, socket(t, c.NSA, "va", 0), 11)
	if got, want := receive(rx), []byte{0, 1, 3, 4, 4, 5, 7, 6, 9 ^ 0xff, 10, 8}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	if err := f.Close(); err != nil {
		t.Error(err)
	}
	got, back := f.Counts()
	want := lab.PathCounts{Received: 11, Forwarded: 11, Dropped: 1, Duplicated: 1, Displaced: 1, Delayed: 1, Corrupted: 1}
	if got != want || back != (lab.PathCounts{}) {
		t.Errorf("%+v back %+v, want %+v", got, back, want)
	}
}

func TestForwarderKeepsVLANTags(t *testing.T) {
	c := TestChain(t, "t-host", 1)
	c.Forward(t, lab.Path{})
	rx := socket(t, c.NSB, "vb", unix.ETH_P_ALL)
	if err := unix.SetsockoptInt(rx, unix.SOL_PACKET, unix.PACKET_AUXDATA, 1); err != nil {
		t.Fatal(err)
	}
	frame := make([]byte, 64)
	copy(frame, []byte{2, 0, 0, 0, 0, 9, 2, 0, 0, 0, 0, 8, 0x88, 0xa8, 0x20, 7, 0x81, 0, 0, 9, etherType >> 8, etherType & 0xff})
	if _, err := unix.Write(socket(t, c.NSA, "va", 0), frame); err != nil {
		t.Fatal(err)
	}
	b, control := make([]byte, 2048), make([]byte, 128)
	n, cn, _, _, err := unix.Recvmsg(rx, b, control, 0)
	for err == unix.EINTR {
		n, cn, _, _, err = unix.Recvmsg(rx, b, control, 0)
	}
	if err != nil {
		t.Fatal(err)
	}
	// The receiving kernel takes the outer tag out again; it must be there.
	aux := control[unix.CmsgLen(0):cn]
	tci, tpid := binary.NativeEndian.Uint16(aux[16:]), binary.NativeEndian.Uint16(aux[18:])
	if n != 60 || tci != 0x2007 || tpid != 0x88a8 || !slices.Equal(b[12:18], []byte{0x81, 0, 0, 9, etherType >> 8, etherType & 0xff}) {
		t.Errorf("%d bytes, tag %#x %#x, then % x", n, tpid, tci, b[12:18])
	}
}

func TestForwarderBothWaysAndRate(t *testing.T) {
	c := TestChain(t, "t-host", 1)
	f, err := lab.StartForwarder(c.Left, c.Right, &lab.Path{RateFPS: 100, Queue: 20}, &lab.Path{})
	if err != nil {
		t.Fatal(err)
	}
	a, b := socket(t, c.NSA, "va", etherType), socket(t, c.NSB, "vb", etherType)
	send(t, a, 200)
	send(t, b, 3)
	if got := receive(b); len(got) < 20 || len(got) > 150 {
		t.Errorf("%d of 200 frames at once come through 100 fps with 20 waiting", len(got))
	}
	if got := receive(a); len(got) != 3 {
		t.Errorf("%d frames back, want 3", len(got))
	}
	if err := f.Close(); err != nil {
		t.Error(err)
	}
	there, back := f.Counts()
	if there.Forwarded+there.QueueFull != 200 || there.QueueFull == 0 || back.Forwarded != 3 {
		t.Errorf("%+v, %+v", there, back)
	}
}

func TestForwarderOfNoDevice(t *testing.T) {
	p := TestPair(t, "t-host", 1)
	if _, err := lab.StartForwarder(lab.ForwardPort{NS: p.NSA, Device: "nosuch"}, lab.ForwardPort{NS: p.NSB, Device: "vb"}, &lab.Path{}, nil); err == nil {
		t.Error("started")
	}
}
