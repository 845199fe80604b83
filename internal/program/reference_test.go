package program_test

import (
	"encoding/binary"
	"math/big"

	"github.com/wirespeed/wirespeed/internal/packet"
	"github.com/wirespeed/wirespeed/internal/program"
	"github.com/wirespeed/wirespeed/stream"
)

// This file builds a frame in the plainest way there is, from the stream alone: every field by itself, every checksum from
// the bytes of the whole frame. What Fill writes must be the same.

// valueAt is what a value is in frame k.
func valueAt(v stream.Value, k uint64) packet.Num {
	big128 := func(n packet.Num) *big.Int {
		b := new(big.Int).SetUint64(n.Hi)
		return b.Lsh(b, 64).Add(b, new(big.Int).SetUint64(n.Lo))
	}
	n := big128(v.Start)
	switch v.Op {
	case stream.Inc, stream.Dec:
		way := new(big.Int).Mul(big128(v.Step), new(big.Int).SetUint64(k%v.Count))
		if v.Op == stream.Dec {
			way.Neg(way)
		}
		n.Add(n, way)
	case stream.Rand:
		if v.Start.Hi != v.Max.Hi {
			return packet.Num{Hi: v.Start.Hi + program.Pick(program.SplitMix64(^v.Seed, k), v.Max.Hi-v.Start.Hi+1), Lo: program.SplitMix64(v.Seed, k)}
		}
		n.Add(n, new(big.Int).SetUint64(program.Pick(program.SplitMix64(v.Seed, k), v.Max.Lo-v.Start.Lo+1)))
	case stream.List:
		return v.List[k%uint64(len(v.List))]
	}
	b := n.FillBytes(make([]byte, 16))
	return packet.Num{Hi: binary.BigEndian.Uint64(b), Lo: binary.BigEndian.Uint64(b[8:])}
}

func sizeAt(s stream.Sizes, k uint64) int {
	if s.Op == stream.SizeRandom {
		return s.Min + int(program.Pick(program.SplitMix64(s.Seed, k), uint64(s.Max-s.Min+1)))
	}
	return s.Cycle[k%uint64(len(s.Cycle))]
}

func payloadByte(p stream.Payload, j int) byte {
	switch p.Fill {
	case stream.FillInc:
		return byte(j)
	case stream.FillRandom:
		var b [8]byte
		binary.BigEndian.PutUint64(b[:], program.SplitMix64(p.Seed, uint64(j/8)))
		return b[j%8]
	case stream.FillData:
		return p.Data[j%len(p.Data)]
	default:
		return p.Byte
	}
}

// naive is frame k of the stream.
func naive(s *stream.Stream, k uint64, sig packet.Signature) []byte {
	b := make([]byte, sizeAt(s.Size, k)-4)
	at, hdr := []int{}, 0
	for _, l := range s.Layers {
		at = append(at, hdr)
		hdr += l.Kind.Len
	}
	sig.Put(b[hdr:])
	for j := hdr + sig.Form.Len(); j < len(b); j++ {
		b[j] = payloadByte(s.Payload, j-hdr-sig.Form.Len())
	}
	for i, l := range s.Layers {
		for j := range l.Kind.Fields {
			if f := &l.Kind.Fields[j]; f.Default != (packet.Num{}) {
				f.Put(b, at[i], f.Default)
			}
		}
	}
	for i, l := range s.Layers {
		var above *packet.Kind
		if i+1 < len(s.Layers) {
			above = s.Layers[i+1].Kind
		}
		if l.Kind.Finish != nil {
			l.Kind.Finish(b[at[i]:at[i]+l.Kind.Len], above, len(b)-at[i]-l.Kind.Len)
		}
	}
	for _, v := range s.Modify {
		v.Field.Put(b, hdr, valueAt(v.Value, k))
	}
	given := make([]bool, len(s.Layers))
	for i, l := range s.Layers {
		for _, v := range l.Fields {
			v.Field.Put(b, at[i], valueAt(v.Value, k))
			given[i] = given[i] || v.Field.Name == "checksum"
		}
	}
	for i := len(s.Layers) - 1; i >= 0; i-- {
		switch name := s.Layers[i].Kind.Name; {
		case given[i]:
		case name == "ip":
			binary.BigEndian.PutUint16(b[at[i]+10:], ^slowSum(b[at[i]:at[i]+20]))
		case name == "udp", name == "tcp":
			fixL4(b, at[i-1], at[i], name == "udp")
		}
	}
	return b
}

func fixL4(b []byte, ip, l4 int, udp bool) {
	pseudo := append([]byte{}, b[ip+12:ip+20]...)
	if l4-ip == 40 {
		pseudo = append([]byte{}, b[ip+8:ip+40]...)
	}
	n := len(b) - l4
	if udp {
		pseudo = append(pseudo, 0, 17, byte(n>>8), byte(n))
		sum := ^slowSum(append(pseudo, b[l4:]...))
		if sum == 0 {
			sum = 0xffff
		}
		binary.BigEndian.PutUint16(b[l4+6:], sum)
		return
	}
	pseudo = append(pseudo, 0, 6, byte(n>>8), byte(n))
	binary.BigEndian.PutUint16(b[l4+16:], ^slowSum(append(pseudo, b[l4:]...)))
}

// slowSum is RFC 1071 word by word.
func slowSum(b []byte) uint16 {
	var sum uint32
	for i := 0; i < len(b); i += 2 {
		w := uint32(b[i]) << 8
		if i+1 < len(b) {
			w |= uint32(b[i+1])
		}
		sum += w
		if sum > 0xffff {
			sum -= 0xffff
		}
	}
	return uint16(sum)
}
