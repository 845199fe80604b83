package lab

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// processesByNetns lists the processes that may be looked at, by the inode of their main thread's network namespace.
func processesByNetns() (map[uint64][]int, error) {
	paths, err := filepath.Glob("/proc/[0-9]*/ns/net")
	if err != nil {
		return nil, fmt.Errorf("list processes: %w", err)
	}
	all := map[uint64][]int{}
	for _, path := range paths {
		pid, err := strconv.Atoi(strings.Split(path, "/")[2])
		if err != nil {
			continue
		}
		var st unix.Stat_t
		if unix.Stat(path, &st) == nil {
			all[st.Ino] = append(all[st.Ino], pid)
		}
	}
	return all, nil
}

// end ends processes that are in one of the namespaces: asked first, forced after two seconds. This process and those it
// comes from are spared: a shell inside the lab may take the lab down.
func end(pids []int, inodes []uint64) error {
	type victim struct{ pid, fd int }
	var victims []victim
	defer func() {
		for _, v := range victims {
			_ = unix.Close(v.fd)
		}
	}()
	spared := ancestors()
	for _, pid := range pids {
		if slices.Contains(spared, pid) {
			continue
		}
		fd, err := unix.PidfdOpen(pid, 0)
		if errors.Is(err, unix.ESRCH) {
			continue
		}
		if err != nil {
			return fmt.Errorf("end process %d: %w", pid, err)
		}
		victims = append(victims, victim{pid, fd})
		// Asked only now: with the descriptor in hand the number can no longer become another process's.
		var st unix.Stat_t
		if unix.Stat(fmt.Sprintf("/proc/%d/ns/net", pid), &st) != nil || !slices.Contains(inodes, st.Ino) {
			victims = victims[:len(victims)-1]
			_ = unix.Close(fd)
		}
	}
	for _, signal := range []unix.Signal{unix.SIGTERM, unix.SIGKILL} {
		for _, v := range victims {
			if err := unix.PidfdSendSignal(v.fd, signal, nil, 0); err != nil && !errors.Is(err, unix.ESRCH) {
				return fmt.Errorf("end process %d: %w", v.pid, err)
			}
		}
		deadline := time.Now().Add(2 * time.Second)
		for _, v := range victims {
			waitExit(v.fd, time.Until(deadline))
		}
	}
	return nil
}

// waitExit waits until the process of a pidfd has ended, or the time is over.
func waitExit(fd int, d time.Duration) {
	for deadline := time.Now().Add(d); ; {
		ms := max(0, int(time.Until(deadline).Milliseconds()))
		_, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, ms)
		if !errors.Is(err, unix.EINTR) {
			return
		}
	}
}

// ancestors are this process and those it comes from.
func ancestors() (pids []int) {
	for pid := os.Getpid(); pid > 0 && !slices.Contains(pids, pid); {
		pids = append(pids, pid)
		b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if err != nil {
			break
		}
		// Behind the name in parentheses: state, parent (proc_pid_stat(5)).
		f := strings.Fields(string(b[strings.LastIndexByte(string(b), ')')+1:]))
		if len(f) < 2 {
			break
		}
		if pid, err = strconv.Atoi(f[1]); err != nil {
			break
		}
	}
	return pids
}
