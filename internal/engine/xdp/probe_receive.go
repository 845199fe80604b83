package xdp

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"

	"github.com/wirespeed/wirespeed/internal/engine"
	"github.com/wirespeed/wirespeed/internal/host"
	"github.com/wirespeed/wirespeed/internal/packet"
	"github.com/wirespeed/wirespeed/internal/wire"
)

// maxAnalysed is the longest frame without FCS that the receive program gets whole: what a page leaves it.
func maxAnalysed() int { return vethMaxMTU() + ethernet }

// vethMaxMTU is the largest MTU of a veth's peer with which the kernel attaches a program without fragments to the veth
// (drivers/net/veth.c, veth_xdp_set): a page less 256 bytes of headroom, 320 of skb_shared_info and the Ethernet header.
func vethMaxMTU() int { return os.Getpagesize() - 256 - 320 - ethernet }

// maxVLANs are the tags that the receive program looks behind (internal/bpf/walk.bpf.h): of the headers that it follows,
// Ethernet, IP and what stands on it are left.
const maxVLANs = packet.MaxStack - 4

// ProbeReceive says whether the receive program can be attached to the device, without attaching it. It loads a program of
// two instructions to see whether it may.
func (*Engine) ProbeReceive(ctx context.Context, t engine.Target) (engine.Caps, error) {
	p, err := probeReceive(ctx, t)
	if err != nil {
		return engine.Caps{}, err
	}
	return p.caps, p.ns.Close()
}

// receiveProbe is what a probe learned of a receive port.
type receiveProbe struct {
	caps    engine.Caps
	options receiveOptions
	ns      *host.NS // the caller's
	link    host.Link
}

func probeReceive(ctx context.Context, t engine.Target) (p receiveProbe, err error) {
	if p.options, err = parseReceiveOptions(t); err != nil {
		return p, err
	}
	if p.ns, err = host.OpenNS(t.Netns); err != nil {
		return p, err
	}
	if p.link, err = p.ns.Link(t.Device); err != nil {
		_ = p.ns.Close()
		return p, err
	}
	l := &p.link
	p.caps = engine.Caps{
		Engine: "xdp", Link: engine.LinkOf(*l, nil), MaxQueues: max(1, l.RxQueues), MaxVLANs: maxVLANs,
		MaxFrame: min(l.MTU+ethernet, maxAnalysed()) + wire.FCS,
	}
	p.caps.MaxTag = min(vlanTag, maxAnalysed()+wire.FCS-p.caps.MaxFrame)
	p.caps.Problems = append(p.caps.Problems, mayLoad()...)
	p.caps.Problems = append(p.caps.Problems, linkProblems(l, t)...)
	p.attachable(ctx, t)
	return p, nil
}

// mayLoad says why this process cannot load the receive program. Unlike sending, receiving needs no namespace of its own.
func mayLoad() []engine.Problem {
	prog, err := ebpf.NewProgram(&ebpf.ProgramSpec{
		Type: ebpf.XDP, License: "GPL", Instructions: asm.Instructions{asm.Mov.Imm(asm.R0, 2), asm.Return()},
	})
	switch {
	case err == nil:
		_ = prog.Close()
		return nil
	case errors.Is(err, fs.ErrPermission):
		return []engine.Problem{{Reason: "this process may not load XDP programs", Mend: "run it with sudo (CAP_BPF, CAP_NET_ADMIN and CAP_PERFMON), or take the packet: engine"}}
	default:
		return []engine.Problem{{Reason: fmt.Sprintf("the kernel takes no XDP program: %v", err), Mend: "the packet: engine"}}
	}
}

// attachable finds out what keeps the kernel from attaching the program.
func (p *receiveProbe) attachable(ctx context.Context, t engine.Target) {
	c, l := &p.caps, &p.link
	if l.XDPProgID != 0 {
		c.Problems = append(c.Problems, engine.Problem{
			Reason: fmt.Sprintf("%s already runs the %s XDP program %s", t, l.XDPMode, programName(l.XDPProgID)),
			Mend:   "stop what attached it, or " + command(t.Netns, "ip link set dev "+l.Name+" "+detachWord(l.XDPMode)+" off"),
		})
	}
	if p.options.generic {
		return
	}
	generic := "`" + t.String() + "?mode=generic`, which is slower, or the packet: engine"
	switch {
	case l.XDPFeatures == nil && l.Kind != "veth":
		c.Unknown = append(c.Unknown, "whether the driver "+l.Driver+" has XDP of its own: this kernel does not say")
	case l.XDPFeatures != nil && *l.XDPFeatures&host.XDPBasic == 0 && l.Kind == "veth": // veth_set_xdp_features
		c.Problems = append(c.Problems, queuesProblem(t.String(), l.RxQueues))
	case l.XDPFeatures != nil && *l.XDPFeatures&host.XDPBasic == 0:
		c.Problems = append(c.Problems, engine.Problem{Reason: "the driver " + l.Driver + " of " + t.String() + " has no XDP of its own", Mend: generic})
	}
	if l.Kind == "veth" {
		p.vethPeer(ctx, t)
	}
}

// vethPeer holds against a veth what its peer is.
func (p *receiveProbe) vethPeer(ctx context.Context, t engine.Target) {
	c, l := &p.caps, &p.link
	peer, err := host.FindPeer(ctx, p.ns, *l)
	if err != nil {
		c.Unknown = append(c.Unknown, "MTU and queues of the peer of the veth "+l.Name+", which decide whether a program can be attached: "+err.Error())
		return
	}
	defer peer.NS.Close()
	mac := peer.Link.MAC
	c.Link.PeerMAC = &mac
	if peer.Link.MTU > vethMaxMTU() {
		c.Problems = append(c.Problems, mtuProblem(t, fmt.Sprintf("the MTU %d of its peer %s", peer.Link.MTU, peer.Link.Name),
			command(peer.NS.Name, fmt.Sprintf("ip link set dev %s mtu %d", peer.Link.Name, vethMaxMTU()))))
	}
}

// queuesProblem: the kernel wants a receive queue of a veth for each transmit queue of its peer (veth_xdp_set).
func queuesProblem(device string, queues int) engine.Problem {
	return engine.Problem{
		Reason: fmt.Sprintf("no XDP program can be attached to %s: its receive queues (%d) are fewer than its peer's transmit queues", device, queues),
		Mend:   "make the veth with as many queues at both ends: `ip link add A numtxqueues N numrxqueues N type veth peer B numtxqueues N numrxqueues N`",
	}
}

func mtuProblem(t engine.Target, what, mend string) engine.Problem {
	return engine.Problem{Reason: fmt.Sprintf("%s is too large for XDP at %s: the frame must fit a page", what, t), Mend: mend}
}

// programName is the name of a loaded XDP program and its id, for the user.
func programName(id uint32) string {
	p, err := ebpf.NewProgramFromID(ebpf.ProgramID(id))
	if err != nil {
		return fmt.Sprintf("with id %d", id)
	}
	defer p.Close()
	info, err := p.Info()
	if err != nil || info.Name == "" {
		return fmt.Sprintf("with id %d", id)
	}
	return fmt.Sprintf("%q (id %d)", info.Name, id)
}

// detachWord is ip-link(8)'s word for the mode in which a program is attached.
func detachWord(mode string) string {
	switch mode {
	case "generic":
		return "xdpgeneric"
	case "offload":
		return "xdpoffload"
	default:
		return "xdpdrv"
	}
}
