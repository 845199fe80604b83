package tune

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Owner identifies a process beyond the reuse of its number, on this boot of this machine.
type Owner struct {
	PID   int    `json:"pid"`
	Start uint64 `json:"start"` // clock ticks after boot (proc_pid_stat(5), field 22)
	Boot  string `json:"boot"`  // /proc/sys/kernel/random/boot_id
}

// Self is this process.
func Self() (Owner, error) {
	boot, err := bootID()
	if err != nil {
		return Owner{}, err
	}
	start, err := startOf(os.Getpid())
	if err != nil {
		return Owner{}, err
	}
	return Owner{PID: os.Getpid(), Start: start, Boot: boot}, nil
}

// Alive says whether the process still runs.
func (o Owner) Alive() bool {
	boot, err := bootID()
	if err != nil || boot != o.Boot {
		return false
	}
	start, err := startOf(o.PID)
	return err == nil && start == o.Start
}

func bootID() (string, error) {
	b, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return "", fmt.Errorf("boot id: %w", err)
	}
	return strings.TrimSpace(string(b)), nil
}

// startOf reads when a process started. A zombie counts as ended: its descriptors are closed.
func startOf(pid int) (uint64, error) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if errors.Is(err, unix.ESRCH) {
		err = fs.ErrNotExist
	}
	if err != nil {
		return 0, fmt.Errorf("process %d: %w", pid, err)
	}
	return parseStat(b)
}

// parseStat takes field 22 of /proc/PID/stat. The command's name, field 2, may hold spaces and parentheses.
func parseStat(b []byte) (start uint64, err error) {
	i := bytes.LastIndexByte(b, ')')
	if i < 0 {
		return 0, errors.New("/proc/PID/stat without a name in parentheses")
	}
	f := strings.Fields(string(b[i+1:]))
	const state, startTime = 0, 19 // fields 3 and 22
	if len(f) <= startTime {
		return 0, fmt.Errorf("/proc/PID/stat with %d fields", len(f)+2)
	}
	if f[state] == "Z" || f[state] == "X" {
		return 0, fmt.Errorf("process has ended: %w", fs.ErrNotExist)
	}
	start, err = strconv.ParseUint(f[startTime], 10, 64)
	if err != nil {
		return 0, fmt.Errorf("/proc/PID/stat: start time: %w", err)
	}
	return start, nil
}
