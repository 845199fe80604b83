package bpf

import (
	"testing"

	"github.com/cilium/ebpf"

	"github.com/wirespeed/wirespeed/internal/packet"
)

// Every byte of a frame changed, one after the other: what a checksum or a length covers is corrupt, or no longer ours;
// what nothing covers (addresses, TTL and the like of Ethernet and IP) counts. Nothing that is covered counts as whole.
func TestEveryByte(t *testing.T) {
	for name, c := range map[string]struct {
		shape shape
		free  func(i int) bool // bytes that nothing covers
		magic int              // where the signature begins
	}{
		// Ethernet addresses; TOS, id, TTL and header checksum of IP; padding
		"udp": {shape{ip: 4, l4: 17, size: 70, pad: 3}, func(i int) bool {
			return i < 12 || i == 15 || i == 18 || i == 19 || i == 22 || i == 24 || i == 25 || i >= 67
		}, 42},
		// the same; of byte 14 only the version's half, which the mask does not touch
		"tcp": {shape{ip: 4, l4: 6, size: 101}, func(i int) bool {
			return i < 12 || i == 15 || i == 18 || i == 19 || i == 22 || i == 24 || i == 25
		}, 54},
		// addresses, 0x8100 made 0x9100, VLAN id, traffic class and flow label, hop limit
		"vlan, ipv6, udp": {shape{tags: []uint16{0x8100}, ip: 6, l4: 17, size: 110}, func(i int) bool {
			return i <= 12 || i == 14 || i == 15 || i >= 19 && i <= 21 || i == 25
		}, 66},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFeeder(t, expectOne(packet.FormFull, 0))
			good := frame(t, c.shape, sig{run: testRun, stream: 3})
			var whole uint64
			for i := range good {
				b := append([]byte(nil), good...)
				b[i] ^= 0x10
				got, err := f.Program().Run(&ebpf.RunOptions{Data: b, Repeat: 1})
				if err != nil {
					t.Fatal(err)
				}
				r := f.read()
				n := r.Streams
				var frames, corrupt uint64
				if len(n) == 1 {
					frames, corrupt = n[0].Frames+n[0].Duplicate, n[0].Corrupt
				}
				if counted := frames > whole; counted != c.free(i) {
					t.Errorf("byte %d changed: counted %v, corrupt %d so far, action %d", i, counted, corrupt, got)
				}
				whole = frames
			}
			r := f.read()
			sig := uint64(packet.FullLen)
			if s := f.one(); s.Corrupt < uint64(len(good)-c.magic)-sig || s.BadSeq != 0 {
				t.Errorf("%d corrupt of %d bytes behind the magic, %d wrong numbers", s.Corrupt, len(good)-c.magic, s.BadSeq)
			}
			if r.Stale != 1 || r.BadStream != 2 {
				t.Errorf("run id changed: %d stale, want 1; stream id changed: %d of bad streams, want 2", r.Stale, r.BadStream)
			}
		})
	}
}

// Every length of the checksum's steps, whole and broken, in both protocols.
func TestChecksumLengths(t *testing.T) {
	for _, l4 := range []byte{17, 6} {
		f := newFeeder(t, expectOne(packet.FormFull, 0))
		seq := uint32(0)
		for n := 73; n <= 3408; n += 1 + n/300 {
			b := frame(t, shape{ip: 4, l4: l4, size: n}, sig{run: testRun, stream: 3, seq: seq})
			f.feed(b, xdpDrop)
			b[n-1] ^= 0x10
			f.feed(b, xdpDrop)
			b[n-1] ^= 0x10
			f.feed(b[:n-1], xdpDrop) // cut
			seq++
		}
		if got, want := countsOf(f.one()), (counts{frames: uint64(seq), corrupt: 2 * uint64(seq), next: uint64(seq)}); got != want {
			t.Errorf("protocol %d: got %+v, want %+v", l4, got, want)
		}
	}
}

// All 65,536 sums that a checksum can complement, 0 and 0xffff among them.
func TestEverySum(t *testing.T) {
	f := newFeeder(t, expectOne(packet.FormFull, 0))
	for seq := range uint32(1 << 16) {
		if seq%13 != 0 && seq < 65000 {
			continue
		}
		f.feed(frame(t, udp4, sig{run: testRun, stream: 3, seq: seq}), xdpDrop)
	}
	if s := f.one(); s.Corrupt != 0 || s.Frames < 5000 {
		t.Errorf("%+v", countsOf(s))
	}
}

// Lengths that do not agree, and UDP without a checksum.
func TestLengths(t *testing.T) {
	for name, c := range map[string]struct {
		shape shape
		edit  func(b []byte)
		want  counts
	}{
		"udp length 0":             {udp4, func(b []byte) { b[38], b[39] = 0, 0 }, counts{corrupt: 1}},
		"udp length one less":      {udp4, func(b []byte) { b[39]-- }, counts{corrupt: 1}},
		"ip length one less":       {udp4, func(b []byte) { b[17]-- }, counts{corrupt: 1}},
		"ip length 0":              {udp4, func(b []byte) { b[16], b[17] = 0, 0 }, counts{corrupt: 1}},
		"ip length of all":         {udp4, func(b []byte) { b[16], b[17] = 0xff, 0xff }, counts{corrupt: 1}},
		"ip too short, other":      {shape{ip: 4, l4: 253, size: 60}, func(b []byte) { b[17] = 37 }, counts{corrupt: 1}},
		"ip too long, other":       {shape{ip: 4, l4: 253, size: 60}, func(b []byte) { b[17] = 47 }, counts{corrupt: 1}},
		"no checksum, IPv4":        {udp4, func(b []byte) { b[40], b[41] = 0, 0 }, counts{frames: 1, next: 1}},
		"no checksum, IPv6":        {shape{ip: 6, l4: 17, size: 90}, func(b []byte) { b[60], b[61] = 0, 0 }, counts{corrupt: 1}},
		"no checksum, TCP in IPv4": {shape{ip: 4, l4: 6, size: 90}, func(b []byte) { b[50], b[51] = 0, 0 }, counts{corrupt: 1}},
	} {
		f := newFeeder(t, expectOne(packet.FormFull, 0))
		b := frame(t, c.shape, sig{run: testRun, stream: 3})
		c.edit(b)
		f.feed(b, xdpDrop)
		if got := countsOf(f.one()); got != c.want {
			t.Errorf("%s: got %+v, want %+v", name, got, c.want)
		}
	}
}
