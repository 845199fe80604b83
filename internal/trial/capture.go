package trial

import (
	"errors"
	"fmt"
	"io/fs"

	"golang.org/x/sys/unix"

	"github.com/wirespeed/wirespeed/internal/capture"
	"github.com/wirespeed/wirespeed/report"
)

// createCapture makes the file before anything else begins. It is removed where the receiver does not start after all.
func (u *run) createCapture(s *capture.Spec) (*capture.Recorder, error) {
	if s == nil {
		return nil, nil
	}
	if err := s.Validate(); err != nil {
		return nil, UsageOf(err)
	}
	rec, err := capture.Create(*s)
	if err == nil {
		u.cleanup = append(u.cleanup, rec.Discard)
		return rec, nil
	}
	return nil, notCreated(s, err)
}

// notCreated says what would mend it.
func notCreated(s *capture.Spec, err error) error {
	switch exists, ok := errors.AsType[*capture.Exists](err); {
	case ok && s.RotateSize+int64(s.RotateTime) > 0:
		return Usage("give another name, or --overwrite to remove the files of that capture", "%v", exists)
	case ok:
		return Usage("give another name, or --overwrite to replace it", "%v", exists)
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, unix.ENOTDIR), errors.Is(err, unix.EISDIR):
		return Usage("name a file in a folder that is there", "%s cannot be written: %v", s.Path, unwrapped(err))
	case errors.Is(err, fs.ErrPermission), errors.Is(err, unix.EROFS):
		return Environment("name a file where you may write, or run it with sudo", "%s cannot be written: %v", s.Path, unwrapped(err))
	}
	if _, ok := errors.AsType[*capture.NotAFile](err); ok {
		return Usage("name a file", "%v", err)
	}
	return Environment("", "%s cannot be written: %v", s.Path, unwrapped(err))
}

// unwrapped is the reason without the path, which the message names.
func unwrapped(err error) error {
	if path, ok := errors.AsType[*fs.PathError](err); ok {
		return path.Err
	}
	return err
}

// record gives the receiver its recorder, if there is one.
func (x *receiver) record(rec *capture.Recorder) error {
	if rec == nil {
		return nil
	}
	c, ok := x.recv.(capture.Receiver)
	if !ok { // its engine said that it could
		return fmt.Errorf("%s: the receiver cannot write a capture", x.chosen.engine.Name())
	}
	x.capture = c
	if err := c.Record(rec); err != nil {
		return EnvironmentOf(err)
	}
	return nil
}

// captured makes the document of what was written.
func captured(x *receiver, s *capture.Spec, j *judge) *report.Capture {
	r := x.capture.Recorded()
	c := &report.Capture{
		Files: r.Files, Removed: r.Removed, FileBytes: r.FileBytes, Frames: r.Frames, Bytes: r.Bytes,
		SnapLen: s.SnapLen, Merged: r.Merged, Truncated: r.Cut, Dropped: r.Dropped, Direction: s.Direction.String(), FilterInstructions: len(s.Filter),
	}
	switch {
	case r.Err != nil:
		j.mend = "make room, or write elsewhere"
		j.fails(ExitShort, "the capture ended early, with %d frames in the file: %v", r.Frames, r.Err)
	case r.Frames == 0:
		j.fails(ExitShort, "nothing to write arrived on %s", x.target)
	case s.Limit > 0 && !r.Full && x.err == nil:
		j.fails(ExitShort, "%d of %d frames arrived on %s", r.Frames, s.Limit, x.target)
	}
	return c
}
