package capture

import (
	"fmt"
	"os/exec"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/wirespeed/wirespeed/internal/lab/need"
)

func TestParseFilter(t *testing.T) {
	want := []Instruction{{40, 0, 0, 12}, {21, 0, 1, 2054}, {6, 0, 0, keepAll}, {6, 0, 0, 0}}
	for _, text := range []string{
		"4\n40 0 0 12\n21 0 1 2054\n6 0 0 262144\n6 0 0 0\n",
		"4\r\n40 0 0 12\r\n21 0 1 2054\r\n6 0 0 96\r\n6 0 0 0",
		"4,40 0 0 12,21 0 1 2054,6 0 0 262144,6 0 0 0,",
	} {
		got, err := ParseFilter(text)
		if err != nil || fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%q: %v, %v", text, got, err)
		}
	}
}

func TestParseFilterRefuses(t *testing.T) {
	for text, why := range map[string]string{
		"":                             "empty",
		" \n \n":                       "empty",
		"udp port 9":                   "begins with",
		"-1\n6 0 0 0":                  "begins with",
		"0\n":                          "1 to 4096",
		"4097\n6 0 0 0":                "1 to 4096",
		"2\n6 0 0 0":                   "says that it has 2",
		"1\n6 0 0 0\n6 0 0 0":          "says that it has 1",
		"1\n6 0 0":                     "four numbers",
		"1\n6 0 0 0 0":                 "four numbers",
		"1\n65536 0 0 0":               "0 to 65535",
		"1\n6 256 0 0":                 "0 to 255",
		"1\n6 0 -1 0":                  "0 to 255",
		"1\n6 0 0 4294967296":          "0 to 4294967295",
		"1\n6 0 0 0x10":                "0 to 4294967295",
		"1\n40 0 0 12":                 "does not end it",
		"2\n21 0 1 5\n6 0 0 0":         "jumps 1",
		"2\n5 0 0 1\n6 0 0 0":          "jumps 1",
		"2\n5 0 0 4294967295\n6 0 0 0": "jumps 4294967295",
	} {
		if _, err := ParseFilter(text); err == nil || !strings.Contains(err.Error(), why) {
			t.Errorf("%q: %v, want %q", text, err, why)
		}
	}
}

// TestParseFilterOfTcpdump reads what tcpdump really prints, and runs it.
func TestParseFilterOfTcpdump(t *testing.T) {
	need.Root(t)
	tcpdump := need.Tool(t, "tcpdump")
	arp := append(make([]byte, 12), 8, 6)
	arp = append(arp, make([]byte, 46)...)
	other := append(make([]byte, 12), 8, 0)
	other = append(other, make([]byte, 46)...)
	out, err := exec.Command(tcpdump, "-ddd", "-y", "EN10MB", "arp").Output()
	if err != nil {
		t.Fatal(err)
	}
	filter, err := ParseFilter(string(out))
	if err != nil {
		t.Fatal(err)
	}
	if got := filtered(t, filter, arp, other); len(got) != 1 || len(got[0]) != len(arp) || got[0][13] != 6 {
		t.Errorf("%d datagrams passed: % x", len(got), got)
	}
}

// filtered are the datagrams that the kernel lets through the filter: a local socket has filters too.
func filtered(t *testing.T, filter []Instruction, datagrams ...[]byte) (got [][]byte) {
	t.Helper()
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(pair[0])
	defer unix.Close(pair[1])
	var raw []unix.SockFilter
	for _, in := range filter {
		raw = append(raw, unix.SockFilter(in))
	}
	if err := unix.SetsockoptSockFprog(pair[1], unix.SOL_SOCKET, unix.SO_ATTACH_FILTER, &unix.SockFprog{Len: uint16(len(raw)), Filter: &raw[0]}); err != nil {
		t.Fatal(err)
	}
	for _, d := range datagrams {
		if _, err := unix.Write(pair[0], d); err != nil && err != unix.EPERM {
			t.Fatal(err)
		}
	}
	for {
		b := make([]byte, 2048)
		n, err := unix.Read(pair[1], b)
		if err != nil {
			return got
		}
		got = append(got, b[:n])
	}
}

func FuzzParseFilter(f *testing.F) {
	f.Add("4\n40 0 0 12\n21 0 1 2054\n6 0 0 262144\n6 0 0 0\n")
	f.Add("1,6 0 0 0")
	f.Add("99999999999\n")
	f.Fuzz(func(t *testing.T, text string) {
		filter, err := ParseFilter(text)
		if err != nil {
			if strings.Contains(err.Error(), "\n") {
				t.Errorf("%q: more than a line", err)
			}
			return
		}
		if len(filter) == 0 || len(filter) > MaxInstructions {
			t.Errorf("%d instructions", len(filter))
		}
		// What was read is read again from what it prints as.
		again := fmt.Sprintln(len(filter))
		for _, in := range filter {
			again += fmt.Sprintln(in.Code, in.Jt, in.Jf, in.K)
		}
		if two, err := ParseFilter(again); err != nil || fmt.Sprint(two) != fmt.Sprint(filter) {
			t.Errorf("%v, %v", two, err)
		}
	})
}
