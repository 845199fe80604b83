package xdp

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"

	"github.com/wirespeed/wirespeed/internal/engine"
)

// attachError says what the kernel's refusal to attach means, and the mend. What could be known before, the probe has
// said; the rest shows only here.
func (r *receiver) attachError(err error) error {
	name := r.link.Name
	what := fmt.Sprintf("the kernel attaches no XDP program to %s", name)
	generic := "`" + name + "?mode=generic`, or the packet: engine"
	var p engine.Problem
	switch {
	case errors.Is(err, unix.ENOSPC):
		p = queuesProblem(name, r.link.RxQueues)
	case errors.Is(err, unix.ERANGE):
		p = engine.Problem{
			Reason: what + ": the MTU of its peer is too large, the frame must fit a page",
			Mend:   fmt.Sprintf("`ip link set dev PEER mtu %d` at the peer", vethMaxMTU()),
		}
	case errors.Is(err, unix.EOPNOTSUPP):
		p = engine.Problem{Reason: fmt.Sprintf("%s: the driver %s has no XDP of its own", what, r.link.Driver), Mend: generic}
	case errors.Is(err, unix.EBUSY), errors.Is(err, unix.EEXIST):
		p = engine.Problem{Reason: what + ": another one is attached", Mend: "stop what attached it; `ip link show dev " + name + "` shows it"}
	case errors.Is(err, unix.EINVAL):
		p = engine.Problem{
			Reason: fmt.Sprintf("%s with its MTU of %d and the features it has", what, r.link.MTU),
			Mend:   "a smaller MTU, `ethtool -K " + name + " lro off`, or " + generic,
		}
	case errors.Is(err, unix.EPERM), errors.Is(err, unix.EACCES):
		p = engine.Problem{Reason: what + " for this process", Mend: "run it with sudo (CAP_BPF and CAP_NET_ADMIN)"}
	case errors.Is(err, unix.ENODEV):
		p = engine.Problem{Reason: what + ": the device is gone", Mend: "`ip link` lists those there are"}
	default:
		return fmt.Errorf("%s: %w", what, err)
	}
	return fmt.Errorf("%s (%w); mend: %s", p.Reason, err, p.Mend)
}
