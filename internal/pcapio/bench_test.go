package pcapio_test

import (
	"bytes"
	"io"
	"testing"

	"github.com/wirespeed/wirespeed/internal/pcapio"
)

// formats runs a benchmark for both.
func formats(b *testing.B, f func(*testing.B, pcapio.Format)) {
	for _, format := range []pcapio.Format{pcapio.PCAP, pcapio.PCAPNG} {
		b.Run(format.String(), func(b *testing.B) { f(b, format) })
	}
}

const benchPackets = 100_000

// BenchmarkRead reads packets of 64 bytes and throws them away.
func BenchmarkRead(b *testing.B) {
	formats(b, func(b *testing.B, format pcapio.Format) {
		file := written(b, format, benchPackets)
		b.SetBytes(int64(len(file)))
		for b.Loop() {
			if n := readAll(b, bytes.NewReader(file)); n != benchPackets {
				b.Fatal(n)
			}
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/benchPackets, "ns/packet")
	})
}

// BenchmarkSummarise is what `pcap info` does beyond reading the file from the disk.
func BenchmarkSummarise(b *testing.B) {
	formats(b, func(b *testing.B, format pcapio.Format) {
		file := written(b, format, benchPackets)
		b.SetBytes(int64(len(file)))
		for b.Loop() {
			r, err := pcapio.NewReader(bytes.NewReader(file))
			if err != nil {
				b.Fatal(err)
			}
			if s, err := pcapio.Summarise(b.Context(), "x", r, pcapio.Options{}); err != nil || s.Packets != benchPackets {
				b.Fatal(err)
			}
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/benchPackets, "ns/packet")
	})
}

// BenchmarkWrite writes packets of 60 bytes to nowhere.
func BenchmarkWrite(b *testing.B) {
	formats(b, func(b *testing.B, format pcapio.Format) {
		w, err := pcapio.NewWriter(io.Discard, pcapio.WriterConfig{Format: format, Link: pcapio.LinkEthernet})
		if err != nil {
			b.Fatal(err)
		}
		data := make([]byte, 60)
		b.ReportAllocs()
		for b.Loop() {
			if err := w.WritePacket(1_700_000_000_000_000_000, len(data), data); err != nil {
				b.Fatal(err)
			}
		}
	})
}
