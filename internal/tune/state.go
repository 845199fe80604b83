package tune

import (
	"fmt"
	"os"
	"path/filepath"
)

// StateDir is where this user's state lives: journal, labs, runs. Root's is /var/lib/wirespeed; the root of a user
// namespace that maps nobody else is the user outside.
func StateDir() string {
	uid, root := outerUser()
	if root {
		return "/var/lib/wirespeed"
	}
	if d := os.Getenv("XDG_STATE_HOME"); filepath.IsAbs(d) {
		return filepath.Join(d, "wirespeed")
	}
	if h := os.Getenv("HOME"); filepath.IsAbs(h) && writable(h) {
		return filepath.Join(h, ".local", "state", "wirespeed")
	}
	return fmt.Sprintf("/tmp/wirespeed-%d", uid)
}

// writable says whether something can be made in a directory: accounts of services have homes that do not exist.
func writable(dir string) bool {
	const wOK = 2
	return accessible(dir, wOK)
}

// outerUser is the user's id outside of a user namespace made for him alone, and whether he is root there.
func outerUser() (uid int, root bool) {
	uid = os.Geteuid()
	if uid != 0 {
		return uid, false
	}
	b, err := os.ReadFile("/proc/self/uid_map")
	if err != nil {
		return uid, true
	}
	var inside, outside, count int
	if n, _ := fmt.Sscan(string(b), &inside, &outside, &count); n == 3 && inside == 0 && count == 1 {
		return outside, false
	}
	return uid, true
}
