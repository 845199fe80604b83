package host

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Machine is what results say of where they were measured.
type Machine struct {
	Kernel string // release, as uname -r
	CPU    string // model; empty where the kernel does not say
	Cores  int    // CPUs online, hyperthreads counted
}

// Facts reads what there is to say of this machine. What cannot be read is left empty.
func Facts() Machine {
	m := Machine{CPU: cpuModel("/proc"), Cores: onlineCPUs("/sys")}
	var u unix.Utsname
	if unix.Uname(&u) == nil {
		m.Kernel = text(u.Release[:])
	}
	return m
}

// cpuModel is the first model name below the given procfs; Arm's kernels give none.
func cpuModel(proc string) string {
	b, err := os.ReadFile(filepath.Join(proc, "cpuinfo"))
	if err != nil {
		return ""
	}
	for s := bufio.NewScanner(bytes.NewReader(b)); s.Scan(); {
		if key, value, ok := strings.Cut(s.Text(), ":"); ok && strings.TrimSpace(key) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

func onlineCPUs(sys string) int {
	b, err := os.ReadFile(filepath.Join(sys, "devices/system/cpu/online"))
	if err != nil {
		return 0
	}
	list, err := ParseCPUs(strings.TrimSpace(string(b)))
	if err != nil {
		return 0
	}
	return len(list)
}

// CPUs are those that this process may run on, ascending. Threads pinned by us are a part of it, so all are asked.
func CPUs() ([]int, error) {
	tasks, err := os.ReadDir("/proc/self/task")
	if err != nil {
		return nil, fmt.Errorf("threads of this process: %w", err)
	}
	var all [maxCPUs]bool
	for _, t := range tasks {
		var set unix.CPUSet
		tid, err := strconv.Atoi(t.Name())
		if err != nil || unix.SchedGetaffinity(tid, &set) != nil {
			continue // the thread has ended
		}
		for i := range all {
			all[i] = all[i] || set.IsSet(i)
		}
	}
	var list []int
	for i, ok := range all {
		if ok {
			list = append(list, i)
		}
	}
	return list, nil
}

// maxCPUs is what unix.CPUSet holds.
const maxCPUs = 1024

// ParseCPUs reads the kernel's form of a CPU list: "0-3,5", each number 0 to 8191.
func ParseCPUs(s string) ([]int, error) {
	const most = 8191
	var list []int
	for part := range strings.SplitSeq(s, ",") {
		low, high, isRange := strings.Cut(part, "-")
		a, err := strconv.Atoi(low)
		b := a
		if err == nil && isRange {
			b, err = strconv.Atoi(high)
		}
		if err != nil || a < 0 || b < a || b > most {
			return nil, fmt.Errorf("%q is no list of CPUs: write numbers and ranges such as 0-3,5", s)
		}
		for i := a; i <= b; i++ {
			list = append(list, i)
		}
	}
	return list, nil
}

// Monotonic is CLOCK_MONOTONIC in ns: the clock of schedules, and of bpf_ktime_get_ns.
func Monotonic() int64 {
	var ts unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts) // fails for unknown clocks only
	return ts.Nano()
}
