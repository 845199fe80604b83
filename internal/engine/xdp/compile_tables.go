package xdp

import (
	"bytes"
	"encoding/binary"
	"fmt"

	"github.com/wirespeed/wirespeed/internal/program"
)

// maxTables bounds the memory of one queue's tables.
const maxTables = 64 << 20

// tables is the constant data of a transmit program: one map entry, reached by address. Whatever is indexed is padded to a
// power of two, so that a mask, not a branch, keeps the index inside for the verifier.
type tables struct {
	data []byte
}

// alloc reserves n bytes and returns their offset.
func (t *tables) alloc(n int) int {
	off := len(t.data)
	t.data = append(t.data, make([]byte, (n+7)&^7)...)
	return off
}

func (t *tables) words64(v []uint64) int {
	off := t.alloc(8 * powerOfTwo(len(v)))
	for i, x := range v {
		binary.LittleEndian.PutUint64(t.data[off+8*i:], x)
	}
	return off
}

func (t *tables) words16(v []uint16) int {
	off := t.alloc(2 * powerOfTwo(len(v)))
	for i, x := range v {
		binary.LittleEndian.PutUint16(t.data[off+2*i:], x)
	}
	return off
}

func powerOfTwo(n int) int {
	p := 1
	for p < n {
		p *= 2
	}
	return p
}

// order is one round of several streams. Entry p: which stream has place p (u32), and how many frames of that stream come
// before it in the round (u32).
func (t *tables) order(order []uint16, streams int) (off int, weights []uint64) {
	weights = make([]uint64, streams)
	off = t.alloc(8 * powerOfTwo(len(order)))
	for p, s := range order {
		binary.LittleEndian.PutUint32(t.data[off+8*p:], uint32(s))
		binary.LittleEndian.PutUint32(t.data[off+8*p+4:], uint32(weights[s]))
		weights[s]++
	}
	return off, weights
}

// rows holds what differs between the lengths of a stream. A row: length (u32, 4 bytes unused), the base sums (u16 each,
// in the order of the stream's Sums), the head; every part begins at a multiple of 8.
type rows struct {
	off, stride, count int
	sumOff, headOff    int
}

func (t *tables) rows(s *program.ImageStream, plan *streamPlan) rows {
	r := rows{sumOff: 8, count: len(s.Lens)}
	r.headOff = r.sumOff + (2*len(s.Sums)+7)&^7
	r.stride = r.headOff + (plan.prefix+7)&^7
	r.off = t.alloc(r.stride * powerOfTwo(len(s.Lens)))
	for j, n := range s.Lens {
		row := t.data[r.off+j*r.stride:]
		binary.LittleEndian.PutUint32(row, uint32(n))
		for i := range s.Sums {
			binary.LittleEndian.PutUint16(row[r.sumOff+2*i:], swap16(s.Base[i][j]))
		}
		copy(row[r.headOff:], plan.head(s, j))
	}
	return r
}

// swap16 turns a sum of big endian words into one of words as they lie in memory (RFC 1071 2(B)).
func swap16(v uint16) uint16 { return v>>8 | v<<8 }

// bodies says what lies behind the part of the frames that the program writes for every frame.
type bodies struct {
	prefix   int    // the longest head: written for every frame
	maxLen   int    // the longest frame
	template []byte // maxLen bytes: what the kernel fills fresh pages with
	// same: every stream has the same bytes behind prefix, so a page that another stream's frame used still holds them.
	same bool
}

func newBodies(img *program.Image) bodies {
	b := bodies{same: true}
	minLen := 0
	for i := range img.Streams {
		s := &img.Streams[i]
		b.prefix = max(b.prefix, s.HeadLen)
		b.maxLen = max(b.maxLen, s.Lens[len(s.Lens)-1])
		if i == 0 || s.Lens[0] < minLen {
			minLen = s.Lens[0]
		}
	}
	b.template = make([]byte, b.maxLen)
	copy(b.template, img.Streams[0].Heads[0])
	known := b.prefix
	for i := range img.Streams {
		s := &img.Streams[i]
		n := s.Lens[len(s.Lens)-1]
		if n <= b.prefix {
			continue
		}
		tail := s.Tail[b.prefix-s.HeadLen : n-s.HeadLen]
		if both := min(n, known); both > b.prefix && !bytes.Equal(tail[:both-b.prefix], b.template[b.prefix:both]) {
			b.same = false
		}
		if n > known {
			copy(b.template[known:n], tail[known-b.prefix:])
			known = n
		}
	}
	return b
}

// streamPlan is what the bodies mean for one stream.
type streamPlan struct {
	prefix int // bytes written for every frame
	tail   int // offset in the tables of what is copied behind prefix; -1: nothing
}

func (t *tables) plan(s *program.ImageStream, b *bodies) streamPlan {
	longest := s.Lens[len(s.Lens)-1]
	p := streamPlan{prefix: min(b.prefix, longest), tail: -1}
	if !b.same && longest > b.prefix {
		p.tail = t.alloc(longest - b.prefix)
		copy(t.data[p.tail:], s.Tail[b.prefix-s.HeadLen:longest-s.HeadLen])
	}
	return p
}

// head is the beginning of a frame of length index j: its head and as much of the payload as belongs to the prefix.
func (p *streamPlan) head(s *program.ImageStream, j int) []byte {
	head := append([]byte(nil), s.Heads[j]...)
	if more := p.prefix - s.HeadLen; more > 0 {
		head = append(head, s.Tail[:more]...)
	}
	return head[:p.prefix]
}

func (t *tables) check() error {
	if len(t.data) > maxTables {
		return fmt.Errorf("the sizes and lists of the streams need %d MiB of tables on each queue, at most %d are used; mend: fewer sizes, shorter lists or fewer streams", len(t.data)>>20, maxTables>>20)
	}
	return nil
}
