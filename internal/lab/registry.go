package lab

import (
	"errors"
	"fmt"
	"slices"

	"github.com/wirespeed/wirespeed/internal/host"
	"github.com/wirespeed/wirespeed/internal/tune"
)

// Kinds of labs.
const (
	KindPair   = "pair"   // two named namespaces joined by a veth pair
	KindRouter = "router" // two named namespaces and a third between them, whose kernel forwards IPv4 and IPv6
	KindBridge = "bridge" // the same with a bridge
	KindDemo   = "demo"   // two private namespaces, which end with their process
)

// States of labs.
const (
	StateUp      = "up"
	StateRunning = "running" // a demonstration whose process runs
	StateStale   = "stale"   // what a crash, a reboot or another hand left: `lab down` removes it
)

// Info describes a lab. Its JSON form is an element of `lab list --json`.
type Info struct {
	Name       string   `json:"name"`
	Kind       string   `json:"kind"`
	Namespaces []string `json:"namespaces"` // as ports take them behind the @
	PIDs       []int    `json:"pids"`       // processes inside, and the one that owns a demonstration
	State      string   `json:"state"`

	inodes []uint64
}

// List describes the labs of this user, in the order of making.
func List(j *tune.Journal) ([]Info, error) {
	entries, _, err := j.Entries()
	if err != nil {
		return nil, err
	}
	var all []Info
	for _, e := range entries {
		if e.Group == nil {
			continue
		}
		i := slices.IndexFunc(all, func(l Info) bool { return l.Name == e.Group.Name })
		if i < 0 {
			i = len(all)
			all = append(all, Info{Name: e.Group.Name, Kind: e.Group.Kind, State: StateUp, Namespaces: []string{}, PIDs: []int{}})
		}
		all[i].add(e)
	}
	inside, err := processesByNetns()
	if err != nil {
		return nil, err
	}
	for i := range all {
		for _, inode := range all[i].inodes {
			all[i].PIDs = append(all[i].PIDs, inside[inode]...)
		}
		slices.Sort(all[i].PIDs)
		all[i].PIDs = slices.Compact(all[i].PIDs)
	}
	return all, nil
}

// add takes what one entry of the journal says about the lab.
func (l *Info) add(e *tune.Entry) {
	alive := e.Owner.Alive()
	if !e.Group.Lasting {
		if alive {
			l.PIDs = append(l.PIDs, e.Owner.PID)
		}
		if l.State = StateStale; alive {
			l.State = StateRunning
		}
	}
	if n, ok := e.Netns(); ok {
		l.Namespaces = append(l.Namespaces, n.Name)
		if inode, err := inodeOf(n.Name); n.Inode != 0 && err == nil && inode == n.Inode {
			l.inodes = append(l.inodes, inode)
		} else {
			l.State = StateStale
		}
	}
	if p, ok := e.Private(); ok {
		l.Namespaces = append(l.Namespaces, p.Paths...)
		if alive { // else other namespaces may have the inodes by now
			l.inodes = append(l.inodes, p.Inodes...)
		}
	}
}

func inodeOf(netns string) (uint64, error) {
	ns, err := host.OpenNS(netns)
	if err != nil {
		return 0, err
	}
	defer ns.Close()
	return ns.Inode()
}

// IsOurs says whether a network namespace belongs to a lab that wirespeed made for this user: there it may change things
// without being asked. The name is as host.OpenNS takes it.
func IsOurs(netns string) bool {
	inode, err := inodeOf(netns)
	if err != nil {
		return false
	}
	j, err := tune.Open(tune.StateDir())
	if err != nil {
		return false
	}
	all, err := List(j)
	if err != nil {
		return false
	}
	return slices.ContainsFunc(all, func(l Info) bool { return slices.Contains(l.inodes, inode) })
}

// ErrNoLab: there is no lab of that name.
var ErrNoLab = errors.New("no such lab; `wirespeed lab list` shows those there are")

func find(j *tune.Journal, name string) (Info, error) {
	all, err := List(j)
	if err != nil {
		return Info{}, err
	}
	for _, l := range all {
		if l.Name == name {
			return l, nil
		}
	}
	return Info{}, fmt.Errorf("lab %q: %w", name, ErrNoLab)
}

// Down removes a lab: the processes inside it first, then its namespaces, and what is left of a crashed one. It is an
// error while a demonstration's process runs.
func Down(j *tune.Journal, name string) (removed Info, err error) {
	l, err := find(j, name)
	if err != nil {
		return l, err
	}
	if l.State == StateRunning {
		return l, fmt.Errorf("%s: %w: process %d", l.Name, ErrRunning, l.PIDs[0])
	}
	if err := end(l.PIDs, l.inodes); err != nil {
		return l, fmt.Errorf("lab %s: %w", name, err)
	}
	results, err := j.UndoGroup(name)
	for _, r := range results {
		if r.State == tune.Failed {
			err = errors.Join(err, fmt.Errorf("lab %s: %s: %s", name, r.What, r.Problem))
		}
	}
	return l, err
}

// ErrRunning: a demonstration is taken down by ending its process.
var ErrRunning = errors.New("this demonstration is running; end it with Ctrl-C or by ending its process")

// DownAll removes every lab but demonstrations that run, which it returns in kept.
func DownAll(j *tune.Journal) (removed, kept []Info, err error) {
	all, err := List(j)
	if err != nil {
		return nil, nil, err
	}
	for _, l := range all {
		gone, bad := Down(j, l.Name)
		switch {
		case errors.Is(bad, ErrRunning):
			kept = append(kept, gone)
		case bad != nil:
			err = errors.Join(err, bad)
		default:
			removed = append(removed, gone)
		}
	}
	return removed, kept, err
}
