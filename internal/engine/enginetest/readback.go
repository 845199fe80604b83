package enginetest

import (
	"context"
	"errors"
	"io"
	"io/fs"

	"github.com/wirespeed/wirespeed/internal/analyse"
	"github.com/wirespeed/wirespeed/internal/engine"
	"github.com/wirespeed/wirespeed/internal/packet"
	"github.com/wirespeed/wirespeed/internal/pcapio"
)

// Readback is the receiver of an engine that writes a capture file: it reads the file whenever it is asked for its counts.
type Readback struct{ Path string }

// Name is the receiver's.
func (*Readback) Name() string { return "readback" }

// Probe says that it cannot send.
func (r *Readback) Probe(ctx context.Context, t engine.Target) (engine.Caps, error) {
	c, err := r.ProbeReceive(ctx, t)
	c.Problems = []engine.Problem{{Reason: "it only reads"}}
	return c, err
}

// Open refuses.
func (*Readback) Open(context.Context, engine.Target, engine.Config) (engine.Port, error) {
	return nil, errors.New("it only reads")
}

// ProbeReceive says that it works.
func (*Readback) ProbeReceive(context.Context, engine.Target) (engine.Caps, error) {
	return engine.Caps{Engine: "readback", MaxQueues: 1}, nil
}

// OpenReceiver makes a receiver.
func (r *Readback) OpenReceiver(context.Context, engine.Target, engine.Config) (engine.Receiver, error) {
	return &reader{path: r.Path}, nil
}

// reader is a Receiver.
type reader struct {
	path   string
	expect engine.Expect
	final  *engine.Received // after Stop
}

func (r *reader) Load(e engine.Expect) error { r.expect, r.final = e, nil; return nil }
func (r *reader) Start() error               { return nil }

func (r *reader) Stop() (err error) {
	got, err := r.Snapshot()
	r.final = &got
	return err
}

func (r *reader) Close() error { return nil }

func (r *reader) Device() (engine.DeviceCounters, bool, error) {
	return engine.DeviceCounters{}, false, nil
}

// Snapshot analyses the file as it is now. Its times count from the first signature's, so that they are CLOCK_MONOTONIC; a
// frame whose time in the file is not that in its signature shows as latency.
func (r *reader) Snapshot() (engine.Received, error) {
	if r.final != nil {
		return *r.final, nil
	}
	a, err := analyse.New(r.expect)
	if err != nil {
		return engine.Received{}, err
	}
	var offset int64
	err = ReadFile(r.path, func(p *pcapio.Packet) {
		if l, ok := packet.Walk(p.Data); ok && offset == 0 {
			if s, ok := packet.ParseSignature(p.Data[l.Payload:]); ok && s.Time != 0 {
				offset = int64(s.Time) - p.TimeNs
			}
		}
		a.Frame(p.Data, p.TimeNs+offset)
	})
	if errors.Is(err, fs.ErrNotExist) {
		err = nil // nothing has been sent yet
	}
	got := a.Snapshot()
	got.Queues, got.Clock = 1, "times of the file"
	return got, err
}

// ReadFile reads a capture. A file that grows ends where the last whole packet does.
func ReadFile(path string, each func(*pcapio.Packet)) error {
	r, err := pcapio.Open(path, nil)
	if err != nil {
		if _, bad := errors.AsType[*pcapio.FormatError](err); bad {
			return nil // it is empty yet
		}
		return err
	}
	var p pcapio.Packet
	for {
		err := r.Next(&p)
		if _, cut := errors.AsType[*pcapio.Damage](err); cut || err == io.EOF {
			return r.Close()
		}
		if err != nil {
			return errors.Join(err, r.Close())
		}
		each(&p)
	}
}

// ReadFrames are the frames of a capture and their times, in ns since 1970.
func ReadFrames(path string) (frames [][]byte, times []int64, err error) {
	err = ReadFile(path, func(p *pcapio.Packet) {
		frames = append(frames, append([]byte(nil), p.Data...))
		times = append(times, p.TimeNs)
	})
	return frames, times, err
}
