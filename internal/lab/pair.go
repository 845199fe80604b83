package lab

import (
	"errors"
	"fmt"
	"strings"

	"github.com/wirespeed/wirespeed/internal/host"
	"github.com/wirespeed/wirespeed/internal/tune"
)

// The ports of a pair.
const (
	DevA = "va" // in the first namespace
	DevB = "vb" // in the second
)

// Errors of Up.
var (
	ErrExists = errors.New("exists already")
	ErrInput  = errors.New("wrong input") // a name or number that no lab can have
)

// Options of a lab that lasts.
type Options struct {
	Queues int // of each port, 1 to 64
	MTU    int // of every device, 68 (of a router 1280) to 65535; 0: as the kernel makes it, 1500
}

// Up makes a lab of one of the Kinds: the namespaces nameA and nameB with the ports va and vb, silent and up, and with some
// kinds a device nameD between them. It outlives this process until Down. Needs root.
func Up(j *tune.Journal, kind, name string, o Options) (Info, error) {
	make, ok := map[string]func(*tune.Journal, string, Options) error{KindPair: makePair, KindRouter: makeRouter, KindBridge: makeBridge}[kind]
	if !ok {
		return Info{}, inputError(fmt.Sprintf("%q is no kind of lab: there are %s, %s and %s", kind, KindPair, KindRouter, KindBridge))
	}
	if err := checkName(name); err != nil {
		return Info{}, err
	}
	if err := checkQueues(o.Queues); err != nil {
		return Info{}, err
	}
	if err := checkMTU(kind, o.MTU); err != nil {
		return Info{}, err
	}
	if old, err := find(j, name); err == nil {
		if old.State != StateStale {
			return old, fmt.Errorf("lab %q %w; `wirespeed lab down %s` removes it", name, ErrExists, name)
		}
		if _, err := Down(j, name); err != nil {
			return old, err
		}
	} else if !errors.Is(err, ErrNoLab) {
		return Info{}, err
	}
	if err := make(j.In(tune.Group{Kind: kind, Name: name, Lasting: true}), name, o); err != nil {
		_, undo := j.UndoGroup(name)
		return Info{}, errors.Join(err, undo)
	}
	return find(j, name)
}

func makePair(j *tune.Journal, name string, o Options) error {
	ns, err := namespaces(j, name, "A", "B")
	if err != nil {
		return err
	}
	defer closeAll(ns)
	return wire(ns[0], ns[1], DevA, DevB, o)
}

// namespaces makes those of a lab. The caller closes them.
func namespaces(j *tune.Journal, name string, suffixes ...string) (all []*host.NS, err error) {
	for _, suffix := range suffixes {
		if _, err := j.Do(tune.Netns{Name: name + suffix}); err != nil {
			closeAll(all)
			return nil, err
		}
		ns, err := host.OpenNS(name + suffix)
		if err != nil {
			closeAll(all)
			return nil, err
		}
		all = append(all, ns)
	}
	return all, nil
}

func closeAll(all []*host.NS) {
	for _, ns := range all {
		_ = ns.Close()
	}
}

// wire is Wire with the lab's options.
func wire(a, b *host.NS, devA, devB string, o Options) error {
	if err := Wire(a, b, devA, devB, o.Queues); err != nil || o.MTU == 0 {
		return err
	}
	return errors.Join(a.Do(func() error { return setMTU(devA, o.MTU) }), b.Do(func() error { return setMTU(devB, o.MTU) }))
}

// checkName allows what is safe in the name of a namespace, a path and a port's address.
func checkName(name string) error {
	const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_"
	if name == "" || len(name) > 32 || strings.Trim(name, letters) != "" || strings.HasPrefix(name, "-") {
		return inputError(fmt.Sprintf("%q is no name for a lab: use 1 to 32 letters, digits, - and _, not starting with -", name))
	}
	return nil
}

func checkQueues(queues int) error {
	if queues < 1 || queues > 64 {
		return inputError(fmt.Sprintf("%d queues: a lab's ports have 1 to 64", queues))
	}
	return nil
}

func checkMTU(kind string, mtu int) error {
	least := minMTU
	if kind == KindRouter { // below, the kernel takes IPv6 away from the device
		least = minMTU6
	}
	if mtu != 0 && (mtu < least || mtu > maxMTU) {
		return inputError(fmt.Sprintf("an MTU of %d: the devices of a %s have %d to %d", mtu, kind, least, maxMTU))
	}
	return nil
}

// inputError is an ErrInput with a text of its own.
type inputError string

func (e inputError) Error() string        { return string(e) }
func (e inputError) Is(target error) bool { return target == ErrInput }
