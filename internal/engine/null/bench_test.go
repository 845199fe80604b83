package null_test

import (
	"testing"

	"github.com/wirespeed/wirespeed/internal/engine"
	"github.com/wirespeed/wirespeed/internal/engine/null"
	"github.com/wirespeed/wirespeed/internal/program"
	"github.com/wirespeed/wirespeed/stream"
)

// BenchmarkNull is all that a frame costs but sending it. One operation is one frame.
func BenchmarkNull(b *testing.B) {
	for _, c := range []struct {
		name  string
		flags stream.Flags
	}{
		{"fixed", stream.Flags{Signature: "none"}},
		{"signature", stream.Flags{}},
		{"signature and three modifiers", stream.Flags{SrcPort: "inc(1024,1,60000)", SrcIP: "rand(198.18.0.1,198.18.255.254,1)", DstIP: "inc(198.19.0.1,1,250)"}},
	} {
		b.Run(c.name, func(b *testing.B) {
			set, err := stream.FromFlags(c.flags)
			if err != nil {
				b.Fatal(err)
			}
			set.SetMACs([6]byte{2, 0, 0, 0, 0, 1}, [6]byte{2, 0, 0, 0, 0, 2})
			p, err := program.Compile(set)
			if err != nil {
				b.Fatal(err)
			}
			port, err := null.New().Open(b.Context(), engine.Target{}, engine.Config{})
			if err != nil {
				b.Fatal(err)
			}
			if err := port.Load(engine.Plan{Program: p, Queues: 1, Count: uint64(b.N)}); err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			b.ResetTimer()
			if err := port.Run(b.Context()); err != nil {
				b.Fatal(err)
			}
		})
	}
}
