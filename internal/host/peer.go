package host

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"
)

// ErrPeerUnknown: the peer's namespace is neither ours, nor named, nor that of a process that may be looked at.
var ErrPeerUnknown = errors.New("the veth's peer is in a network namespace that cannot be found; name it with `ip netns attach`, or run with sudo")

// ErrNoPeer: the device is no veth.
var ErrNoPeer = errors.New("no veth, so without a peer")

// FindPeer finds the other end of a veth of ns. Its namespace is looked for by its id among our own, the named ones, those
// that this process holds open, and those of all processes. The caller closes Peer.NS. Errors: ErrNoPeer, ErrPeerUnknown.
func FindPeer(ctx context.Context, ns *NS, l Link) (*Peer, error) {
	if l.Kind != "veth" || l.lower == 0 {
		return nil, fmt.Errorf("%s: %w", l.Name, ErrNoPeer)
	}
	if l.lowerNSID < 0 {
		return peerIn(fmt.Sprint(ownFds, ns.fd), ns.Name, l)
	}
	c, err := ns.connect()
	if err != nil {
		return nil, err
	}
	seen := map[uint64]bool{} // namespaces already asked for, by inode
	for _, pattern := range []string{ownNetns, NetnsDir + "/*", ownFds + "*", "/proc/[0-9]*/ns/net"} {
		paths, _ := filepath.Glob(pattern)
		for _, path := range paths {
			if err := contextDone(ctx, "find the peer of "+l.Name); err != nil {
				return nil, err
			}
			if !c.hasID(path, l.lowerNSID, seen) {
				continue
			}
			if p, err := peerIn(path, nameOf(path), l); err == nil && p.Link.lower == l.Index {
				return p, nil
			} else if err == nil {
				_ = p.NS.Close()
			}
		}
	}
	return nil, fmt.Errorf("%s: %w", l.Name, ErrPeerUnknown)
}

const ownFds = "/proc/self/fd/"

// hasID says whether the namespace at path has the given id as seen from the namespace of c.
func (c *conn) hasID(path string, id int, seen map[uint64]bool) bool {
	if strings.HasPrefix(path, ownFds) { // opening a pipe or a device can have effects
		if to, err := os.Readlink(path); err != nil || !strings.HasPrefix(to, "net:[") && !strings.HasPrefix(to, NetnsDir) {
			return false
		}
	}
	var st unix.Stat_t
	if unix.Stat(path, &st) != nil || seen[st.Ino] {
		return false
	}
	seen[st.Ino] = true
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return false
	}
	defer unix.Close(fd)
	got, err := c.nsid(fd)
	return err == nil && got == id
}

// nsid asks for the id of a namespace as seen from the namespace of c; -1: it has none.
func (c *conn) nsid(fd int) (id int, err error) {
	id = -1
	err = c.ask(unix.NETLINK_ROUTE, unix.RTM_GETNSID, 0, func(m []byte) error {
		return attributes(m, rtgenmsgLen, func(typ uint16, v []byte) {
			if typ == unix.NETNSA_NSID {
				id = int(int32(u32(v)))
			}
		})
	}, rtgenmsg{}, nl.NewRtAttr(unix.NETNSA_FD, nl.Uint32Attr(uint32(fd))))
	return id, err
}

// rtgenmsg is struct rtgenmsg, one byte, with its padding.
type rtgenmsg struct{}

const rtgenmsgLen = 4

func (rtgenmsg) Len() int          { return rtgenmsgLen }
func (rtgenmsg) Serialize() []byte { return make([]byte, rtgenmsgLen) }

func peerIn(path, name string, l Link) (*Peer, error) {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("namespace of the peer of %s: %w", l.Name, err)
	}
	ns := NSFromFd(name, fd)
	p, err := ns.LinkByIndex(l.lower)
	if err != nil {
		_ = ns.Close()
		return nil, fmt.Errorf("peer of %s: %w", l.Name, err)
	}
	return &Peer{NS: ns, Link: p}, nil
}

// nameOf is what OpenNS takes for the namespace at path.
func nameOf(path string) string {
	if path == ownNetns {
		return ""
	}
	if fd, ok := strings.CutPrefix(path, ownFds); ok {
		return fmt.Sprintf("/proc/%d/fd/%s", os.Getpid(), fd) // the same in every process
	}
	return strings.TrimPrefix(path, NetnsDir+"/")
}
