package lab

import (
	"errors"
	"fmt"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/wirespeed/wirespeed/internal/host"
)

// ForwardPort is one side of a forwarder.
type ForwardPort struct {
	NS     *host.NS // may be closed after StartForwarder
	Device string
}

// Forwarder copies frames between two devices and hurts chosen ones, always in the same way. Each direction has a thread
// that owns its sockets and buffers. It is a device under test, not a fast one.
type Forwarder struct {
	directions [2]*direction // a to b, b to a; nil where nothing is forwarded
}

// direction is what one thread runs.
type direction struct {
	in, out, stop int // descriptors; writing to stop ends the thread
	mu            sync.Mutex
	counts        PathCounts // of line, copied after each batch; under mu
	ended         chan struct{}
	err           error // valid after ended
}

// StartForwarder forwards from a to b as aToB says, and back as bToA says; nil forwards nothing that way. Both devices
// must be up.
func StartForwarder(a, b ForwardPort, aToB, bToA *Path) (*Forwarder, error) {
	f := &Forwarder{}
	for i, d := range []struct {
		from, to ForwardPort
		path     *Path
	}{{a, b, aToB}, {b, a, bToA}} {
		if d.path == nil {
			continue
		}
		dir, err := startDirection(d.from, d.to, *d.path)
		if err != nil {
			return nil, errors.Join(fmt.Errorf("forward from %s to %s: %w", d.from.Device, d.to.Device, err), f.Close())
		}
		f.directions[i] = dir
	}
	return f, nil
}

// Counts may be called at any time.
func (f *Forwarder) Counts() (aToB, bToA PathCounts) {
	var c [2]PathCounts
	for i, d := range f.directions {
		if d != nil {
			c[i] = d.snapshot()
		}
	}
	return c[0], c[1]
}

// Close ends the threads; frames that wait or are held are let go first, early. Counts are final then.
func (f *Forwarder) Close() error {
	var errs []error
	for _, d := range f.directions {
		if d != nil {
			errs = append(errs, d.close())
		}
	}
	return errors.Join(errs...)
}

func startDirection(from, to ForwardPort, p Path) (*direction, error) {
	d := &direction{in: -1, out: -1, stop: -1, ended: make(chan struct{})}
	err := func() (err error) {
		if d.in, err = packetSocket(from, true); err != nil {
			return err
		}
		if d.out, err = packetSocket(to, false); err != nil {
			return err
		}
		d.stop, err = unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK)
		return err
	}()
	if err != nil {
		d.closeAll()
		return nil, err
	}
	line := newLine(p)
	go func() {
		defer close(d.ended)
		d.err = host.OnThread(func() error { return d.run(line) })
	}()
	return d, nil
}

// run forwards until stop is written.
func (d *direction) run(l *line) error {
	b := newFrameBatch()
	const lastBatches = 1000 // traffic that does not end must not keep the thread
	for rest := lastBatches; ; {
		stopped, err := d.wait(l.next())
		if err != nil {
			return err
		}
		n, err := b.receive(d.in)
		if err != nil {
			return err
		}
		if stopped {
			rest--
		}
		end := stopped && (n == 0 || rest == 0)
		now := host.Monotonic()
		for i := range n {
			l.arrive(now, b.frame(i))
		}
		if end {
			now = 1<<63 - 1 // whatever waits leaves
		}
		l.release(now)
		sent, err := b.send(d.out, l.out)
		l.counts.Forwarded += uint64(sent)
		l.counts.Unsent += uint64(len(l.out) - sent)
		l.out = l.out[:0]
		l.counts.SocketDrops += socketDrops(d.in)
		d.mu.Lock()
		d.counts = l.counts
		d.mu.Unlock()
		if err != nil {
			return err
		}
		if end {
			return nil
		}
	}
}

// wait returns when there may be something to do: a frame, the time until (CLOCK_MONOTONIC ns, -1 for none), or the end.
func (d *direction) wait(until int64) (stopped bool, err error) {
	fds := []unix.PollFd{{Fd: int32(d.in), Events: unix.POLLIN}, {Fd: int32(d.stop), Events: unix.POLLIN}}
	var timeout *unix.Timespec
	if until >= 0 {
		ts := unix.NsecToTimespec(max(0, until-host.Monotonic()))
		timeout = &ts
	}
	if _, err := unix.Ppoll(fds, timeout, nil); err != nil && !errors.Is(err, unix.EINTR) {
		return false, fmt.Errorf("wait for frames: %w", err)
	}
	return fds[1].Revents != 0, nil
}

func (d *direction) snapshot() PathCounts {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.counts
}

func (d *direction) close() error {
	_, _ = unix.Write(d.stop, []byte{1, 0, 0, 0, 0, 0, 0, 0}) // an eventfd's counter is 8 bytes
	<-d.ended
	d.closeAll()
	return d.err
}

func (d *direction) closeAll() {
	for _, fd := range []*int{&d.in, &d.out, &d.stop} {
		if *fd >= 0 {
			_ = unix.Close(*fd)
			*fd = -1
		}
	}
}
