package xdp

import (
	"fmt"
	"regexp"

	"github.com/safchain/ethtool"
)

// drops are counts of frames that the receiving device threw away before the program saw them.
type drops struct {
	frames uint64
	// stack: the count has in it what the kernel's stack threw away behind the program, too.
	stack bool
}

// vethDrops is the veth driver's count of one receive queue (drivers/net/veth.c): frames for which there was no memory.
// Its xdp_drops are those that our program took. The device's rx_dropped also has in it the frames that did not fit the
// queue, but those are the sender's: its tx_dropped has them, so they never count as sent.
var vethDrops = regexp.MustCompile(`^rx_queue_\d+_drops$`)

// readDrops reads the device's counts.
func (r *receiver) readDrops() (d drops, err error) {
	if r.link.Kind == "veth" {
		return r.readVethDrops()
	}
	c, err := r.ns.Counters(r.link.Index)
	return drops{c.RxDropped + c.RxMissed, true}, err
}

func (r *receiver) readVethDrops() (d drops, err error) {
	err = r.ns.Do(func() error {
		e, err := ethtool.NewEthtool()
		if err != nil {
			return err
		}
		defer e.Close()
		all, err := e.Stats(r.link.Name)
		for name, n := range all {
			if vethDrops.MatchString(name) {
				d.frames += n
			}
		}
		return err
	})
	if err != nil {
		return d, fmt.Errorf("receive drops of %s: %w", r.link.Name, err)
	}
	return d, nil
}

// since is what was dropped since before. Where the stack counts in the same place, frames that the program passed on may
// have been dropped there, which is not our loss: they are taken off.
func (d drops) since(before drops, passed uint64) uint64 {
	if d.frames < before.frames { // the driver began anew
		before.frames = 0
	}
	n := d.frames - before.frames
	if d.stack {
		n -= min(n, passed)
	}
	return n
}
