package xdp

import (
	"context"
	"fmt"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/wirespeed/wirespeed/internal/engine"
	"github.com/wirespeed/wirespeed/internal/host"
	"github.com/wirespeed/wirespeed/internal/wire"
)

const (
	// maxLive is the longest frame without FCS: one page of 4096 bytes less the kernel's own part of it (net/bpf/test_run.c,
	// bpf_prog_test_run_xdp answers more with EINVAL).
	maxLive  = 3408
	ethernet = 14
	vlanTag  = 4
)

// found is what a probe learned beyond the caps.
type found struct {
	caps engine.Caps
	ns   *host.NS
	link host.Link
	// The peer of a veth, where it was found; its namespace as host.OpenNS takes it.
	peer      string
	peerNetns string
	peerRx    int // receive queues; 0: unknown
}

// Probe says whether live frames can leave the device, without sending one. It loads a program of two instructions to see
// whether it may.
func (*Engine) Probe(ctx context.Context, t engine.Target) (engine.Caps, error) {
	f, err := probe(ctx, t)
	if err != nil {
		return engine.Caps{}, err
	}
	return f.caps, f.ns.Close()
}

// probe leaves f.ns open where it returns no error.
func probe(ctx context.Context, t engine.Target) (f found, err error) {
	if f.ns, err = host.OpenNS(t.Netns); err != nil {
		return f, err
	}
	if f.link, err = f.ns.Link(t.Device); err != nil {
		_ = f.ns.Close()
		return f, err
	}
	cpus, err := host.CPUs()
	if err != nil {
		_ = f.ns.Close()
		return f, err
	}
	l := &f.link
	c := &f.caps
	*c = engine.Caps{Engine: "xdp", Paces: true, Stamps: true, Preloads: true, Link: engine.LinkOf(*l, nil)}
	// The kernel refuses frames longer than the MTU, the device's header and a tag (include/linux/filter.h,
	// xdp_ok_fwd_dev).
	c.MaxFrame = min(l.MTU+ethernet, maxLive) + wire.FCS
	c.MaxTag = min(vlanTag, maxLive+wire.FCS-c.MaxFrame)
	c.Problems = append(c.Problems, mayRun()...)
	c.Problems = append(c.Problems, linkProblems(l, t)...)
	f.driver(ctx)
	c.MaxQueues = max(1, min(l.TxQueues, len(cpus)))
	if f.peerRx > 0 { // two workers on one ring of the peer would drop each other's frames
		c.MaxQueues = min(c.MaxQueues, f.peerRx)
	}
	return f, nil
}

// mayRun says what the kernel lacks, or this process.
func mayRun() (p []engine.Problem) {
	var u unix.Utsname
	if err := unix.Uname(&u); err == nil {
		if release := unix.ByteSliceToString(u.Release[:]); !atLeast(release, 5, 18) {
			p = append(p, engine.Problem{Reason: "Linux " + release + " has no XDP live frames", Mend: "Linux 5.18 or later, or the packet: engine"})
		}
	}
	problems := mayLoad()
	p = append(p, problems...)
	if len(problems) == 0 && !admin() {
		p = append(p, engine.Problem{Reason: "this process may not make network namespaces", Mend: "run it with sudo (CAP_SYS_ADMIN)"})
	}
	return p
}

// admin reports CAP_SYS_ADMIN: for the anchor's namespace, and for entering the device's.
func admin() bool {
	var data [2]unix.CapUserData
	h := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	return unix.Capget(&h, &data[0]) == nil && data[0].Effective>>unix.CAP_SYS_ADMIN&1 == 1
}

func atLeast(release string, major, minor int) bool {
	var a, b int
	if n, _ := fmt.Sscanf(release, "%d.%d", &a, &b); n != 2 {
		return true
	}
	return a > major || a == major && b >= minor
}

func linkProblems(l *host.Link, t engine.Target) []engine.Problem {
	switch {
	case !l.Up:
		return []engine.Problem{{Reason: t.String() + " is down", Mend: command(t.Netns, "ip link set dev "+l.Name+" up")}}
	case !l.Carrier:
		return []engine.Problem{engine.NoCarrier(t)}
	}
	return nil
}

// driver finds out whether the device takes frames from XDP, and for a veth whether its peer does.
func (f *found) driver(ctx context.Context) {
	c, l := &f.caps, &f.link
	takes := l.XDPFeatures != nil && *l.XDPFeatures&host.XDPNdoXmit != 0
	if l.Kind == "veth" {
		f.veth(ctx, takes)
		return
	}
	switch {
	case l.XDPFeatures == nil:
		c.Unknown = append(c.Unknown, "whether the driver "+l.Driver+" takes frames from XDP (ndo_xdp_xmit): this kernel does not say")
	case !takes:
		c.Problems = append(c.Problems, engine.Problem{
			Reason: fmt.Sprintf("the driver %s takes no frames from XDP (no ndo_xdp_xmit)", l.Driver),
			Mend:   "the packet: engine; some drivers take them while an XDP program is attached to " + l.Name,
		})
	}
}

func (f *found) veth(ctx context.Context, takes bool) {
	c, l := &f.caps, &f.link
	peer, err := host.FindPeer(ctx, f.ns, *l)
	if err == nil {
		f.peer, f.peerNetns, f.peerRx = peer.Link.Name, peer.NS.Name, peer.Link.RxQueues
		mac := peer.Link.MAC
		c.Link.PeerMAC, c.Link.PeerMTU = &mac, peer.Link.MTU
		takes = takes || peer.Link.GRO || peer.Link.XDPMode == "native"
		_ = peer.NS.Close()
	}
	switch {
	case takes:
	case err != nil && l.XDPFeatures == nil:
		c.Unknown = append(c.Unknown, "whether the peer of the veth "+l.Name+" has GRO or an XDP program: "+err.Error())
	default:
		c.Problems = append(c.Problems, engine.Problem{Reason: f.deaf(), Mend: f.mend(), Mendable: err == nil})
	}
}

// deaf says what is wrong with a veth's peer.
func (f *found) deaf() string {
	name := f.peer
	if name == "" {
		name = "of " + f.link.Name
	}
	return "the veth's peer " + name + " has neither GRO nor an XDP program, and loses live frames without a count"
}

func (f *found) mend() string {
	if f.peer == "" {
		return "`ethtool -K PEER gro on` in the peer's network namespace"
	}
	return command(f.peerNetns, "ethtool -K "+f.peer+" gro on")
}

// command is a command line in a network namespace.
func command(netns, line string) string {
	switch {
	case netns == "":
		return "`" + line + "`"
	case strings.HasPrefix(netns, "/proc/self/"):
		return "`" + line + "` in its network namespace"
	case strings.Contains(netns, "/"):
		return "`nsenter --net=" + netns + " " + line + "`"
	default:
		return "`ip netns exec " + netns + " " + line + "`"
	}
}
