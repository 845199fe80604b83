package trial

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/wirespeed/wirespeed/internal/engine"
	"github.com/wirespeed/wirespeed/internal/host"
	"github.com/wirespeed/wirespeed/internal/neighbour"
	"github.com/wirespeed/wirespeed/internal/packet"
	"github.com/wirespeed/wirespeed/stream"
)

// Layer3 are the addresses that the ports have during a run: they answer for them there, and for no others.
type Layer3 struct {
	Tx, Rx    netip.Prefix // of the port that sends and the one that receives; the zero value is none
	Gateway   netip.Addr   // that the frames are sent to
	RxGateway netip.Addr   // that the receiving port makes itself known to before the first frame
}

// gatewayTTL is the time to live of frames that a router is to forward: it takes one off, and drops what comes to 0.
const gatewayTTL = 64

func (l *Layer3) empty() bool { return *l == Layer3{} }

// check refuses addresses that do not go together.
func (l *Layer3) check(s *Spec) error {
	if l.empty() {
		return nil
	}
	if len(s.Tx) != 1 || len(s.Rx) > 1 {
		return Usage("give one port to send from and at most one --rx", "addresses of ports with %d ports to send from and %d to receive at", len(s.Tx), len(s.Rx))
	}
	if l.Rx.IsValid() && len(s.Rx) == 0 {
		return Usage("add --rx PORT", "--rx-ip is the address of the receiving port, and there is none")
	}
	if l.Tx.IsValid() && l.Rx.IsValid() && l.Tx.Addr().Is4() != l.Rx.Addr().Is4() {
		return Usage("give two of one family", "--tx-ip %s and --rx-ip %s: IPv4 and IPv6", l.Tx, l.Rx)
	}
	for _, g := range []struct {
		gateway     netip.Addr
		port        netip.Prefix
		flag, owner string
	}{{l.Gateway, l.Tx, "--gateway", "--tx-ip"}, {l.RxGateway, l.Rx, "--rx-gateway", "--rx-ip"}} {
		switch {
		case !g.gateway.IsValid():
		case !g.port.IsValid():
			return Usage(fmt.Sprintf("add %s with an address beside it, such as %s", g.owner, beside(g.gateway)), "%s %s: the port needs an address to ask from", g.flag, g.gateway)
		case !g.port.Masked().Contains(g.gateway):
			return Usage("give an address of that network", "%s %s lies outside of %s, the network of %s", g.flag, g.gateway, g.port.Masked(), g.owner)
		case g.gateway == g.port.Addr():
			return Usage("give the router's", "%s and %s are the same address", g.flag, g.owner)
		}
	}
	if l.Tx.IsValid() && l.Rx.IsValid() && !l.Gateway.IsValid() && !l.Tx.Masked().Contains(l.Rx.Addr()) {
		return Usage("give --gateway with the router between them", "--rx-ip %s lies outside of %s, the network of --tx-ip", l.Rx.Addr(), l.Tx.Masked())
	}
	return l.untagged(s.Set)
}

// beside is an example of an address in the network of a gateway: the one before it, unless that is the network's own.
func beside(gateway netip.Addr) string {
	bits := 24
	if gateway.Is6() {
		bits = 64
	}
	network := netip.PrefixFrom(gateway, bits).Masked()
	example := gateway.Prev()
	if !network.Contains(example) || example == network.Addr() {
		example = gateway.Next()
	}
	return netip.PrefixFrom(example, bits).String()
}

// untagged: neighbours are asked for without a VLAN tag.
func (l *Layer3) untagged(set *stream.Set) error {
	for i := range set.Streams {
		if slices.ContainsFunc(set.Streams[i].Layers, func(l stream.Layer) bool { return l.Kind.Header == packet.HeaderVLAN }) {
			return Usage("give --dst-mac instead of addresses of ports, or send without tags",
				"stream %q has VLAN tags, and the gateway is asked for without", set.Streams[i].Name)
		}
	}
	return nil
}

// addresses makes the ports answer for their addresses and finds the gateway. It is called once every port is locked and
// before the programs are made.
func (u *run) addresses(ctx context.Context, tx *sender) error {
	l := &u.spec.Layer3
	if l.empty() {
		return nil
	}
	if u.portless(tx.target) {
		return Usage("send from a device", "%s reaches no network: no port there can have an address", tx.target)
	}
	var err error
	if l.Tx.IsValid() {
		if u.txNode, err = u.node(tx.target, l.Tx.Addr()); err != nil {
			return err
		}
	}
	if l.Rx.IsValid() {
		if u.rxNode, err = u.node(u.rx[0].target, l.Rx.Addr()); err != nil {
			return err
		}
	}
	if l.RxGateway.IsValid() { // first: the router then knows where the frames go
		if u.rxGatewayMAC, err = resolve(ctx, u.rxNode, l.RxGateway, u.rx[0].target, "--rx-gateway"); err != nil {
			return err
		}
	}
	if l.Gateway.IsValid() {
		if u.gatewayMAC, err = resolve(ctx, u.txNode, l.Gateway, tx.target, "--gateway"); err != nil {
			return err
		}
		u.note("%s: the gateway %s has the address %s", tx.target, l.Gateway, macText(*u.gatewayMAC))
	}
	return nil
}

func (u *run) node(t engine.Target, a netip.Addr) (*neighbour.Node, error) {
	ns, err := host.OpenNS(t.Netns)
	if err != nil {
		return nil, EnvironmentOf(err)
	}
	defer ns.Close()
	n, err := neighbour.Start(ns, t.Device, a)
	if err != nil {
		return nil, EnvironmentOf(err)
	}
	u.atEnd(n.Close, "stop answering for "+a.String())
	return n, nil
}

func resolve(ctx context.Context, n *neighbour.Node, a netip.Addr, t engine.Target, flag string) (*[6]byte, error) {
	mac, err := n.Resolve(ctx, a)
	switch {
	case errors.Is(err, neighbour.ErrSilent):
		return nil, Environment("look at the address, the link and who is at its other end; or give --dst-mac", "%s: %s does not answer at %s", flag, a, t)
	case ctx.Err() != nil:
		return nil, errInterrupted("anything was sent")
	case err != nil:
		return nil, EnvironmentOf(err)
	}
	return &mac, nil
}

func macText(m [6]byte) string {
	return strings.ReplaceAll(fmt.Sprintf("% x", m), " ", ":")
}

// addressed is the set with the ports' addresses where the author left them open. With a gateway, a replay's frames go to
// it, too.
func (u *run) addressed(set *stream.Set) *stream.Set {
	l := &u.spec.Layer3
	if l.empty() {
		return set
	}
	set = set.Clone()
	set.SetIPs(l.Tx.Addr(), l.Rx.Addr())
	if u.gatewayMAC == nil {
		return set
	}
	set.SetTTL(gatewayTTL)
	if r := set.Replay; r != nil && !slices.ContainsFunc(r.Edits, func(e stream.Edit) bool { return e.Kind.Name == "eth" && e.Field.Name == "dst" }) {
		eth := packet.Lookup("eth")
		var n packet.Num
		for _, b := range u.gatewayMAC {
			n.Lo = n.Lo<<8 | uint64(b)
		}
		r.Edits = append(slices.Clone(r.Edits), stream.Edit{Flag: "dst_mac", Kind: eth, Field: eth.Field("dst"), Value: stream.Value{Start: n}})
	}
	return set
}

// throughRouter refuses frames without a signature that a receiver would not know, or not from what neighbours say: a router
// puts its own source address into what it forwards, and a port asks and answers from the address that its frames have.
func (u *run) throughRouter(x *sender) error {
	l := &u.spec.Layer3
	if len(u.rx) == 0 || !l.Tx.IsValid() {
		return nil
	}
	for i := range x.plan.Program.Streams {
		st := &x.plan.Program.Streams[i]
		if st.Form != packet.FormNone {
			continue
		}
		var t uint16 // of a replay: many
		if x.replay == nil {
			t = etherType(st.Heads[0])
		}
		routed := u.gatewayMAC != nil
		switch {
		case routed && (l.Gateway.Is6() || t == typeIPv6):
			return Usage("give a signature", "stream %q has no signature: of what a router sends to the receiver, neighbour discovery and the run's frames could not be told apart", st.Name)
		case l.Tx.Addr().Is6() && t == typeIPv6 || l.Tx.Addr().Is4() && t == typeARP:
			return Usage("give a signature, or leave out --tx-ip", "stream %q has no signature: what the port answers for %s and the run's frames could not be told apart", st.Name, l.Tx.Addr())
		case routed && u.rxGatewayMAC == nil:
			return Usage("give --rx-gateway with the router's address at the receiving port, or a signature",
				"stream %q has no signature, and a router puts its own source address into the frames: the receiver would not know them", st.Name)
		}
	}
	return nil
}

// EtherTypes of frames that are much like what neighbours say to each other.
const (
	typeARP  = 0x0806
	typeIPv6 = 0x86dd
)
