package acceptance

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/wirespeed/wirespeed/internal/lab/labtest"
	"github.com/wirespeed/wirespeed/report"
)

// Bad input is refused in one clear sentence with what mends it, by a person's output and by the document, and nothing is
// sent.
func TestBadInput(t *testing.T) {
	p := pair(t, 1)
	down := pair(t, 1)
	inside(t, down.NSA, "ip", "link", "set", "va", "down")
	file := func(text string) string {
		path := filepath.Join(t.TempDir(), "stream.yaml")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	flags := func(more ...string) []string {
		return append([]string{"send", "packet:" + p.PortA, "--rx", p.PortB}, more...)
	}
	for _, c := range []struct {
		name string
		args []string
		exit int
		say  []string // words of the sentence and of the mend
	}{
		{"unknown port", []string{"send", "packet:nosuch@" + p.A}, 2, []string{"nosuch", "wirespeed ports"}},
		{"unknown namespace", []string{"send", "packet:va@t-accept-nosuch"}, 2, []string{"t-accept-nosuch", "ip netns list"}},
		{"unknown receive port", []string{"send", "packet:" + p.PortA, "--rx", "nosuch@" + p.B}, 2, []string{"nosuch", "wirespeed ports"}},
		{"unknown engine", []string{"send", "warp:" + p.PortA}, 1, []string{"warp", "packet"}},
		{"unknown option", []string{"send", "packet:" + p.PortA + "?colour=red"}, 1, []string{"colour", "qdisc"}},
		{"wrong option", []string{"send", "packet:" + p.PortA + "?qdisc=maybe"}, 1, []string{"maybe", "bypass"}},
		{"no port", []string{"send"}, 1, []string{"port"}},
		{"link down", []string{"send", "packet:" + down.PortA, "--dst-mac", "02:00:00:00:00:02"}, 2, []string{"is down", "link set", "up"}},
		{"link down, xdp", []string{"send", "xdp:" + down.PortA, "--dst-mac", "02:00:00:00:00:02"}, 2, []string{"is down", "link set", "up"}},
		{"no carrier", []string{"send", "packet:" + down.PortB, "--dst-mac", "02:00:00:00:00:02"}, 2, []string{"no carrier", "other end"}},
		{"no carrier, xdp", []string{"send", "xdp:" + down.PortB, "--dst-mac", "02:00:00:00:00:02"}, 2, []string{"no carrier", "other end"}},
		{"no carrier, any engine", []string{"send", down.PortB}, 2, []string{"no carrier", "other end"}},
		{"link down, any engine", []string{"send", down.PortA}, 2, []string{"is down", "link set", "up"}},
		{"receiver's link down", []string{"receive", "packet:" + down.PortB}, 2, []string{"no carrier", "other end"}},
		{"unknown flag", flags("--sizes", "64"), 1, []string{"--sizes", "--size"}},
		{"unknown key", flags("-f", file("streams:\n  - layers: [eth, ip, udp]\n    weigth: 3\n")), 1, []string{"stream.yaml:3:", "weigth", "weight"}},
		{"unknown header", flags("-f", file("streams:\n  - layers: [eth, ipv5]\n")), 1, []string{"stream.yaml:2:", "ipv5", "ip"}},
		{"all mistakes", flags("-f", file("streams:\n  - layers: [eth, {vlan: {id: 5000}}, ip]\n    weigth: 3\n")), 1, []string{"2 mistakes", "5000", "4095", "weigth"}},
		{"no file", flags("-f", "/nonexistent/stream.yaml"), 1, []string{"/nonexistent/stream.yaml"}},
		{"field out of range", flags("--ttl", "256"), 1, []string{"256", "255"}},
		{"port out of range", flags("--dst-port", "65536"), 1, []string{"65536", "65535"}},
		{"size smaller than the headers", flags("--size", "20"), 1, []string{"20", "64"}},
		{"size smaller than this stream's headers", flags("--size", "64", "--vlan", "1,2,3,4", "--proto", "tcp", "--src-ip", "2001:2::7"), 1, []string{"64"}},
		{"size above the MTU", flags("--size", "9000"), 2, []string{"9000", "1518"}},
		{"no room for a signature", flags("--size", "64", "--proto", "tcp", "--vlan", "1"), 1, []string{"signature", "--size"}},
		{"VLAN 5000", flags("--vlan", "5000"), 1, []string{"5000", "4095"}},
		{"MAC of five bytes", flags("--dst-mac", "02:00:00:00:00"), 1, []string{"02:00:00:00:00", "six"}},
		{"address", flags("--dst-ip", "198.18.0.300"), 1, []string{"198.18.0.300"}},
		{"rate above the line", []string{"send", "packet:" + p.PortA + "?speed=1G", "--rate", "2Mpps"}, 1, []string{"1488095", "line"}},
		{"rate above the line, in bit/s", []string{"send", "packet:" + p.PortA + "?speed=1G", "--rate", "1.1Gbps@L1"}, 1, []string{"line"}},
		{"% without a line", flags("--rate", "50%"), 1, []string{"%", "?speed="}},
		{"more than 100 %", []string{"send", "packet:" + p.PortA + "?speed=1G", "--rate", "101%"}, 1, []string{"101"}},
		{"rate 0", flags("--rate", "0pps"), 1, []string{"0pps"}},
		{"rate below 0", flags("--rate=-5pps"), 1, []string{"-5pps"}},
		{"rate below 0, a word of its own", flags("--rate", "-5pps"), 1, []string{"rate", "-5pps", "negative"}},
		{"gap 0", flags("--rate", "gap=0us"), 1, []string{"gap"}},
		{"count 0", flags("--count", "0"), 1, []string{"--count", "0"}},
		{"count below 0", flags("--count=-1"), 1, []string{"count", "-1"}},
		{"count below 0, a word of its own", flags("--count", "-1"), 1, []string{"--count", "-1", "1 or more"}},
		{"size 0", flags("--size", "0"), 1, []string{"0"}},
		{"size below 0", flags("--size=-64"), 1, []string{"-64"}},
		{"duration 0", flags("--duration", "0s"), 1, []string{"--duration", "0s"}},
		{"duration below 0", flags("--duration=-1s"), 1, []string{"duration", "-1s"}},
		{"duration without a unit", flags("--duration", "10"), 1, []string{"10", "10s"}},
		{"queues 0", flags("--queues", "0"), 1, []string{"--queues 0"}},
		{"queues below 0", flags("--queues=-1"), 1, []string{"queues", "-1"}},
		{"batch 0", flags("--batch", "0"), 1, []string{"--batch 0"}},
		{"batch below 0", flags("--batch=-1"), 1, []string{"batch", "-1"}},
		{"cores", flags("--cores", "0,1"), 1, []string{"cores"}},
		{"core that is not there", flags("--cores", "4000"), 2, []string{"4000"}},
		{"core below 0", flags("--cores=-1"), 1, []string{"-1"}},
		{"max-loss", flags("--max-loss", "150%"), 1, []string{"150%"}},
		{"max-loss without receiver", []string{"send", "packet:" + p.PortA, "--max-loss", "0"}, 1, []string{"--rx"}},
		{"forever and count", flags("--forever", "--count", "1"), 1, []string{"--forever"}},
		{"empty value", flags("--size", ""), 1, []string{"empty"}},
		{"receive for 0", []string{"receive", "packet:" + p.PortB, "--duration", "0s"}, 1, []string{"--duration"}},
		{"receive 0 frames", []string{"receive", "packet:" + p.PortB, "--count", "0"}, 1, []string{"--count"}},
		{"demo for 0", []string{"demo", "--duration", "0s"}, 1, []string{"--duration"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			before := [2]netCounts{procNetDev(t, p.NSA, "va"), procNetDev(t, down.NSA, "va")}
			r := run(t, append([]string{c.args[0], "--json"}, c.args[1:]...)...)
			e := refusal(t, r, c.exit)
			for _, s := range c.say {
				if !strings.Contains(e.Message+"\n"+e.Mend, s) {
					t.Errorf("nothing says %q: %+v", s, e)
				}
			}
			if strings.Count(e.Mend, "other end") > 1 {
				t.Errorf("said twice: %+v", e)
			}
			if t.Failed() {
				return
			}
			r = run(t, c.args...)
			r.wantExit(t, c.exit, "wirespeed: ")
			if r.stdout != "" {
				t.Errorf("on standard output: %s", r.stdout)
			}
			if now := [2]netCounts{procNetDev(t, p.NSA, "va"), procNetDev(t, down.NSA, "va")}; now != before {
				t.Errorf("frames left: %+v, before %+v", now, before)
			}
		})
	}
}

// refusal is the error of a document that says nothing else.
func refusal(t *testing.T, r *result, exit int) *report.Error {
	t.Helper()
	if r.exit != exit {
		t.Fatalf("status %d, want %d\n%s", r.exit, exit, r.all())
	}
	if r.doc == nil || r.doc.Error == nil || r.doc.Schema != "" {
		t.Fatalf("no error alone in the document: %s", r.all())
	}
	e := r.doc.Error
	if e.Code != exit || e.Message == "" {
		t.Errorf("%+v", e)
	}
	if e.Mend == "" && !saysHow(e.Message) {
		t.Errorf("nothing says what to do: %+v", e)
	}
	return e
}

// saysHow: the sentence itself names what is right, or a command.
func saysHow(message string) bool {
	for _, s := range []string{"; ", ": it is ", "write ", "give ", "`", "may run on", "raise the"} {
		if strings.Contains(message, s) {
			return true
		}
	}
	return false
}

// A port that carries the default route is not for tests by accident.
func TestLivePort(t *testing.T) {
	forEngines(t, func(t *testing.T, engine string, p *labtest.Pair) {
		addressed(t, p)
		inside(t, p.NSA, "ip", "route", "add", "default", "via", "192.0.2.2")
		r := run(t, "send", engine+p.PortA, "--rx", p.PortB, "--count", "10", "--json")
		if e := refusal(t, r, 1); !strings.Contains(e.Message, "default route") || !strings.Contains(e.Mend, "--allow-live-port") {
			t.Errorf("%+v", e)
		}
		run(t, "send", engine+p.PortA, "--rx", p.PortB, "--count", "10", "--allow-live-port", "--json").wantExit(t, 0)
	})
}
