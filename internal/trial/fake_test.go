package trial

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/wirespeed/wirespeed/internal/engine"
	"github.com/wirespeed/wirespeed/internal/host"
	"github.com/wirespeed/wirespeed/internal/packet"
)

// fakeWire is a small real path from one port to one receiver: it knows sequence numbers only. What it does to them is
// set by the test.
type fakeWire struct {
	path func(id uint16, seq uint64) (arrivals []uint64) // nil: every frame arrives once
	// What the sending device counts when n frames were handed over; nil: all sent.
	device      func(n uint64) engine.DeviceCounters
	testerDrops uint64
	foreign     uint64
	stale       uint64
	latency     *engine.Histogram
	runError    error
	reason      string
	problems    []engine.Problem // of sending
	refuses     map[string]error // what Load says, by engine
	shifted     time.Duration    // by which the schedule moves
	paced       time.Duration    // how long Run takes on the clock that the counters show; 0: as the plan says
	speed       uint64
	live        bool
	block       bool          // Run waits for ctx
	idle        bool          // Run sends nothing
	late        time.Duration // every tenth frame arrives so much later
	gone        bool          // the devices cannot be asked once something was sent
	rxError     error

	mu   sync.Mutex
	sent uint64
	got  map[uint16]*engine.StreamReceived
	seen map[uint16]map[uint64]bool
	exp  engine.Expect
	all  uint64
}

var errGone = errors.New("it is gone")

// fakeEngine sends and receives on a fakeWire.
type fakeEngine struct {
	name string
	w    *fakeWire
}

func (f fakeEngine) Name() string { return f.name }

func (f fakeEngine) link(t engine.Target) (engine.Link, error) {
	if t.Device == "missing" {
		return engine.Link{}, errors.New("no device \"missing\"; `ip link` shows those there are")
	}
	return engine.Link{Name: t.Device, Index: 1_000_000 + len(t.Device), MTU: 1500, Up: true, Carrier: true, MAC: [6]byte{2, 0, 0, 0, 0, 9}, TxQueues: 4, RxQueues: 4, SpeedBps: f.w.speed, DefaultRoute: f.w.live}, nil
}

func (f fakeEngine) Probe(_ context.Context, t engine.Target) (engine.Caps, error) {
	l, err := f.link(t)
	return engine.Caps{Engine: f.name, Link: l, MaxFrame: 1518, MaxQueues: 4, Paces: true, Problems: f.w.problems}, err
}

func (f fakeEngine) ProbeReceive(_ context.Context, t engine.Target) (engine.Caps, error) {
	l, err := f.link(t)
	return engine.Caps{Engine: f.name, Link: l, MaxFrame: 1518, MaxQueues: 4}, err
}

func (f fakeEngine) Open(context.Context, engine.Target, engine.Config) (engine.Port, error) {
	return &fakePort{w: f.w, name: f.name}, nil
}

func (f fakeEngine) OpenReceiver(context.Context, engine.Target, engine.Config) (engine.Receiver, error) {
	return &fakeReceiver{f.w}, nil
}

type fakePort struct {
	w    *fakeWire
	name string
	plan engine.Plan
	mu   sync.Mutex
	c    engine.Counters
}

func (p *fakePort) Load(plan engine.Plan) error { p.plan = plan; return p.w.refuses[p.name] }
func (p *fakePort) Close() error                { return nil }

func (p *fakePort) Counters() engine.Counters {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.c
}

func (p *fakePort) Device() (engine.DeviceCounters, bool, error) {
	p.w.mu.Lock()
	defer p.w.mu.Unlock()
	if p.w.gone && p.w.sent > 0 {
		return engine.DeviceCounters{}, false, errGone
	}
	d := engine.DeviceCounters{TxFrames: p.w.sent, Up: true}
	if p.w.device != nil {
		d = p.w.device(p.w.sent)
	}
	return d, true, nil
}

func (p *fakePort) Run(ctx context.Context) error {
	n := p.plan.Count
	if n == 0 && !p.plan.Rate.IsZero() {
		n = p.plan.Rate.FramesIn(p.plan.Duration)
	} else if n == 0 {
		n = 1000
	}
	if p.w.idle {
		n = 0
	}
	c := engine.Counters{SentSource: "fake device", Batch: 1, Reason: p.w.reason}
	begin := host.Monotonic()
	for q := range p.plan.Queues {
		shares := p.plan.Program.Shares(n, q, p.plan.Queues)
		k := engine.QueueCounters{Queue: q, Core: q, Streams: shares, BeginNs: begin, ShiftedNs: uint64(p.w.shifted)}
		for s, count := range shares {
			for seq := range count {
				p.w.send(p.plan.IDBase+uint16(s*p.plan.Queues+q), seq, p.plan.Program.Streams[s].Form)
			}
			k.Submitted += count
			k.Bytes += count * uint64(p.plan.Program.Streams[s].Lens[0]+4)
		}
		k.Sent = k.Submitted
		k.EndNs = begin + int64(p.duration(n))
		c.Queues = append(c.Queues, k)
	}
	if p.w.block {
		<-ctx.Done()
	}
	p.mu.Lock()
	p.c = c
	p.mu.Unlock()
	return p.w.runError
}

func (p *fakePort) duration(n uint64) time.Duration {
	if p.w.paced != 0 {
		return p.w.paced
	}
	if p.plan.Rate.IsZero() {
		return time.Millisecond
	}
	return time.Duration(p.plan.Rate.Due(n - 1))
}

func (w *fakeWire) send(id uint16, seq uint64, form packet.Form) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.sent++
	arrivals := []uint64{seq}
	if w.path != nil {
		arrivals = w.path(id, seq)
	}
	if w.late > 0 && seq%10 == 3 {
		time.AfterFunc(w.late, func() {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.arrive(id, arrivals, form)
		})
		return
	}
	w.arrive(id, arrivals, form)
}

// arrive counts as a receiver does. mu is held.
func (w *fakeWire) arrive(id uint16, arrivals []uint64, form packet.Form) {
	for _, s := range arrivals {
		w.all++
		if form == packet.FormNone || w.got == nil {
			continue
		}
		g := w.got[id]
		if g == nil {
			g = &engine.StreamReceived{ID: id, Form: form, Latency: w.latency}
			w.got[id], w.seen[id] = g, map[uint64]bool{}
		}
		switch {
		case w.seen[id][s]:
			g.Duplicate++
			continue
		case s+1 < g.Next:
			g.Reordered++
		}
		w.seen[id][s] = true
		g.Frames++
		g.Next = max(g.Next, s+1)
	}
}

type fakeReceiver struct{ w *fakeWire }

func (r *fakeReceiver) Load(e engine.Expect) error {
	r.w.exp, r.w.got, r.w.seen = e, map[uint16]*engine.StreamReceived{}, map[uint16]map[uint64]bool{}
	return nil
}
func (r *fakeReceiver) Start() error { return nil }
func (r *fakeReceiver) Stop() error  { return r.w.rxError }
func (r *fakeReceiver) Close() error { return nil }

func (r *fakeReceiver) Device() (engine.DeviceCounters, bool, error) {
	r.w.mu.Lock()
	defer r.w.mu.Unlock()
	if r.w.gone && r.w.all > 0 {
		return engine.DeviceCounters{}, false, errGone
	}
	return engine.DeviceCounters{RxFrames: r.w.all, Up: true}, true, nil
}

func (r *fakeReceiver) Snapshot() (engine.Received, error) {
	r.w.mu.Lock()
	defer r.w.mu.Unlock()
	got := engine.Received{Frames: r.w.all, Bytes: 64 * r.w.all, TesterDrops: r.w.testerDrops, Foreign: r.w.foreign, Stale: r.w.stale, Run: r.w.exp.Run, RunKnown: true, Window: engine.WindowSize}
	for _, g := range r.w.got {
		got.Streams = append(got.Streams, *g)
	}
	return got, nil
}
