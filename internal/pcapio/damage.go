package pcapio

import "fmt"

// A FormatError says why a file is no capture that can be read here.
type FormatError struct{ What string }

func (e *FormatError) Error() string { return e.What }

func notCapture(format string, args ...any) error {
	return &FormatError{"not a capture file: " + fmt.Sprintf(format, args...)}
}

// Damage is where a capture cannot be read on. The packets before it are good.
type Damage struct {
	Offset int64  // in the file, after decompression: where the record or block begins that is damaged
	After  uint64 // packets before it
	What   string
	Cut    bool // the file just ends too early; else it holds what no capture may
}

func (d *Damage) Error() string {
	what := d.What
	if d.Cut {
		what = "truncated"
	}
	where := "before the first packet"
	if d.After > 0 {
		where = fmt.Sprintf("after packet %d", d.After)
	}
	s := fmt.Sprintf("%s at offset %d %s", what, d.Offset, where)
	if d.Cut && d.What != "" {
		s += " (" + d.What + ")"
	}
	return s
}
