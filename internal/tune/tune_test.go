package tune

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sys/unix"
)

func open(t *testing.T) (*Journal, string) {
	t.Helper()
	dir := t.TempDir()
	j, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	return j, dir
}

func pending(t *testing.T, j *Journal) int {
	t.Helper()
	all, bad, err := j.Entries()
	if err != nil {
		t.Fatal(err)
	}
	return len(all) + len(bad)
}

func TestParseStat(t *testing.T) {
	line := "42 (a) b ) c) S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 777 20 21\n"
	if start, err := parseStat([]byte(line)); start != 777 || err != nil {
		t.Errorf("%d, %v; want 777", start, err)
	}
	if _, err := parseStat([]byte(strings.Replace(line, " S ", " Z ", 1))); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a zombie has ended: %v", err)
	}
	for _, bad := range []string{"", "1 (x", "1 (x) S 1 2", "1 (x) S" + strings.Repeat(" y", 30)} {
		if _, err := parseStat([]byte(bad)); err == nil {
			t.Errorf("%q is read", bad)
		}
	}
}

func TestOwner(t *testing.T) {
	self, err := Self()
	if err != nil || !self.Alive() {
		t.Fatalf("%+v, %v; this process is alive", self, err)
	}
	for _, o := range []Owner{{self.PID, self.Start + 1, self.Boot}, {self.PID, self.Start, "another boot"}, {0, 0, self.Boot}} {
		if o.Alive() {
			t.Errorf("%+v is alive", o)
		}
	}
}

func TestStateDir(t *testing.T) {
	_, root := outerUser()
	t.Setenv("XDG_STATE_HOME", "/some/where")
	want := "/some/where/wirespeed"
	if root {
		want = "/var/lib/wirespeed"
	}
	if got := StateDir(); got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

func TestJournalRefusesAFolderOthersMayWrite(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "journal"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(filepath.Join(dir, "journal"), 0o777); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(dir); err == nil {
		t.Error("opened")
	}
}

func TestUndoMoreThanOnceAndAtOnce(t *testing.T) {
	j, _ := open(t)
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() {
			undo, err := j.Do(Private{Paths: []string{"/proc/1/ns/net"}, Inodes: []uint64{1}})
			if err != nil {
				t.Error(err)
				return
			}
			for range 2 {
				wg.Go(func() {
					if err := undo(); err != nil {
						t.Error(err)
					}
				})
			}
		})
	}
	wg.Wait()
	if n := pending(t, j); n != 0 {
		t.Errorf("%d entries left", n)
	}
}

// rewrite changes the one entry on disk.
func rewrite(t *testing.T, dir string, f func([]byte) []byte) {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(dir, "journal", "*"+suffix))
	if err != nil || len(paths) != 1 {
		t.Fatalf("%v, %v; want one entry", paths, err)
	}
	b, err := os.ReadFile(paths[0])
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(paths[0], f(b), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestRestoreTellsLivingDeadAndBroken(t *testing.T) {
	self, err := Self()
	if err != nil {
		t.Fatal(err)
	}
	for want, f := range map[string]func([]byte) []byte{
		Living: func(b []byte) []byte { return b },
		Undone: func(b []byte) []byte { return bytes.Replace(b, []byte(`"start": `), []byte(`"start": 1`), 1) },
		Gone:   func(b []byte) []byte { return bytes.Replace(b, []byte(self.Boot), []byte("before"), 1) },
		Failed: func(b []byte) []byte { return b[:len(b)/2] },
	} {
		j, dir := open(t)
		if _, err := j.Do(Private{}); err != nil {
			t.Fatal(err)
		}
		rewrite(t, dir, f)
		r, err := j.Restore(false)
		if err != nil || len(r) != 1 || r[0].State != want {
			t.Errorf("%+v, %v; want %s", r, err, want)
		}
		left := 0
		if want == Living || want == Failed {
			left = 1
		}
		if n := pending(t, j); n != left {
			t.Errorf("%s: %d entries left, want %d", want, n, left)
		}
	}
}

func TestRestoreLeavesLastingGroupsAlone(t *testing.T) {
	j, dir := open(t)
	g := Group{Kind: "pair", Name: "x", Lasting: true}
	if _, err := j.In(g).Do(Private{}); err != nil {
		t.Fatal(err)
	}
	rewrite(t, dir, func(b []byte) []byte { return bytes.Replace(b, []byte(`"start": `), []byte(`"start": 1`), 1) })
	if r, err := j.Restore(true); err != nil || len(r) != 0 {
		t.Errorf("%+v, %v; want nothing", r, err)
	}
	if r, err := j.UndoGroup("y"); err != nil || len(r) != 0 {
		t.Errorf("another group: %+v, %v", r, err)
	}
	if r, err := j.UndoGroup("x"); err != nil || len(r) != 1 || r[0].State != Undone {
		t.Errorf("%+v, %v; want one undone", r, err)
	}
}

type foreign struct{}

func (foreign) Describe() string { return "something else" }

func TestDoRefusesWhatItDoesNotKnow(t *testing.T) {
	j, _ := open(t)
	if _, err := j.Do(foreign{}); err == nil {
		t.Error("done")
	}
	if _, err := j.Do(Netns{Name: "a/b"}); err == nil {
		t.Error("a namespace a/b is made")
	}
	if _, err := j.Do(GRO{Device: Device{Device: "t-host-nosuch"}}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("missing device: %v", err)
	}
	if n := pending(t, j); n != 0 {
		t.Errorf("%d entries left by refused changes", n)
	}
}

func FuzzEntry(f *testing.F) {
	self := Owner{PID: 1, Start: 2, Boot: "b"}
	dev := Device{Netns: "n", Device: "d", Index: 3, Inode: 4}
	for _, c := range []change{GRO{Device: dev, On: true}, MTU{Device: dev, MTU: 9000}, LinkUp{Device: dev}, Netns{Name: "n"}, XDPAttach{Device: dev, Program: "p"}, Private{Paths: []string{"p"}}} {
		e := Entry{Owner: self, Group: &Group{Kind: "pair", Name: "x"}, What: c.Describe(), change: c}
		b, err := e.encode()
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		e, err := decodeEntry("id", b)
		if err != nil {
			return
		}
		once, err := e.encode()
		if err != nil {
			t.Fatal(err)
		}
		again, err := decodeEntry("id", once)
		if err != nil {
			t.Fatalf("our own form is refused: %v", err)
		}
		twice, err := again.encode()
		if err != nil || !bytes.Equal(once, twice) {
			t.Fatalf("%s\n%s, %v", once, twice, err)
		}
	})
}

// A writer that was killed leaves a half of an entry: it goes. A pipe under an entry's name would be waited on for ever.
func TestEntriesRemovesWhatAKilledWriterLeft(t *testing.T) {
	j, dir := open(t)
	half := filepath.Join(dir, "journal", "00000000000000000001-1.json.new")
	if err := os.WriteFile(half, []byte(`{"wh`), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mkfifo(filepath.Join(dir, "journal", "00000000000000000002-2.json"), 0o600); err != nil {
		t.Fatal(err)
	}
	if n := pending(t, j); n != 0 {
		t.Errorf("%d entries", n)
	}
	if _, err := os.Stat(half); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the half is still there: %v", err)
	}
}
