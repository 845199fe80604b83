package replay

import (
	"encoding/binary"

	"github.com/wirespeed/wirespeed/internal/packet"
)

const (
	macs   = 12 // bytes of the two addresses before EtherType or tag
	tagLen = 4
)

// untag takes all tags behind the outermost addresses away, and returns the shorter frame.
func untag(b []byte) []byte {
	n := 0
	for macs+n+tagLen+2 <= len(b) && packet.IsTPID(binary.BigEndian.Uint16(b[macs+n:])) {
		n += tagLen
	}
	if n == 0 {
		return b
	}
	copy(b[macs:], b[macs+n:])
	return b[:len(b)-n]
}

// tag gives the outermost tag an id, or puts a tag with it behind the addresses. b has capacity for tagLen bytes more.
func tag(b []byte, id uint16) []byte {
	if macs+tagLen <= len(b) && packet.IsTPID(binary.BigEndian.Uint16(b[macs:])) {
		tci := b[macs+2:]
		binary.BigEndian.PutUint16(tci, binary.BigEndian.Uint16(tci)&0xf000|id)
		return b
	}
	b = b[:len(b)+tagLen]
	copy(b[macs+tagLen:], b[macs:])
	binary.BigEndian.PutUint16(b[macs:], packet.TPIDCustomer)
	binary.BigEndian.PutUint16(b[macs+2:], id)
	return b
}
