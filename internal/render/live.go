package render

import (
	"cmp"
	"fmt"
	"io"
	"sync"

	"github.com/wirespeed/wirespeed/report"
)

// Live shows a run while it goes on. On a terminal it redraws one line of at most 79 columns; elsewhere it writes a line for
// every second of the first ten and then one every ten seconds. Its methods may be called from several goroutines. Errors
// of the writer are ignored: a lost line of progress must not end a run.
type Live struct {
	mu    sync.Mutex
	w     io.Writer
	tty   bool
	drawn bool
	seen  string  // what is said of frames that a capture takes; empty: they arrived
	next  float64 // time in the run from which on the next plain line is due
}

// Control sequences of ECMA-48: back to the first column, and erase the whole line.
const (
	lineStart = "\r"
	eraseLine = "\x1b[2K"
)

// NewLive makes a view that writes to w; isTTY says that w is a terminal.
func NewLive(w io.Writer, isTTY bool) *Live { return &Live{w: w, tty: isTTY} }

// Captured says "captured" in the place of "arrived": a capture may hold what was sent.
func (l *Live) Captured() { l.seen = "captured" }

// Update shows the newest interval.
func (l *Live) Update(v report.Interval) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.tty {
		l.drawn = true
		fmt.Fprintf(l.w, "%s%s%s", lineStart, eraseLine, l.liveLine(v))
		return
	}
	// Half a second of tolerance: a tick that comes a little early is the one that was meant.
	if v.TS+0.5 < l.next {
		return
	}
	step := 1.0
	if v.TS >= 9.5 {
		step = 10
	}
	l.next = v.TS + step
	fmt.Fprintln(l.w, l.plainLine(v))
}

// Done ends the live line, so that what follows begins on its own. Calling it again does nothing.
func (l *Live) Done() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.drawn {
		l.drawn = false
		fmt.Fprintln(l.w)
	}
}

// sides says which sides of an interval there are. A side that nobody measures stands at 0 with no loss known.
func sides(v report.Interval) (tx, rx bool) {
	tx = v.Lost != nil || v.Tx > 0 || v.TxFPS > 0
	rx = v.Lost != nil || v.Rx > 0 || v.RxFPS > 0
	return tx, rx
}

// idle is shown while nothing has left or arrived.
const idle = "nothing so far"

func (l *Live) liveLine(v report.Interval) string {
	tx, rx := sides(v)
	line := fmt.Sprintf("%.0f s", v.TS)
	if tx {
		line += fmt.Sprintf("  tx %s (%s)", short(v.TxFPS, "pps"), short(float64(v.Tx), ""))
	}
	if rx {
		line += fmt.Sprintf("  %s %s (%s)", cmp.Or(l.seen, "rx"), short(v.RxFPS, "pps"), short(float64(v.Rx), ""))
	}
	if !tx && !rx {
		line += "  " + idle
	}
	if tx && rx {
		missing := "unknown"
		if v.Lost != nil {
			missing = short(float64(*v.Lost), "")
		}
		line += "  missing " + missing
	}
	return line
}

func (l *Live) plainLine(v report.Interval) string {
	tx, rx := sides(v)
	line := fmt.Sprintf("%.1f s:", v.TS)
	if tx {
		line += fmt.Sprintf(" sending %s, sent %s", rate(v.TxFPS), count(v.Tx))
	}
	if rx {
		if tx {
			line += ","
		}
		if l.seen == "" {
			line += fmt.Sprintf(" receiving %s, arrived %s", rate(v.RxFPS), count(v.Rx))
		} else {
			line += fmt.Sprintf(" capturing %s, %s %s", rate(v.RxFPS), l.seen, count(v.Rx))
		}
	}
	if !tx && !rx {
		line += " " + idle
	}
	if tx && rx {
		missing := "unknown"
		if v.Lost != nil {
			missing = count(*v.Lost)
		}
		line += ", lost or under way " + missing
	}
	return line
}
