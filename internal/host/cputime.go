package host

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"
)

// CPUTime is what a core has done since boot, in the kernel's clock ticks (10 ms; proc_stat(5)).
type CPUTime struct {
	User, System, SoftIRQ, IRQ, Idle, Steal uint64
}

// Sub is what has been done since an earlier reading.
func (t CPUTime) Sub(o CPUTime) CPUTime {
	return CPUTime{
		User: t.User - o.User, System: t.System - o.System, SoftIRQ: t.SoftIRQ - o.SoftIRQ,
		IRQ: t.IRQ - o.IRQ, Idle: t.Idle - o.Idle, Steal: t.Steal - o.Steal,
	}
}

// Total is all ticks, idle ones too.
func (t CPUTime) Total() uint64 { return t.User + t.System + t.SoftIRQ + t.IRQ + t.Idle + t.Steal }

// Busy is the share of the time that was not idle, 0 to 1; 0 where no time passed.
func (t CPUTime) Busy() float64 {
	if t.Total() == 0 {
		return 0
	}
	return 1 - float64(t.Idle)/float64(t.Total())
}

// CPUTimes reads the times of every core that is online, by core number.
func CPUTimes() (map[int]CPUTime, error) {
	b, err := os.ReadFile("/proc/stat")
	if err != nil {
		return nil, fmt.Errorf("processor times: %w", err)
	}
	return parseCPUTimes(b), nil
}

func parseCPUTimes(stat []byte) map[int]CPUTime {
	out := map[int]CPUTime{}
	for s := bufio.NewScanner(bytes.NewReader(stat)); s.Scan(); {
		f := strings.Fields(s.Text())
		if len(f) < 9 || !strings.HasPrefix(f[0], "cpu") || f[0] == "cpu" {
			continue
		}
		core, err := strconv.Atoi(f[0][3:])
		if err != nil {
			continue
		}
		var v [8]uint64 // user nice system idle iowait irq softirq steal
		for i := range v {
			v[i], _ = strconv.ParseUint(f[i+1], 10, 64)
		}
		out[core] = CPUTime{User: v[0] + v[1], System: v[2], Idle: v[3] + v[4], IRQ: v[5], SoftIRQ: v[6], Steal: v[7]}
	}
	return out
}
