package xdp

import (
	"strings"
	"testing"

	"github.com/wirespeed/wirespeed/internal/lab/need"
	"github.com/wirespeed/wirespeed/internal/packet"
	"github.com/wirespeed/wirespeed/internal/program"
	"github.com/wirespeed/wirespeed/stream"
)

// parsed is the program of a stream file.
func parsed(t *testing.T, text string) *program.Program {
	t.Helper()
	set, err := stream.Parse("test.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	set.SetMACs([6]byte{2, 0, 0, 0, 0, 1}, [6]byte{2, 0, 0, 0, 0, 2})
	p, err := program.Compile(set)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// Checksums within checksums, fields cut into pieces, heads that reach far into the payload and signatures at odd offsets: all
// as Image.Fill makes them, on one queue and on three.
func TestDeepPrograms(t *testing.T) {
	need.Root(t)
	for name, c := range map[string]struct {
		text string
		sums int // of the first stream
	}{
		"vxlan": {`
streams:
  - size: 140,300,1518
    layers: [eth, ip: {src: "inc(10.0.0.0,1,300)"}, udp, vxlan: {vni: "inc(0,1,5000)"}, eth: {src: "inc(2:0:0:0:0:0,1,1000000)"}, ip: {dst: "rand(10.0.0.0,10.0.0.255,3)"}, udp: {srcport: "inc(1,1,7)"}]
    payload: {modify: [{offset: 40, bits: 16, value: "inc(0,1,7)"}]}
`, 4},
		"eight sums": {`
streams:
  - size: 600
    layers: [eth, ip: {ttl: "inc(1,1,9)"}, gre: {flags.checksum: 1}, ip: {ttl: "inc(1,1,5)"}, gre: {flags.checksum: 1}, ip: {ttl: "inc(1,1,5)"}, udp, vxlan, eth, ip: {src: "rand(10.0.0.0,10.255.255.255,9)"}, udp]
`, 8},
		"addresses of 128 bits": {`
streams:
  - size: 200
    layers: [eth, ipv6: {src: "inc(2001:2::ffff:ffff:ffff:fff0,1,200)", dst: "rand(2001:2::,2001:2:0:ffff:ffff:ffff:ffff:ffff,4)"}, udp: {dstport: "inc(0,1,65536)"}]
    payload: {modify: [{offset: 20, bit: 3, bits: 61, value: "rand(0,1152921504606846975,4)"}, {offset: 33, bit: 1, bits: 128, value: "inc(1,3,1000)"}, {offset: 70, bits: 13, value: "list(1,8191,77)"}]}
`, 1},
		"a long head": {`
streams:
  - size: 1518,3412
    layers: [eth, ip, udp]
    payload: {modify: [{offset: 1400, bits: 32, value: "inc(0,1,100)"}, {offset: 77, bits: 8, value: "rand(0,255,1)"}]}
  - size: 64
    name: short
    payload: {fill: inc}
    layers: [eth, ip, udp]
`, 1},
		"an odd signature": {`
streams:
  - size: 100
    layers: [eth, raw: {data: "0x010203"}]
    payload: {modify: [{offset: 21, bits: 24, value: "inc(0,1,100)"}]}
`, 0},
	} {
		t.Run(name, func(t *testing.T) {
			p := parsed(t, c.text)
			if n := len(p.Streams[0].Sums); n != c.sums {
				t.Errorf("%d checksums vary, the test means %d", n, c.sums)
			}
			for _, kind := range []byte{packet.TimeNone, packet.TimeFrame} {
				sameBytes(t, p, program.Binding{Run: 7, IDBase: 3, Queues: 1, TimeKind: kind}, 300)
				sameBytes(t, p, program.Binding{Run: 7, IDBase: 3, Queue: 1, Queues: 3, TimeKind: kind, LastSeq: make([]uint64, len(p.Streams))}, 100)
			}
		})
	}
}

// A checksum that would have to take in a signature at an odd offset is refused: its words would be out of step.
func TestRefusesAnOddSignatureWithinAChecksum(t *testing.T) {
	need.Root(t)
	p := *programOf(t, udpStream(t, nil, 100))
	p.Streams[0].SigOff++
	p.Streams[0].HeadLen++
	p.Streams[0].Heads = [][]byte{append([]byte{0}, p.Streams[0].Heads[0]...)}
	u, err := compile(p.Bind(program.Binding{Queues: 1}), options{})
	if err == nil || !strings.Contains(err.Error(), "odd offset 43") {
		t.Errorf("%v", err)
	}
	if err := u.close(); err != nil {
		t.Error(err)
	}
}
