package program_test

import (
	"testing"

	"github.com/wirespeed/wirespeed/internal/packet"
	"github.com/wirespeed/wirespeed/internal/program"
	"github.com/wirespeed/wirespeed/stream"
)

// One operation is one frame.
func BenchmarkFill(b *testing.B) {
	none := of("a", udp4(b), 64)
	none.Signature = "none"
	for _, c := range []struct {
		name string
		p    *program.Program
	}{
		{"fixed", compile(b, none)},
		{"signature", compile(b, of("a", udp4(b), 64))},
		{"signature and three modifiers", busy(b)},
		{"tunnel with four checksums", tunnel(b)},
		{"imix of three streams", compile(b, of("a", udp4(b), 64, 570, 1518), of("b", udp4(b), 64), of("c", []stream.Layer{layer(b, "eth"), layer(b, "ipv6"), layer(b, "tcp")}, 128))},
	} {
		b.Run(c.name, func(b *testing.B) {
			im := c.p.Bind(program.Binding{Queues: 1, TimeKind: packet.TimeShared})
			frames, buf := make([]program.Frame, 64), make([]byte, 64*2112)
			for i := range frames {
				frames[i].Buf = buf[i*2112:][:2048] // 2048 apart, all frames would fall into two sets of the cache
			}
			b.ReportAllocs()
			for n := 0; n < b.N; n += len(frames) {
				im.Fill(frames, uint64(n))
			}
		})
	}
}

// The yardstick of this machine at this moment: sixty bytes copied, nothing else.
func BenchmarkCopy(b *testing.B) {
	head, buf := make([]byte, 60), make([]byte, 64*2112)
	for n := range b.N {
		copy(buf[n&63*2112:], head)
	}
}
