package analyse

import (
	"encoding/binary"
	"testing"

	"github.com/wirespeed/wirespeed/internal/engine"
	"github.com/wirespeed/wirespeed/internal/packet"
)

const testRun = 7

var testMAC = [6]byte{2, 0, 0, 0, 0, 1}

// udpFrame is an Ethernet, IPv4 and UDP frame of 60 bytes or more around a payload, with a right UDP checksum.
func udpFrame(payload []byte) []byte {
	f := make([]byte, max(60, 42+len(payload)))
	copy(f, []byte{2, 0, 0, 0, 0, 2})
	copy(f[6:], testMAC[:])
	f[12], f[13] = 8, 0
	ip := f[14:34]
	copy(ip, []byte{0x45, 0, 0, 0, 0, 0, 0, 0, 1, 17, 0, 0, 198, 18, 0, 1, 198, 19, 0, 1})
	binary.BigEndian.PutUint16(ip[2:], uint16(28+len(payload)))
	binary.BigEndian.PutUint16(ip[10:], ^packet.Fold(packet.Sum(0, ip)))
	udp := f[34 : 42+len(payload)]
	binary.BigEndian.PutUint16(udp[0:], 9)
	binary.BigEndian.PutUint16(udp[2:], 9)
	binary.BigEndian.PutUint16(udp[4:], uint16(len(udp)))
	copy(udp[8:], payload)
	c := ^packet.Fold(packet.Sum(packet.PseudoSum(ip[12:20], 17, len(udp)), udp))
	if c == 0 {
		c = 0xffff
	}
	binary.BigEndian.PutUint16(udp[6:], c)
	return f
}

func sigFrame(sig packet.Signature) []byte {
	b := make([]byte, sig.Form.Len())
	sig.Put(b)
	return udpFrame(b)
}

// full is a frame of stream id 3 with a number and a time stamp.
func full(seq uint64, stamp int64, flags uint8) []byte {
	return sigFrame(stamped(seq, stamp, packet.TimeFrame|flags))
}

func stamped(seq uint64, stamp int64, flags uint8) packet.Signature {
	return packet.Signature{Form: packet.FormFull, Run: testRun, Flags: packet.FlagVersion | flags, Stream: 3, Seq: uint32(seq), Time: uint64(stamp)}
}

func newAnalyser(t testing.TB, first uint64) *Analyser {
	t.Helper()
	a, err := New(engine.Expect{Run: testRun, Streams: []engine.ExpectStream{{ID: 3, Form: packet.FormFull, First: first}}, GapNs: 20})
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// one is what was received of the only stream.
func one(t testing.TB, a *Analyser) engine.StreamReceived {
	t.Helper()
	r := a.Snapshot()
	if len(r.Streams) != 1 {
		t.Fatalf("%d streams were seen, want 1: %+v", len(r.Streams), r)
	}
	s := r.Streams[0]
	if sum := s.Frames + s.Duplicate + s.Late + s.BadSeq + s.Corrupt; sum != r.Frames {
		t.Fatalf("frames %d + duplicate %d + late %d + bad %d + corrupt %d are not the %d that arrived", s.Frames, s.Duplicate, s.Late, s.BadSeq, s.Corrupt, r.Frames)
	}
	return s
}
