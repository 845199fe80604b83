package packetsock

import (
	"bytes"
	"encoding/binary"
	"path/filepath"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/wirespeed/wirespeed/internal/analyse"
	"github.com/wirespeed/wirespeed/internal/capture"
	"github.com/wirespeed/wirespeed/internal/engine"
	"github.com/wirespeed/wirespeed/internal/packet"
)

// arrival is a frame as the kernel puts it into the ring.
type arrival struct {
	frame     []byte
	status    uint32
	tci, tpid uint16
	vnet      [vnetHeader]byte
}

// fullBlock is a ring of one block with the frames.
func fullBlock(arrivals []arrival) *rxRing {
	const mac, size = 96, 2048
	r := &rxRing{memory: make([]byte, blockSize), blocks: 1}
	h := r.header()
	h.Num_pkts, h.Offset_to_first_pkt, h.Block_status = uint32(len(arrivals)), 48, unix.TP_STATUS_USER
	for i, a := range arrivals {
		at := 48 + i*size
		p := (*unix.Tpacket3Hdr)(unsafe.Pointer(&r.memory[at]))
		*p = unix.Tpacket3Hdr{Next_offset: size, Sec: 1, Nsec: uint32(i), Snaplen: uint32(len(a.frame)), Len: uint32(len(a.frame)), Status: a.status, Mac: mac}
		p.Hv1.Vlan_tci, p.Hv1.Vlan_tpid = uint32(a.tci), a.tpid
		copy(r.memory[at+mac-vnetHeader:], a.vnet[:])
		copy(r.memory[at+mac:], a.frame)
	}
	return r
}

// TestRecordOfABlock: tags, checksums and marks, without an allocation.
func TestRecordOfABlock(t *testing.T) {
	datagram := append(tagged(12)[:12], 8, 0, 0x45, 0, 0, 31, 0, 0, 0x40, 0, 1, 17, 0, 0, 198, 18, 0, 1, 198, 19, 0, 1, 0, 9, 0, 9, 0, 11, 0, 0, 'o', 'd', 'd')
	sum := packet.PseudoSum(datagram[26:34], packet.ProtoUDP, 11)
	binary.BigEndian.PutUint16(datagram[40:], packet.Fold(sum))
	var vnet [vnetHeader]byte
	vnet[vnetFlags] = vnetNeedsCsum
	binary.NativeEndian.PutUint16(vnet[vnetCsumStart:], 34)
	binary.NativeEndian.PutUint16(vnet[vnetCsumOffset:], 6)
	arrivals := []arrival{
		{frame: tagged(60)},
		{frame: datagram, vnet: vnet, status: unix.TP_STATUS_VLAN_VALID, tci: 5},
		{frame: tagged(60), status: unix.TP_STATUS_VLAN_VALID | unix.TP_STATUS_VLAN_TPID_VALID, tci: 0xe000, tpid: 0x9100},
		{frame: tagged(1900), vnet: [vnetHeader]byte{vnetGSOType: 1}},
	}
	path := filepath.Join(t.TempDir(), "x.pcapng")
	rec, err := capture.Create(capture.Spec{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	if err := rec.Begin("va", func() uint64 { return 0 }); err != nil {
		t.Fatal(err)
	}
	a, err := analyse.New(engine.Expect{Learn: true})
	if err != nil {
		t.Fatal(err)
	}
	clock := newStampClock()
	ring := fullBlock(arrivals)
	ring.record(a, &clock, &recording{Recorder: rec, in: true})
	if ring.ready() {
		t.Error("the block is not given back")
	}
	again := fullBlock([]arrival{{frame: tagged(60)}, {frame: datagram, vnet: vnet}})
	writing := &recording{Recorder: rec, in: true}
	if n := testing.AllocsPerRun(1000, func() { again.record(a, &clock, writing) }); n != 0 {
		t.Errorf("%v allocations a block that is written", n)
	}
	if err := rec.Close(); err != nil {
		t.Fatal(err)
	}
	frames := readCapture(t, path)
	if len(frames) != 4+2*1001 {
		t.Fatalf("%d frames", len(frames))
	}
	var l packet.Layout
	for i, want := range []struct {
		n      int
		tag    []byte
		merged bool
	}{{60, []byte{0x88, 0xb5}, false}, {49, []byte{0x81, 0, 0, 5, 8, 0}, false}, {64, []byte{0x91, 0, 0xe0, 0, 0x88, 0xb5}, false}, {1900, []byte{0x88, 0xb5}, true}} {
		f := frames[i]
		if len(f.data) != want.n || f.orig != want.n || !bytes.HasPrefix(f.data[12:], want.tag) || f.merged != want.merged || f.timeNs != 1e9+int64(i) {
			t.Errorf("frame %d: %d bytes, orig %d, merged %t at %d: % x", i, len(f.data), f.orig, f.merged, f.timeNs, f.data[:30])
		}
	}
	if !l.Walk(frames[1].data) || l.VLANs != 1 || !packet.VerifyL4(frames[1].data, &l) {
		t.Errorf("%+v: % x", l, frames[1].data)
	}
}
