package lab_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/wirespeed/wirespeed/internal/host"
	"github.com/wirespeed/wirespeed/internal/lab"
	"github.com/wirespeed/wirespeed/internal/lab/need"
	"github.com/wirespeed/wirespeed/internal/tune"
)

// roleEnv makes the test binary another program: see roles.
const (
	roleEnv = "LAB_TEST_ROLE"
	nameEnv = "LAB_TEST_NAME" // of the lab that the role makes
)

func TestMain(m *testing.M) {
	role, dir, _ := strings.Cut(os.Getenv(roleEnv), " ")
	if role == "" {
		code := m.Run()
		if left, _ := filepath.Glob(fmt.Sprintf("%s/t-host-%d-*", host.NetnsDir, os.Getpid())); len(left) > 0 {
			fmt.Println("namespaces are left:", left)
			code = 1
		}
		os.Exit(code)
	}
	j, err := tune.Open(dir)
	if err != nil {
		fmt.Println(err)
		os.Exit(2)
	}
	switch role {
	case "demo": // make a demonstration, say so, and wait to be killed
		d, err := lab.NewDemo(j, 1)
		fmt.Println(err)
		if err == nil {
			fmt.Println(d.PortA, d.PortB)
		}
		time.Sleep(time.Minute) // not select{}: with nothing else to run the runtime calls that a deadlock and ends the process
	case "router": // make a router, and be killed meanwhile
		_, err := lab.Up(j, lab.KindRouter, os.Getenv(nameEnv), lab.Options{Queues: 1})
		fmt.Println(err)
	case "inside": // run oneself again in a namespace, which makes a demonstration and prints what it sees
		if !lab.Inside() {
			exit, err := lab.Reexec(context.Background(), nil, lab.Stdio{Out: os.Stdout, Err: os.Stderr})
			fmt.Println("outside", exit, err)
			os.Exit(0)
		}
		fmt.Println(inside(j))
		os.Exit(7)
	}
}

func inside(j *tune.Journal) error {
	d, err := lab.NewDemo(j, 1)
	if err != nil {
		return err
	}
	defer d.Close()
	va, err := d.A.Link(lab.DevA)
	if err != nil {
		return err
	}
	peer, err := host.FindPeer(context.Background(), d.A, va)
	if err != nil {
		return err
	}
	defer peer.NS.Close()
	if peer.Link.Name != lab.DevB || !va.Up {
		return fmt.Errorf("peer %+v of %+v", peer.Link, va)
	}
	undo, err := j.Do(tune.GRO{Device: tune.Device{Netns: d.B.Name, Device: lab.DevB}, On: true})
	if err != nil {
		return err
	}
	if vb, err := d.B.Link(lab.DevB); err != nil || !vb.GRO {
		return fmt.Errorf("GRO stays off: %v", err)
	}
	all, err := lab.List(j)
	if err != nil || len(all) != 1 || all[0].State != lab.StateRunning {
		return fmt.Errorf("list: %+v, %v", all, err)
	}
	return undo()
}

func openJournal(t *testing.T) (*tune.Journal, string) {
	t.Helper()
	dir := t.TempDir()
	j, err := tune.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if _, _, err := lab.DownAll(j); err != nil {
			t.Error(err)
		}
	})
	return j, dir
}

func labName() string {
	return fmt.Sprintf("t-host-%d-%x", os.Getpid(), time.Now().UnixNano()&0xffffff)
}

func only(t *testing.T, j *tune.Journal) lab.Info {
	t.Helper()
	all, err := lab.List(j)
	if err != nil || len(all) != 1 {
		t.Fatalf("labs %+v, %v; want one", all, err)
	}
	return all[0]
}

func TestPairUpExecDown(t *testing.T) {
	need.Root(t)
	j, _ := openJournal(t)
	name := labName()
	made, err := lab.Up(j, lab.KindPair, name, lab.Options{Queues: 2})
	if err != nil {
		t.Fatal(err)
	}
	if made.State != lab.StateUp || made.Kind != lab.KindPair || !slices.Equal(made.Namespaces, []string{name + "A", name + "B"}) || len(made.PIDs) != 0 {
		t.Errorf("%+v", made)
	}
	if _, err := lab.Up(j, lab.KindPair, name, lab.Options{Queues: 1}); !errors.Is(err, lab.ErrExists) {
		t.Errorf("a second one of the name: %v", err)
	}
	if r, err := j.Restore(true); err != nil || len(r) != 0 {
		t.Errorf("restore touches a lab: %+v, %v", r, err)
	}
	netns, err := lab.Resolve(j, name+"B")
	if err != nil || netns != name+"B" {
		t.Errorf("%q, %v", netns, err)
	}
	if first, err := lab.Resolve(j, name); err != nil || first != name+"A" {
		t.Errorf("%q, %v", first, err)
	}
	var out bytes.Buffer
	exit, err := lab.Exec(context.Background(), netns, []string{"sh", "-c", "ls /sys/class/net; exit 3"}, lab.Stdio{Out: &out, Err: &out})
	if exit != 3 || err != nil || !strings.Contains(out.String(), "vb") || strings.Contains(out.String(), "eth0") {
		t.Errorf("exit %d, %v: %s", exit, err, out.String())
	}
	if exit, err := lab.Exec(context.Background(), netns, []string{"sh", "-c", "kill -9 $$"}, lab.Stdio{}); exit != 137 || err != nil {
		t.Errorf("killed: exit %d, %v; want 137", exit, err)
	}
	if _, err := lab.Exec(context.Background(), netns, []string{"/no/such/program"}, lab.Stdio{}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("missing program: %v", err)
	}
	gone, err := lab.Down(j, name)
	if err != nil || gone.Name != name {
		t.Fatalf("%+v, %v", gone, err)
	}
	for _, ns := range made.Namespaces {
		if _, err := host.OpenNS(ns); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s is left: %v", ns, err)
		}
	}
	if _, err := lab.Down(j, name); !errors.Is(err, lab.ErrNoLab) {
		t.Errorf("down again: %v", err)
	}
}

func TestDownEndsProcessesInside(t *testing.T) {
	need.Root(t)
	j, _ := openJournal(t)
	name := labName()
	if _, err := lab.Up(j, lab.KindPair, name, lab.Options{Queues: 1}); err != nil {
		t.Fatal(err)
	}
	done := make(chan int, 1)
	go func() {
		exit, _ := lab.Exec(context.Background(), name+"A", []string{"sh", "-c", "trap '' TERM; while :; do sleep 1; done"}, lab.Stdio{})
		done <- exit
	}()
	for deadline := time.Now().Add(10 * time.Second); len(only(t, j).PIDs) == 0; time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the process inside is not listed")
		}
	}
	if _, err := lab.Down(j, name); err != nil {
		t.Fatal(err)
	}
	if exit := <-done; exit != 137 {
		t.Errorf("exit %d, want 137: it does not listen to SIGTERM", exit)
	}
}

func TestBadNamesAndQueues(t *testing.T) {
	j, _ := openJournal(t)
	for _, name := range []string{"", "a/b", "-x", "a b", strings.Repeat("x", 33), "ä"} {
		if _, err := lab.Up(j, lab.KindPair, name, lab.Options{Queues: 1}); err == nil {
			t.Errorf("%q is taken for a name", name)
		}
	}
	for _, q := range []int{0, -1, 65} {
		if _, err := lab.Up(j, lab.KindPair, "t-host-q", lab.Options{Queues: q}); err == nil {
			t.Errorf("%d queues are made", q)
		}
	}
}

func TestUpAfterSomebodyDeletedANamespace(t *testing.T) {
	need.Root(t)
	j, _ := openJournal(t)
	name := labName()
	if _, err := lab.Up(j, lab.KindPair, name, lab.Options{Queues: 1}); err != nil {
		t.Fatal(err)
	}
	if err := tune.DeleteNetns(name + "B"); err != nil {
		t.Fatal(err)
	}
	if l := only(t, j); l.State != lab.StateStale {
		t.Errorf("state %q, want stale", l.State)
	}
	if l, err := lab.Up(j, lab.KindPair, name, lab.Options{Queues: 1}); err != nil || l.State != lab.StateUp {
		t.Errorf("%+v, %v", l, err)
	}
}

func TestUpFailsWholeWhereANameIsTaken(t *testing.T) {
	need.Root(t)
	j, _ := openJournal(t)
	name := labName()
	if err := tune.CreateNetns(name + "B"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = tune.DeleteNetns(name + "B") })
	if _, err := lab.Up(j, lab.KindPair, name, lab.Options{Queues: 1}); !errors.Is(err, fs.ErrExist) {
		t.Errorf("%v", err)
	}
	if _, err := host.OpenNS(name + "A"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("half of the lab is left: %v", err)
	}
	if all, err := lab.List(j); err != nil || len(all) != 0 {
		t.Errorf("%+v, %v", all, err)
	}
}

// role starts the test binary in a role and returns its first lines.
func role(t *testing.T, what, dir string) (*exec.Cmd, func() string) {
	t.Helper()
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = append(os.Environ(), roleEnv+"="+what+" "+dir)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	return cmd, func() string {
		var line string
		if _, err := fmt.Fscanln(out, &line); err != nil {
			t.Fatal(err)
		}
		return line
	}
}

func TestDemoIsListedAndStaleAfterKill(t *testing.T) {
	need.Root(t)
	j, dir := openJournal(t)
	cmd, line := role(t, "demo", dir)
	if l := line(); l != "<nil>" {
		t.Fatal(l)
	}
	l := only(t, j)
	if l.Kind != lab.KindDemo || l.State != lab.StateRunning || !slices.Contains(l.PIDs, cmd.Process.Pid) || len(l.Namespaces) != 2 {
		t.Errorf("%+v", l)
	}
	ns, err := host.OpenNS(l.Namespaces[1])
	if err != nil {
		t.Fatal(err)
	}
	if _, err := ns.Link(lab.DevB); err != nil {
		t.Error(err)
	}
	_ = ns.Close()
	if _, kept, err := lab.DownAll(j); err != nil || len(kept) != 1 {
		t.Errorf("down --all while it runs: kept %+v, %v", kept, err)
	}
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	if l := only(t, j); l.State != lab.StateStale || len(l.PIDs) != 0 {
		t.Errorf("after the kill: %+v", l)
	}
	if removed, _, err := lab.DownAll(j); err != nil || len(removed) != 1 {
		t.Errorf("%+v, %v", removed, err)
	}
	if all, err := lab.List(j); err != nil || len(all) != 0 {
		t.Errorf("%+v, %v; want none", all, err)
	}
}

func TestDemoCloseLeavesNothing(t *testing.T) {
	need.Root(t)
	j, _ := openJournal(t)
	d, err := lab.NewDemo(j, 1)
	if err != nil || d.Unregistered != nil {
		t.Fatal(err, d.Unregistered)
	}
	if l := only(t, j); l.State != lab.StateRunning {
		t.Errorf("%+v", l)
	}
	for range 2 {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	}
	if all, err := lab.List(j); err != nil || len(all) != 0 {
		t.Errorf("%+v, %v; want none", all, err)
	}
}

// Nobody is allowed none of this, and does it all in a namespace of his own.
func TestReexecWithoutRoot(t *testing.T) {
	dir := t.TempDir()
	cmd := exec.Command("/proc/self/exe")
	if os.Geteuid() == 0 {
		self, err := os.ReadFile("/proc/self/exe")
		if err != nil {
			t.Fatal(err)
		}
		if dir, err = os.MkdirTemp("/tmp", "t-host-"); err != nil { // t.TempDir is closed to others
			t.Fatal(err)
		}
		root := dir
		t.Cleanup(func() { _ = os.RemoveAll(root) })
		if err := errors.Join(os.WriteFile(dir+"/self", self, 0o755), os.Chmod(dir, 0o755), os.Mkdir(dir+"/state", 0o700), os.Chown(dir+"/state", 65534, 65534)); err != nil {
			t.Fatal(err)
		}
		cmd = exec.Command(dir + "/self")
		cmd.Dir, dir = dir, dir+"/state"
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	}
	cmd.Env = append(os.Environ(), roleEnv+"=inside "+dir)
	out, err := cmd.CombinedOutput()
	if err != nil || string(out) != "<nil>\noutside 7 <nil>\n" {
		t.Errorf("%v: %s", err, out)
	}
}

func TestListIsJSON(t *testing.T) {
	b, err := json.Marshal([]lab.Info{{Name: "x", Kind: "pair", Namespaces: []string{}, PIDs: []int{}, State: "up"}})
	if want := `[{"name":"x","kind":"pair","namespaces":[],"pids":[],"state":"up"}]`; err != nil || string(b) != want {
		t.Errorf("%s, %v; want %s", b, err, want)
	}
}
