package host

import (
	"fmt"
	"os"

	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"
)

// conn are the sockets of one namespace. A socket belongs to the namespace it was made in, whichever thread uses it
// later; requests on one socket take turns.
type conn struct {
	sockets map[int]*nl.SocketHandle // by netlink protocol; not changed after connect
	ioctl   int                      // any datagram socket: ethtool ioctls

	netdevFamily uint16 // id of the generic netlink family; 0: the kernel has none
}

// connect returns the namespace's sockets, made on first use. Entering our own namespace needs a privilege that asking it
// does not, so there the sockets are made without.
func (n *NS) connect() (*conn, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.conn != nil {
		return n.conn, nil
	}
	var c *conn
	open := func() (err error) {
		c, err = newConn()
		return err
	}
	var err error
	if n.current() {
		err = open()
	} else {
		err = n.Do(open)
	}
	if err != nil {
		return nil, err
	}
	n.conn = c
	return c, nil
}

func newConn() (*conn, error) {
	c := &conn{sockets: map[int]*nl.SocketHandle{}, ioctl: -1}
	for _, proto := range []int{unix.NETLINK_ROUTE, unix.NETLINK_GENERIC} {
		s, err := nl.Subscribe(proto) // no groups: a plain request socket
		if err != nil {
			c.close()
			return nil, os.NewSyscallError("netlink socket", err)
		}
		c.sockets[proto] = &nl.SocketHandle{Socket: s}
		if err := s.SetReceiveTimeout(&nl.SocketTimeoutTv); err != nil {
			c.close()
			return nil, os.NewSyscallError("netlink socket", err)
		}
	}
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		c.close()
		return nil, os.NewSyscallError("socket", err)
	}
	c.ioctl = fd
	c.netdevFamily = c.family("netdev")
	return c, nil
}

func (c *conn) close() {
	for _, s := range c.sockets {
		s.Socket.Close()
	}
	if c.ioctl >= 0 {
		_ = unix.Close(c.ioctl)
	}
}

// ask sends one request and gives each reply to each. The slice belongs to each for the length of the call.
func (c *conn) ask(proto int, typ uint16, flags int, each func(msg []byte) error, parts ...nl.NetlinkRequestData) error {
	req := nl.NewNetlinkRequest(int(typ), flags)
	req.Sockets = c.sockets
	for _, p := range parts {
		req.AddData(p)
	}
	var bad error
	err := req.ExecuteIter(proto, 0, func(m []byte) bool {
		bad = each(m)
		return bad == nil
	})
	if bad != nil {
		return bad
	}
	return err
}

// family asks for the id of a generic netlink family; 0 where there is none.
func (c *conn) family(name string) (id uint16) {
	head := &nl.Genlmsg{Command: nl.GENL_CTRL_CMD_GETFAMILY, Version: nl.GENL_CTRL_VERSION}
	_ = c.ask(unix.NETLINK_GENERIC, nl.GENL_ID_CTRL, 0, func(m []byte) error {
		return attributes(m, nl.SizeofGenlmsg, func(typ uint16, v []byte) {
			if typ == nl.GENL_CTRL_ATTR_FAMILY_ID && len(v) >= 2 {
				id = native.Uint16(v)
			}
		})
	}, head, nl.NewRtAttr(nl.GENL_CTRL_ATTR_FAMILY_NAME, nl.ZeroTerminated(name)))
	return id
}

// attributes calls each for every attribute behind a header of the given length.
func attributes(m []byte, header int, each func(typ uint16, v []byte)) error {
	if len(m) < header {
		return fmt.Errorf("netlink message of %d bytes, shorter than its header of %d", len(m), header)
	}
	for b := m[header:]; len(b) >= unix.SizeofRtAttr; {
		n := int(native.Uint16(b))
		if n < unix.SizeofRtAttr || n > len(b) {
			return fmt.Errorf("netlink attribute of %d bytes in %d", n, len(b))
		}
		each(native.Uint16(b[2:])&^(unix.NLA_F_NESTED|unix.NLA_F_NET_BYTEORDER), b[unix.SizeofRtAttr:n])
		b = b[min(len(b), (n+3)&^3):]
	}
	return nil
}
