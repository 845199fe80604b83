package host

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// Commands of include/uapi/linux/ethtool.h.
const (
	ethtoolGSet     = 0x01
	ethtoolGDrvInfo = 0x03
	ethtoolGGRO     = 0x2b
)

// ifreq is struct ifreq of an ethtool ioctl.
type ifreq struct {
	name [unix.IFNAMSIZ]byte
	data unsafe.Pointer
	_    [16]byte
}

func (c *conn) ethtool(name string, data unsafe.Pointer) error {
	r := ifreq{data: data}
	copy(r.name[:unix.IFNAMSIZ-1], name)
	if _, _, e := unix.Syscall(unix.SYS_IOCTL, uintptr(c.ioctl), unix.SIOCETHTOOL, uintptr(unsafe.Pointer(&r))); e != 0 {
		return e
	}
	return nil
}

// driver asks for the driver's name and the bus address; empty where the device does not say.
func (c *conn) driver(name string) (driver, bus string) {
	d := struct {
		cmd                             uint32
		driver, version, fw, bus, erom  [32]byte
		_                               [12]byte
		privFlags, stats, test, eep, rd uint32
	}{cmd: ethtoolGDrvInfo}
	if c.ethtool(name, unsafe.Pointer(&d)) != nil {
		return "", ""
	}
	return text(d.driver[:]), text(d.bus[:])
}

// gro says whether generic receive offload is on.
func (c *conn) gro(name string) bool {
	v := struct{ cmd, data uint32 }{cmd: ethtoolGGRO}
	return c.ethtool(name, unsafe.Pointer(&v)) == nil && v.data != 0
}

// speed in bit/s; 0 where it is unknown, as without a cable.
func (c *conn) speed(name string) uint64 {
	v := struct { // struct ethtool_cmd
		cmd, supported, advertising                   uint32
		speed                                         uint16
		duplex, port, phy, transceiver, autoneg, mdio uint8
		maxTx, maxRx                                  uint32
		speedHi                                       uint16
		etpMdix, etpMdixCtrl                          uint8
		lpAdvertising                                 uint32
		_                                             [2]uint32
	}{cmd: ethtoolGSet}
	if c.ethtool(name, unsafe.Pointer(&v)) != nil {
		return 0
	}
	mbit := uint32(v.speed) | uint32(v.speedHi)<<16
	if mbit == 0xffff || mbit == 0xffffffff { // SPEED_UNKNOWN
		return 0
	}
	return uint64(mbit) * 1_000_000
}
