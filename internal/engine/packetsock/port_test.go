package packetsock

import (
	"context"
	"fmt"
	"net/url"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/vishvananda/netlink"

	"github.com/wirespeed/wirespeed/internal/engine"
	"github.com/wirespeed/wirespeed/internal/host"
	"github.com/wirespeed/wirespeed/internal/lab/labtest"
	"github.com/wirespeed/wirespeed/internal/lab/need"
	"github.com/wirespeed/wirespeed/internal/packet"
	"github.com/wirespeed/wirespeed/internal/program"
	"github.com/wirespeed/wirespeed/stream"
)

const patience = 20 * time.Second

func target(p *labtest.Pair, options string) engine.Target {
	v, _ := url.ParseQuery(options)
	return engine.Target{Device: p.DevA, Netns: p.A, Text: p.PortA, Options: v}
}

func config(notes *[]string) engine.Config {
	return engine.Config{Note: func(s string) { *notes = append(*notes, s) }}
}

func openPort(t *testing.T, p *labtest.Pair, options string) (port engine.Port, notes []string) {
	t.Helper()
	port, err := New().Open(context.Background(), target(p, options), config(&notes))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := port.Close(); err != nil {
			t.Error(err)
		}
	})
	return port, notes
}

func sized(t testing.TB, signature string, size int, kinds ...string) engine.Plan {
	t.Helper()
	set := stream.Default()
	s := &set.Streams[0]
	s.Size, s.Signature = stream.Sizes{Cycle: []int{size}}, signature
	for i, k := range kinds {
		s.Layers = append(s.Layers[:1+i], append([]stream.Layer{{Kind: packet.Lookup(k)}}, s.Layers[1+i:]...)...)
	}
	set.SetMACs([6]byte{2, 0, 0, 0, 0, 1}, [6]byte{2, 0, 0, 0, 0, 2})
	prog, err := program.Compile(set)
	if err != nil {
		t.Fatal(err)
	}
	return engine.Plan{Program: prog, Run: 9, Queues: 1}
}

// runPlan loads and runs, and returns the counters and how many frames the device sent.
func runPlan(t *testing.T, port engine.Port, p engine.Plan) (c engine.Counters, device uint64) {
	t.Helper()
	before, _, err := port.Device()
	if err != nil {
		t.Fatal(err)
	}
	if err := port.Load(p); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithTimeout(context.Background(), patience)
	defer stop()
	if err := port.Run(ctx); err != nil {
		t.Fatal(err)
	}
	if ctx.Err() != nil {
		t.Error("the run did not end by itself")
	}
	after, ok, _ := port.Device()
	if !ok {
		return port.Counters(), 0
	}
	return port.Counters(), after.TxFrames - before.TxFrames
}

func tc(t *testing.T, ns string, args ...string) {
	t.Helper()
	all := append([]string{"netns", "exec", ns, need.Tool(t, "tc")}, args...)
	if out, err := exec.Command(need.Tool(t, "ip"), all...).CombinedOutput(); err != nil {
		t.Fatalf("tc %v: %v: %s", args, err, out)
	}
}

// change does something to a device.
func change(t *testing.T, ns *host.NS, device string, do func(netlink.Link) error) {
	t.Helper()
	err := ns.Do(func() error {
		l, err := netlink.LinkByName(device)
		if err != nil {
			return err
		}
		return do(l)
	})
	if err != nil {
		t.Error(err)
	}
}

func TestThroughAQdiscNothingIsLost(t *testing.T) {
	p := labtest.TestPair(t, "t-packet", 1)
	tc(t, p.A, "qdisc", "add", "dev", "va", "root", "tbf", "rate", "10mbit", "burst", "2000", "limit", "20000")
	port, _ := openPort(t, p, "qdisc=use")
	plan := sized(t, "", 64)
	plan.Count = 2000
	c, device := runPlan(t, port, plan)
	if q := c.Queues[0]; q.Sent != 2000 || device != 2000 || c.Undrained != 0 || q.Backpressure == 0 || c.Reason != "" {
		t.Errorf("the device sent %d: %+v", device, c)
	}
}

func TestWhatStaysInTheQdiscIsUnsent(t *testing.T) {
	p := labtest.TestPair(t, "t-packet", 1)
	tc(t, p.A, "qdisc", "add", "dev", "va", "root", "tbf", "rate", "8kbit", "burst", "200", "limit", "100000")
	port, _ := openPort(t, p, "qdisc=use")
	plan := sized(t, "", 64)
	plan.Count = 200
	c, device := runPlan(t, port, plan)
	q := c.Queues[0]
	if q.Submitted != 200 || q.Sent >= 200 || c.Undrained != 200-q.Sent || !strings.Contains(c.Reason, "not drained") {
		t.Errorf("%+v", c)
	}
	if device < q.Sent || device > q.Sent+20 { // it goes on
		t.Errorf("counted %d sent, the device %d", q.Sent, device)
	}
	// The next run's frames wait behind those that stayed: what leaves meanwhile is not its own.
	plan.Count = 10
	c, device = runPlan(t, port, plan)
	if q := c.Queues[0]; q.Submitted != 10 || q.Sent != 0 || c.Undrained != 10 || device == 0 {
		t.Errorf("the device sent %d: %+v", device, c)
	}
}

func TestABypassedShaperIsNamed(t *testing.T) {
	p := labtest.TestPair(t, "t-packet", 1)
	tc(t, p.A, "qdisc", "add", "dev", "va", "root", "tbf", "rate", "8kbit", "burst", "200", "limit", "100000")
	port, notes := openPort(t, p, "")
	if len(notes) != 1 || !strings.Contains(notes[0], "qdisc tbf is bypassed") {
		t.Errorf("notes %q", notes)
	}
	plan := sized(t, "", 64)
	plan.Count = 1000
	if c, device := runPlan(t, port, plan); device != 1000 || c.Queues[0].Sent != 1000 {
		t.Errorf("the device sent %d: %+v", device, c)
	}
}

func TestALinkThatGoesEndsTheRun(t *testing.T) {
	for _, c := range []struct {
		name, why string
		do        func(t *testing.T, p *labtest.Pair)
	}{
		{"down", "went down", func(t *testing.T, p *labtest.Pair) { change(t, p.NSA, p.DevA, netlink.LinkSetDown) }},
		{"no carrier", "carrier", func(t *testing.T, p *labtest.Pair) { change(t, p.NSB, p.DevB, netlink.LinkSetDown) }},
		{"gone", "", func(t *testing.T, p *labtest.Pair) { change(t, p.NSA, p.DevA, netlink.LinkDel) }},
	} {
		for _, options := range []string{"", "qdisc=use"} {
			if c.name == "no carrier" && options != "" {
				continue // a qdisc drops silently there, until the end of the run
			}
			t.Run(c.name+options, func(t *testing.T) {
				p := labtest.TestPair(t, "t-packet", 1)
				port, _ := openPort(t, p, options)
				go func() {
					for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(time.Millisecond) {
						if q := port.Counters().Queues; len(q) > 0 && q[0].Submitted > 500 {
							break
						}
					}
					c.do(t, p)
				}()
				counters, device := runPlan(t, port, sized(t, "", 64))
				// A device is taken down before it goes: either may be seen.
				if counters.Reason == "" || !strings.Contains(counters.Reason, c.why) {
					t.Errorf("reason %q, want one that says %q", counters.Reason, c.why)
				}
				q := counters.Queues[0]
				if q.Submitted < 500 || c.name != "gone" && q.Sent != device {
					t.Errorf("handed over %d, sent %d, the device counts %d", q.Submitted, q.Sent, device)
				}
			})
		}
	}
}

func TestLimitsOfTheFrame(t *testing.T) {
	p := labtest.TestPair(t, "t-packet", 1)
	port, _ := openPort(t, p, "")
	for _, c := range []struct {
		size  int
		kinds []string
		ok    bool
	}{
		{1518, nil, true}, {1519, nil, false}, {1522, []string{"vlan"}, true}, {1523, []string{"vlan"}, false}, {1526, []string{"vlan", "vlan"}, false},
	} {
		plan := sized(t, "", c.size, c.kinds...)
		plan.Count = 3
		err := port.Load(plan)
		if (err == nil) != c.ok {
			t.Errorf("%d bytes with tags %v: %v", c.size, c.kinds, err)
		}
		if !c.ok {
			continue
		}
		if n, device := runPlan(t, port, plan); device != 3 || n.Queues[0].Bytes != uint64(3*c.size) {
			t.Errorf("%d bytes with tags %v: the device sent %d: %+v", c.size, c.kinds, device, n)
		}
	}
}

func TestProbeSaysWhatIsWrong(t *testing.T) {
	p := labtest.TestPair(t, "t-packet", 1)
	problems := func(tg engine.Target) string {
		c, err := New().Probe(context.Background(), tg)
		if err != nil {
			return err.Error()
		}
		return fmt.Sprint(c.Problems)
	}
	if s := problems(target(p, "")); s != "[]" {
		t.Errorf("on a good link: %s", s)
	}
	if s := problems(target(p, "qdisc=maybe")); !strings.Contains(s, "use or bypass") {
		t.Errorf("a bad option: %s", s)
	}
	nowhere := target(p, "")
	nowhere.Netns = "t-packet-nowhere"
	if s := problems(nowhere); !strings.Contains(s, "t-packet-nowhere") {
		t.Errorf("a namespace that does not exist: %s", s)
	}
	change(t, p.NSB, p.DevB, netlink.LinkSetDown)
	if s := problems(target(p, "")); !strings.Contains(s, "no carrier") {
		t.Errorf("with the other end down: %s", s)
	}
	change(t, p.NSA, p.DevA, netlink.LinkSetDown)
	if s := problems(target(p, "")); !strings.Contains(s, "ip netns exec "+p.A+" ip link set dev va up") {
		t.Errorf("down: %s", s)
	}
	if _, err := New().Open(context.Background(), target(p, ""), config(new([]string))); err == nil {
		t.Error("opened a port that is down")
	}
}

// BenchmarkSend is one frame of 64 bytes to the peer of a veth pair, which drops it.
func BenchmarkSend(b *testing.B) {
	for _, signature := range []string{"none", "full"} {
		b.Run(signature, func(b *testing.B) {
			p := labtest.TestPair(b, "t-packet", 1)
			port, err := New().Open(context.Background(), target(p, ""), config(new([]string)))
			if err != nil {
				b.Fatal(err)
			}
			defer port.Close()
			plan := sized(b, signature, 64)
			plan.Count = uint64(b.N)
			if err := port.Load(plan); err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			b.ResetTimer()
			if err := port.Run(context.Background()); err != nil {
				b.Fatal(err)
			}
		})
	}
}
