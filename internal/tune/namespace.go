package tune

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/wirespeed/wirespeed/internal/host"
)

// Netns makes a named network namespace.
type Netns struct {
	Name  string `json:"name"`
	Inode uint64 `json:"inode"` // filled in by the journal; 0: not known to be made
}

// Describe is for the journal and the user.
func (c Netns) Describe() string { return "network namespace " + c.Name }
func (Netns) kind() string       { return "netns" }
func (Netns) key() string        { return "" }

func (c Netns) prepare() (change, error) {
	if err := checkNetnsName(c.Name); err != nil {
		return c, err
	}
	if _, err := os.Lstat(host.NetnsDir + "/" + c.Name); err == nil {
		return c, takenName(c.Name)
	}
	c.Inode = 0
	return c, nil
}

func (c Netns) apply() (change, error) {
	if err := CreateNetns(c.Name); err != nil {
		return c, err
	}
	inode, err := netnsInode(c.Name)
	if err != nil {
		return c, errors.Join(err, DeleteNetns(c.Name))
	}
	c.Inode = inode
	return c, nil
}

// revert leaves alone a namespace that got the name after ours was deleted.
func (c Netns) revert() error {
	if c.Inode != 0 {
		inode, err := netnsInode(c.Name)
		if errors.Is(err, fs.ErrNotExist) || err == nil && inode != c.Inode {
			return nil
		}
	}
	return DeleteNetns(c.Name)
}

func (c Netns) over(change) change { return c }

func netnsInode(name string) (uint64, error) {
	ns, err := host.OpenNS(name)
	if err != nil {
		return 0, err
	}
	defer ns.Close()
	return ns.Inode()
}

// Private notes namespaces without a name, which end with their process: there is nothing to undo, but something to list.
type Private struct {
	Paths  []string `json:"paths"`  // as host.OpenNS takes them in any process
	Inodes []uint64 `json:"inodes"` // of each
}

// Describe is for the journal and the user.
func (c Private) Describe() string {
	return fmt.Sprintf("%d private network namespaces, which end with their process", len(c.Paths))
}
func (Private) kind() string               { return "private" }
func (Private) key() string                { return "" }
func (c Private) prepare() (change, error) { return c, nil }
func (c Private) apply() (change, error)   { return c, nil }
func (Private) revert() error              { return nil }
func (c Private) over(change) change       { return c }
