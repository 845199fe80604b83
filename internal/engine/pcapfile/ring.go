package pcapfile

import (
	"errors"
	"fmt"
	"os"

	"github.com/wirespeed/wirespeed/internal/engine/txloop"
	"github.com/wirespeed/wirespeed/internal/pcapio"
	"github.com/wirespeed/wirespeed/internal/program"
	"github.com/wirespeed/wirespeed/internal/wire"
)

// ring writes frames, one at a time. It is also the file below the writer, which is handed whole records.
type ring struct {
	file  *os.File
	path  string
	made  bool // by this ring: it is removed where nothing ran
	ran   bool
	out   *pcapio.Writer
	frame [1]program.Frame

	clock *txloop.Virtual
	epoch int64  // what is added to the clock for the file
	speed uint64 // bit/s; 0: a frame takes no time
	rest  uint64 // of the last frame's time, in ns/speed

	accepted, written, reclaimed uint64 // frames: by the writer, by the file, and told to the loop
	good                         int64  // the file ends behind a frame here
}

func (a *address) newRing(clock *txloop.Virtual, maxLen int) (*ring, error) {
	r := &ring{path: a.path, clock: clock, epoch: sinceEpoch(), speed: a.speed}
	r.frame[0].Buf = make([]byte, maxLen)
	var err error
	if r.file, r.made, err = a.openFile(); err != nil {
		return nil, err
	}
	// Linux has no name for the interface of a file; readers show this one.
	r.out, err = pcapio.NewWriter(r, pcapio.WriterConfig{Format: a.format, Link: pcapio.LinkEthernet, IfName: "wirespeed"})
	if err != nil {
		return nil, errors.Join(err, r.close())
	}
	return r, nil
}

// begin empties a file that was there.
func (r *ring) begin() error {
	if r.ran {
		return errors.New("pcap: the plan has run: load it again")
	}
	r.ran = true
	if at, err := r.file.Stat(); r.made || err != nil || !at.Mode().IsRegular() {
		return err
	}
	return r.file.Truncate(0)
}

// Reserve returns the frame.
func (r *ring) Reserve(n int) []program.Frame { return r.frame[:min(n, 1)] }

// Commit writes the frame with the time that it is, and lets its time on the wire pass.
func (r *ring) Commit(n int) (taken int, err error) {
	f := &r.frame[0]
	now := r.clock.Now()
	if err := r.out.WritePacket(now+r.epoch, f.Len, f.Buf[:f.Len]); err != nil {
		return 0, err
	}
	r.accepted++
	if r.speed > 0 {
		at := r.rest + uint64(f.Len+wire.FCS+wire.Overhead)*8*nsPerSecond
		r.rest = at % r.speed
		r.clock.Until(now + int64(at/r.speed))
	}
	return 1, nil
}

const nsPerSecond = 1_000_000_000

// Reclaim returns how many frames the file has taken since it was asked last.
func (r *ring) Reclaim() int {
	n := r.written - r.reclaimed
	r.reclaimed = r.written
	return int(n)
}

// Write takes whole records from the writer. Where the file does not take them all it is cut behind the last that it has.
func (r *ring) Write(b []byte) (int, error) {
	n, err := r.file.Write(b)
	if err != nil {
		_ = r.file.Truncate(r.good) // a pipe cannot be
		return n, fmt.Errorf("pcap: %w", err)
	}
	r.good += int64(n)
	r.written = r.accepted
	return n, nil
}

// Flush is called at the end of the run.
func (r *ring) Flush() error {
	if err := r.out.Flush(); err != nil {
		return err
	}
	// What a network's file system could not write it says only now.
	if err := r.file.Close(); err != nil {
		r.written = r.reclaimed
		return fmt.Errorf("pcap: %w", err)
	}
	return nil
}

// close closes the file, and removes it where it was made for nothing.
func (r *ring) close() error {
	if r == nil || r.file == nil {
		return nil
	}
	err := r.file.Close()
	if errors.Is(err, os.ErrClosed) {
		err = nil
	}
	if r.made && !r.ran {
		err = errors.Join(err, os.Remove(r.path))
	}
	r.file = nil
	return err
}
