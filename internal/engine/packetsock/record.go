package packetsock

import (
	"encoding/binary"
	"errors"
	"time"

	"github.com/wirespeed/wirespeed/internal/capture"
)

// recording is the capture of a receiver. It is the walking goroutine's, under the receiver's lock.
type recording struct {
	*capture.Recorder
	in, out bool // directions that are written
	flushed time.Time
}

// The header that PACKET_VNET_HDR puts before a frame, struct virtio_net_hdr of linux/virtio_net.h, in host byte order.
const (
	vnetHeader     = 10
	vnetFlags      = 0
	vnetGSOType    = 1 // 0: an ordinary frame
	vnetCsumStart  = 6
	vnetCsumOffset = 8
	vnetNeedsCsum  = 1
)

// finish makes the frame in block[from:to] what it is on the wire: it completes the checksum that the kernel left to the
// hardware. merged: the frame is several of the wire, which the kernel put together or has not cut up yet.
func finish(block []byte, from, to uint32) (merged bool) {
	h := block[from-vnetHeader : from]
	if h[vnetFlags]&vnetNeedsCsum != 0 {
		complete(block[from:to], int(binary.NativeEndian.Uint16(h[vnetCsumStart:])), int(binary.NativeEndian.Uint16(h[vnetCsumOffset:])))
	}
	return h[vnetGSOType] != 0
}

// flushEvery bounds what a killed process has not written, where blocks never cease.
const flushEvery = 100 * time.Millisecond

// flushOften is called once a block.
func (r *recording) flushOften(now time.Time) {
	if now.Sub(r.flushed) > flushEvery {
		r.flushed = now
		r.Flush()
	}
}

// Record makes the receiver write what arrives.
func (r *receiver) Record(rec *capture.Recorder) error {
	if r.ring != nil || r.analyser == nil {
		return errors.New("packet: the receiver is not loaded, or runs already")
	}
	s := rec.Spec()
	r.rec = &recording{Recorder: rec, in: s.Direction != capture.Out, out: s.Direction != capture.In}
	return nil
}

// Recorded may be called at any time.
func (r *receiver) Recorded() capture.Result {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.rec == nil {
		return capture.Result{}
	}
	return r.rec.Result()
}

// dropped is what the ring has dropped since the receiver started. mu is held.
func (r *receiver) dropped() uint64 {
	r.countDrops()
	return r.drops
}

// ringConfig is the ring that the receiver needs.
func (r *receiver) ringConfig() rxConfig {
	c := rxConfig{ifindex: r.link.Index, blocks: blocks, retireMs: retireMs}
	if r.rec != nil {
		s := r.rec.Spec()
		bytes := s.RingBytes
		if bytes == 0 {
			bytes = capture.DefaultRing
		}
		c.blocks = int((bytes + blockSize - 1) / blockSize)
		c.retireMs, c.offloads, c.outgoing, c.filter = recordRetireMs, true, r.rec.out, s.Filter
	}
	return c
}

// beginRecord writes the head of the file. The ring is there.
func (r *receiver) beginRecord() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.rec.Begin(r.link.Name, r.dropped)
}

// idle writes what is in memory, since there is nothing else to do.
func (r *receiver) idle() {
	if r.rec == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.rec.Flush()
}
