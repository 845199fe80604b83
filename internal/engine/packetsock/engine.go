package packetsock

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/wirespeed/wirespeed/internal/engine"
	"github.com/wirespeed/wirespeed/internal/host"
	"github.com/wirespeed/wirespeed/internal/wire"
)

// Engine is the AF_PACKET engine. It keeps no state.
type Engine struct{}

// New is the engine.
func New() *Engine { return &Engine{} }

// Name is what stands before the colon in a port's address.
func (*Engine) Name() string { return "packet" }

// Options are those of the address: qdisc=use or qdisc=bypass (the default).
func (*Engine) Options() (tx, rx []string) { return []string{"qdisc"}, nil }

// shaping are the qdiscs that hold frames back on purpose.
var shaping = []string{"tbf", "htb", "hfsc", "cake", "netem", "taprio", "etf", "cbs"}

// Probe says whether frames can be sent there.
func (*Engine) Probe(ctx context.Context, t engine.Target) (engine.Caps, error) {
	p, err := probe(ctx, t)
	if err != nil {
		return engine.Caps{}, err
	}
	defer func() { _ = p.ns.Close() }()
	if _, err := throughQdisc(t); err != nil {
		return engine.Caps{}, err
	}
	return p.caps, nil
}

// ProbeReceive says whether frames can be received there.
func (e *Engine) ProbeReceive(ctx context.Context, t engine.Target) (engine.Caps, error) {
	p, err := probe(ctx, t)
	if err != nil {
		return engine.Caps{}, err
	}
	defer func() { _ = p.ns.Close() }()
	p.caps.MaxQueues, p.caps.Captures = 1, true
	if p.link.XDPProgID != 0 {
		p.caps.Unknown = append(p.caps.Unknown, fmt.Sprintf("XDP program %d is attached to %s: what it drops is not seen", p.link.XDPProgID, t.Device))
	}
	return p.caps, nil
}

// probed is a device and what was found out about it. Whoever probes closes ns.
type probed struct {
	ns   *host.NS
	link host.Link
	caps engine.Caps
}

func probe(ctx context.Context, t engine.Target) (*probed, error) {
	ns, err := host.OpenNS(t.Netns)
	if err != nil {
		return nil, err
	}
	p := &probed{ns: ns}
	if p.link, err = ns.Link(t.Device); err != nil {
		_ = ns.Close()
		return nil, err
	}
	var peerMAC *[6]byte
	peerMTU := 0
	if peer, err := host.FindPeer(ctx, ns, p.link); err == nil {
		peerMAC, peerMTU = &peer.Link.MAC, peer.Link.MTU
		_ = peer.NS.Close()
	}
	queues := 1
	if cpus, err := host.CPUs(); err == nil {
		queues = len(cpus)
	}
	p.caps = engine.Caps{
		Engine: "packet", Link: engine.LinkOf(p.link, peerMAC), Paces: true, Stamps: true, MaxQueues: queues,
		// net/packet/af_packet.c, packet_snd: header and MTU, and four bytes more behind an 802.1Q tag.
		MaxFrame: p.link.MTU + ethHeader + wire.FCS, MaxTag: vlanTag,
	}
	p.caps.Link.PeerMTU = peerMTU
	p.caps.Problems = p.problems(t)
	return p, nil
}

const (
	ethHeader = 14
	vlanTag   = 4
)

// problems are the reasons why no frame would pass.
func (p *probed) problems(t engine.Target) (all []engine.Problem) {
	if err := p.ns.Do(tryPacketSocket); errors.Is(err, fs.ErrPermission) {
		all = append(all, engine.Problem{Reason: "opening a packet socket needs CAP_NET_RAW", Mend: "run it with sudo"})
	} else if err != nil {
		all = append(all, engine.Problem{Reason: err.Error()})
	}
	up := "`ip link set dev " + t.Device + " up`"
	if t.Netns != "" {
		up = "`ip netns exec " + t.Netns + " ip link set dev " + t.Device + " up`"
	}
	switch {
	case !p.link.Up:
		all = append(all, engine.Problem{Reason: t.String() + " is down", Mend: up})
	case !p.link.Carrier:
		all = append(all, engine.NoCarrier(t))
	}
	return all
}

// tryPacketSocket opens a socket that receives nothing.
func tryPacketSocket() error {
	fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("packet socket: %w", err)
	}
	return unix.Close(fd)
}

// throughQdisc reads the qdisc option.
func throughQdisc(t engine.Target) (bool, error) {
	switch v := t.Options.Get("qdisc"); {
	case !t.Options.Has("qdisc"), v == "bypass":
		return false, nil
	case v == "use":
		return true, nil
	default:
		return false, engine.InputError(fmt.Sprintf("port %q: option qdisc is %q: it is use or bypass", t.Text, v))
	}
}

// Open opens a port for sending.
func (*Engine) Open(ctx context.Context, t engine.Target, c engine.Config) (engine.Port, error) {
	qdisc, err := throughQdisc(t)
	if err != nil {
		return nil, err
	}
	p, err := probe(ctx, t)
	if err != nil {
		return nil, err
	}
	if err := p.caps.CarriesReceive(engine.Expect{}); err != nil { // the problems are the same
		_ = p.ns.Close()
		return nil, err
	}
	if !qdisc && slices.Contains(shaping, p.link.Qdisc) {
		c.Note(fmt.Sprintf("%s: qdisc %s is bypassed; packet:%s?qdisc=use sends through it", t, p.link.Qdisc, t))
	}
	return &port{probed: p, qdisc: qdisc}, nil
}

// OpenReceiver opens a port for receiving.
func (*Engine) OpenReceiver(ctx context.Context, t engine.Target, c engine.Config) (engine.Receiver, error) {
	p, err := probe(ctx, t)
	if err != nil {
		return nil, err
	}
	if err := p.caps.CarriesReceive(engine.Expect{}); err != nil {
		_ = p.ns.Close()
		return nil, err
	}
	return &receiver{probed: p}, nil
}

// Device reads the device's own counters.
func (p *probed) Device() (engine.DeviceCounters, bool, error) {
	c, err := p.ns.Counters(p.link.Index)
	return engine.DeviceCounters(c), err == nil, err
}
