package host

// Link is what is known of a network device.
type Link struct {
	Name, Netns        string
	Index              int
	Kind               string // netlink's kind: veth, tun, bridge, ...; empty for hardware
	Driver             string
	Bus                string // bus address of the hardware; empty without
	MTU                int
	Up, Carrier        bool
	SpeedBps           uint64 // only of real hardware; 0: none
	MAC                [6]byte
	TxQueues, RxQueues int
	DefaultRoute       bool // carries a default route
	SSH                bool // carries the connection of $SSH_CONNECTION
	GRO                bool
	XDPProgID          uint32  // program attached, 0: none
	XDPMode            string  // "", "native", "generic", "offload"
	XDPFeatures        *uint64 // netdev genetlink NETDEV_XDP_ACT_*; nil: the kernel does not say
	Qdisc              string  // root qdisc kind
	AddrCount          int

	lower     int // index of a veth's peer or a VLAN's lower device; 0: none
	lowerNSID int // its namespace as seen from the device's; -1: the same
}

// XDP feature bits of the netdev family (include/uapi/linux/netdev.h). XDPNdoXmit of a veth says that its peer takes
// redirected frames: drivers/net/veth.c sets it when the peer has GRO or a program.
const (
	XDPBasic     = 1
	XDPRedirect  = 2
	XDPNdoXmit   = 4
	XDPZeroCopy  = 8
	XDPHWOffload = 16
	XDPRxSg      = 32
	XDPNdoXmitSg = 64
)

// Counters are the kernel's counters of a device (rtnl_link_stats64).
type Counters struct {
	TxFrames, TxBytes, TxDropped, TxErrors           uint64
	RxFrames, RxBytes, RxDropped, RxErrors, RxMissed uint64
	CarrierChanges                                   uint64
	Up, Carrier                                      bool
}

// Peer is the other end of a veth pair.
type Peer struct {
	NS   *NS // owned by the caller
	Link Link
}
