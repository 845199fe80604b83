package report

// SchemaRun names the version of the document. Fields are only ever added within v1.
const SchemaRun = "wirespeed.run/v1"

// Run is the result of one run.
type Run struct {
	Schema  string            `json:"schema"`
	Tool    Tool              `json:"tool"`
	Command []string          `json:"command"`
	Started string            `json:"started"` // RFC 3339, UTC
	Host    Host              `json:"host"`
	RunID   int               `json:"run_id"`
	Ports   []Port            `json:"ports"`
	Streams []Stream          `json:"streams"`
	Verdict Verdict           `json:"verdict"`
	Notes   []string          `json:"notes"`   // what was changed or chosen for the run
	Reasons map[string]string `json:"reasons"` // path of a null, or of a number that needs one, to why
	Error   *Error            `json:"error,omitempty"`
}

// Tool is the program that made the document.
type Tool struct {
	Version string `json:"version"`
	Commit  string `json:"commit"`
}

// Host is where it ran.
type Host struct {
	Kernel string `json:"kernel"`
	CPU    string `json:"cpu"`
	Cores  int    `json:"cores"`
}

// Port is one device of the run: transmit ports first, then receive ports, each in the order of the command line.
type Port struct {
	Port         string   `json:"port"` // as written
	Device       string   `json:"device"`
	Engine       string   `json:"engine"`
	Why          string   `json:"why"`     // why this engine
	WhyNot       []string `json:"why_not"` // why not the faster ones
	LinkBps      *uint64  `json:"link_bps"`
	LinkDeclared bool     `json:"link_declared"`
	Tx           *Tx      `json:"tx,omitempty"`
	Rx           *Rx      `json:"rx,omitempty"`
}

// Tx is what was sent. L1 counts frame + 20 bytes, L2 the frame with FCS, L2NoFCS the frame without.
type Tx struct {
	Intended          *uint64   `json:"intended"` // null: as many as possible in the given time
	Submitted         uint64    `json:"submitted"`
	Sent              uint64    `json:"sent"`
	Unsent            uint64    `json:"unsent"`
	SentSource        string    `json:"sent_source"`
	DeviceFrames      *uint64   `json:"device_frames"`
	DeviceDropped     *uint64   `json:"device_dropped"`
	OtherTraffic      *uint64   `json:"other_traffic"` // frames that the device counted beyond the run's own
	DurationS         float64   `json:"duration_s"`
	FPS               float64   `json:"fps"`
	L1Bps             float64   `json:"l1_bps"`
	L2Bps             float64   `json:"l2_bps"`
	L2NoFCSBps        float64   `json:"l2_nofcs_bps"`
	LineShare         *float64  `json:"line_share"` // L1, 0 to 1
	RequestedFPS      *float64  `json:"requested_fps"`
	BehindNsMax       uint64    `json:"behind_ns_max"`
	ShiftedNs         uint64    `json:"shifted_ns"`
	Skipped           uint64    `json:"skipped"`
	Batch             int       `json:"batch"`
	DoorbellsPerFrame *float64  `json:"doorbells_per_frame"`
	Backpressure      uint64    `json:"backpressure"`
	Undrained         uint64    `json:"undrained"`
	Queues            []TxQueue `json:"queues"`
	Replay            *Replay   `json:"replay,omitempty"`
}

// Replay is the capture that was sent.
type Replay struct {
	File               string            `json:"file"`
	Packets            uint64            `json:"packets"` // read from it
	Frames             uint64            `json:"frames"`  // that one round sends
	Padded             uint64            `json:"padded"`
	Signed             uint64            `json:"signed"` // frames of a round that carry a signature
	Skipped            map[string]uint64 `json:"skipped"`
	EditsWithoutTarget uint64            `json:"edits_without_target"`
	Backwards          uint64            `json:"backwards"`
	Untimed            uint64            `json:"untimed"`
	Recorded           bool              `json:"recorded"`
	Speed              float64           `json:"speed"`
	SpanNs             uint64            `json:"span_ns"`
	LongestGapNs       uint64            `json:"longest_gap_ns"`
	GapsShortened      uint64            `json:"gaps_shortened"`
	Loop               *uint64           `json:"loop"` // null: again and again
	Preloaded          bool              `json:"preloaded"`
}

// TxQueue is one queue's share.
type TxQueue struct {
	Queue       int     `json:"queue"`
	Core        int     `json:"core"`
	Submitted   uint64  `json:"submitted"`
	Sent        *uint64 `json:"sent"` // null where the device counted fewer than were handed over, and whose they were is unknown
	BehindNsMax uint64  `json:"behind_ns_max"`
}

// Rx is what arrived at a port.
type Rx struct {
	Frames         uint64   `json:"frames"` // of this run, duplicates and corrupt ones included
	Bytes          uint64   `json:"bytes"`  // with FCS
	DeviceFrames   *uint64  `json:"device_frames"`
	DurationS      float64  `json:"duration_s"`
	FPS            float64  `json:"fps"`
	L1Bps          float64  `json:"l1_bps"`
	L2Bps          float64  `json:"l2_bps"`
	L2LineShare    *float64 `json:"l2_line_share"`
	MeanIntervalNs *float64 `json:"mean_interval_ns"`
	Foreign        uint64   `json:"foreign"`
	Stale          uint64   `json:"stale"`
	BadStream      uint64   `json:"bad_stream"`
	TesterDrops    *uint64  `json:"tester_drops"`
	Clock          string   `json:"clock"`
	Window         int      `json:"window"`
	Capture        *Capture `json:"capture,omitempty"` // only where frames were written
}

// Capture is what was written to files.
type Capture struct {
	Files              []string `json:"files"`     // that are there, oldest first
	Removed            int      `json:"removed"`   // files of a rotation that were not kept
	Frames             uint64   `json:"frames"`    // in all files, removed ones included
	Bytes              uint64   `json:"bytes"`     // of these frames on the wire, with FCS
	Merged             uint64   `json:"merged"`    // of these frames, those that were not on the wire like this
	Truncated          uint64   `json:"truncated"` // of these frames, those longer than the snapshot length
	Dropped            uint64   `json:"dropped"`   // found the ring full
	FileBytes          int64    `json:"file_bytes"`
	SnapLen            int      `json:"snaplen"`             // bytes without FCS; 0: frames are written whole
	Direction          string   `json:"direction"`           // in, out, both
	FilterInstructions int      `json:"filter_instructions"` // 0: no filter
}

// Stream is one stream of the definition, its queues added up.
type Stream struct {
	Name      string    `json:"name"`
	ID        int       `json:"id"`         // of its first queue, on the wire
	FrameSize string    `json:"frame_size"` // as written: "64", "imix", ...
	Signature string    `json:"signature"`
	Tx        *StreamTx `json:"tx,omitempty"`
	Rx        *StreamRx `json:"rx,omitempty"`
}

// StreamTx is the sending side.
type StreamTx struct {
	Frames uint64 `json:"frames"`
}

// StreamRx is the receiving side. Counts are null where the frames carry no signature. Frames are different sequence numbers
// that arrived whole; Duplicate, Late, Corrupt and BadSeq are not among them, Reordered are.
type StreamRx struct {
	Frames    *uint64  `json:"frames"`
	Lost      *int64   `json:"lost"`
	LostFirst *uint64  `json:"lost_first"` // of Lost: sent before any that arrived
	Duplicate *uint64  `json:"duplicate"`
	Reordered *uint64  `json:"reordered"`
	Late      *uint64  `json:"late"`
	Corrupt   *uint64  `json:"corrupt"`
	BadSeq    *uint64  `json:"bad_seq"`
	LatencyNs *Latency `json:"latency_ns"`
	GapNs     *Gap     `json:"gap_ns"`
	Order     *Order   `json:"order,omitempty"`   // measured by packet: receivers only
	IPDVNs    *IPDV    `json:"ipdv_ns,omitempty"` // too, where each frame carries a time of its own
}

// IPDV is the delay variation of RFC 5481: how much the delays of frames sent one after the other differ, in ns, without
// signs. It does not depend on what the clocks of sender and receiver differ by.
type IPDV struct {
	Count uint64  `json:"count"`
	Mean  float64 `json:"mean"`
	P50   *uint64 `json:"p50"`
	P99   *uint64 `json:"p99"`
	P999  *uint64 `json:"p999"`
	Max   uint64  `json:"max"`
}

// Latency of the frames that arrived, stamp to arrival, in ns. Percentiles are null below ten samples beyond them.
type Latency struct {
	Count    uint64  `json:"count"`
	Min      uint64  `json:"min"`
	Mean     float64 `json:"mean"`
	P50      *uint64 `json:"p50"`
	P90      *uint64 `json:"p90"`
	P99      *uint64 `json:"p99"`
	P999     *uint64 `json:"p999"`
	Max      uint64  `json:"max"`
	Negative uint64  `json:"negative"`
	Clock    string  `json:"clock"`
	FloorP50 *uint64 `json:"floor_p50"`
}

// Gap is the time between arrivals of frames of one stream id, in ns.
type Gap struct {
	Count      uint64   `json:"count"`
	Mean       float64  `json:"mean"`
	Stdev      float64  `json:"stdev"`
	P1         *uint64  `json:"p1"`
	P50        *uint64  `json:"p50"`
	P99        *uint64  `json:"p99"`
	Max        uint64   `json:"max"`
	Within5Pct *float64 `json:"within_5pct"` // share, 0 to 1; null where no gap was asked for
}

// Order are the reordering measures of RFC 4737 and RFC 5236.
type Order struct {
	Reordered     uint64             `json:"reordered"`
	ExtentMax     uint64             `json:"extent_max"`
	NMax          uint64             `json:"n_max"`
	LateNsMax     uint64             `json:"late_ns_max"`
	ByteOffsetMax uint64             `json:"byte_offset_max"`
	RD            map[string]float64 `json:"rd"`
	RBD           map[string]float64 `json:"rbd"`
}

// Verdict says whether the numbers can be trusted.
type Verdict struct {
	Status  string   `json:"status"` // valid, suspect, invalid
	Reasons []string `json:"reasons"`
}

// Error is why a command ended with a status other than 0.
type Error struct {
	Code    int    `json:"code"` // the exit status
	Message string `json:"message"`
	Mend    string `json:"mend"`
}

// Interval is one record of --jsonl.
type Interval struct {
	Type  string  `json:"type"` // "interval"
	TS    float64 `json:"t_s"`
	TxFPS float64 `json:"tx_fps"`
	RxFPS float64 `json:"rx_fps"`
	Tx    uint64  `json:"tx"` // so far
	Rx    uint64  `json:"rx"`
	Lost  *int64  `json:"lost"` // tx less different rx so far, frames under way included; null where only one side is here
}
