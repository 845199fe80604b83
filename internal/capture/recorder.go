package capture

import (
	"errors"
	"math"
	"os"
	"slices"
	"sync/atomic"

	"github.com/wirespeed/wirespeed/internal/engine"
	"github.com/wirespeed/wirespeed/internal/pcapio"
)

// A Receiver can write what arrives to a file.
type Receiver interface {
	engine.Receiver
	// Record is called after Load and before Start: what arrives is written to the recorder, which is the receiver's until
	// Stop. It refuses what the recorder asks for and the receiver cannot do.
	Record(*Recorder) error
	// Recorded may be called at any time.
	Recorded() Result
}

// Written counts what is in the files, removed ones included.
type Written struct {
	Frames uint64
	Bytes  uint64 // of these frames on the wire, with FCS
	Merged uint64 // of them, frames that the kernel or the card merged: they were not on the wire like this
	Cut    uint64 // of them, frames longer than the snapshot length
}

// Result is what has been written.
type Result struct {
	Written
	Files     []string // that are there, oldest first
	Removed   int      // files of a rotation that were not kept
	FileBytes int64    // of all files, removed ones included
	Dropped   uint64   // frames that passed the filter and found the ring full: in no file
	Full      bool     // the limit is reached
	Err       error    // why writing ended early; nil: it did not
}

// A Recorder writes frames to files.
type Recorder struct {
	spec   Spec
	ifName string

	file   *file
	writer *pcapio.Writer // nil: not begun
	number int            // of the file, from 1

	nextTime int64 // a frame from then on goes into the next file
	maxBytes int64 // a file has no more

	seen    Written // given to the writer
	written Written // and by it to the file
	before  uint64  // frames seen before this file
	result  Result
	dropped func() uint64 // by the receiver, since it started
	begun   uint64        // dropped when the file began
	over    atomic.Bool
}

// Create makes the first file, empty, so that nothing begins which could not be written. Files of an earlier capture are
// refused (Exists) or, with Overwrite, left alone until Begin.
func Create(s Spec) (*Recorder, error) {
	if err := s.Validate(); err != nil {
		return nil, err
	}
	earlier, err := s.earlier()
	if err != nil {
		return nil, err
	}
	if len(earlier) > 0 && !s.Overwrite {
		return nil, &Exists{earlier[0]}
	}
	r := &Recorder{spec: s, number: 1, nextTime: math.MaxInt64, maxBytes: math.MaxInt64}
	if s.RotateSize > 0 {
		r.maxBytes = s.RotateSize
	}
	if r.file, err = openFile(s.name(1)); err != nil {
		return nil, err
	}
	return r, nil
}

// Spec is what the recorder was made for.
func (r *Recorder) Spec() *Spec { return &r.spec }

// Discard removes the file that Create made, where the receiver did not start after all.
func (r *Recorder) Discard() {
	if r.seen.Frames == 0 && r.file != nil {
		r.file.discard()
		r.file = nil
		r.over.Store(true)
	}
}

// Begin replaces the files of an earlier capture and writes the head of the first one, which names the interface. dropped
// is how many frames the receiver has dropped since it started; it is called whenever a file begins or ends.
func (r *Recorder) Begin(ifName string, dropped func() uint64) error {
	r.ifName, r.dropped = ifName, dropped
	earlier, err := r.spec.earlier()
	if err != nil {
		return err
	}
	for _, path := range earlier {
		if path == r.file.path {
			continue
		}
		if err := os.Remove(path); err != nil {
			return err
		}
	}
	if err := r.file.empty(); err != nil {
		return err
	}
	return r.head()
}

// head begins the file that is open.
func (r *Recorder) head() error {
	format, err := r.spec.format()
	if err != nil {
		return err
	}
	r.writer, err = pcapio.NewWriter(sink{r}, pcapio.WriterConfig{
		Format: format, Link: pcapio.LinkEthernet, SnapLen: r.spec.SnapLen, IfName: r.ifName,
	})
	if err != nil {
		return err
	}
	r.result.Files = append(r.result.Files, r.file.path)
	r.begun, r.before, r.nextTime = r.dropped(), r.seen.Frames, math.MaxInt64
	return r.writer.Flush()
}

// sink is the recorder as the writer below sees it, which hands over whole records only.
type sink struct{ *Recorder }

// Write writes to the file, and takes back what did not fit.
func (s sink) Write(b []byte) (int, error) {
	n, err := s.file.Write(b)
	if err != nil {
		return 0, errors.Join(err, s.file.cut())
	}
	s.file.size += int64(n)
	s.result.FileBytes += int64(n)
	s.written = s.seen
	return n, nil
}

// blockRoom is what a frame takes in a file beyond its bytes, at most, and what the end of a file takes.
const blockRoom = 256

const fcs = 4

// Frame writes one frame that arrived at timeNs (since 1970) and had orig bytes, without FCS. merged marks it as one that
// was not on the wire like this. After the limit or an error it does nothing.
func (r *Recorder) Frame(timeNs int64, orig int, data []byte, merged, outgoing bool) {
	if r.over.Load() {
		return
	}
	cut := r.spec.SnapLen > 0 && len(data) > r.spec.SnapLen
	if cut {
		data = data[:r.spec.SnapLen]
	}
	if timeNs >= r.nextTime || r.writer.Size()+int64(len(data)+blockRoom) > r.maxBytes && r.seen.Frames > r.before {
		if r.rotate(); r.over.Load() {
			return
		}
	}
	if r.spec.RotateTime > 0 && r.seen.Frames == r.before {
		r.nextTime = timeNs + int64(r.spec.RotateTime)
	}
	if err := r.writer.WriteFrame(timeNs, orig, data, merged, outgoing); err != nil {
		r.fail(err)
		return
	}
	r.seen.Frames++
	r.seen.Bytes += uint64(orig) + fcs
	if merged {
		r.seen.Merged++
	}
	if cut {
		r.seen.Cut++
	}
	if r.seen.Frames == r.spec.Limit {
		r.result.Full = true
		r.over.Store(true)
	}
}

// Flush hands what is in memory to the kernel.
func (r *Recorder) Flush() {
	if r.over.Load() || r.written == r.seen {
		return
	}
	if err := r.writer.Flush(); err != nil {
		r.fail(err)
	}
}

// fail ends the capture. What was handed to the kernel before stays, and the file ends with its statistics where there is
// room for them: what was taken back has made some.
func (r *Recorder) fail(err error) {
	r.over.Store(true)
	if r.result.Err == nil {
		r.result.Err = err
	}
	if r.file != nil && r.writer != nil {
		r.seen = r.written
		r.writer.Resume(r.file.size, r.written.Frames-r.before)
	}
}

// rotate begins the next file.
func (r *Recorder) rotate() {
	if err := r.end(); err != nil {
		r.fail(err)
		return
	}
	r.number++
	f, err := openFile(r.spec.name(r.number))
	if err != nil {
		r.fail(err)
		return
	}
	r.file = f
	if err := errors.Join(f.empty(), r.head()); err != nil {
		r.fail(err)
		f.discard()
		r.file, r.result.Files = nil, slices.DeleteFunc(r.result.Files, func(path string) bool { return path == f.path })
		return
	}
	if n := len(r.result.Files) - r.spec.Keep; r.spec.Keep > 0 && n > 0 {
		for _, path := range r.result.Files[:n] {
			if err := os.Remove(path); err != nil {
				r.fail(err)
				return
			}
		}
		r.result.Files = r.result.Files[n:]
		r.result.Removed += n
	}
}

// end completes the file: with its statistics, where the format has them.
func (r *Recorder) end() error {
	if r.file == nil {
		return nil
	}
	var err error
	if r.writer != nil {
		dropped := r.dropped() - r.begun
		err = r.writer.Stats(r.seen.Frames-r.before+dropped, dropped)
		err = errors.Join(err, r.writer.Flush())
	}
	err = errors.Join(err, r.file.Close())
	r.file = nil
	return err
}

// Close completes the last file. It is the end of the recorder; a second Close does nothing.
func (r *Recorder) Close() error {
	if err := r.end(); err != nil && r.result.Err == nil {
		r.result.Err = err
	}
	r.over.Store(true)
	return r.result.Err
}

// Over is whether the recorder takes no more frames, since it has enough or cannot go on. A recorder that is nil goes on.
func (r *Recorder) Over() bool { return r != nil && r.over.Load() }

// Result is what has been handed to the kernel so far.
func (r *Recorder) Result() Result {
	out := r.result
	out.Written = r.written
	out.Files = slices.Clone(out.Files)
	if r.dropped != nil {
		out.Dropped = r.dropped()
	}
	return out
}
