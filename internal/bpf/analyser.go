package bpf

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"runtime"
	"sync"

	"github.com/cilium/ebpf"

	"github.com/wirespeed/wirespeed/internal/engine"
	"github.com/wirespeed/wirespeed/internal/packet"
)

const (
	// Window is the number of sequence numbers in which the analyser always tells duplicates from late frames. The bitmap
	// has engine.WindowSize bits, but a word of 32 is given up as a whole when the window's head enters it.
	Window = engine.WindowSize - 32

	// LearnSlots is the number of stream ids, from 0 on, that are followed where none were named. A record takes 33 KB.
	LearnSlots = 1024

	maxSlots     = 8192    // 270 MB of records
	maxAddresses = 1 << 20 // pairs of source address and EtherType
	batch        = 16      // records to one system call
)

// Options is what an Analyser looks for and how.
type Options struct {
	engine.Expect
	// ClockGroup is 1 (the clock is read for every frame with a stamp) or up to 255: one read for so many frames at most, if
	// they were stamped within 2 us of each other and before it. Gaps are only measured with 1.
	ClockGroup int
	// Locked makes records exact when frames of one stream id arrive on several CPUs at a time.
	Locked bool
}

// An Analyser is the receiving program, loaded but attached to nothing, and its maps.
type Analyser struct {
	objects analyseObjects
	options Options
	first   uint16 // stream id of slot 0
	slots   int
	gapRef  uint64

	mu   sync.Mutex // guards the buffers of Read
	keys []uint32
	got  []Record
	cpus []CPU
}

// NewAnalyser loads the program. An error that is fs.ErrPermission: the process may not load BPF programs.
func NewAnalyser(o Options) (*Analyser, error) {
	if o.ClockGroup < 1 || o.ClockGroup > 255 {
		return nil, fmt.Errorf("%d frames to one clock read: 1 to 255 are possible", o.ClockGroup)
	}
	a := &Analyser{options: o}
	if err := a.place(); err != nil {
		return nil, err
	}
	spec, err := loadAnalyse()
	if err != nil {
		return nil, fmt.Errorf("receive program: %w", err)
	}
	if err := a.configure(spec); err != nil {
		return nil, fmt.Errorf("receive program: %w", err)
	}
	if err := spec.LoadAndAssign(&a.objects, nil); err != nil {
		return nil, loadError(err)
	}
	if err := a.preset(); err != nil {
		_ = a.Close()
		return nil, fmt.Errorf("receive program: %w", err)
	}
	n := min(a.slots, batch)
	a.keys, a.got = make([]uint32, n), make([]Record, n)
	return a, nil
}

func loadError(err error) error {
	if errors.Is(err, fs.ErrPermission) {
		return fmt.Errorf("the kernel does not let this process load the receive program; run as root, or with CAP_BPF, CAP_NET_ADMIN and CAP_PERFMON outside a user namespace: %w", fs.ErrPermission)
	}
	if v, ok := errors.AsType[*ebpf.VerifierError](err); ok {
		return fmt.Errorf("the kernel refuses the receive program; it needs Linux 5.18 or later: %w", v)
	}
	return fmt.Errorf("load the receive program: %w", err)
}

// place maps the expected stream ids to slots of the map: one after the other from the lowest id on.
func (a *Analyser) place() error {
	low, high := math.MaxInt, -1
	for _, s := range a.options.Streams {
		if s.Form == packet.FormNone {
			continue
		}
		low, high = min(low, int(s.ID)), max(high, int(s.ID))
	}
	switch {
	case high >= 0:
		a.first, a.slots = uint16(low), high-low+1
	case a.options.Learn:
		a.slots = LearnSlots
	default:
		a.slots = 1
	}
	if a.slots > maxSlots {
		return fmt.Errorf("stream ids from %d to %d: this receiver follows a range of %d at most; use fewer streams or queues", low, high, maxSlots)
	}
	if n := len(a.options.SrcMACs) * len(a.options.EtherTypes); n > maxAddresses {
		return fmt.Errorf("%d source addresses with %d EtherTypes: this receiver tells %d pairs apart at most; use fewer source addresses, or a signature", len(a.options.SrcMACs), len(a.options.EtherTypes), maxAddresses)
	}
	return nil
}

// configure sets the constants for which the verifier then removes what is not used, and the sizes of the maps.
func (a *Analyser) configure(spec *ebpf.CollectionSpec) error {
	var v analyseVariableSpecs
	if err := spec.Assign(&v); err != nil {
		return err
	}
	o := &a.options
	named := a.signed()
	gapLow, gapHigh := uint64(1), uint64(0) // nothing is inside
	if o.GapNs > 0 {
		a.gapRef = uint64(math.Round(o.GapNs))
		gapLow, gapHigh = uint64(math.Ceil(o.GapNs*.95)), uint64(math.Floor(o.GapNs*1.05))
	}
	for _, c := range []struct {
		v     *ebpf.VariableSpec
		value any
	}{
		{v.Signatures, flag(named || o.Learn)},
		{v.Learn, flag(o.Learn)},
		{v.AnyId, flag(o.Learn && !named)},
		{v.Run, o.Run},
		{v.Locked, flag(o.Locked)},
		{v.Ordered, flag(runtime.GOARCH == "amd64" || runtime.GOARCH == "386")},
		{v.Match, flag(len(o.SrcMACs)*len(o.EtherTypes) > 0)},
		{v.ClockGroup, uint8(o.ClockGroup)},
		{v.IdBase, uint32(a.first)},
		{v.GapLow, gapLow}, {v.GapHigh, gapHigh}, {v.GapRef, a.gapRef},
	} {
		if err := c.v.Set(c.value); err != nil {
			return err
		}
	}
	spec.Maps[analyseMapStreams].MaxEntries = uint32(a.slots)
	spec.Maps[analyseMapAddresses].MaxEntries = uint32(max(1, len(o.SrcMACs)*len(o.EtherTypes)))
	return nil
}

// signed says whether the caller named streams that carry a signature.
func (a *Analyser) signed() bool {
	for _, s := range a.options.Streams {
		if s.Form != packet.FormNone {
			return true
		}
	}
	return false
}

func flag(b bool) uint8 {
	if b {
		return 1
	}
	return 0
}

// preset writes the records of the expected streams and the addresses to match.
func (a *Analyser) preset() error {
	r := new(Record)
	for _, s := range a.options.Streams {
		if s.Form == packet.FormNone {
			continue
		}
		r.Form, r.Base, r.Next = uint32(s.Form), s.First, s.First
		if err := a.objects.Streams.Put(uint32(s.ID-a.first), r); err != nil {
			return fmt.Errorf("record of stream id %d: %w", s.ID, err)
		}
	}
	for _, m := range a.options.SrcMACs {
		for _, t := range a.options.EtherTypes {
			key := [8]byte{m[0], m[1], m[2], m[3], m[4], m[5], byte(t >> 8), byte(t)}
			if err := a.objects.Addresses.Put(key, uint8(1)); err != nil {
				return fmt.Errorf("source address: %w", err)
			}
		}
	}
	return nil
}

// Program is the XDP program. It belongs to the Analyser.
func (a *Analyser) Program() *ebpf.Program { return a.objects.Analyse }

// Close lets go of program and maps. What is attached stays attached until its link is closed.
func (a *Analyser) Close() error { return a.objects.Close() }

// Clock says what stamps arrivals, for the report.
func (a *Analyser) Clock() string {
	if a.options.ClockGroup == 1 {
		return "xdp program, CLOCK_MONOTONIC, every frame"
	}
	return fmt.Sprintf("xdp program, CLOCK_MONOTONIC, one read for up to %d frames stamped within 2 us; no gaps", a.options.ClockGroup)
}

// Read returns what has arrived. It may be called at any time; while frames arrive, counts of one snapshot may lie a few
// frames apart. TesterDrops has only what the program itself
// did not count.
func (a *Analyser) Read() (engine.Received, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	r := engine.Received{Window: Window, Clock: a.Clock(), Run: a.options.Run, RunKnown: !a.options.Learn && a.signed()}
	if a.options.Learn {
		var learned uint32
		if err := a.objects.Learned.Get(&learned); err != nil {
			return r, fmt.Errorf("read the learned run id: %w", err)
		}
		r.Run, r.RunKnown = uint8(learned), learned != 0
	}
	if err := a.readCPUs(&r); err != nil {
		return r, err
	}
	return r, a.readStreams(&r)
}

func (a *Analyser) readCPUs(r *engine.Received) error {
	if err := a.objects.Cpus.Lookup(uint32(0), &a.cpus); err != nil {
		return fmt.Errorf("read the counts of the CPUs: %w", err)
	}
	for i := range a.cpus {
		c := &a.cpus[i]
		r.Frames += c.Frames
		r.Bytes += c.OtherBytes
		r.Foreign += c.Foreign
		r.Stale += c.Stale
		r.BadStream += c.BadStream
		r.TesterDrops += c.GivenUp
		if c.Frames > 0 {
			r.Queues++
		}
	}
	return nil
}

func (a *Analyser) readStreams(r *engine.Received) error {
	if a.options.Learn && !r.RunKnown || !a.options.Learn && !a.signed() {
		return nil
	}
	stamped := true
	var cursor ebpf.MapBatchCursor
	for {
		n, err := a.objects.Streams.BatchLookup(&cursor, a.keys, a.got, nil)
		if err != nil && !errors.Is(err, ebpf.ErrKeyNotExist) {
			return fmt.Errorf("read the streams' counts: %w", err)
		}
		for i := range n {
			rec := &a.got[i]
			if !rec.seen() {
				continue
			}
			r.Streams = append(r.Streams, rec.decode(a.first+uint16(a.keys[i]), a.gapRef))
			r.Bytes += rec.Bytes
			widen(r, rec)
			stamped = stamped && rec.FirstNs != 0
		}
		if err != nil {
			break
		}
	}
	if !stamped { // a span of only some streams would make a wrong rate
		r.FirstNs, r.LastNs = 0, 0
	}
	return nil
}

// widen makes the span of the run include the record's.
func widen(r *engine.Received, rec *Record) {
	if rec.FirstNs == 0 {
		return
	}
	if r.FirstNs == 0 || int64(rec.FirstNs) < r.FirstNs {
		r.FirstNs = int64(rec.FirstNs)
	}
	r.LastNs = max(r.LastNs, int64(rec.LastNs))
}
