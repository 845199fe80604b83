// Package pcapfile writes a capture file as if it were the wire: every frame of a run with the time at which the schedule has
// it leave, in ns. Its ports need no device, no permission but to write the file, and no lock.
//
// Time is a clock of the port's own (txloop.Virtual) that begins at the time of day and never waits: an hour of a schedule is
// written as fast as the disk takes it. With ?speed=1G the file has a line rate: a frame holds the wire as long as its bytes,
// preamble and gap do, and the next leaves no earlier, as it would on a wire. Without one and without a rate all frames have
// the same time.
//
// A frame counts as sent when the file below has taken it; where that fails the file is cut behind the last of them. The one
// worker of package txloop owns file, clock and buffer.
package pcapfile

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/wirespeed/wirespeed/internal/engine"
	"github.com/wirespeed/wirespeed/internal/pcapio"
	"github.com/wirespeed/wirespeed/internal/wire"
)

// Engine keeps no state.
type Engine struct{}

// New is the engine.
func New() *Engine { return &Engine{} }

// Name is what stands before the colon in a port's address.
func (*Engine) Name() string { return "pcap" }

// Portless says what a port of the engine is.
func (*Engine) Portless() string {
	return "pcap:FILE writes a capture file as if it were the wire: .pcap, else pcapng"
}

// Options are the format, and overwrite=yes for a file that is there.
func (*Engine) Options() (tx, rx []string) { return []string{"format", "overwrite"}, nil }

// address is a port's address, read.
type address struct {
	path      string
	format    pcapio.Format
	speed     uint64 // bit/s of the wire; 0: no line rate
	overwrite bool
}

func parse(t engine.Target) (a address, err error) {
	refuse := func(format string, args ...any) (address, error) {
		return address{}, engine.InputError(fmt.Sprintf("port %q: ", t.Text) + fmt.Sprintf(format, args...))
	}
	a.path = t.Device
	switch name := strings.ToLower(a.path); {
	case name == "":
		return refuse("no file is named: write pcap:FILE")
	case name == "-":
		return refuse("standard output is for the report: write to a file or a named pipe; a file of this name is pcap:./-")
	case strings.HasSuffix(name, ".gz"):
		return refuse("files are not compressed while they are written: leave out .gz, and compress the file afterwards")
	case strings.HasSuffix(name, ".pcap"):
		a.format = pcapio.PCAP
	default:
		a.format = pcapio.PCAPNG
	}
	if t.Options.Has("format") {
		switch v := t.Options.Get("format"); v {
		case "pcap":
			a.format = pcapio.PCAP
		case "pcapng":
			a.format = pcapio.PCAPNG
		default:
			return refuse("option format is %q: it is pcap or pcapng", v)
		}
	}
	if t.Options.Has("overwrite") {
		switch v := t.Options.Get("overwrite"); v {
		case "yes":
			a.overwrite = true
		case "no":
		default:
			return refuse("option overwrite is %q: it is yes or no", v)
		}
	}
	if t.Options.Has("speed") {
		if a.speed, err = wire.ParseBitRate(t.Options.Get("speed")); err != nil {
			return refuse("option speed: %v", err)
		}
	}
	return a, nil
}

// Probe says whether the file could be written. It makes none.
func (*Engine) Probe(_ context.Context, t engine.Target) (engine.Caps, error) {
	a, err := parse(t)
	if err != nil {
		return engine.Caps{}, err
	}
	c := engine.Caps{
		Engine: "pcap", Paces: true, Stamps: true, MaxFrame: wire.MaxFrame, MaxQueues: 1,
		Link: engine.Link{Name: t.String(), Kind: "file", Up: true, Carrier: true, MAC: [6]byte{2, 0, 0, 0, 0, 1}, TxQueues: 1,
			SpeedBps: a.speed, SpeedDeclared: a.speed > 0},
	}
	problem, err := a.problem()
	if err != nil {
		return engine.Caps{}, err
	}
	if problem != nil {
		c.Problems = append(c.Problems, *problem)
	}
	return c, nil
}

// problem is why the file cannot be written; an error where another name or option is needed.
func (a *address) problem() (*engine.Problem, error) {
	at, err := os.Stat(a.path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		folder := filepath.Dir(a.path)
		if in, err := os.Stat(folder); err != nil || !in.IsDir() {
			return &engine.Problem{Reason: fmt.Sprintf("there is no folder %s", folder), Mend: "`mkdir -p " + folder + "`, or another path"}, nil
		}
		if err := unix.Access(folder, unix.W_OK|unix.X_OK); err != nil {
			return &engine.Problem{Reason: fmt.Sprintf("no file can be made in %s: %v", folder, err), Mend: "write into a folder that is yours"}, nil
		}
	case err != nil:
		return &engine.Problem{Reason: fmt.Sprintf("%s cannot be written: %v", a.path, err), Mend: "another path"}, nil
	case at.IsDir():
		return nil, engine.InputError(fmt.Sprintf("pcap: %s is a folder: give the name of a file in it", a.path))
	case at.Mode().IsRegular() && !a.overwrite:
		return nil, a.exists()
	default:
		if err := unix.Access(a.path, unix.W_OK); err != nil {
			return &engine.Problem{Reason: fmt.Sprintf("%s cannot be written: %v", a.path, err), Mend: "another path"}, nil
		}
	}
	return nil, nil
}

func (a *address) exists() error {
	return engine.InputError(fmt.Sprintf("pcap: %s exists: give another name, or ?overwrite=yes to replace it", a.path))
}

// Open opens a port; the file is made when a plan is loaded.
func (e *Engine) Open(ctx context.Context, t engine.Target, _ engine.Config) (engine.Port, error) {
	caps, err := e.Probe(ctx, t)
	if err != nil {
		return nil, err
	}
	if err := caps.CarriesReceive(engine.Expect{}); err != nil { // the problems
		return nil, err
	}
	a, err := parse(t)
	return &port{caps: caps, address: a}, err
}
