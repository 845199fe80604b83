package replay

import (
	"bytes"
	"context"
	"encoding/binary"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/wirespeed/wirespeed/internal/packet"
	"github.com/wirespeed/wirespeed/stream"
)

// A record is one packet of a capture that a test makes.
type record struct {
	ns   int64
	data []byte
	orig int // 0: as long as data
}

const linkEthernet = 1

// pcapBytes is a pcap file with nanoseconds, little endian.
func pcapBytes(link uint32, records ...record) []byte {
	var b bytes.Buffer
	le := binary.LittleEndian
	head := make([]byte, 24)
	le.PutUint32(head, 0xa1b23c4d)
	le.PutUint16(head[4:], 2)
	le.PutUint16(head[6:], 4)
	le.PutUint32(head[16:], 262144)
	le.PutUint32(head[20:], link)
	b.Write(head)
	for _, r := range records {
		h := make([]byte, 16)
		le.PutUint32(h, uint32(r.ns/1e9))
		le.PutUint32(h[4:], uint32(r.ns%1e9))
		le.PutUint32(h[8:], uint32(len(r.data)))
		le.PutUint32(h[12:], uint32(max(r.orig, len(r.data))))
		b.Write(h)
		b.Write(r.data)
	}
	return b.Bytes()
}

// write puts bytes into a file of the test.
func write(t testing.TB, data []byte) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "in.pcap")
	if err := os.WriteFile(file, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// set reads a replay as flags describe it.
func set(t testing.TB, f stream.Flags, r stream.ReplayFlags) *stream.Replay {
	t.Helper()
	s, err := stream.FromReplayFlags(f, r)
	if err != nil {
		t.Fatal(err)
	}
	return s.Replay
}

func open(t testing.TB, r *stream.Replay, l Limits) *Capture {
	t.Helper()
	c, err := Open(context.Background(), r, l)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	return c
}

// replayed are the frames that a capture of these packets sends.
func replayed(t testing.TB, f stream.Flags, r stream.ReplayFlags, records ...record) ([][]byte, *Capture) {
	t.Helper()
	r.PCAP = write(t, pcapBytes(linkEthernet, records...))
	c := open(t, set(t, f, r), Limits{})
	return frames(c), c
}

func frames(c *Capture) (all [][]byte) {
	q := c.Program.Sequence
	for _, f := range q.Frames {
		all = append(all, q.Bytes[f.At:f.At+int(f.Len)])
	}
	return all
}

// refusal opens a capture that must be refused.
func refusal(t testing.TB, r *stream.Replay, l Limits) *Error {
	t.Helper()
	c, err := Open(context.Background(), r, l)
	if err == nil {
		_ = c.Close()
		t.Fatalf("not refused: %d frames", c.Facts().Frames)
	}
	bad, ok := err.(*Error)
	if !ok {
		t.Fatalf("refused by %T: %v", err, err)
	}
	return bad
}

// udp4 is an Ethernet frame with IPv4 and UDP, all checksums right.
func udp4(payload int) []byte {
	b := make([]byte, 42+payload)
	copy(b, []byte{2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 8, 0})
	ip := b[14:]
	copy(ip, []byte{0x45, 0, 0, 0, 0, 1, 0, 0, 64, 17, 0, 0, 10, 1, 2, 3, 10, 4, 5, 6})
	binary.BigEndian.PutUint16(ip[2:], uint16(28+payload))
	binary.BigEndian.PutUint16(ip[20:], 1234)
	binary.BigEndian.PutUint16(ip[22:], 5678)
	binary.BigEndian.PutUint16(ip[24:], uint16(8+payload))
	for i := range payload {
		b[42+i] = byte(i * 7)
	}
	mend(b)
	return b
}

// mend makes the IPv4 header checksum and the UDP or TCP checksum of a frame right.
func mend(b []byte) {
	l, _ := packet.Walk(b)
	for i := l.Depth - 1; i >= 0; i-- {
		h := l.Stack[i]
		off, end := int(h.Off), int(h.End)
		place, acc := 0, uint64(0)
		switch h.Kind {
		case packet.HeaderIPv4:
			place, end = off+10, off+int(h.Len)
		case packet.HeaderUDP, packet.HeaderTCP, packet.HeaderICMPv6:
			place = map[packet.HeaderKind]int{packet.HeaderUDP: 6, packet.HeaderTCP: 16, packet.HeaderICMPv6: 2}[h.Kind] + off
			proto := map[packet.HeaderKind]uint8{packet.HeaderUDP: 17, packet.HeaderTCP: 6, packet.HeaderICMPv6: 58}[h.Kind]
			for j := i - 1; j >= 0; j-- {
				at := int(l.Stack[j].Off)
				if l.Stack[j].Kind == packet.HeaderIPv4 {
					acc = packet.PseudoSum(b[at+12:at+20], proto, end-off)
					break
				}
				if l.Stack[j].Kind == packet.HeaderIPv6 {
					acc = packet.PseudoSum(b[at+8:at+40], proto, end-off)
					break
				}
			}
		case packet.HeaderICMP:
			place = off + 2
		default:
			continue
		}
		b[place], b[place+1] = 0, 0
		v := ^packet.Fold(packet.Sum(acc, b[off:end]))
		if v == 0 && h.Kind == packet.HeaderUDP {
			v = 0xffff
		}
		binary.BigEndian.PutUint16(b[place:], v)
	}
}

// right reports whether every checksum is.
func right(b []byte) bool {
	l, _ := packet.Walk(b)
	return packet.VerifySums(b, &l) < 0
}

func num(n uint16) string { return strconv.Itoa(int(n)) }
