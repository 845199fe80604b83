package pcapio

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
)

// MaxRecord is the length of the longest packet with its head that is read, in bytes. What the largest offloads make has
// half a MiB.
const MaxRecord = 16 << 20

// Format is the kind of a capture file.
type Format uint8

// The formats.
const (
	PCAP Format = iota + 1
	PCAPNG
)

func (f Format) String() string {
	switch f {
	case PCAP:
		return "pcap"
	case PCAPNG:
		return "pcapng"
	}
	return "unknown"
}

// A Packet is one captured packet.
type Packet struct {
	Data      []byte // what was captured; the reader's until the next Next
	Orig      int    // bytes that the packet had: more than Data has where a snapshot length cut it
	TimeNs    int64  // since 1970
	HasTime   bool   // a Simple Packet Block has none
	Merged    bool   // the capture says that the kernel or the card made it of several frames
	Link      LinkType
	Interface int // within the section, from 0
	Section   int // from 0
	Number    uint64
	Offset    int64  // of its record or block in the file, after decompression
	FCSLen    int    // bytes of FCS at the end of the packet as it was; 0 where none or unknown
	Comment   []byte // the first one; the reader's until the next Next
}

// An Interface is where packets of a capture come from.
type Interface struct {
	Section, Index    int
	Name, Description string
	Filter            string
	Link              LinkType
	SnapLen           uint32 // 0: unlimited
	TicksPerSecond    uint64 // resolution of its times
	OffsetS           int64  // added to its times, seconds
	FCSLen            int    // bytes
	Packets           uint64 // read so far
	HasReceived       bool
	Received          uint64 // by the interface, as the capture says
	HasDropped        bool
	Dropped           uint64 // by the interface and by the system, as the capture says
}

// A Reader reads a capture from its beginning to its end.
type Reader struct {
	w      window
	file   *os.File // that Open opened
	format Format
	gzip   bool
	big    bool    // byte order, of the section in pcapng
	orders [2]bool // byte orders there were: little, big

	recordHead int // pcap: bytes before each packet
	nsPerTick  int64

	ifaces   []Interface // of this section
	earlier  []Interface // of the sections before
	dropped  int         // interfaces of sections before that are not in earlier
	sections int
	skipped  uint64 // blocks that hold no packets and that nothing here needs
	count    uint64
	over     error
}

// Open opens a capture file; "-" is stdin. Close must be called.
func Open(path string, stdin io.Reader) (*Reader, error) {
	if path == "-" {
		if stdin == nil {
			return nil, errors.New("there is no standard input to read a capture from")
		}
		return NewReader(stdin)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	if s, err := f.Stat(); err == nil && s.IsDir() {
		return nil, errors.Join(notCapture("a directory"), f.Close())
	}
	r, err := NewReader(f)
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	r.file = f
	return r, nil
}

// NewReader reads a capture from a stream, compressed by gzip or not. A *FormatError says that it is no capture.
func NewReader(in io.Reader) (*Reader, error) {
	r := &Reader{w: window{r: in}}
	if b := r.w.peek(2); len(b) == 2 && b[0] == 0x1f && b[1] == 0x8b {
		z, err := gzip.NewReader(&pending{rest: r.w.buf[r.w.lo:r.w.hi], r: in, err: r.w.err})
		if err != nil {
			return nil, notCapture("it begins like one compressed by gzip, but %v", err)
		}
		r.w, r.gzip = window{r: z}, true
	}
	b := r.w.peek(24)
	if err := r.w.err; err != nil && err != io.EOF && len(b) < 24 {
		return nil, fmt.Errorf("cannot be read: %w", err)
	}
	switch {
	case len(b) == 0:
		return nil, notCapture("it is empty")
	case len(b) < 4:
		return nil, notCapture("it has %d bytes", len(b))
	case binary.BigEndian.Uint32(b) == blockSection:
		r.format = PCAPNG
		return r, r.firstSection(b)
	}
	r.format = PCAP
	return r, r.pcapHeader(b)
}

// pending gives back what was read already, then the rest.
type pending struct {
	rest []byte
	r    io.Reader
	err  error
}

func (p *pending) Read(b []byte) (int, error) {
	if len(p.rest) > 0 {
		n := copy(b, p.rest)
		p.rest = p.rest[n:]
		return n, nil
	}
	if p.err != nil {
		return 0, p.err
	}
	return p.r.Read(b)
}

// Next reads the next packet. io.EOF is the end of the capture; *Damage is where it is cut or broken, and its end too.
// Other errors come from what the capture is read from. Next allocates nothing but a larger buffer for a larger packet.
func (r *Reader) Next(p *Packet) error {
	if r.over != nil {
		return r.over
	}
	if r.format == PCAP {
		return r.nextRecord(p)
	}
	return r.nextBlock(p)
}

// Close closes what Open opened.
func (r *Reader) Close() error {
	if r.over == nil {
		r.over = errors.New("the capture is closed")
	}
	if r.file == nil {
		return nil
	}
	return r.file.Close()
}

// Format is pcap or pcapng.
func (r *Reader) Format() Format { return r.format }

// Gzip is whether the file is compressed.
func (r *Reader) Gzip() bool { return r.gzip }

// ByteOrder is that of the sections so far: little, big or mixed.
func (r *Reader) ByteOrder() string {
	switch r.orders {
	case [2]bool{false, true}:
		return "big"
	case [2]bool{true, true}:
		return "mixed"
	}
	return "little"
}

// noteOrder keeps the byte order of a section.
func (r *Reader) noteOrder() {
	if r.big {
		r.orders[1] = true
	} else {
		r.orders[0] = true
	}
}

// Sections is how many there are so far; a pcap file is one.
func (r *Reader) Sections() int { return r.sections }

// Offset is how far the capture is read, in bytes after decompression.
func (r *Reader) Offset() int64 { return r.w.at() }

// SkippedBlocks is how many blocks there are so far that hold neither packets nor what Interfaces says.
func (r *Reader) SkippedBlocks() uint64 { return r.skipped }

// Interfaces are those found so far, in the order of the file: all of the latest section and, of the sections before, the
// first maxInterfaces.
func (r *Reader) Interfaces() []Interface { return append(slices.Clone(r.earlier), r.ifaces...) }

// MoreInterfaces is how many Interfaces leaves out.
func (r *Reader) MoreInterfaces() int { return r.dropped }

// end is the error of a capture that ends where n more bytes should begin or go on. what was there says got.
func (r *Reader) end(got int, what string) error {
	switch err := r.w.err; {
	case got == 0 && (err == nil || err == io.EOF):
		r.over = io.EOF
	case err == nil || err == io.EOF:
		r.over = &Damage{Offset: r.w.at(), After: r.count, What: what, Cut: true}
	case errors.Is(err, io.ErrUnexpectedEOF):
		r.over = &Damage{Offset: r.w.at(), After: r.count, What: "the compressed data ends", Cut: true}
	case r.gzip && (errors.Is(err, gzip.ErrChecksum) || errors.Is(err, gzip.ErrHeader) || isCorrupt(err)):
		r.over = &Damage{Offset: r.w.at(), After: r.count, What: "compressed data that is damaged"}
	default:
		r.over = fmt.Errorf("cannot be read at offset %d after packet %d: %w", r.w.at(), r.count, err)
	}
	return r.over
}

func (r *Reader) broken(format string, args ...any) error {
	r.over = &Damage{Offset: r.w.at(), After: r.count, What: fmt.Sprintf(format, args...)}
	return r.over
}

func (r *Reader) u16(b []byte) uint16 {
	if r.big {
		return binary.BigEndian.Uint16(b)
	}
	return binary.LittleEndian.Uint16(b)
}

func (r *Reader) u32(b []byte) uint32 {
	if r.big {
		return binary.BigEndian.Uint32(b)
	}
	return binary.LittleEndian.Uint32(b)
}

func (r *Reader) u64(b []byte) uint64 {
	if r.big {
		return binary.BigEndian.Uint64(b)
	}
	return binary.LittleEndian.Uint64(b)
}

// text keeps a name of a file, as far as anybody wants to read it.
func text(b []byte) string {
	if i := bytes.IndexByte(b, 0); i >= 0 {
		b = b[:i]
	}
	return string(bytes.ToValidUTF8(b[:min(len(b), maxText)], []byte("?")))
}
