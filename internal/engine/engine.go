package engine

import (
	"context"
	"time"

	"github.com/wirespeed/wirespeed/internal/program"
	"github.com/wirespeed/wirespeed/internal/wire"
)

// An Engine is a mechanism that sends or receives.
type Engine interface {
	Name() string
	// Probe says what the engine can do at the target. It changes nothing and sends nothing. An error means that the target
	// does not exist or cannot be asked; what merely does not work there is in Caps.Problems.
	Probe(ctx context.Context, t Target) (Caps, error)
	Open(ctx context.Context, t Target, c Config) (Port, error)
}

// A ReceiverEngine can receive too.
type ReceiverEngine interface {
	Engine
	ProbeReceive(ctx context.Context, t Target) (Caps, error)
	OpenReceiver(ctx context.Context, t Target, c Config) (Receiver, error)
}

// An OptionLister names the options that may stand behind a port's question mark, for sending and for receiving, besides
// speed, which every port has.
type OptionLister interface {
	Options() (tx, rx []string)
}

// A Portless engine has no device below, and nothing leaves the machine: it is taken only where an address names it.
type Portless interface {
	// Portless is one line about what a port of the engine is.
	Portless() string
}

// Config is what an engine may use of its surroundings.
type Config struct {
	// MayMend permits reversible changes of the transmit port's peer (GRO on a veth's peer) that make frames arrive: the
	// peer is the run's receive port or in a lab that wirespeed made.
	MayMend bool
	// Change applies a host change through the journal and returns its undo. Never nil.
	Change func(Change) (undo func() error, err error)
	// Note takes one-line messages for the user about what was changed or seen. Never nil.
	Note func(string)
}

// Change is a reversible change of the host, as package tune knows them; see there.
type Change interface {
	// Describe is one line for the journal and the user.
	Describe() string
}

// A Port is one opened device that sends.
type Port interface {
	// Load takes the plan; every allocation happens here. It refuses what the port cannot do, with the reason.
	Load(Plan) error
	// Run sends until the schedule ends or ctx is done, then the last frames with the last flag, and returns after the last
	// completion or the drain limit. A cancelled ctx is not an error: what was not sent is in the counters.
	Run(context.Context) error
	// Counters may be called at any time, also during Run.
	Counters() Counters
	// Device reads the device's own counters now; ok is false where there is no device below.
	Device() (d DeviceCounters, ok bool, err error)
	// Close puts the host back; safe after a failed Load or Run.
	Close() error
}

// A Receiver counts and analyses what arrives.
type Receiver interface {
	Load(Expect) error // which runs, streams, offsets; attaches nothing yet
	Start() error
	Snapshot() (Received, error) // safe at any time
	Stop() error                 // after the drain; then Snapshot is final
	// Device reads the device's own counters now; ok is false where there is no device below.
	Device() (d DeviceCounters, ok bool, err error)
	Close() error
}

// A Plan is what a port is to send, and when.
type Plan struct {
	Program *program.Program
	Run     uint8  // run id in the signature
	IDBase  uint16 // stream id on the wire of stream 0, queue 0: stream s on queue q has IDBase + s*Queues + q
	Stamp   Stamp

	Queues int   // 1 or more
	Cores  []int // one for each queue; nil: the engine chooses
	Batch  int   // frames handed over at once; 0: the engine's best for this rate

	Rate     wire.FPS      // of the port, all queues together; the zero value is as fast as possible
	Recorded bool          // frames are due as their sequence says, and Rate is zero
	Count    uint64        // frames of the port; 0: no limit
	Duration time.Duration // 0: no limit
	StartAt  int64         // CLOCK_MONOTONIC ns at which frame 0 is due; 0: at once
	// CatchUp bounds what is made up for after a stall: a later frame leaves no earlier than half a gap after the one before.
	// Beyond it the schedule shifts where Count is the end, and frames are dropped as unsent where Duration is.
	CatchUp    time.Duration
	BestEffort bool

	// Refused by name until an engine runs them: what the stream file asked for beyond a common rate.
	Unsupported []string
}

// Stamp says how often the clock is read for the signature's time.
type Stamp uint8

// The stamps.
const (
	StampAuto   Stamp = iota // per frame when paced, per 16 frames when not
	StampNone                // no clock is read: latency is unknown
	StampFrame               // for every frame
	StampShared              // once for up to 16 frames, or for a batch
)

// Counters is what a port knows about its own run. All counts are frames unless the name says otherwise.
type Counters struct {
	Queues []QueueCounters
	// Undrained were handed over and not confirmed when the drain limit was reached.
	Undrained uint64
	// Reason says why fewer frames were sent than asked for; empty where that is plain.
	Reason string
	// SentSource names what "sent" is counted by.
	SentSource string
	Batch      int
}

// QueueCounters are the counters of one queue and its worker.
type QueueCounters struct {
	Queue, Core  int
	Submitted    uint64   // handed over to the kernel
	Sent         uint64   // confirmed by the engine's own count
	Streams      []uint64 // submitted, by stream of the program
	Bytes        uint64   // submitted, with FCS
	Doorbells    uint64   // system calls, or writes to the device, that handed frames over
	Backpressure uint64   // times that the ring or queue below was full
	BehindNsMax  uint64   // the latest any frame was against its schedule
	Skipped      uint64   // frames that the schedule dropped after a stall beyond CatchUp
	ShiftedNs    uint64   // time by which the schedule was shifted after such stalls
	BeginNs      int64    // CLOCK_MONOTONIC: just before the first frame was handed over
	EndNs        int64    // just after the last was confirmed; 0 while running
}

// DeviceCounters are the kernel's counters of a device.
type DeviceCounters struct {
	TxFrames, TxBytes, TxDropped, TxErrors           uint64
	RxFrames, RxBytes, RxDropped, RxErrors, RxMissed uint64
	CarrierChanges                                   uint64
	Up, Carrier                                      bool
}

// A Ring is what the busy loop of package txloop drives: the engines that take frames from user space.
type Ring interface {
	// Reserve returns up to n writable frames. They belong to the caller until the next Reserve or Commit. No allocation.
	Reserve(n int) []program.Frame
	// Commit hands over the next n reserved frames in one doorbell or system call. It returns how many were taken. Fewer than
	// n with a nil error means that what lies below is full: the rest must be committed again before the next Reserve. An
	// error ends the run.
	Commit(n int) (taken int, err error)
	// Reclaim returns how many frames completed since the last call.
	Reclaim() int
}
