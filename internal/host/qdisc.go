package host

import (
	"errors"
	"fmt"
	"io/fs"

	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"
)

// Backlog is the number of frames that wait in the device's root qdisc, with those in its children.
func (n *NS) Backlog(ifindex int) (frames uint64, err error) {
	c, err := n.connect()
	if err != nil {
		return 0, err
	}
	msg := &nl.TcMsg{}
	msg.Family, msg.Ifindex, msg.Parent = unix.AF_UNSPEC, int32(ifindex), tcHRoot
	err = again(func() error {
		frames = 0
		return c.ask(unix.NETLINK_ROUTE, unix.RTM_GETQDISC, unix.NLM_F_DUMP, func(m []byte) error {
			if len(m) < nl.SizeofTcMsg {
				return fmt.Errorf("qdisc message of %d bytes", len(m))
			}
			// struct tcmsg: family and padding, ifindex, handle, parent, info.
			if int(int32(native.Uint32(m[4:]))) != ifindex || native.Uint32(m[12:]) != tcHRoot {
				return nil
			}
			return attributes(m, nl.SizeofTcMsg, func(typ uint16, v []byte) {
				if typ == nl.TCA_STATS2 {
					frames = queueLen(v)
				}
			})
		}, msg)
	})
	if errors.Is(err, unix.ENODEV) {
		err = fmt.Errorf("it is gone: %w", fs.ErrNotExist)
	}
	if err != nil {
		return 0, fmt.Errorf("qdisc of device %d%s: %w", ifindex, n.where(), err)
	}
	return frames, nil
}

const tcHRoot = 0xffffffff // TC_H_ROOT

// queueLen reads struct gnet_stats_queue: qlen first.
func queueLen(v []byte) (frames uint64) {
	const tcaStatsQueue = 3 // include/uapi/linux/gen_stats.h
	_ = attributes(v, 0, func(typ uint16, v []byte) {
		if typ == tcaStatsQueue {
			frames = uint64(u32(v))
		}
	})
	return frames
}
