package cli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"text/tabwriter"

	"github.com/wirespeed/wirespeed/internal/lab"
	"github.com/wirespeed/wirespeed/internal/trial"
	"github.com/wirespeed/wirespeed/internal/tune"
)

// LabCmd is `lab`: test topologies.
type LabCmd struct {
	Up   labUpCmd   `cmd:"" help:"Make a lab: two ports, alone or with a router or a bridge between them; it stays until 'lab down'. Example: wirespeed lab up router --name x"`
	Down labDownCmd `cmd:"" help:"Remove a lab and end the processes inside. Example: wirespeed lab down x"`
	List labListCmd `cmd:"" help:"List labs, running demonstrations and what crashes left. Example: wirespeed lab list"`
	Exec labExecCmd `cmd:"" help:"Run a program inside a lab's namespace. Example: wirespeed lab exec xA -- ip link"`
}

// labUpCmd is `lab up KIND --name NAME`.
type labUpCmd struct {
	Kind   string `arg:"" enum:"pair,router,bridge" help:"The topology: pair (namespaces NAMEA and NAMEB, joined by a veth pair with the ports va and vb); router (NAMED between them forwards IPv4 and IPv6 from da to db, and has an address in the network of each port); bridge (NAMED joins da and db)."`
	Name   string `required:"" help:"The lab's name, in front of its namespaces' letters." placeholder:"NAME"`
	Queues int    `default:"1" help:"Queues of each port, 1 to 64. Default 1." placeholder:"N"`
	MTU    int    `name:"mtu" help:"MTU of every device, 68 to 65535, of a router at least 1280. Default 1500." placeholder:"BYTES"`
}

func (c *labUpCmd) run(e *env) (int, error) {
	j, err := tune.Open(tune.StateDir())
	if err != nil {
		return 0, trial.EnvironmentOf(err)
	}
	l, err := lab.Up(j, c.Kind, c.Name, lab.Options{Queues: c.Queues, MTU: c.MTU})
	switch {
	case errors.Is(err, lab.ErrExists):
		return 0, trial.Usage("wirespeed lab down "+c.Name+", or another --name", "lab %q exists already", c.Name)
	case errors.Is(err, lab.ErrInput):
		return 0, trial.UsageOf(err)
	case errors.Is(err, os.ErrPermission):
		return 0, trial.Environment("run it with sudo", "user %d may not make named network namespaces", os.Getuid())
	case err != nil:
		return 0, trial.EnvironmentOf(err)
	}
	if e.out.machine() {
		return 0, e.document(labsDoc{Labs: []lab.Info{l}})
	}
	return 0, describeLab(e.stdout, l)
}

// describeLab says what there is now, and what to try.
func describeLab(w io.Writer, l lab.Info) error {
	a, b := lab.DevA+"@"+l.Namespaces[0], lab.DevB+"@"+l.Namespaces[1]
	send := fmt.Sprintf("wirespeed send %s --rx %s", a, b)
	_, err := fmt.Fprintf(w, "lab %s is up: ports %s and %s\n", l.Name, a, b)
	if l.Kind == lab.KindRouter {
		sa, sb := lab.RouterSides()
		_, err = fmt.Fprintf(w, "the router has %s and %s, %s and %s\n", sa.Router, sb.Router, sa.Router6, sb.Router6)
		send += fmt.Sprintf(" --tx-ip %s --rx-ip %s --gateway %s --rx-gateway %s", sa.Port, sb.Port, sa.Router.Addr(), sb.Router.Addr())
	}
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(w, "try: %s --count 1000000\n", send)
	return err
}

// labDownCmd is `lab down NAME` and `lab down --all`.
type labDownCmd struct {
	Name string `arg:"" optional:"" help:"The lab to remove."`
	All  bool   `help:"Remove all labs and what crashed ones left; running demonstrations stay."`
}

type labDownDoc struct {
	Removed []lab.Info `json:"removed"`
	Kept    []lab.Info `json:"kept"` // demonstrations that run
}

func (c *labDownCmd) run(e *env) (int, error) {
	if c.All == (c.Name != "") {
		return 0, trial.Usage("wirespeed lab down NAME, or wirespeed lab down --all", "lab down needs the name of a lab or --all, and not both")
	}
	j, err := tune.Open(tune.StateDir())
	if err != nil {
		return 0, trial.EnvironmentOf(err)
	}
	doc := labDownDoc{Removed: []lab.Info{}, Kept: []lab.Info{}}
	if c.All {
		removed, kept, err := lab.DownAll(j)
		if err != nil {
			return 0, trial.EnvironmentOf(err)
		}
		doc.Removed, doc.Kept = append(doc.Removed, removed...), append(doc.Kept, kept...)
	} else {
		l, err := lab.Down(j, c.Name)
		switch {
		case errors.Is(err, lab.ErrNoLab):
			return 0, noLab(c.Name)
		case err != nil:
			return 0, trial.EnvironmentOf(err)
		}
		doc.Removed = append(doc.Removed, l)
	}
	if e.out.machine() {
		return 0, e.document(doc)
	}
	return 0, doc.text(e.stdout)
}

func (d labDownDoc) text(w io.Writer) (err error) {
	for _, l := range d.Removed {
		_, err = fmt.Fprintf(w, "removed: %s %s\n", l.Kind, l.Name)
	}
	for _, l := range d.Kept {
		_, err = fmt.Fprintf(w, "left: %s %s: it is running; end it with Ctrl-C\n", l.Kind, l.Name)
	}
	if len(d.Removed)+len(d.Kept) == 0 {
		_, err = fmt.Fprintln(w, "no labs")
	}
	return err
}

// labListCmd is `lab list`.
type labListCmd struct{}

type labsDoc struct {
	Labs []lab.Info `json:"labs"`
}

func (c *labListCmd) run(e *env) (int, error) {
	j, err := tune.Open(tune.StateDir())
	if err != nil {
		return 0, trial.EnvironmentOf(err)
	}
	all, err := lab.List(j)
	if err != nil {
		return 0, trial.EnvironmentOf(err)
	}
	if e.out.machine() {
		return 0, e.document(labsDoc{Labs: append([]lab.Info{}, all...)})
	}
	if len(all) == 0 {
		_, err := fmt.Fprintln(e.stdout, "no labs; `wirespeed lab up pair --name x` makes one")
		return 0, err
	}
	w := tabwriter.NewWriter(e.stdout, 0, 8, 2, ' ', 0)
	fmt.Fprintln(w, "NAME\tKIND\tSTATE\tNAMESPACES\tPROCESSES")
	for _, l := range all {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", l.Name, l.Kind, l.State, strings.Join(l.Namespaces, " "), processes(l.PIDs))
	}
	return 0, w.Flush()
}

func processes(pids []int) string {
	if len(pids) == 0 {
		return "none"
	}
	return strings.Trim(fmt.Sprint(pids), "[]")
}

// labExecCmd is `lab exec NAME -- PROGRAM...`.
type labExecCmd struct {
	Name string   `arg:"" help:"A lab's namespace such as xA; a lab's name is its first one."`
	Argv []string `arg:"" passthrough:"" name:"program" help:"The program and its arguments, behind --."`
}

func (c *labExecCmd) run(e *env) (int, error) {
	j, err := tune.Open(tune.StateDir())
	if err != nil {
		return 0, trial.EnvironmentOf(err)
	}
	netns, err := lab.Resolve(j, c.Name)
	if errors.Is(err, lab.ErrNoLab) {
		return 0, noLab(c.Name)
	}
	if err != nil {
		return 0, trial.EnvironmentOf(err)
	}
	argv := c.Argv
	if len(argv) > 0 && argv[0] == "--" {
		argv = argv[1:]
	}
	if len(argv) == 0 {
		return 0, trial.Usage("wirespeed lab exec "+c.Name+" -- ip link", "lab exec has no program to run")
	}
	if e.terminalOwned() {
		return 0, trial.EnvironmentOf(lab.Replace(netns, argv))
	}
	exit, err := lab.Exec(e.ctx, netns, argv, lab.Stdio{In: e.stdin, Out: e.stdout, Err: e.stderr})
	if err != nil {
		return 0, trial.EnvironmentOf(err)
	}
	return exit, nil
}

// terminalOwned says whether input and output are this process's own: then another program can take its place.
func (e *env) terminalOwned() bool {
	own := []any{e.stdin, e.stdout, e.stderr}
	for fd, v := range own {
		f, ok := v.(*os.File)
		if !ok || f.Fd() != uintptr(fd) {
			return false
		}
	}
	return true
}

func noLab(name string) error {
	mend := "`wirespeed lab list` shows those there are, `wirespeed lab up pair --name x` makes one"
	if os.Geteuid() != 0 {
		mend += "; both need sudo"
	}
	return trial.Usage(mend, "no lab %q", name)
}
