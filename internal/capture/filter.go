package capture

import (
	"fmt"
	"strconv"
	"strings"
)

// An Instruction is one of a socket filter: struct sock_filter of linux/filter.h.
type Instruction struct {
	Code   uint16
	Jt, Jf uint8
	K      uint32
}

// MaxInstructions is what the kernel takes (BPF_MAXINSNS).
const MaxInstructions = 4096

// Classes and opcodes of instructions that matter here: linux/bpf_common.h.
const (
	classMask = 0x07
	classJump = 0x05
	classRet  = 0x06
	opMask    = 0xf0
	opAlways  = 0x00 // of classJump: K is the distance
	retK      = 0x06 // the whole code: return K
)

// keepAll is the result of a filter that keeps the whole frame.
const keepAll = 1<<32 - 1

// ParseFilter reads what `tcpdump -ddd EXPRESSION` prints: the number of instructions, then one instruction of four numbers
// on each line; commas may stand for the line ends. Jumps have to stay inside, as the kernel wants them. A filter also says
// how many bytes of a frame to keep; here it only chooses: a frame that it takes is kept whole.
func ParseFilter(text string) ([]Instruction, error) {
	lines := strings.FieldsFunc(text, func(r rune) bool { return r == '\n' || r == ',' || r == '\r' })
	for len(lines) > 0 && strings.TrimSpace(lines[len(lines)-1]) == "" {
		lines = lines[:len(lines)-1]
	}
	if len(lines) == 0 {
		return nil, fmt.Errorf("the filter is empty")
	}
	n, err := strconv.ParseUint(strings.TrimSpace(lines[0]), 10, 32)
	switch {
	case err != nil:
		return nil, fmt.Errorf("the filter begins with %q, not with the number of its instructions", short(lines[0]))
	case n == 0 || n > MaxInstructions:
		return nil, fmt.Errorf("the filter says that it has %d instructions: it has 1 to %d", n, MaxInstructions)
	case int(n) != len(lines)-1:
		return nil, fmt.Errorf("the filter says that it has %d instructions, and has %d", n, len(lines)-1)
	}
	filter := make([]Instruction, n)
	for i := range filter {
		if filter[i], err = parseInstruction(lines[i+1]); err != nil {
			return nil, fmt.Errorf("instruction %d of the filter: %w", i, err)
		}
		if err := filter[i].check(len(filter) - i - 1); err != nil {
			return nil, fmt.Errorf("instruction %d of the filter: %w", i, err)
		}
		if filter[i].Code == retK && filter[i].K != 0 {
			filter[i].K = keepAll
		}
	}
	if filter[n-1].Code&classMask != classRet {
		return nil, fmt.Errorf("the last instruction of the filter does not end it: is all of it there?")
	}
	return filter, nil
}

func parseInstruction(line string) (in Instruction, err error) {
	words := strings.Fields(line)
	if len(words) != 4 {
		return in, fmt.Errorf("%q is not four numbers", short(line))
	}
	var n [4]uint64
	for i, bits := range [4]int{16, 8, 8, 32} {
		if n[i], err = strconv.ParseUint(words[i], 10, bits); err != nil {
			return in, fmt.Errorf("%q is no number from 0 to %d", short(words[i]), uint64(1)<<bits-1)
		}
	}
	return Instruction{uint16(n[0]), uint8(n[1]), uint8(n[2]), uint32(n[3])}, nil
}

// check refuses jumps beyond the end, of which the kernel only says EINVAL. behind is the number of instructions behind.
func (in Instruction) check(behind int) error {
	if in.Code&classMask != classJump {
		return nil
	}
	far := uint64(max(in.Jt, in.Jf))
	if in.Code&opMask == opAlways {
		far = uint64(in.K)
	}
	if far >= uint64(behind) {
		return fmt.Errorf("it jumps %d instructions on, and %d are left", far, behind)
	}
	return nil
}

// short keeps messages to one line.
func short(s string) string {
	const most = 40
	if s = strings.TrimSpace(s); len(s) > most {
		return s[:most] + "..."
	}
	return s
}
