package engine

import "github.com/wirespeed/wirespeed/internal/host"

// LinkOf is what the seam says of a host's device. peerMAC is nil where no veth's peer was found.
func LinkOf(l host.Link, peerMAC *[6]byte) Link {
	return Link{
		Name: l.Name, Netns: l.Netns, Driver: l.Driver, Kind: l.Kind, Index: l.Index, MTU: l.MTU, Up: l.Up, Carrier: l.Carrier,
		SpeedBps: l.SpeedBps, MAC: l.MAC, TxQueues: l.TxQueues, RxQueues: l.RxQueues,
		DefaultRoute: l.DefaultRoute, SSH: l.SSH, PeerMAC: peerMAC,
	}
}
