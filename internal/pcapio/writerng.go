package pcapio

import "encoding/binary"

// The options that the writer adds to packets, as they are in the file.
const (
	mergedOption   = "\x01\x00\x11\x00" + mergedMark + "\x00\x00\x00"
	outgoingOption = "\x02\x00\x04\x00\x02\x00\x00\x00"
	endOption      = "\x00\x00\x00\x00"
)

// padding is appended in part to reach a multiple of 4.
const padding = "\x00\x00\x00"

// endBlock completes an Enhanced Packet Block that begins at from: its head has room, its data is there.
func endBlock(b []byte, from int, timeNs int64, n, orig int, m mark) []byte {
	b = append(b, padding[:-n&3]...)
	if m&markMerged != 0 {
		b = append(b, mergedOption...)
	}
	if m&markOutgoing != 0 {
		b = append(b, outgoingOption...)
	}
	if m != 0 {
		b = append(b, endOption...)
	}
	le := binary.LittleEndian
	total := uint32(len(b) - from + 4)
	b = le.AppendUint32(b, total)
	h := b[from : from+dataEPB]
	le.PutUint32(h, blockEnhanced)
	le.PutUint32(h[4:], total)
	le.PutUint32(h[8:], 0)
	le.PutUint32(h[12:], uint32(timeNs>>32))
	le.PutUint32(h[16:], uint32(timeNs))
	le.PutUint32(h[20:], uint32(n))
	le.PutUint32(h[24:], uint32(orig))
	return b
}

// Options of sections and statistics that are only written.
const (
	optUserAppl      = 4
	optStatStart     = 2
	optStatEnd       = 3
	optStatDelivered = 8

	nanoResolution  = 9
	application     = "wirespeed"
	maxOptionLength = 0xffff
)

func appendSection(b []byte, c WriterConfig) []byte {
	from := len(b)
	b = beginBlock(b, blockSection)
	le := binary.LittleEndian
	b = le.AppendUint32(b, byteOrderMagic)
	b = le.AppendUint32(b, pcapngMajor) // minor version 0
	b = le.AppendUint64(b, ^uint64(0))  // the length of the section is not known
	if c.Comment != "" {
		b = appendOption(b, optComment, "", c.Comment)
	}
	b = appendOption(b, optUserAppl, "", application)
	return closeBlock(b, from)
}

func appendInterface(b []byte, c WriterConfig) []byte {
	from := len(b)
	b = beginBlock(b, blockInterface)
	le := binary.LittleEndian
	b = le.AppendUint32(b, uint32(c.Link)&0xffff)
	b = le.AppendUint32(b, uint32(c.SnapLen))
	if c.IfName != "" {
		b = appendOption(b, optIfName, "", c.IfName)
	}
	if c.Description != "" {
		b = appendOption(b, optIfDescription, "", c.Description)
	}
	b = appendOption(b, optIfTSResol, "", string([]byte{nanoResolution}))
	if c.Filter != "" {
		b = appendOption(b, optIfFilter, "\x00", c.Filter)
	}
	return closeBlock(b, from)
}

func (w *Writer) appendStatistics(b []byte, received, dropped uint64) []byte {
	from := len(b)
	b = beginBlock(b, blockStatistics)
	b = binary.LittleEndian.AppendUint32(b, 0)
	b = appendTime(b, w.last)
	if w.count > 0 {
		b = appendTime(append(b, optStatStart, 0, 8, 0), w.first)
		b = appendTime(append(b, optStatEnd, 0, 8, 0), w.last)
	}
	for _, o := range []struct {
		code  byte
		value uint64
	}{{optStatReceived, received}, {optStatDropped, dropped}, {optStatDelivered, w.count}} {
		b = binary.LittleEndian.AppendUint64(append(b, o.code, 0, 8, 0), o.value)
	}
	return closeBlock(b, from)
}

// appendTime appends a time as blocks have it: the upper half first.
func appendTime(b []byte, ns int64) []byte {
	b = binary.LittleEndian.AppendUint32(b, uint32(ns>>32))
	return binary.LittleEndian.AppendUint32(b, uint32(ns))
}

func beginBlock(b []byte, kind uint32) []byte {
	b = binary.LittleEndian.AppendUint32(b, kind)
	return binary.LittleEndian.AppendUint32(b, 0)
}

// closeBlock ends the list of options and the block, whose lengths it fills in.
func closeBlock(b []byte, from int) []byte {
	b = append(b, endOption...)
	total := uint32(len(b) - from + 4)
	binary.LittleEndian.PutUint32(b[from+4:], total)
	return binary.LittleEndian.AppendUint32(b, total)
}

// appendOption appends an option; what is too long for one is cut.
func appendOption(b []byte, code uint16, prefix, value string) []byte {
	value = value[:min(len(value), maxOptionLength-len(prefix))]
	n := len(prefix) + len(value)
	b = binary.LittleEndian.AppendUint16(b, code)
	b = binary.LittleEndian.AppendUint16(b, uint16(n))
	b = append(append(b, prefix...), value...)
	return append(b, padding[:-n&3]...)
}
