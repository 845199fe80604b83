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
		copy(b[at[i]+l.Kind.Len-len(l.Data):], l.Data)
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
	for i, l := range s.Layers {
		for _, v := range l.Fields {
			v.Field.Put(b, at[i], valueAt(v.Value, k))
		}
	}
	for i := len(s.Layers) - 1; i >= 0; i-- {
		sumUp(s, b, at, i)
	}
	return b
}

// sumUp writes the checksum of one header, if it has one that is left open.
func sumUp(s *stream.Stream, b []byte, at []int, i int) {
	var off int
	var pseudo []byte
	l, from, to := &s.Layers[i], at[i], len(b)
	if l.Has("checksum") {
		return
	}
	proto, whole := byte(0), !inFragment(s, i)
	switch l.Kind.Name {
	case "ip":
		off, to, whole = 10, from+l.Kind.Len, true
	case "icmp":
		off = 2
	case "gre":
		if l.Kind.Field("checksum") == nil {
			return
		}
		off = 4
	case "udp":
		off, proto = 6, 17
	case "tcp":
		off, proto = 16, 6
	case "icmpv6":
		off, proto = 2, 58
	default:
		return
	}
	if proto != 0 {
		if pseudo = addresses(s, b, at, i); pseudo == nil {
			return
		}
		pseudo = binary.BigEndian.AppendUint32(append(pseudo, 0, proto), uint32(len(b)-from))
	}
	if !whole {
		return
	}
	sum := ^slowSum(append(pseudo, b[from:to]...))
	if sum == 0 && proto == 17 {
		sum = 0xffff
	}
	binary.BigEndian.PutUint16(b[from+off:], sum)
}

// addresses are those of the pseudo header; nil where there is none.
func addresses(s *stream.Stream, b []byte, at []int, i int) []byte {
	var final []byte
	for i--; i >= 0; i-- {
		h := b[at[i] : at[i]+s.Layers[i].Kind.Len]
		switch s.Layers[i].Kind.Name {
		case "ip":
			return append([]byte{}, h[12:20]...)
		case "ipv6":
			if final == nil {
				final = h[24:40]
			}
			return append(append([]byte{}, h[8:24]...), final...)
		case "routing":
			for _, v := range s.Layers[i].Fields { // which address counts is then not known
				if _, same := v.Value.Constant(); !same && (v.Field.Name == "type" || v.Field.Name == "segleft") {
					return nil
				}
			}
			if final != nil || h[3] == 0 || len(h) < 24 {
				continue
			}
			switch n := (len(h) - 8) / 16; h[2] {
			case 4:
				final = h[8:24]
			case 0, 2:
				final = h[8+16*(n-1):][:16]
			}
		}
	}
	return nil
}

// inFragment reports whether a header below may say, in any frame, that there is more of the packet.
func inFragment(s *stream.Stream, i int) bool {
	for _, l := range s.Layers[:i] {
		for _, v := range l.Fields {
			switch l.Kind.Name + "." + v.Field.Name {
			case "ip.flags.mf", "ip.frag_offset", "fraghdr.more", "fraghdr.offset":
				if n, same := v.Value.Constant(); !same || n != (packet.Num{}) {
					return true
				}
			}
		}
	}
	return false
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
