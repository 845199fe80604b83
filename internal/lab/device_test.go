package lab_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/vishvananda/netlink"

	"github.com/wirespeed/wirespeed/internal/host"
	"github.com/wirespeed/wirespeed/internal/lab"
	"github.com/wirespeed/wirespeed/internal/lab/need"
	"github.com/wirespeed/wirespeed/internal/tune"
)

// devices are a lab's with a device in the middle: by the letter of the namespace.
var devices = []struct{ suffix, name string }{{"A", lab.DevA}, {"D", lab.DevDA}, {"D", lab.DevDB}, {"B", lab.DevB}}

// onDevices runs f with each device of the lab.
func onDevices(t *testing.T, name string, f func(l netlink.Link)) {
	t.Helper()
	for _, d := range devices {
		ns, err := host.OpenNS(name + d.suffix)
		if err != nil {
			t.Fatal(err)
		}
		var l netlink.Link
		err = ns.Do(func() (err error) {
			l, err = netlink.LinkByName(d.name)
			return err
		})
		_ = ns.Close()
		if err != nil {
			t.Fatalf("%s: %v", d.name, err)
		}
		f(l)
	}
}

func execIn(t *testing.T, netns string, argv ...string) (exit int, out string) {
	t.Helper()
	var b bytes.Buffer
	exit, err := lab.Exec(context.Background(), netns, argv, lab.Stdio{Out: &b, Err: &b})
	if err != nil {
		t.Fatal(err)
	}
	return exit, b.String()
}

// A lab with a device in the middle, from up to down.
func TestDeviceInTheMiddle(t *testing.T) {
	need.Root(t)
	j, _ := openJournal(t)
	for kind, want := range map[string]string{lab.KindRouter: "198.18.255.254/16", lab.KindBridge: "br0"} {
		t.Run(kind, func(t *testing.T) {
			name := labName()
			made, err := lab.Up(j, kind, name, lab.Options{Queues: 2, MTU: 3000})
			if err != nil {
				t.Fatal(err)
			}
			if made.State != lab.StateUp || made.Kind != kind || !slices.Equal(made.Namespaces, []string{name + "A", name + "B", name + "D"}) || len(made.PIDs) != 0 {
				t.Errorf("%+v", made)
			}
			onDevices(t, name, func(l netlink.Link) {
				if a := l.Attrs(); a.MTU != 3000 || a.NumTxQueues != 2 || a.NumRxQueues != 2 || a.OperState != netlink.OperUp {
					t.Errorf("%s: MTU %d, %d and %d queues, %v", a.Name, a.MTU, a.NumTxQueues, a.NumRxQueues, a.OperState)
				}
			})
			if exit, out := execIn(t, name+"D", need.Tool(t, "ip"), "addr"); exit != 0 || !strings.Contains(out, want) {
				t.Errorf("exit %d: %s", exit, out)
			}
			if _, err := lab.Up(j, kind, name, lab.Options{Queues: 1}); !errors.Is(err, lab.ErrExists) {
				t.Errorf("a second one of the name: %v", err)
			}
			if ns, err := lab.Resolve(j, name+"D"); err != nil || ns != name+"D" {
				t.Errorf("%q, %v", ns, err)
			}
			if r, err := j.Restore(true); err != nil || len(r) != 0 {
				t.Errorf("restore touches a lab: %+v, %v", r, err)
			}
			if _, err := lab.Down(j, name); err != nil {
				t.Fatal(err)
			}
			wantGone(t, j, name)
		})
	}
}

func wantGone(t *testing.T, j *tune.Journal, name string) {
	t.Helper()
	for _, suffix := range []string{"A", "B", "D"} {
		if ns, err := host.OpenNS(name + suffix); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s%s is left: %v", name, suffix, err)
			if err == nil {
				_ = ns.Close()
			}
		}
	}
	if all, err := lab.List(j); err != nil || len(all) != 0 {
		t.Errorf("%+v, %v; want none", all, err)
	}
}

// Nothing but a test's frames is on the links: from the moment that the lab is up no counter moves, IPv6 or not.
func TestDevicesAreSilent(t *testing.T) {
	need.Root(t)
	j, _ := openJournal(t)
	counters := func(name string) (text string) {
		onDevices(t, name, func(l netlink.Link) {
			s := l.Attrs().Statistics
			text += fmt.Sprintf("%s: rx %d tx %d\n", l.Attrs().Name, s.RxPackets, s.TxPackets)
		})
		return text
	}
	before := map[string]string{}
	for _, kind := range []string{lab.KindRouter, lab.KindBridge} {
		name := labName()
		if _, err := lab.Up(j, kind, name, lab.Options{Queues: 1}); err != nil {
			t.Fatal(err)
		}
		before[name] = counters(name)
	}
	time.Sleep(1500 * time.Millisecond) // the kernel repeats what it reports of IPv6 within a second
	for name, was := range before {
		if now := counters(name); now != was {
			t.Errorf("up:\n%slater:\n%s", was, now)
		}
	}
}

// The router's kernel has both families on both sides, and forwards them.
func TestRouterForwards(t *testing.T) {
	need.Root(t)
	j, _ := openJournal(t)
	name := labName()
	if _, err := lab.Up(j, lab.KindRouter, name, lab.Options{Queues: 1}); err != nil {
		t.Fatal(err)
	}
	a, b := lab.RouterSides()
	for _, s := range []struct {
		ns, dev string
		lab.Side
	}{{name + "A", "va", a}, {name + "B", "vb", b}} {
		if exit, out := execIn(t, s.ns, "sh", "-ec", fmt.Sprintf(`echo 0 > /proc/sys/net/ipv6/conf/%[1]s/disable_ipv6
			ip addr add %[2]s dev %[1]s; ip addr add %[3]s dev %[1]s nodad; ip route add default via %[4]s; ip -6 route add default via %[5]s`,
			s.dev, s.Port, s.Port6, s.Router.Addr(), s.Router6.Addr())); exit != 0 {
			t.Fatal(out)
		}
	}
	for _, to := range []string{b.Port.Addr().String(), b.Port6.Addr().String()} {
		if exit, out := execIn(t, name+"A", need.Tool(t, "ping"), "-c", "1", "-W", "5", to); exit != 0 || !strings.Contains(out, "ttl=63") {
			t.Errorf("%s: exit %d: %s", to, exit, out)
		}
	}
}

func TestWhatNoLabCanHave(t *testing.T) {
	j, _ := openJournal(t)
	for _, c := range []struct {
		kind, name string
		o          lab.Options
		want       string
	}{
		{"ring", "t-host-x", lab.Options{Queues: 1}, "pair, router and bridge"},
		{lab.KindDemo, "t-host-x", lab.Options{Queues: 1}, "no kind of lab"},
		{lab.KindRouter, "a/b", lab.Options{Queues: 1}, "no name"},
		{lab.KindBridge, "t-host-x", lab.Options{}, "1 to 64"},
		{lab.KindBridge, "t-host-x", lab.Options{Queues: 1, MTU: 67}, "68 to 65535"},
		{lab.KindRouter, "t-host-x", lab.Options{Queues: 1, MTU: 1279}, "1280 to 65535"}, // RFC 8200 5
		{lab.KindPair, "t-host-x", lab.Options{Queues: 1, MTU: 65536}, "68 to 65535"},
		{lab.KindPair, "t-host-x", lab.Options{Queues: 1, MTU: -1}, "68 to 65535"},
	} {
		if _, err := lab.Up(j, c.kind, c.name, c.o); !errors.Is(err, lab.ErrInput) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s %s %+v: %v, want %q", c.kind, c.name, c.o, err, c.want)
		}
	}
	wantGone(t, j, "t-host-x")
}

func TestLeastMTUs(t *testing.T) {
	need.Root(t)
	j, _ := openJournal(t)
	for kind, mtu := range map[string]int{lab.KindRouter: 1280, lab.KindBridge: 68, lab.KindPair: 65535} {
		if l, err := lab.Up(j, kind, labName(), lab.Options{Queues: 1, MTU: mtu}); err != nil || l.State != lab.StateUp {
			t.Errorf("%s with %d: %+v, %v", kind, mtu, l, err)
		}
	}
}

// Where a name is taken nothing of the lab is left, and what has the name is left alone.
func TestDeviceFailsWholeWhereANameIsTaken(t *testing.T) {
	need.Root(t)
	j, _ := openJournal(t)
	name := labName()
	if err := tune.CreateNetns(name + "D"); err != nil {
		t.Fatal(err)
	}
	if _, err := lab.Up(j, lab.KindBridge, name, lab.Options{Queues: 1}); !errors.Is(err, fs.ErrExist) {
		t.Errorf("%v", err)
	}
	if err := tune.DeleteNetns(name + "D"); err != nil {
		t.Errorf("the other one's namespace went: %v", err)
	}
	wantGone(t, j, name)
}

// Killed anywhere while it is made, a lab is found and removed by down.
func TestKilledWhileItIsMade(t *testing.T) {
	need.Root(t)
	for made := range 4 { // this many namespaces there are when the kill comes, or more
		j, dir := openJournal(t)
		name := labName()
		cmd := exec.Command("/proc/self/exe")
		cmd.Env = append(os.Environ(), roleEnv+"=router "+dir, nameEnv+"="+name)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		for n := 0; n < made; {
			all, err := lab.List(j)
			if err != nil {
				t.Fatal(err)
			}
			for n = 0; len(all) > 0 && n < len(all[0].Namespaces) && n < made; n++ {
			}
		}
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		if _, err := lab.Down(j, name); err != nil && !(made == 0 && errors.Is(err, lab.ErrNoLab)) {
			t.Errorf("%d: %v", made, err)
		}
		wantGone(t, j, name)
	}
}
