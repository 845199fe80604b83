package packetsock

import (
	"encoding/binary"
	"hash/crc32"

	"github.com/wirespeed/wirespeed/internal/packet"
)

// sctpChecksum is where SCTP's checksum lies in its header, and no other protocol's: it is a CRC (RFC 9260 appendix A).
const sctpChecksum = 8

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// complete writes the checksum that the kernel left to the hardware: it covers the frame from start on and lies offset
// bytes behind start, where the kernel has put the sum of the pseudo header. It is what skb_checksum_help of
// net/core/dev.c writes when the hardware cannot: a result of 0 becomes 0xffff for every protocol. It is false where the
// checksum would lie outside the frame.
func complete(frame []byte, start, offset int) bool {
	at := start + offset
	if offset == sctpChecksum {
		if at+4 > len(frame) {
			return false
		}
		binary.LittleEndian.PutUint32(frame[at:], 0)
		binary.LittleEndian.PutUint32(frame[at:], crc32.Checksum(frame[start:], castagnoli))
		return true
	}
	if at+2 > len(frame) {
		return false
	}
	c := ^packet.Fold(packet.Sum(0, frame[start:]))
	if c == 0 {
		c = 0xffff
	}
	binary.BigEndian.PutUint16(frame[at:], c)
	return true
}
