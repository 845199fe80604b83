package acceptance

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/wirespeed/wirespeed/internal/host"
	"github.com/wirespeed/wirespeed/internal/lab"
	"github.com/wirespeed/wirespeed/internal/lab/labtest"
	"github.com/wirespeed/wirespeed/internal/lab/need"
)

const nobody = 65534

// Ctrl-C stops, drains and reports what happened until then.
func TestInterrupt(t *testing.T) {
	forBoth(t, func(t *testing.T, tx, rx string, p *labtest.Pair) {
		before := procNetDev(t, p.NSA, "va")
		s := startProgram(t, 0, "send", tx+p.PortA, "--rx", rx+p.PortB, "--rate", "5kpps", "--duration", "30s", "--json")
		moving(t, s, p.NSA, "va", before, 100)
		s.signal(t, syscall.SIGINT)
		r := s.wait(t)
		r.wantExit(t, 5, "interrupted")
		sent := procNetDev(t, p.NSA, "va").txFrames - before.txFrames
		if got := r.tx(t); got.Sent != sent || got.Sent < 100 || got.Sent >= 150_000 || *r.stream(t, 0).Frames != sent || *r.stream(t, 0).Lost != 0 {
			t.Errorf("the kernel counts %d: %s, %s", sent, show(got), show(r.stream(t, 0)))
		}
		if gro(t, p.NSB, "vb") {
			t.Error("GRO stays on")
		}
	})
}

// The normal end of receive.
func TestInterruptReceive(t *testing.T) {
	for _, rx := range engines {
		t.Run(strings.TrimSuffix(rx, ":"), func(t *testing.T) {
			p := pair(t, 1)
			before := procNetDev(t, p.NSB, "vb")
			c := startProgram(t, 0, "receive", rx+p.PortB)
			receiving(t, c, rx, p.NSB, "vb")
			run(t, "send", "packet:"+p.PortA, "--count", "10", "--json").wantExit(t, 0)
			arrived(t, p.NSB, "vb", before, 10)
			c.signal(t, syscall.SIGINT)
			c.wait(t).wantExit(t, 0, "valid")
			if l, err := p.NSB.Link("vb"); err != nil || l.XDPMode != "" {
				t.Errorf("a program stays attached: %+v, %v", l, err)
			}
		})
	}
}

// A second Ctrl-C does not wait for the drain.
func TestInterruptTwice(t *testing.T) {
	p := pair(t, 1)
	inside(t, p.NSA, "tc", "qdisc", "add", "dev", "va", "root", "tbf", "rate", "100kbit", "burst", "1600", "limit", "600000")
	before := procNetDev(t, p.NSA, "va")
	s := startProgram(t, 0, "send", "packet:"+p.PortA+"?qdisc=use", "--rate", "5kpps", "--duration", "30s")
	moving(t, s, p.NSA, "va", before, 1)
	va, err := p.NSA.Link("va")
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, "the drain would take longer than its limit", func() bool {
		n, err := p.NSA.Backlog(va.Index)
		return err == nil && n > 1000
	})
	s.signal(t, syscall.SIGINT)
	time.Sleep(50 * time.Millisecond)
	if s.ended() {
		t.Skip("it drained already")
	}
	s.signal(t, syscall.SIGINT)
	r := s.wait(t)
	r.wantExit(t, 5, "aborted", "wirespeed restore")
	if r.stdout != "" {
		t.Errorf("a report: %s", r.stdout)
	}
}

// labs reads `lab list --json`.
func labs(t testing.TB) (all []lab.Info) {
	t.Helper()
	var doc struct{ Labs []lab.Info }
	r := run(t, "lab", "list", "--json")
	r.wantExit(t, 0)
	if err := json.Unmarshal([]byte(r.stdout), &doc); err != nil {
		t.Fatalf("%v: %s", err, r.all())
	}
	return doc.Labs
}

// A lab's whole life.
func TestLab(t *testing.T) {
	need.Root(t)
	up(t, "tacc")
	all := labs(t)
	if len(all) != 1 || all[0].Name != "tacc" || all[0].Kind != "pair" || fmt.Sprint(all[0].Namespaces) != "[taccA taccB]" || all[0].State != "up" {
		t.Errorf("labs %+v", all)
	}
	run(t, "lab", "up", "pair", "--name", "tacc").wantExit(t, 1, "exists already")
	run(t, "lab", "exec", "taccB", "--", "ip", "-o", "link", "show", "vb").wantExit(t, 0, "vb@")
	run(t, "lab", "exec", "taccB", "--", "sh", "-c", "exit 9").wantExit(t, 9)
	run(t, "send", "va@taccA", "--rx", "vb@taccB", "--count", "1000", "--json").wantWhole(t, 1000)
	sleeper := startProgram(t, 0, "lab", "exec", "taccA", "--", "sleep", "1000")
	eventually(t, "the lab has a process", func() bool { return len(labs(t)[0].PIDs) > 0 })
	run(t, "lab", "down", "tacc").wantExit(t, 0, "tacc")
	sleeper.wait(t)
	if all := labs(t); len(all) != 0 {
		t.Errorf("labs %+v", all)
	}
	if _, err := host.OpenNS("taccA"); err == nil {
		t.Error("the namespace is still there")
	}
	run(t, "lab", "down", "tacc").wantExit(t, 1, "tacc")
}

// A crash leaves a journal, and restore puts the host back from it.
func TestRestoreAfterKill(t *testing.T) {
	need.Root(t)
	up(t, "taccr")
	a, err := host.OpenNS("taccrA")
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	b, err := host.OpenNS("taccrB")
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	before := procNetDev(t, a, "va")
	s := startProgram(t, 0, "send", "xdp:va@taccrA", "--rate", "1kpps", "--duration", "30s")
	moving(t, s, a, "va", before, 10)
	if !gro(t, b, "vb") {
		t.Fatal("the peer was not mended")
	}
	run(t, "restore").wantExit(t, 0, "still runs") // not ours to undo
	s.signal(t, syscall.SIGKILL)
	s.wait(t)
	if !gro(t, b, "vb") {
		t.Fatal("a killed process cannot have put anything back")
	}
	run(t, "restore").wantExit(t, 0, "undone", "vb")
	if gro(t, b, "vb") {
		t.Error("GRO stays on")
	}
	if all := labs(t); len(all) != 1 || all[0].State != "up" {
		t.Errorf("restore took the lab away: %+v", all)
	}
	run(t, "restore").wantExit(t, 0, "nothing to restore")
}

// A killed receiver leaves no program at the port, at the latest when restore has run, and the port can be used again.
func TestReceiverKilled(t *testing.T) {
	p := pair(t, 1)
	c := startProgram(t, 0, "receive", "xdp:"+p.PortB)
	receiving(t, c, "xdp:", p.NSB, "vb")
	c.signal(t, syscall.SIGKILL)
	c.wait(t)
	run(t, "restore").wantExit(t, 0)
	if l, err := p.NSB.Link("vb"); err != nil || l.XDPMode != "" {
		t.Errorf("a program stays attached: %+v, %v", l, err)
	}
	run(t, "send", "xdp:"+p.PortA, "--rx", "xdp:"+p.PortB, "--count", "1000", "--json").wantWhole(t, 1000)
}

// namespaces are the network namespaces of this machine that belong to processes of a user, and the named ones.
func namespaces(t testing.TB) map[string]bool {
	t.Helper()
	all := map[string]bool{}
	names, err := os.ReadDir(host.NetnsDir)
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range names {
		all[n.Name()] = true
	}
	return all
}

// descendants are the processes that run the built program.
func descendants(t testing.TB) (pids []string) {
	t.Helper()
	exes, err := filepath.Glob("/proc/[0-9]*/exe")
	if err != nil {
		t.Fatal(err)
	}
	for _, exe := range exes {
		if to, err := os.Readlink(exe); err == nil && to == program(t) {
			pids = append(pids, exe)
		}
	}
	return pids
}

// The demonstration, as root and as an ordinary user: it works without a set-up and leaves nothing behind.
func TestDemo(t *testing.T) {
	need.Root(t)
	for _, uid := range []uint32{0, nobody} {
		t.Run(fmt.Sprint("uid ", uid), func(t *testing.T) {
			before := namespaces(t)
			s := startProgram(t, uid, "demo", "--duration", "1s", "--json")
			r := s.wait(t)
			if uid != 0 && r.exit == 2 && strings.Contains(r.all(), "sysctl") {
				t.Skip("this host gives ordinary users no namespaces, and it is said")
			}
			r.wantExit(t, 0)
			tx, rx := r.tx(t), r.rx(t)
			if tx.Sent == 0 || rx.Frames+*rx.TesterDrops != tx.Sent {
				t.Errorf("sent %d, arrived %d, dropped %d", tx.Sent, rx.Frames, *rx.TesterDrops)
			}
			engine := map[bool]string{true: "xdp", false: "packet"}[uid == 0]
			notes := strings.Join(r.doc.Notes, "\n")
			if r.doc.Ports[0].Engine != engine || !strings.Contains(notes, "what bounds it") || strings.Contains(notes, "without root") != (uid != 0) {
				t.Errorf("engine %s, notes %s", r.doc.Ports[0].Engine, notes)
			}
			if after := namespaces(t); len(after) != len(before) {
				t.Errorf("namespaces: %v before, %v after", before, after)
			}
			if pids := descendants(t); len(pids) != 0 {
				t.Errorf("processes stay: %v", pids)
			}
			if all := labs(t); len(all) != 0 {
				t.Errorf("labs stay: %+v", all)
			}
		})
	}
}

// Killed, the demonstration leaves no namespace or process, and what the journal holds of it is removed.
func TestDemoKilled(t *testing.T) {
	need.Root(t)
	for _, uid := range []uint32{0, nobody} {
		t.Run(fmt.Sprint("uid ", uid), func(t *testing.T) {
			list := func() (all []lab.Info) {
				p := startProgram(t, uid, "lab", "list", "--json")
				r := p.wait(t)
				r.wantExit(t, 0)
				var doc struct{ Labs []lab.Info }
				if err := json.Unmarshal([]byte(r.stdout), &doc); err != nil {
					t.Fatal(err)
				}
				return doc.Labs
			}
			s := startProgram(t, uid, "demo", "--duration", "25s")
			running := func() bool {
				if s.ended() {
					if r := s.wait(t); uid != 0 && r.exit == 2 && strings.Contains(r.all(), "sysctl") {
						t.Skip("this host gives ordinary users no namespaces, and it is said")
					} else {
						t.Fatalf("ended: %s", r.all())
					}
				}
				all := list()
				return len(all) == 1 && all[0].Kind == "demo" && all[0].State == "running" && len(all[0].PIDs) > 0
			}
			eventually(t, "the list shows the demonstration", running)
			startProgram(t, uid, "lab", "down", "--all").wait(t).wantExit(t, 0, "left")
			s.signal(t, syscall.SIGKILL)
			s.wait(t)
			eventually(t, "all its processes end", func() bool { return len(descendants(t)) == 0 })
			for _, l := range list() {
				if l.State != "stale" {
					t.Errorf("%+v", l)
				}
			}
			startProgram(t, uid, "lab", "down", "--all").wait(t).wantExit(t, 0)
			if all := list(); len(all) != 0 {
				t.Errorf("still there: %+v", all)
			}
			startProgram(t, uid, "restore").wait(t).wantExit(t, 0, "nothing to restore")
		})
	}
}

// An ordinary user without namespaces of his own is told what is missing.
func TestNoPermission(t *testing.T) {
	need.Root(t)
	p := pair(t, 1)
	// The port must be visible to him: he starts inside its namespace.
	c := exec.Command(program(t), "send", "packet:va", "--count", "10", "--json")
	c.Env = []string{"XDG_STATE_HOME=" + userState(t, nobody)}
	c.Dir = "/"
	c.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	var out, errs strings.Builder
	c.Stdout, c.Stderr = &out, &errs
	before := procNetDev(t, p.NSA, "va")
	if err := p.NSA.Do(c.Start); err != nil {
		t.Fatal(err)
	}
	_ = c.Wait()
	r := finish(t, c.Args[1:], c.ProcessState.ExitCode(), out.String(), errs.String())
	r.wantExit(t, 2, "CAP_NET_RAW", "sudo")
	if now := procNetDev(t, p.NSA, "va"); now != before {
		t.Errorf("the counters moved: %+v", now)
	}
	// By name he may not even enter.
	startProgram(t, nobody, "send", "packet:"+p.PortA, "--count", "10").wait(t).wantExit(t, 2, "sudo")
}

// A terminal that goes, or a reader that has seen enough, ends a run like Ctrl-C: the host is put back.
func TestHangUp(t *testing.T) {
	p := pair(t, 1)
	before := procNetDev(t, p.NSA, "va")
	s := startProgram(t, 0, "send", "xdp:"+p.PortA, "--rx", "packet:"+p.PortB, "--rate", "5kpps", "--duration", "30s", "--json")
	moving(t, s, p.NSA, "va", before, 100)
	if !gro(t, p.NSB, "vb") {
		t.Fatal("GRO was not needed: nothing is to be put back")
	}
	s.signal(t, syscall.SIGHUP)
	s.wait(t).wantExit(t, 5, "interrupted")
	if gro(t, p.NSB, "vb") {
		t.Error("GRO stays on")
	}
}

func TestReaderGone(t *testing.T) {
	p := pair(t, 1)
	cmd := exec.Command(program(t), "send", "xdp:"+p.PortA, "--rx", "packet:"+p.PortB, "--rate", "5kpps", "--duration", "30s", "--jsonl", "--quiet")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = cmd.Process.Kill() }()
	if _, err := out.Read(make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	_ = out.Close()
	_ = cmd.Wait()
	if code := cmd.ProcessState.ExitCode(); code != 5 {
		t.Errorf("status %d", code)
	}
	if gro(t, p.NSB, "vb") {
		t.Error("GRO stays on")
	}
}
