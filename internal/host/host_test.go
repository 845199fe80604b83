package host

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func TestOpenNSRefusesWhatIsNone(t *testing.T) {
	if _, err := OpenNS("t-host-nosuch"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("missing: %v", err)
	}
	file := filepath.Join(t.TempDir(), "plain")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if ns, err := OpenNS(file); err == nil {
		ns.Close()
		t.Error("a plain file is taken for a namespace")
	}
}

func TestOwnNamespaceWithoutPrivilege(t *testing.T) {
	ns, err := OpenNS("")
	if err != nil {
		t.Fatal(err)
	}
	defer ns.Close()
	l, err := ns.Link("lo")
	if err != nil {
		t.Fatal(err)
	}
	if l.Index != 1 || l.SpeedBps != 0 || l.Kind != "" || l.Bus != "" {
		t.Errorf("lo: %+v", l)
	}
	if _, err := ns.Counters(1); err != nil {
		t.Error(err)
	}
}

func TestSpeedOnlyWithHardwareBelow(t *testing.T) {
	link := func(index int, kind string, lower, master int, parent string) rawLink {
		return rawLink{Link: Link{Index: index, Kind: kind}, lower: lower, lowerNSID: -1, master: master, parent: parent}
	}
	raw := []rawLink{
		link(1, "", 0, 3, "0000:00:03.0"), link(2, "vlan", 3, 0, ""), link(3, "bond", 0, 0, ""),
		link(4, "veth", 1, 0, ""), link(5, "vlan", 4, 0, ""), link(6, "vlan", 7, 0, ""), link(7, "vlan", 6, 0, ""),
	}
	for i, want := range []bool{true, true, true, false, false, false, false} {
		if got := hardwareBelow(raw, i, 0); got != want {
			t.Errorf("device %d: %v, want %v", raw[i].Index, got, want)
		}
	}
}

func TestSSHEnds(t *testing.T) {
	for in, want := range map[string][2]string{
		"192.0.2.1 5000 198.18.0.1 22":          {"192.0.2.1", "198.18.0.1"},
		"::ffff:192.0.2.1 5000 fe80::1%eth0 22": {"192.0.2.1", "fe80::1"},
		"":                                      {"invalid IP", "invalid IP"},
		"nonsense":                              {"invalid IP", "invalid IP"},
		"a b c d":                               {"invalid IP", "invalid IP"},
	} {
		c, s := sshEnds(in)
		if got := [2]string{c.String(), s.String()}; got != want {
			t.Errorf("%q: %v, want %v", in, got, want)
		}
	}
}

func TestParseCPUs(t *testing.T) {
	for in, want := range map[string][]int{"0": {0}, "0-3,5": {0, 1, 2, 3, 5}, "": nil, "3-1": nil, "-1": nil, "0-99999999": nil, "a": nil} {
		got, err := ParseCPUs(in)
		if !reflect.DeepEqual(got, want) || (err == nil) != (want != nil) {
			t.Errorf("%q: %v, %v; want %v", in, got, err, want)
		}
	}
}

func TestMachine(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "cpuinfo"), []byte("processor\t: 0\nmodel name\t: A CPU @ 3 GHz\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := cpuModel(dir); got != "A CPU @ 3 GHz" {
		t.Errorf("model %q", got)
	}
	if got := cpuModel(filepath.Join(dir, "none")); got != "" {
		t.Errorf("model %q where there is none", got)
	}
	m := Facts()
	cpus, err := CPUs()
	if err != nil || m.Kernel == "" || m.Cores < len(cpus) || len(cpus) == 0 {
		t.Errorf("%+v, allowed %v, %v", m, cpus, err)
	}
}

func TestMonotonicAdvancesWithTime(t *testing.T) {
	a := Monotonic()
	time.Sleep(2 * time.Millisecond)
	if d := Monotonic() - a; d < 2_000_000 || d > 60_000_000_000 {
		t.Errorf("%d ns for a sleep of 2 ms", d)
	}
}

func FuzzDecoders(f *testing.F) {
	f.Add([]byte{0, 0, 1, 0, 1, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 7, 0, 3, 0, 'l', 'o', 0, 0})
	f.Fuzz(func(t *testing.T, m []byte) {
		if r, err := decodeLink(m); err == nil && r.Name == "" && len(m) > 4096 {
			t.Skip()
		}
		_ = queueLen(m)
	})
}

func TestOnThreadIsNeverTheMainThread(t *testing.T) {
	for range 200 {
		err := OnThread(func() error {
			if unix.Gettid() == unix.Getpid() {
				return errors.New("it is")
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}
