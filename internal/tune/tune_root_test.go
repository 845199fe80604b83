package tune_test

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/vishvananda/netlink"

	"github.com/wirespeed/wirespeed/internal/engine"
	"github.com/wirespeed/wirespeed/internal/host"
	"github.com/wirespeed/wirespeed/internal/lab/labtest"
	"github.com/wirespeed/wirespeed/internal/lab/need"
	"github.com/wirespeed/wirespeed/internal/tune"
)

// victimEnv makes the test binary a process that changes the host and waits to be killed: state folder, namespace of
// device vb, name of a namespace to make.
const victimEnv = "TUNE_TEST_VICTIM"

func TestMain(m *testing.M) {
	if v := os.Getenv(victimEnv); v != "" {
		fmt.Println(victim(v))
		time.Sleep(time.Minute) // not select{}: the runtime would call that a deadlock and end the process
	}
	os.Exit(m.Run())
}

func victim(v string) error {
	var dir, ns, made string
	if _, err := fmt.Sscan(v, &dir, &ns, &made); err != nil {
		return err
	}
	j, err := tune.Open(dir)
	if err != nil {
		return err
	}
	vb := tune.Device{Netns: ns, Device: "vb"}
	for _, c := range []engine.Change{tune.GRO{Device: vb, On: true}, tune.MTU{Device: vb, MTU: 9000}, tune.Netns{Name: made}} {
		if _, err := j.Do(c); err != nil {
			return err
		}
	}
	return nil
}

func journal(t *testing.T) *tune.Journal {
	t.Helper()
	j, err := tune.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return j
}

func link(t *testing.T, ns *host.NS, name string) host.Link {
	t.Helper()
	l, err := ns.Link(name)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func TestRestoreAfterKill(t *testing.T) {
	p := labtest.TestPair(t, "t-host", 1)
	dir, made := t.TempDir(), p.A+"-made"
	t.Cleanup(func() { _ = tune.DeleteNetns(made) })
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = append(os.Environ(), victimEnv+"="+dir+" "+p.B+" "+made)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "<nil>\n" {
		t.Fatalf("victim: %q, %v", line, err)
	}
	if l := link(t, p.NSB, "vb"); !l.GRO || l.MTU != 9000 {
		t.Fatalf("the victim has changed nothing: %+v", l)
	}
	j, err := tune.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	r, err := j.Restore(false)
	if err != nil || len(r) != 3 || r[0].State != tune.Living {
		t.Fatalf("while it lives: %+v, %v; want three living", r, err)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	r, err = j.Restore(false)
	if err != nil || len(r) != 3 {
		t.Fatalf("%+v, %v; want three undone", r, err)
	}
	for _, r := range r {
		if r.State != tune.Undone {
			t.Errorf("%+v", r)
		}
	}
	if l := link(t, p.NSB, "vb"); l.GRO || l.MTU != 1500 {
		t.Errorf("not restored: %+v", l)
	}
	if _, err := host.OpenNS(made); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("namespace %s is left: %v", made, err)
	}
	if r, err := j.Restore(false); err != nil || len(r) != 0 {
		t.Errorf("a second restore: %+v, %v; want nothing", r, err)
	}
}

func TestUndoPutsBackWhatWasThere(t *testing.T) {
	p := labtest.TestPair(t, "t-host", 1)
	j := journal(t)
	vb := tune.Device{Netns: p.B, Device: "vb"}
	for range 2 {
		var undos []func() error
		for _, c := range []engine.Change{tune.GRO{Device: vb, On: true}, tune.MTU{Device: vb, MTU: 2000}, tune.LinkUp{Device: vb}, tune.XDPAttach{Device: vb, Program: "none"}} {
			undo, err := j.Do(c)
			if err != nil {
				t.Fatal(err)
			}
			undos = append(undos, undo, undo)
		}
		if l := link(t, p.NSB, "vb"); !l.GRO || l.MTU != 2000 {
			t.Errorf("not changed: %+v", l)
		}
		for _, undo := range undos {
			if err := undo(); err != nil {
				t.Error(err)
			}
		}
		if l := link(t, p.NSB, "vb"); l.GRO || l.MTU != 1500 || !l.Up {
			t.Errorf("not put back: %+v", l)
		}
	}
}

// Two runs mend the same device; the first to end must not take it from the second.
func TestSharedChangeLastsUntilTheLastUndo(t *testing.T) {
	p := labtest.TestPair(t, "t-host", 1)
	j := journal(t)
	change := tune.GRO{Device: tune.Device{Netns: p.B, Device: "vb"}, On: true}
	first, err := j.Do(change)
	if err != nil {
		t.Fatal(err)
	}
	second, err := j.Do(change)
	if err != nil {
		t.Fatal(err)
	}
	if err := first(); err != nil || !link(t, p.NSB, "vb").GRO {
		t.Errorf("after the first undo: GRO %v, %v; want on", link(t, p.NSB, "vb").GRO, err)
	}
	if err := second(); err != nil || link(t, p.NSB, "vb").GRO {
		t.Errorf("after the second undo: GRO %v, %v; want off", link(t, p.NSB, "vb").GRO, err)
	}
}

func TestUndoLeavesStrangersAlone(t *testing.T) {
	p := labtest.TestPair(t, "t-host", 1)
	j := journal(t)
	name := p.A + "-x"
	t.Cleanup(func() { _ = tune.DeleteNetns(name) })
	undo, err := j.Do(tune.Netns{Name: name})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := j.Do(tune.Netns{Name: name}); !errors.Is(err, fs.ErrExist) {
		t.Errorf("a taken name: %v", err)
	}
	keep, err := host.OpenNS(name) // or the new one may get the same inode
	if err != nil {
		t.Fatal(err)
	}
	defer keep.Close()
	if err := tune.DeleteNetns(name); err != nil {
		t.Fatal(err)
	}
	if err := tune.CreateNetns(name); err != nil {
		t.Fatal(err)
	}
	if err := undo(); err != nil {
		t.Error(err)
	}
	if ns, err := host.OpenNS(name); err != nil {
		t.Errorf("another one's namespace is deleted: %v", err)
	} else {
		_ = ns.Close()
	}
	gro, err := j.Do(tune.GRO{Device: tune.Device{Netns: p.B, Device: "vb"}, On: true})
	if err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(need.Tool(t, "ip"), "-n", p.B, "link", "delete", "vb").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if err := gro(); err != nil {
		t.Errorf("undo at a device that is gone: %v", err)
	}
}

// A namespace that was addressed by a descriptor of a process is gone with it, whatever has the number now.
func TestUndoOfANamespaceThatWasADescriptor(t *testing.T) {
	p := labtest.TestPair(t, "t-host", 1)
	j := journal(t)
	vb := tune.Device{Netns: fmt.Sprintf("/proc/%d/fd/%d", os.Getpid(), p.NSB.Fd()), Device: "vb"}
	undo, err := j.Do(tune.GRO{Device: vb, On: true})
	if err != nil {
		t.Fatal(err)
	}
	if err := undo(); err != nil || link(t, p.NSB, "vb").GRO {
		t.Errorf("GRO is left on, %v", err)
	}
	ns, err := host.OpenNS(p.B)
	if err != nil {
		t.Fatal(err)
	}
	vb.Netns = fmt.Sprintf("/proc/%d/fd/%d", os.Getpid(), ns.Fd())
	if undo, err = j.Do(tune.GRO{Device: vb, On: true}); err != nil {
		t.Fatal(err)
	}
	if err := ns.Close(); err != nil {
		t.Fatal(err)
	}
	file, err := os.Open(os.DevNull) // takes the number over
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if err := undo(); err != nil {
		t.Error(err)
	}
}

// attach loads a program that passes everything, and attaches it to vb of p by netlink: it stays when its owner ends.
func attach(t *testing.T, p *labtest.Pair, name string) {
	t.Helper()
	prog, err := ebpf.NewProgram(&ebpf.ProgramSpec{
		Name: name, Type: ebpf.XDP, License: "GPL", Instructions: asm.Instructions{asm.Mov.Imm(asm.R0, 2), asm.Return()},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer prog.Close()
	err = p.NSB.Do(func() error {
		l, err := netlink.LinkByName("vb")
		if err != nil {
			return err
		}
		return netlink.LinkSetXdpFd(l, prog.FD())
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestUndoDetachesItsProgramAndNoOther(t *testing.T) {
	for name, stays := range map[string]bool{"ws_test": false, "another": true} {
		p := labtest.TestPair(t, "t-host", 1)
		undo, err := journal(t).Do(tune.XDPAttach{Device: tune.Device{Netns: p.B, Device: "vb"}, Program: "ws_test"})
		if err != nil {
			t.Fatal(err)
		}
		attach(t, p, name)
		if l := link(t, p.NSB, "vb"); l.XDPProgID == 0 || l.XDPMode != "native" {
			t.Fatalf("not attached: %+v", l)
		}
		if err := undo(); err != nil {
			t.Fatal(err)
		}
		if l := link(t, p.NSB, "vb"); (l.XDPProgID != 0) != stays {
			t.Errorf("program %s attached: %v, want %v", name, l.XDPProgID != 0, stays)
		}
	}
}
