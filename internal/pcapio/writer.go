package pcapio

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
)

// WriterConfig says what kind of file is written, and what it says about where the packets come from.
type WriterConfig struct {
	Format  Format
	Link    LinkType // LinkNull is not the default: say LinkEthernet
	SnapLen int      // bytes that packets were cut to; 0: none was. The writer itself cuts nothing.
	// What only pcapng can say; empty: nothing.
	IfName      string
	Filter      string // of libpcap
	Description string
	Comment     string // about the file
}

// writeBuffer is how much is written at once.
const writeBuffer = 1 << 20

// A Writer writes packets of one interface, with times in ns. It buffers whole records: what it hands to the file below at
// once ends where a record ends, so a file that grows can be read at any time. It allocates nothing once it is made, but a
// larger buffer for a larger packet.
type Writer struct {
	w      io.Writer
	buf    []byte
	format Format
	size   int64 // bytes given to the file, buffered ones included
	last   int64 // ns, the latest time
	first  int64
	count  uint64
	err    error // sticky: the file below may have a part of a record
}

// NewWriter begins a file: the head is buffered. Flush must be called at the end.
func NewWriter(w io.Writer, c WriterConfig) (*Writer, error) {
	if c.SnapLen < 0 || c.SnapLen > math.MaxInt32 {
		return nil, fmt.Errorf("a snapshot length of %d bytes: it is 0 for none, or up to %d", c.SnapLen, math.MaxInt32)
	}
	out := &Writer{w: w, format: c.Format, buf: make([]byte, 0, writeBuffer)}
	switch c.Format {
	case PCAP:
		out.buf = appendPcapHead(out.buf, c)
	case PCAPNG:
		out.buf = appendInterface(appendSection(out.buf, c), c)
	default:
		return nil, errors.New("no format of capture files is chosen: pcap and pcapng are written")
	}
	out.size = int64(len(out.buf))
	return out, nil
}

// WritePacket writes a packet that had orig bytes, of which data were captured, at timeNs since 1970.
func (w *Writer) WritePacket(timeNs int64, orig int, data []byte) error {
	return w.write(timeNs, orig, data, nil, nil, 0)
}

// WriteTagged writes a packet whose bytes lie in three pieces, such as a frame whose VLAN tags come from elsewhere.
func (w *Writer) WriteTagged(timeNs int64, orig int, head, tag, rest []byte) error {
	return w.write(timeNs, orig, head, tag, rest, 0)
}

// WriteFrame writes a packet and what pcapng can say about it: that it was made of several frames, and that it was sent.
func (w *Writer) WriteFrame(timeNs int64, orig int, data []byte, merged, outgoing bool) error {
	var m mark
	if merged {
		m |= markMerged
	}
	if outgoing {
		m |= markOutgoing
	}
	return w.write(timeNs, orig, data, nil, nil, m)
}

// Size is how long the file is with what is buffered, in bytes.
func (w *Writer) Size() int64 { return w.size }

// Count is how many packets were written.
func (w *Writer) Count() uint64 { return w.count }

// Flush hands to the file below what is buffered.
func (w *Writer) Flush() error {
	if w.err != nil || len(w.buf) == 0 {
		return w.err
	}
	_, w.err = w.w.Write(w.buf)
	w.buf = w.buf[:0]
	return w.err
}

// Resume goes on after a write that failed, where the file below has taken back all that the write left of it: it has size
// bytes again, with count packets.
func (w *Writer) Resume(size int64, count uint64) {
	w.err, w.buf, w.size, w.count = nil, w.buf[:0], size, count
}

// Stats writes what the interface received and dropped from the beginning to the latest packet; pcap has no room for it.
func (w *Writer) Stats(received, dropped uint64) error {
	if w.format != PCAPNG || w.err != nil {
		return w.err
	}
	n := len(w.buf)
	w.buf = w.appendStatistics(w.buf, received, dropped)
	w.size += int64(len(w.buf) - n)
	return nil
}

// mark is what is said about a packet.
type mark uint8

const (
	markMerged mark = 1 << iota
	markOutgoing
)

func (w *Writer) write(timeNs int64, orig int, head, tag, rest []byte, m mark) error {
	if w.err != nil {
		return w.err
	}
	if uint64(timeNs) > math.MaxInt64 || w.format == PCAP && timeNs >= (math.MaxUint32+1)*1e9 {
		return fmt.Errorf("a time of %d ns since 1970 has no place in %s", timeNs, w.format)
	}
	n := len(head) + len(tag) + len(rest)
	if n > MaxRecord-recordRoom || uint64(orig) > math.MaxUint32 {
		return fmt.Errorf("a packet of %d bytes of %d: captures have packets of %d bytes at most", n, orig, MaxRecord-recordRoom)
	}
	if need := n + recordRoom; cap(w.buf)-len(w.buf) < need {
		if err := w.Flush(); err != nil {
			return err
		}
		if cap(w.buf) < need {
			w.buf = make([]byte, 0, need)
		}
	}
	if w.count == 0 {
		w.first = timeNs
	}
	w.last = max(w.last, timeNs)
	w.count++
	from := len(w.buf)
	b := w.buf[:from+w.head()]
	b = append(append(append(b, head...), tag...), rest...)
	if w.format == PCAP {
		putRecord(b[from:], timeNs, n, orig)
	} else {
		b = endBlock(b, from, timeNs, n, orig, m)
	}
	w.buf = b
	w.size += int64(len(b) - from)
	return nil
}

// recordRoom is what a record has at most beyond the bytes of its packet.
const recordRoom = 128

func (w *Writer) head() int {
	if w.format == PCAP {
		return recordHead
	}
	return dataEPB
}

func appendPcapHead(b []byte, c WriterConfig) []byte {
	le := binary.LittleEndian
	b = le.AppendUint32(b, magicNano)
	b = le.AppendUint16(b, 2)
	b = le.AppendUint16(b, 4)
	b = le.AppendUint64(b, 0)
	snap := uint32(c.SnapLen)
	if snap == 0 {
		snap = unlimitedPcap
	}
	b = le.AppendUint32(b, snap)
	return le.AppendUint32(b, uint32(c.Link))
}

// unlimitedPcap is the largest snapshot length that libpcap takes for most link types.
const unlimitedPcap = 262144

func putRecord(b []byte, timeNs int64, n, orig int) {
	le := binary.LittleEndian
	le.PutUint32(b, uint32(timeNs/1e9))
	le.PutUint32(b[4:], uint32(timeNs%1e9))
	le.PutUint32(b[8:], uint32(n))
	le.PutUint32(b[12:], uint32(orig))
}
