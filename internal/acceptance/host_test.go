package acceptance

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/wirespeed/wirespeed/internal/host"
	"github.com/wirespeed/wirespeed/internal/lab/labtest"
	"github.com/wirespeed/wirespeed/internal/lab/need"
)

// engines are those that send; every rule holds for each.
var engines = []string{"packet:", "xdp:"}

// forEngines runs f for every engine that sends, each on a pair of its own.
func forEngines(t *testing.T, f func(t *testing.T, engine string, p *labtest.Pair)) {
	for _, e := range engines {
		t.Run(strings.TrimSuffix(e, ":"), func(t *testing.T) { f(t, e, pair(t, 1)) })
	}
}

// forBoth runs f for every engine that sends with every one that receives.
func forBoth(t *testing.T, f func(t *testing.T, tx, rx string, p *labtest.Pair)) {
	for _, tx := range engines {
		for _, rx := range engines {
			t.Run(strings.ReplaceAll(tx+"to-"+rx, ":", ""), func(t *testing.T) { f(t, tx, rx, pair(t, 1)) })
		}
	}
}

func pair(t testing.TB, queues int) *labtest.Pair {
	t.Helper()
	return labtest.TestPair(t, "t-accept", queues)
}

// netCounts are the kernel's counters of a device, read as people read them.
type netCounts struct{ rxFrames, rxDropped, txFrames, txDropped uint64 }

// procNetDev reads /proc/net/dev inside a namespace.
func procNetDev(t testing.TB, ns *host.NS, device string) (c netCounts) {
	t.Helper()
	var text []byte
	err := ns.Do(func() (err error) {
		text, err = os.ReadFile("/proc/thread-self/net/dev")
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for s := bufio.NewScanner(bytes.NewReader(text)); s.Scan(); {
		name, rest, ok := strings.Cut(strings.TrimSpace(s.Text()), ":")
		if !ok || name != device {
			continue
		}
		var f [16]uint64
		for i, word := range strings.Fields(rest) {
			if _, err := fmt.Sscan(word, &f[i]); err != nil {
				t.Fatal(err)
			}
		}
		return netCounts{rxFrames: f[1], rxDropped: f[3], txFrames: f[9], txDropped: f[11]}
	}
	t.Fatalf("no %s in /proc/net/dev of %s:\n%s", device, ns.Name, text)
	return c
}

// inside runs a program in a namespace.
func inside(t testing.TB, ns *host.NS, argv ...string) string {
	t.Helper()
	path := need.Tool(t, argv[0])
	cmd := exec.Command(path, argv[1:]...)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err := ns.Do(cmd.Start)
	if err == nil {
		err = cmd.Wait()
	}
	if err != nil {
		t.Fatalf("%v: %v\n%s", argv, err, out.String())
	}
	return out.String()
}

// command is one that runs behind the test.
type command interface {
	ended() bool
	wait(testing.TB) *result
}

// moving waits until a device of a namespace has sent so many frames beyond from, as c makes it.
func moving(t testing.TB, c command, ns *host.NS, device string, from netCounts, n uint64) {
	t.Helper()
	eventually(t, fmt.Sprintf("%s sends %d frames", device, n), func() bool {
		if procNetDev(t, ns, device).txFrames >= from.txFrames+n {
			return true
		}
		if c.ended() {
			t.Fatalf("ended before it sent %d frames: %s", n, c.wait(t).all())
		}
		return false
	})
}

// gro says whether generic receive offload is on.
func gro(t testing.TB, ns *host.NS, device string) bool {
	t.Helper()
	l, err := ns.Link(device)
	if err != nil {
		t.Fatal(err)
	}
	return l.GRO
}

// nameless makes a namespace that only this process can find, by the handle.
func nameless(t testing.TB) *host.NS {
	t.Helper()
	need.Root(t)
	fd := -1
	err := host.OnThread(func() (err error) {
		if err = unix.Unshare(unix.CLONE_NEWNET); err == nil {
			fd, err = unix.Open("/proc/thread-self/ns/net", unix.O_RDONLY|unix.O_CLOEXEC, 0)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	ns := host.NSFromFd(fmt.Sprintf("/proc/%d/fd/%d", os.Getpid(), fd), fd)
	t.Cleanup(func() { _ = ns.Close() })
	return ns
}

// packetSockets are the lines of /proc/net/packet that belong to sockets which receive.
func packetSockets(t testing.TB, ns *host.NS) (lines []string) {
	t.Helper()
	err := ns.Do(func() error {
		text, err := os.ReadFile("/proc/thread-self/net/packet")
		for i, line := range strings.Split(strings.TrimSpace(string(text)), "\n") {
			// sk, refcount, type, protocol, interface, running, ...
			if f := strings.Fields(line); i > 0 && len(f) > 5 && f[5] == "1" && f[3] != "0000" {
				lines = append(lines, line)
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return lines
}
