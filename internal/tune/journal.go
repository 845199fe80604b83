package tune

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/wirespeed/wirespeed/internal/engine"
	"github.com/wirespeed/wirespeed/internal/host"
)

// Journal keeps the changes of all processes of a user that are not undone yet: one file for each, under a lock of the
// folder while any is made or undone.
type Journal struct {
	dir   string
	group *Group
}

// Open opens the journal in a state folder, which is made where it is missing.
func Open(dir string) (*Journal, error) {
	path := filepath.Join(dir, "journal")
	if err := os.MkdirAll(path, 0o700); err != nil {
		return nil, fmt.Errorf("journal of host changes: %w; XDG_STATE_HOME names another folder", err)
	}
	var st unix.Stat_t
	if err := unix.Stat(path, &st); err != nil {
		return nil, fmt.Errorf("journal of host changes: %s: %w", path, err)
	}
	// /tmp is everybody's: what another one writes there must not be undone in our name.
	if int(st.Uid) != os.Geteuid() || st.Mode&0o022 != 0 {
		return nil, fmt.Errorf("journal of host changes: %s belongs to another user or may be written by others; XDG_STATE_HOME names another folder", path)
	}
	return &Journal{dir: path}, nil
}

// In returns the same journal for changes that belong to a group.
func (j *Journal) In(g Group) *Journal { return &Journal{dir: j.dir, group: &g} }

// Do writes the change down, makes it, and returns its undo, which may be called more than once and from any goroutine.
func (j *Journal) Do(c engine.Change) (undo func() error, err error) {
	known, ok := c.(change)
	if !ok {
		return nil, fmt.Errorf("%s: no change that the journal knows", c.Describe())
	}
	self, err := Self()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", c.Describe(), err)
	}
	e := &Entry{Owner: self, Group: j.group, What: c.Describe()}
	err = j.locked(func() error {
		if e.change, err = known.prepare(); err != nil {
			return fmt.Errorf("%s: %w", e.What, err)
		}
		if err := j.add(e); err != nil {
			return err
		}
		applied, err := e.change.apply()
		if err != nil {
			return errors.Join(err, j.remove(e.ID))
		}
		e.change = applied
		return j.write(e)
	})
	if err != nil {
		return nil, err
	}
	var mu sync.Mutex
	return func() error {
		mu.Lock()
		defer mu.Unlock()
		return j.undo(e.ID)
	}, nil
}

// undo reverts one entry. One that is no longer there has been undone.
func (j *Journal) undo(id string) error {
	return j.locked(func() error {
		all, _, err := j.load()
		if err != nil {
			return err
		}
		for _, e := range all {
			if e.ID == id {
				return j.revert(e, all)
			}
		}
		return nil
	})
}

// revert undoes an entry and removes it. Where a later entry changed the same thing to the same effect, that one inherits
// what there was before, and undoes both.
func (j *Journal) revert(e *Entry, all []*Entry) error {
	for _, later := range all {
		if later.ID > e.ID && e.key() != "" && later.key() == e.key() {
			later.change = later.over(e.change)
			if err := j.write(later); err != nil {
				return err
			}
			return j.remove(e.ID)
		}
	}
	if err := e.revert(); err != nil {
		return fmt.Errorf("undo %s: %w", e.What, err)
	}
	return j.remove(e.ID)
}

// Result is what became of one entry.
type Result struct {
	ID      string `json:"id"`
	What    string `json:"what"`
	PID     int    `json:"pid"` // of the process that made the change
	State   string `json:"state"`
	Problem string `json:"problem,omitempty"`
}

// States of a Result.
const (
	Undone = "undone"
	Living = "living" // its process still runs: left alone
	Gone   = "gone"   // a reboot undid it
	Failed = "failed" // see Problem; the entry stays
)

// Restore undoes what processes left behind that no longer run, the latest change first, and with all also what belongs
// to running ones. Lasting groups are left alone, and not mentioned. Results are in the order of undoing.
func (j *Journal) Restore(all bool) ([]Result, error) {
	return j.undoWhere(func(e *Entry) bool { return e.Group == nil || !e.Group.Lasting }, all)
}

// UndoGroup undoes all entries of a group, whether its process runs or not.
func (j *Journal) UndoGroup(name string) ([]Result, error) {
	return j.undoWhere(func(e *Entry) bool { return e.Group != nil && e.Group.Name == name }, true)
}

func (j *Journal) undoWhere(chosen func(*Entry) bool, living bool) (results []Result, err error) {
	err = j.locked(func() error {
		all, bad, err := j.load()
		if err != nil {
			return err
		}
		results = bad
		boot, err := bootID()
		if err != nil {
			return err
		}
		for _, e := range slices.Backward(all) {
			if chosen(e) {
				results = append(results, j.settle(e, all, boot, living))
			}
		}
		return nil
	})
	return results, err
}

// settle undoes one entry where it may.
func (j *Journal) settle(e *Entry, all []*Entry, boot string, living bool) Result {
	r := Result{ID: e.ID, What: e.What, PID: e.Owner.PID, State: Undone}
	var err error
	switch {
	case e.Owner.Boot != boot:
		r.State = Gone
		err = j.remove(e.ID)
	case !living && e.Owner.Alive():
		r.State = Living
	default:
		err = j.revert(e, all)
	}
	if err != nil {
		r.State, r.Problem = Failed, err.Error()
	}
	return r
}

// Entries lists what is not undone, in the order of making. What cannot be read is in bad.
func (j *Journal) Entries() (all []*Entry, bad []Result, err error) {
	err = j.locked(func() (err error) {
		all, bad, err = j.load()
		return err
	})
	return all, bad, err
}

// Netns is the named namespace that the entry made.
func (e *Entry) Netns() (n Netns, ok bool) { n, ok = e.change.(Netns); return n, ok }

// Private are the namespaces without a name that the entry lists.
func (e *Entry) Private() (p Private, ok bool) { p, ok = e.change.(Private); return p, ok }

// locked runs f while no other process, or goroutine, is in the journal.
func (j *Journal) locked(f func() error) error {
	fd, err := unix.Open(filepath.Join(j.dir, "lock"), unix.O_RDWR|unix.O_CREAT|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return fmt.Errorf("lock of the journal in %s: %w", j.dir, err)
	}
	defer unix.Close(fd) // gives the lock back
	for {
		if err = unix.Flock(fd, unix.LOCK_EX); !errors.Is(err, unix.EINTR) {
			break
		}
	}
	if err != nil {
		return fmt.Errorf("lock of the journal in %s: %w", j.dir, err)
	}
	return f()
}

// Names of entries, and what is behind the name of one that is being written.
const (
	suffix     = ".json"
	unfinished = ".new"
)

// load reads all entries, oldest first, and removes what a writer left that was killed. The caller holds the lock.
func (j *Journal) load() (all []*Entry, bad []Result, err error) {
	files, err := os.ReadDir(j.dir) // sorted by name
	if err != nil {
		return nil, nil, fmt.Errorf("journal: %w", err)
	}
	for _, f := range files {
		path := filepath.Join(j.dir, f.Name())
		if strings.HasSuffix(f.Name(), suffix+unfinished) { // whoever wrote it had the lock, and is dead
			_ = os.Remove(path)
			continue
		}
		id, ok := strings.CutSuffix(f.Name(), suffix)
		if !ok || !f.Type().IsRegular() { // opening a pipe would wait for ever
			continue
		}
		b, err := os.ReadFile(path)
		if err == nil {
			var e *Entry
			if e, err = decodeEntry(id, b); err == nil {
				all = append(all, e)
				continue
			}
		}
		bad = append(bad, Result{ID: id, What: "unreadable entry", State: Failed, Problem: fmt.Sprintf("%v; undo by hand what it says, then delete %s", err, path)})
	}
	return all, bad, nil
}

// add gives the entry a name later than all before on this boot, and writes it.
func (j *Journal) add(e *Entry) error {
	e.ID = fmt.Sprintf("%020d-%d", host.Monotonic(), e.Owner.PID)
	return j.write(e)
}

// write puts the entry on disk, whole or not at all, and returns when it is there.
func (j *Journal) write(e *Entry) error {
	b, err := e.encode()
	if err != nil {
		return err
	}
	path := filepath.Join(j.dir, e.ID+suffix)
	if old, err := os.ReadFile(path); err == nil && bytes.Equal(old, b) {
		return nil
	}
	tmp := path + unfinished
	if err := writeSynced(tmp, b); err != nil {
		return fmt.Errorf("journal entry: %w", err)
	}
	if err := os.Rename(tmp, path); err != nil {
		return fmt.Errorf("journal entry: %w", err)
	}
	return j.syncDir()
}

func writeSynced(path string, b []byte) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(b)
	return errors.Join(err, f.Sync(), f.Close())
}

func (j *Journal) remove(id string) error {
	err := os.Remove(filepath.Join(j.dir, id+suffix))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("journal entry: %w", err)
	}
	return j.syncDir()
}

func (j *Journal) syncDir() error {
	d, err := os.Open(j.dir)
	if err != nil {
		return fmt.Errorf("journal: %w", err)
	}
	err = d.Sync()
	if errors.Is(err, unix.EINVAL) { // file systems without it
		err = nil
	}
	return errors.Join(err, d.Close())
}
