package host

import (
	"bytes"
	"encoding/binary"

	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"
)

var native = binary.NativeEndian

// rawLink is what RTM_GETLINK says of one device.
type rawLink struct {
	Link
	flags     uint32
	altNames  []string
	lower     int // IFLA_LINK: of a veth its peer, of a VLAN its lower device
	lowerNSID int // namespace id of lower as seen from here; -1: the same namespace
	master    int
	parent    string // the hardware's name on its bus: `device` in sysfs
	stats     Counters
}

// Attributes that x/sys/unix does not name (include/uapi/linux/if_link.h).
const (
	iflaPropList      = 52
	iflaAltIfname     = 53
	iflaParentDevName = 56
	iflaXDPDrvProgID  = 5
)

func decodeLink(m []byte) (rawLink, error) {
	r := rawLink{lowerNSID: -1}
	if len(m) >= unix.SizeofIfInfomsg {
		r.Index = int(int32(native.Uint32(m[4:])))
		r.flags = native.Uint32(m[8:])
		r.Up = r.flags&unix.IFF_UP != 0
	}
	err := attributes(m, unix.SizeofIfInfomsg, func(typ uint16, v []byte) {
		switch typ {
		case unix.IFLA_IFNAME:
			r.Name = text(v)
		case unix.IFLA_MTU:
			r.MTU = int(u32(v))
		case unix.IFLA_ADDRESS:
			if len(v) == len(r.MAC) {
				copy(r.MAC[:], v)
			}
		case unix.IFLA_QDISC:
			r.Qdisc = text(v)
		case unix.IFLA_LINK:
			r.lower = int(int32(u32(v)))
		case unix.IFLA_LINK_NETNSID:
			r.lowerNSID = int(int32(u32(v)))
		case unix.IFLA_MASTER:
			r.master = int(u32(v))
		case unix.IFLA_NUM_TX_QUEUES:
			r.TxQueues = int(u32(v))
		case unix.IFLA_NUM_RX_QUEUES:
			r.RxQueues = int(u32(v))
		case unix.IFLA_CARRIER:
			r.Carrier = len(v) > 0 && v[0] != 0
		case unix.IFLA_CARRIER_CHANGES:
			r.stats.CarrierChanges = uint64(u32(v))
		case unix.IFLA_STATS64:
			decodeStats(v, &r.stats)
		default:
			r.decodeNested(typ, v)
		}
	})
	r.stats.Up, r.stats.Carrier = r.Up, r.Carrier
	return r, err
}

// decodeNested reads the attributes that hold attributes. What is malformed inside is left out.
func (r *rawLink) decodeNested(typ uint16, v []byte) {
	switch typ {
	case iflaParentDevName:
		r.parent = text(v)
	case unix.IFLA_LINKINFO:
		_ = attributes(v, 0, func(typ uint16, v []byte) {
			if typ == nl.IFLA_INFO_KIND {
				r.Kind = text(v)
			}
		})
	case iflaPropList:
		_ = attributes(v, 0, func(typ uint16, v []byte) {
			if typ == iflaAltIfname {
				r.altNames = append(r.altNames, text(v))
			}
		})
	case unix.IFLA_XDP:
		_ = attributes(v, 0, func(typ uint16, v []byte) {
			switch typ {
			case nl.IFLA_XDP_ATTACHED:
				if len(v) > 0 {
					r.XDPMode = xdpMode(v[0])
				}
			case nl.IFLA_XDP_PROG_ID, iflaXDPDrvProgID: // with several modes at once there is only the second
				r.XDPProgID = u32(v)
			}
		})
	}
}

// xdpMode names XDP_ATTACHED_* of include/uapi/linux/if_link.h.
func xdpMode(v byte) string {
	switch v {
	case 1:
		return "native"
	case 2:
		return "generic"
	case 3:
		return "offload"
	case 4:
		return "native" // XDP_ATTACHED_MULTI: several modes at once
	}
	return ""
}

// decodeStats reads struct rtnl_link_stats64.
func decodeStats(v []byte, c *Counters) {
	const missed = 15 // the last field that is wanted
	if len(v) < 8*(missed+1) {
		return
	}
	at := func(i int) uint64 { return native.Uint64(v[8*i:]) }
	c.RxFrames, c.TxFrames, c.RxBytes, c.TxBytes = at(0), at(1), at(2), at(3)
	c.RxErrors, c.TxErrors, c.RxDropped, c.TxDropped = at(4), at(5), at(6), at(7)
	c.RxMissed = at(missed)
}

func u32(v []byte) uint32 {
	if len(v) < 4 {
		return 0
	}
	return native.Uint32(v)
}

func text(v []byte) string {
	if i := bytes.IndexByte(v, 0); i >= 0 {
		v = v[:i]
	}
	return string(v)
}
