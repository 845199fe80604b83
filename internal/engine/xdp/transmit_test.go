package xdp

import (
	"context"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/cilium/ebpf/link"

	"github.com/wirespeed/wirespeed/internal/engine"
	"github.com/wirespeed/wirespeed/internal/host"
	"github.com/wirespeed/wirespeed/internal/lab/labtest"
	"github.com/wirespeed/wirespeed/internal/lab/need"
	"github.com/wirespeed/wirespeed/internal/packet"
	"github.com/wirespeed/wirespeed/internal/program"
	"github.com/wirespeed/wirespeed/internal/wire"
	"github.com/wirespeed/wirespeed/stream"
)

// sink is a small XDP receiver: it drops every frame, counts them, and keeps the signature's flags and sequence number of
// the last one by stream id 0 to 63, as they lie at sigOff.
type sink struct {
	t        *testing.T
	m        *ebpf.Map
	attached link.Link
}

type sinkEntry struct{ Frames, Lasts, LastSeq, Firsts uint64 }

func newSink(t *testing.T, p *labtest.Pair, sigOff int16) *sink {
	t.Helper()
	m, err := ebpf.NewMap(&ebpf.MapSpec{Type: ebpf.Array, KeySize: 4, ValueSize: 32, MaxEntries: 64})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Close() })
	bump := func(off int16) asm.Instructions {
		return asm.Instructions{asm.LoadMem(asm.R1, asm.R0, off, asm.DWord), asm.Add.Imm(asm.R1, 1), asm.StoreMem(asm.R0, off, asm.R1, asm.DWord)}
	}
	ins := asm.Instructions{
		asm.LoadMem(asm.R6, asm.R1, 0, asm.Word),
		asm.LoadMem(asm.R2, asm.R1, 4, asm.Word),
		asm.Mov.Reg(asm.R3, asm.R6),
		asm.Add.Imm(asm.R3, int32(sigOff)+18),
		asm.JGT.Reg(asm.R3, asm.R2, "out"),
		asm.LoadMem(asm.R1, asm.R6, sigOff+packet.SigStream, asm.Half),
		asm.HostTo(asm.BE, asm.R1, asm.Half),
		asm.StoreMem(asm.RFP, -4, asm.R1, asm.Word),
		asm.LoadMapPtr(asm.R1, m.FD()),
		asm.Mov.Reg(asm.R2, asm.RFP),
		asm.Add.Imm(asm.R2, -4),
		asm.FnMapLookupElem.Call(),
		asm.JEq.Imm(asm.R0, 0, "out"),
	}
	ins = append(ins, bump(0)...)
	ins = append(ins,
		asm.LoadMem(asm.R7, asm.R6, sigOff+packet.SigFlags, asm.Byte),
		asm.Mov.Reg(asm.R8, asm.R7),
		asm.And.Imm(asm.R8, packet.FlagFirst),
		asm.JEq.Imm(asm.R8, 0, "notfirst"),
	)
	ins = append(ins, bump(24)...)
	ins = append(ins, asm.And.Imm(asm.R7, packet.FlagLast).WithSymbol("notfirst"), asm.JEq.Imm(asm.R7, 0, "out"))
	ins = append(ins, bump(8)...)
	ins = append(ins,
		asm.LoadMem(asm.R1, asm.R6, sigOff+packet.SigSeq, asm.Word),
		asm.HostTo(asm.BE, asm.R1, asm.Word),
		asm.StoreMem(asm.R0, 16, asm.R1, asm.DWord),
		asm.Mov.Imm(asm.R0, actionDrop).WithSymbol("out"),
		asm.Return(),
	)
	prog, err := ebpf.NewProgram(&ebpf.ProgramSpec{Type: ebpf.XDP, Instructions: ins, License: "GPL"})
	if err != nil {
		t.Fatalf("%+v", err)
	}
	t.Cleanup(func() { prog.Close() })
	l, err := p.NSB.Link(p.DevB)
	if err != nil {
		t.Fatal(err)
	}
	var at link.Link
	if err := p.NSB.Do(func() error {
		at, err = link.AttachXDP(link.XDPOptions{Program: prog, Interface: l.Index, Flags: link.XDPDriverMode})
		return err
	}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { at.Close() })
	return &sink{t: t, m: m, attached: at}
}

func (s *sink) at(id int) (e sinkEntry) {
	s.t.Helper()
	if err := s.m.Lookup(uint32(id), &e); err != nil {
		s.t.Fatal(err)
	}
	return e
}

func openPort(t *testing.T, p *labtest.Pair, c engine.Config) engine.Port {
	t.Helper()
	port, err := New().Open(t.Context(), engine.Target{Device: p.DevA, Netns: p.A}, c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := port.Close(); err != nil {
			t.Error(err)
		}
	})
	return port
}

// run loads and runs a plan and returns what the port and the kernel counted.
func run(t *testing.T, ctx context.Context, port engine.Port, plan engine.Plan) (engine.Counters, engine.DeviceCounters) {
	t.Helper()
	if plan.Queues == 0 {
		plan.Queues = 1
	}
	if plan.CatchUp == 0 {
		plan.CatchUp = 10 * time.Millisecond
	}
	if err := port.Load(plan); err != nil {
		t.Fatal(err)
	}
	before, _, err := port.Device()
	if err != nil {
		t.Fatal(err)
	}
	if err := port.Run(ctx); err != nil {
		t.Fatal(err)
	}
	after, _, err := port.Device()
	if err != nil {
		t.Fatal(err)
	}
	after.TxFrames -= before.TxFrames
	after.TxDropped -= before.TxDropped
	return port.Counters(), after
}

func simple(t *testing.T, sizes ...int) *program.Program {
	if len(sizes) == 0 {
		sizes = []int{64}
	}
	return programOf(t, udpStream(t, map[string]stream.Value{"udp.srcport": {Op: stream.Inc, Start: num(1024), Step: num(1), Count: 64512}}, sizes...))
}

const udpSig = 42

// A million frames are a million frames: in the program, the device and the receiver, whatever the stamps and the sizes.
func TestExactCount(t *testing.T) {
	pair := labtest.TestPair(t, "t-xdptx", 1)
	rx := newSink(t, pair, udpSig)
	port := openPort(t, pair, engine.Config{})
	const count = 1_000_000
	for i, plan := range []engine.Plan{
		{Program: simple(t)},
		{Program: simple(t), Stamp: engine.StampNone, Batch: 1},
		{Program: simple(t, 64, 1518, 128), Stamp: engine.StampFrame},
	} {
		plan.Count, plan.IDBase = count, uint16(i)
		c, d := run(t, t.Context(), port, plan)
		if s := c.Total(); s.Submitted != count || s.Sent != count || d.TxFrames != count || d.TxDropped != 0 || c.Undrained != 0 || c.Reason != "" {
			t.Errorf("plan %d: %+v, device %+v", i, c, d)
		}
		if e := rx.at(i); e != (sinkEntry{Frames: count, Lasts: 1, LastSeq: count - 1, Firsts: 1}) {
			t.Errorf("plan %d: receiver %+v", i, e)
		}
		if q := c.Queues[0]; q.BeginNs == 0 || q.EndNs <= q.BeginNs || q.Streams[0] != count || q.Doorbells == 0 {
			t.Errorf("plan %d: queue %+v", i, q)
		}
	}
}

// The longest frames that a page holds arrive.
func TestLongestFrame(t *testing.T) {
	pair := labtest.TestPair(t, "t-xdptx", 1)
	mtu(t, pair, "3400")
	rx := newSink(t, pair, udpSig)
	port := openPort(t, pair, engine.Config{})
	const count = 1000
	c, d := run(t, t.Context(), port, engine.Plan{Program: simple(t, maxLive+4), Count: count})
	if e := rx.at(0); c.Total().Sent != count || d.TxFrames != count || e.Frames != count {
		t.Errorf("%+v, device %+v, receiver %+v", c, d, e)
	}
	if err := port.Load(engine.Plan{Program: simple(t, maxLive+5), Queues: 1}); err == nil {
		t.Error("a frame longer than a page was taken")
	}
}

// Two queues and two streams: four ids, each with its share, its first and its last frame.
func TestQueuesAndStreams(t *testing.T) {
	pair := labtest.TestPair(t, "t-xdptx", 2)
	rx := newSink(t, pair, udpSig)
	port := openPort(t, pair, engine.Config{})
	a, b := udpStream(t, nil, 64), udpStream(t, nil, 128)
	a.Weight, b.Name, b.Payload = 3, "b", stream.Payload{Fill: stream.FillInc}
	p := programOf(t, a, b)
	const count = 100_003
	c, d := run(t, t.Context(), port, engine.Plan{Program: p, Queues: 2, Count: count, IDBase: 8})
	if s := c.Total(); s.Sent != count || d.TxFrames != count {
		t.Errorf("%+v, device %+v", c, d)
	}
	for q := range 2 {
		shares := p.Shares(count, q, 2)
		for s, n := range shares {
			e := rx.at(8 + s*2 + q)
			if n == 0 && e == (sinkEntry{}) {
				continue
			}
			if e != (sinkEntry{Frames: n, Lasts: 1, LastSeq: n - 1, Firsts: 1}) || c.Queues[q].Streams[s] != n {
				t.Errorf("queue %d stream %d: %+v, share %d, counted %d", q, s, e, n, c.Queues[q].Streams[s])
			}
		}
	}
}

// A peer without GRO and XDP loses live frames silently. That is known before the run; where the peer becomes deaf later it
// is seen within a second, and nothing counts as sent.
func TestDeafPeer(t *testing.T) {
	pair := labtest.TestPair(t, "t-xdptx", 1)
	target := engine.Target{Device: pair.DevA, Netns: pair.A}
	caps, err := New().Probe(t.Context(), target)
	if err != nil {
		t.Fatal(err)
	}
	mend := "ip netns exec " + pair.B + " ethtool -K vb gro on"
	if len(caps.Problems) != 1 || !caps.Problems[0].Mendable || !strings.Contains(caps.Problems[0].Mend, mend) {
		t.Fatalf("problems %+v, want one with %q", caps.Problems, mend)
	}
	if _, err := New().Open(t.Context(), target, engine.Config{}); err == nil || !strings.Contains(err.Error(), mend) {
		t.Fatalf("opened with a deaf peer: %v", err)
	}
	f, err := probe(t.Context(), target)
	if err != nil {
		t.Fatal(err)
	}
	f.caps.Problems = nil
	port := &port{found: f, target: target}
	defer port.Close()
	for _, plan := range []engine.Plan{
		{Program: simple(t), Duration: 10 * time.Second},
		{Program: simple(t), Count: 1000},
		{Program: simple(t), Rate: wire.FPS{Num: 2, Den: 1}, Duration: 10 * time.Second},
	} {
		began := time.Now()
		c, d := run(t, t.Context(), port, plan)
		took := time.Since(began)
		t.Logf("seen after %v", took)
		if took > 5*time.Second { // of ten; on an idle machine 0.3 s
			t.Errorf("took %v", took)
		}
		if s := c.Total(); s.Sent != 0 || s.Submitted == 0 || c.Undrained != s.Submitted || !strings.Contains(c.Reason, mend) || d.TxFrames != 0 {
			t.Errorf("%+v, device %+v", c, d)
		}
	}
}

// The mend is made where it may be, through the journal, and undone.
func TestMendsPeer(t *testing.T) {
	pair := labtest.TestPair(t, "t-xdptx", 1)
	var changes, undone int
	var notes []string
	c := engine.Config{MayMend: true, Note: func(s string) { notes = append(notes, s) }, Change: func(c engine.Change) (func() error, error) {
		changes++
		return func() error { undone++; return nil }, nil
	}}
	port := openPort(t, pair, c)
	if changes != 1 || len(notes) != 1 || undone != 0 {
		t.Errorf("%d changes, %d undone, notes %q", changes, undone, notes)
	}
	if err := port.Close(); err != nil || undone != 1 {
		t.Errorf("%d undone, %v", undone, err)
	}
	if _, _, err := port.Device(); err == nil {
		t.Error("a closed port has counters of a device")
	}
	if port.Load(engine.Plan{Program: simple(t), Queues: 1}) == nil || port.Run(t.Context()) == nil {
		t.Error("a closed port runs")
	}
}

// A stop takes effect within milliseconds, ends with a last frame, and everything adds up: unpaced, fast and slow.
func TestStop(t *testing.T) {
	pair := labtest.TestPair(t, "t-xdptx", 1)
	rx := newSink(t, pair, udpSig)
	port := openPort(t, pair, engine.Config{})
	for i, rate := range []wire.FPS{{}, {Num: 100_000, Den: 1}, {Num: 1000, Den: 1}, {Num: 1, Den: 10}} {
		ctx, cancel := context.WithCancel(t.Context())
		var at time.Time
		before, _, _ := port.Device()
		go func() { // on a busy machine it may take a while until something is sent
			defer cancel()
			for now := before; now.TxFrames == before.TxFrames && t.Context().Err() == nil; now, _, _ = port.Device() {
				time.Sleep(time.Millisecond)
			}
			time.Sleep(50 * time.Millisecond)
			at = time.Now()
		}()
		c, d := run(t, ctx, port, engine.Plan{Program: simple(t), Rate: rate, IDBase: uint16(i)})
		took := time.Since(at)
		s := c.Total()
		if s.Sent < 2 || s.Sent != d.TxFrames || c.Reason != "" || took > 5*time.Second {
			t.Errorf("rate %v: stopped after %v, %+v, device %+v", rate, took, c, d)
		}
		if e := rx.at(i); e != (sinkEntry{Frames: s.Sent, Lasts: 1, LastSeq: s.Sent - 1, Firsts: 1}) {
			t.Errorf("rate %v: receiver %+v of %d", rate, e, s.Sent)
		}
		if end := c.Queues[0].EndNs - host.Monotonic(); end > 0 {
			t.Errorf("ends in the future by %d ns", end)
		}
		t.Logf("rate %v: stop took %v, %d frames", rate, took, s.Sent)
	}
}

// The mean rate is the asked one, and duration times rate is the number of frames. What a stall of this machine cost beyond
// the catch-up is skipped and said.
func TestPacing(t *testing.T) {
	pair := labtest.TestPair(t, "t-xdptx", 2)
	rx := newSink(t, pair, udpSig)
	port := openPort(t, pair, engine.Config{})
	id := 0
	for _, rate := range []wire.FPS{{Num: 1000, Den: 1}, {Num: 100_000, Den: 1}, {Num: 31_250_000, Den: 21}, {Num: 4_000_000, Den: 1}} {
		for queues := 1; queues <= 2; queues++ {
			const d = 500 * time.Millisecond
			c, dev := run(t, t.Context(), port, engine.Plan{Program: simple(t), Queues: queues, Rate: rate, Duration: d, IDBase: uint16(id)})
			s, want := c.Total(), rate.FramesIn(d)
			all := s.Sent+s.Skipped == want || s.Sent+s.Skipped < want && s.BehindNsMax > uint64(overdue) // a machine that stood still
			if !all || s.Sent != dev.TxFrames || s.Sent == 0 {
				t.Errorf("rate %v, %d queues: %d sent, %d skipped, want %d; device %+v", rate, queues, s.Sent, s.Skipped, want, dev)
			}
			var lasts, frames uint64
			begin, end := c.Queues[0].BeginNs, c.Queues[0].EndNs
			for q := range queues {
				e := rx.at(id)
				lasts, frames = lasts+e.Lasts, frames+e.Frames
				begin, end = min(begin, c.Queues[q].BeginNs), max(end, c.Queues[q].EndNs)
				id++
			}
			if lasts != uint64(queues) || frames != s.Sent {
				t.Errorf("rate %v: %d last flags, %d frames", rate, lasts, frames)
			}
			took := float64(end-begin) + 1e9*float64(rate.Den)/float64(rate.Num)
			if off, slack := took/float64(d)-1, 0.001+float64(s.BehindNsMax)/float64(d); off < -slack || s.Skipped == 0 && off > slack {
				t.Errorf("rate %v, %d queues: took %v ns, off by %.4f %%", rate, queues, took, 100*off)
			}
			t.Logf("rate %v, %d queues, batch %d: off by %+.5f %%, behind %v, skipped %d", rate, queues, c.Batch, 100*(took/float64(d)-1), time.Duration(s.BehindNsMax), s.Skipped)
		}
	}
}

// A stall beyond the catch-up shifts a counted run's schedule and drops the slots of a timed one.
func TestStall(t *testing.T) {
	pair := labtest.TestPair(t, "t-xdptx", 1)
	newSink(t, pair, udpSig)
	port := openPort(t, pair, engine.Config{})
	rate := wire.FPS{Num: 30_000, Den: 7}
	late := func() int64 { return host.Monotonic() - 200e6 } // frame 0 was due long ago
	c, _ := run(t, t.Context(), port, engine.Plan{Program: simple(t), Rate: rate, Count: 1000, StartAt: late()})
	if s := c.Total(); s.Sent != 1000 || s.Skipped != 0 || s.ShiftedNs < 190e6 {
		t.Errorf("count: %+v", s)
	}
	c, _ = run(t, t.Context(), port, engine.Plan{Program: simple(t), Rate: rate, Duration: time.Second, StartAt: late()})
	if s := c.Total(); s.Sent+s.Skipped != rate.FramesIn(time.Second) || s.ShiftedNs != 0 || s.Skipped < 4286*18/100 || s.Sent == 0 {
		t.Errorf("duration: %+v", s)
	}
	c, _ = run(t, t.Context(), port, engine.Plan{Program: simple(t), Rate: rate, Duration: 100 * time.Millisecond, StartAt: late()})
	if s := c.Total(); s.Sent == 0 || s.Sent+s.Skipped != rate.FramesIn(100*time.Millisecond) {
		t.Errorf("all slots gone: %+v", s)
	}
}

// The gate: the first frame is due at StartAt, not before.
func TestStartAt(t *testing.T) {
	pair := labtest.TestPair(t, "t-xdptx", 1)
	newSink(t, pair, udpSig)
	port := openPort(t, pair, engine.Config{})
	for _, rate := range []wire.FPS{{}, {Num: 10_000, Den: 1}} {
		at := host.Monotonic() + 100e6
		c, _ := run(t, t.Context(), port, engine.Plan{Program: simple(t), Rate: rate, Count: 100, StartAt: at})
		if q := c.Queues[0]; q.BeginNs < at || q.Sent != 100 {
			t.Errorf("began %d ns behind the gate: %+v", q.BeginNs-at, q)
		}
	}
}

// Load refuses by name what cannot be, and the port still works afterwards.
func TestRefuses(t *testing.T) {
	pair := labtest.TestPair(t, "t-xdptx", 2)
	newSink(t, pair, udpSig)
	port := openPort(t, pair, engine.Config{})
	if err := port.Run(t.Context()); err == nil {
		t.Error("ran without Load")
	}
	for want, plan := range map[string]engine.Plan{
		"more than the 1518": {Program: simple(t, 9000), Queues: 1},
		"has ":               {Program: simple(t), Queues: 3},
		"given twice":        {Program: simple(t), Queues: 2, Cores: []int{0, 0}},
		"at least 1":         {Program: simple(t)},
		"batch of 1000":      {Program: simple(t), Queues: 1, Batch: 1000},
		"2 cores":            {Program: simple(t), Queues: 1, Cores: []int{0, 1}},
		"rate of stream udp": {Program: simple(t), Queues: 1, Unsupported: []string{"rate of stream udp"}},
		"per ns":             {Program: simple(t), Queues: 1, Rate: wire.FPS{Num: 1e12, Den: 1}},
	} {
		if err := port.Load(plan); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	if c, _ := run(t, t.Context(), port, engine.Plan{Program: simple(t), Count: 7}); c.Total().Sent != 7 {
		t.Errorf("%+v", c)
	}
	if c, _ := run(t, t.Context(), port, engine.Plan{Program: simple(t), Count: 3}); c.Total().Sent != 3 {
		t.Errorf("second run: %+v", c)
	}
}

// What happens to the device during a run ends it, with the reason.
func TestDeviceFails(t *testing.T) {
	for want, fail := range map[string]func(*labtest.Pair, *sink) error{
		"was taken down": func(p *labtest.Pair, _ *sink) error {
			return p.NSA.Do(func() error { return exec.Command("ip", "link", "set", "va", "down").Run() })
		},
		"lost its carrier": func(p *labtest.Pair, _ *sink) error {
			return p.NSB.Do(func() error { return exec.Command("ip", "link", "set", "vb", "down").Run() })
		},
		"cannot be asked any more": func(p *labtest.Pair, _ *sink) error {
			return p.NSA.Do(func() error { return exec.Command("ip", "link", "del", "va").Run() })
		},
		"stopped sending them": func(_ *labtest.Pair, s *sink) error { return s.attached.Close() },
	} {
		t.Run(want, func(t *testing.T) {
			need.Tool(t, "ip")
			pair := labtest.TestPair(t, "t-xdptx", 1)
			rx := newSink(t, pair, udpSig)
			port := openPort(t, pair, engine.Config{})
			if err := port.Load(engine.Plan{Program: simple(t), Queues: 1, Rate: wire.FPS{Num: 1_000_000, Den: 1}}); err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
			defer cancel()
			failed := make(chan error, 1)
			go func() {
				for port.Counters().Total().Submitted < 1000 && ctx.Err() == nil {
					time.Sleep(time.Millisecond)
				}
				failed <- fail(pair, rx)
			}()
			err := port.Run(ctx)
			if err := <-failed; err != nil {
				t.Fatal(err)
			}
			c := port.Counters()
			if ctx.Err() != nil || !strings.Contains(c.Reason, want) && err == nil {
				t.Errorf("ended with %v, reason %q", err, c.Reason)
			}
			if s := c.Total(); s.Submitted == 0 || s.Sent+c.Undrained != s.Submitted {
				t.Errorf("%+v, undrained %d", s, c.Undrained)
			}
			t.Logf("%v; %s; %+v, undrained %d", err, c.Reason, c.Total(), c.Undrained)
		})
	}
}

// Nothing is allocated while frames are sent: not in the calls, not between them.
func TestNoAllocations(t *testing.T) {
	pair := labtest.TestPair(t, "t-xdptx", 1)
	newSink(t, pair, udpSig)
	p := openPort(t, pair, engine.Config{}).(*port)
	for _, rate := range []wire.FPS{{}, {Num: 1_000_000, Den: 1}, {Num: 2000, Den: 1}} {
		if err := p.Load(engine.Plan{Program: simple(t), Queues: 1, Rate: rate, Count: 1 << 40, CatchUp: time.Millisecond}); err != nil {
			t.Fatal(err)
		}
		w := p.workers[0]
		if err := p.ns.Do(func() error {
			w.unit.reset(0, uint64(host.Monotonic()), 0)
			var err error
			if n := testing.AllocsPerRun(20, func() {
				w.unit.state.set(offLimit, w.unit.state.load(offSent)+10)
				err = w.loop()
			}); n != 0 {
				t.Errorf("rate %v: %v allocations", rate, n)
			}
			return err
		}); err != nil {
			t.Fatal(err)
		}
		if sent := w.unit.state.load(offSent); sent != 210 {
			t.Errorf("rate %v: %d sent", rate, sent)
		}
	}
}
