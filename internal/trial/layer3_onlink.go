package trial

import (
	"context"
	"encoding/binary"
	"net/netip"
	"slices"

	"github.com/wirespeed/wirespeed/internal/packet"
	"github.com/wirespeed/wirespeed/stream"
)

// askDestination asks for the MAC address of a destination on the sending port's own network, where nothing else says where
// frames go: no gateway, no receiving port, no address given.
func (u *run) askDestination(ctx context.Context, tx *sender) error {
	l := &u.spec.Layer3
	if u.txNode == nil || l.Gateway.IsValid() || len(u.rx) > 0 || u.spec.Set.Replay != nil {
		return nil
	}
	a := destination(u.addressed(u.spec.Set))
	if !l.Tx.Masked().Contains(a) || a == l.Tx.Addr() {
		return nil
	}
	mac, err := resolve(ctx, u.txNode, a, tx.target, "--dst-ip")
	if err != nil {
		return err
	}
	u.destinationMAC = mac
	u.note("%s: the destination %s has the address %s", tx.target, a, macText(*mac))
	return nil
}

// destination is the one address that all streams go to whose destination MAC address is open; the zero Addr where there is no
// such one.
func destination(set *stream.Set) (one netip.Addr) {
	for i := range set.Streams {
		st := &set.Streams[i]
		if !st.HasEthernet() || st.Layers[0].Has("dst") {
			continue
		}
		at := slices.IndexFunc(st.Layers, func(l stream.Layer) bool {
			return l.Kind.Header == packet.HeaderIPv4 || l.Kind.Header == packet.HeaderIPv6
		})
		if at < 0 {
			return netip.Addr{}
		}
		a, fixed := fixedDestination(&st.Layers[at])
		if !fixed || one.IsValid() && a != one {
			return netip.Addr{}
		}
		one = a
	}
	return one
}

// fixedDestination is the destination of an IP header; false where it changes from frame to frame.
func fixedDestination(l *stream.Layer) (netip.Addr, bool) {
	n := l.Kind.Field("dst").Default
	for _, v := range l.Fields {
		if v.Field.Name != "dst" {
			continue
		}
		if v.Value.Op != stream.Fixed {
			return netip.Addr{}, false
		}
		n = v.Value.Start
	}
	var b [16]byte
	binary.BigEndian.PutUint64(b[:8], n.Hi)
	binary.BigEndian.PutUint64(b[8:], n.Lo)
	if l.Kind.Header == packet.HeaderIPv4 {
		return netip.AddrFrom4([4]byte(b[12:])), true
	}
	return netip.AddrFrom16(b), true
}
