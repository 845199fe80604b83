package enginetest

import (
	"encoding/binary"
	"errors"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/wirespeed/wirespeed/internal/host"
)

// captureBuffer holds what a test sends at once.
const captureBuffer = 64 << 20

// Capture keeps every frame that comes in at a device until the returned function is called, which waits until quiet has
// passed without one and returns them as they were on the wire, VLAN tags in place. A frame that the socket had no room for
// fails the test.
func Capture(t testing.TB, ns *host.NS, device string) (frames func() [][]byte) {
	t.Helper()
	// The last taker of a frame gets it with the next frames, behind those that another protocol takes too (net/core/dev.c,
	// __netif_receive_skb_list_core). The socket that was bound first is the last.
	last := rawSocket(t, ns, device, unix.ETH_P_ALL)
	fd := rawSocket(t, ns, device, unix.ETH_P_ALL)
	for _, err := range []error{
		unix.SetsockoptInt(last, unix.SOL_SOCKET, unix.SO_RCVBUF, 0), // nobody reads it
		unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVBUFFORCE, captureBuffer),
		unix.SetsockoptInt(fd, unix.SOL_PACKET, unix.PACKET_AUXDATA, 1),
		unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &unix.Timeval{Usec: 20_000}),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	var got [][]byte
	stop := make(chan struct{})
	var done sync.WaitGroup
	done.Go(func() {
		buf, control := make([]byte, 1<<16), make([]byte, 256)
		for quiet := time.Now(); ; {
			n, cn, _, from, err := unix.Recvmsg(fd, buf, control, 0)
			switch {
			case errors.Is(err, unix.EINTR):
			case err != nil:
				select {
				case <-stop:
					// Frames that a busy machine has not delivered at all yet are waited for longer.
					if since := time.Since(quiet); since > time.Second || since > 50*time.Millisecond && len(got) > 0 {
						return
					}
				default:
				}
			default:
				if a, ok := from.(*unix.SockaddrLinklayer); ok && a.Pkttype != unix.PACKET_OUTGOING {
					got = append(got, withTag(buf[:n], control[:cn]))
				}
				quiet = time.Now()
			}
		}
	})
	return func() [][]byte {
		t.Helper()
		close(stop)
		done.Wait()
		s, err := unix.GetsockoptTpacketStats(fd, unix.SOL_PACKET, unix.PACKET_STATISTICS)
		if err != nil {
			t.Fatal(err)
		}
		if s.Drops > 0 {
			t.Fatalf("the capture dropped %d frames", s.Drops)
		}
		return got
	}
}

// withTag is a copy of a frame with the tag that the kernel took out: struct tpacket_auxdata of linux/if_packet.h.
func withTag(b, control []byte) []byte {
	messages, err := unix.ParseSocketControlMessage(control)
	if err == nil {
		for _, m := range messages {
			if m.Header.Level != unix.SOL_PACKET || m.Header.Type != unix.PACKET_AUXDATA || len(m.Data) < 20 {
				continue
			}
			if status := binary.NativeEndian.Uint32(m.Data); status&unix.TP_STATUS_VLAN_VALID == 0 || len(b) < 12 {
				continue
			}
			tag := binary.BigEndian.AppendUint16(nil, binary.NativeEndian.Uint16(m.Data[18:]))
			tag = binary.BigEndian.AppendUint16(tag, binary.NativeEndian.Uint16(m.Data[16:]))
			return append(append(append(make([]byte, 0, len(b)+4), b[:12]...), tag...), b[12:]...)
		}
	}
	return append([]byte(nil), b...)
}
