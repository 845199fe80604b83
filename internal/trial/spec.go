package trial

import (
	"io"
	"time"

	"github.com/wirespeed/wirespeed/internal/engine"
	"github.com/wirespeed/wirespeed/report"
	"github.com/wirespeed/wirespeed/stream"
)

// Spec is what one run is to do.
type Spec struct {
	Set    *stream.Set
	Stdin  io.Reader // of a replay whose file is "-"
	Tx, Rx []engine.Target

	Count    uint64
	Duration time.Duration // 0 with Count 0: DefaultDuration, unless Forever
	Forever  bool

	Queues     int
	Cores      []int
	Batch      int
	Stamp      engine.Stamp
	CatchUp    time.Duration
	BestEffort bool

	Layer3 Layer3

	AllowLivePort bool
	// MayMend permits mending the peer of every transmit port, as in a lab that wirespeed made.
	MayMend bool
	MaxLoss *float64 // share, 0 to 1
	Strict  bool     // suspect is failure
	RunID   *uint8   // nil: drawn

	Command []string
}

// DefaultDuration ends a run for which neither count nor duration was given.
const DefaultDuration = 10 * time.Second

// DefaultCatchUp bounds what is made up for after a stall.
const DefaultCatchUp = 10 * time.Millisecond

// Runner has what runs need of their surroundings.
type Runner struct {
	Engines []engine.Engine // in order of speed
	Change  func(engine.Change) (undo func() error, err error)
	Note    func(string)          // never nil
	Tick    func(report.Interval) // every second of a run; nil: nobody looks
	// Stage is called as the run goes on: "running" when every port sends, "settling", "done". Nil: nobody looks.
	Stage    func(string)
	StateDir string
	Tool     report.Tool
	Host     report.Host
	// OursNS reports whether a namespace belongs to a lab that wirespeed made.
	OursNS func(netns string) bool
}

// Outcome is a finished run.
type Outcome struct {
	Report *report.Run
	Exit   int
	// Why is one line for a status other than 0.
	Why string
}

// amount is the resolved end of a run.
func (s *Spec) amount() (count uint64, d time.Duration) {
	if s.Count == 0 && s.Duration == 0 && !s.Forever {
		return 0, DefaultDuration
	}
	return s.Count, s.Duration
}
