package replay

import (
	"context"
	"fmt"
	"io"

	"github.com/wirespeed/wirespeed/internal/pcapio"
	"github.com/wirespeed/wirespeed/internal/program"
	"github.com/wirespeed/wirespeed/internal/wire"
)

// The chunks of a source: a few, so that one is sent while others are filled.
const (
	chunks      = 4
	chunkBytes  = 1 << 20
	chunkFrames = 8192
	// soonFrames: a chunk of so many frames is handed over at once where the sender has nothing left.
	soonFrames = 256
)

// source reads a capture while it is sent. Next and Err belong to the sender; a goroutine fills.
type source struct {
	filled chan *program.Sequence // closed at the end, after err is set
	empty  chan *program.Sequence // as long as there are chunks, so that giving one back never waits
	peeked *program.Sequence      // the first chunk, which was waited for
	given  *program.Sequence      // that the sender has
	err    error
	ended  bool
	stop   chan struct{}
	done   chan struct{}
	waits  bool // close waits for the goroutine: not where it may be waiting for a pipe
}

// Next hands over the next chunk; the one before goes back.
func (s *source) Next() (*program.Sequence, program.SourceState) {
	if s.ended {
		return nil, program.SourceEnd
	}
	if s.peeked != nil {
		s.given, s.peeked = s.peeked, nil
		return s.given, program.SourceReady
	}
	select {
	case next, ok := <-s.filled:
		if s.given != nil {
			s.empty <- s.given
			s.given = nil
		}
		if !ok {
			s.ended = true
			return nil, program.SourceEnd
		}
		s.given = next
		return next, program.SourceReady
	default:
	}
	if s.given != nil { // the sender is done with it: it may be what the goroutine waits for
		s.empty <- s.given
		s.given = nil
	}
	return nil, program.SourceLater
}

// Err is why the source ended early. It is nil until Next has returned SourceEnd.
func (s *source) Err() error {
	if !s.ended {
		return nil
	}
	return s.err
}

func (s *source) close() {
	select {
	case <-s.stop:
	default:
		close(s.stop)
	}
	if s.waits {
		<-s.done
	}
}

// stream starts the second reading of a file.
func (c *Capture) stream(ctx context.Context, l Limits, remap [2]uint16) error {
	file, err := pcapio.Open(c.Replay.File, l.Stdin)
	if err != nil {
		return unreadable(c.Replay, err)
	}
	expect := c.facts.Frames
	facts := &Facts{}
	m, err := newMaker(c.Replay, l, facts)
	if err != nil {
		_ = file.Close() // it was only read
		return refuse("", "%v", err)
	}
	f := &filler{capture: c, maker: m, file: file, remap: remap, soon: soonFrames, period: c.facts.Period, expect: &expect, limits: l}
	f.begin(true)
	return f.first(ctx)
}

// openPipe starts reading what can be read only once. What it holds is not known before.
func (c *Capture) openPipe(ctx context.Context, l Limits) error {
	opened := make(chan error, 1)
	var file *pcapio.Reader
	go func() { // a pipe whose writer has not come yet
		var err error
		file, err = pcapio.Open(c.Replay.File, l.Stdin)
		opened <- err
	}()
	select {
	case err := <-opened:
		if err != nil {
			return unreadable(c.Replay, err)
		}
	case <-ctx.Done():
		return ctx.Err()
	}
	m, err := newMaker(c.Replay, l, &Facts{})
	if err != nil {
		_ = file.Close() // it was only read
		return refuse("", "%v", err)
	}
	c.Program = &program.Program{}
	most := l.MaxFrame + l.MaxTag
	if l.MaxFrame == 0 {
		most = wire.MaxFrame
	}
	remap := c.entries(&Facts{Smallest: wire.MinFrame, Largest: min(most, wire.MaxFrame)})
	f := &filler{capture: c, maker: m, file: file, remap: remap, soon: 1, live: true, limits: l}
	f.begin(false)
	return f.first(ctx)
}

// A filler is the goroutine that reads.
type filler struct {
	capture *Capture
	maker   *maker
	file    *pcapio.Reader
	limits  Limits
	remap   [2]uint16
	soon    int
	period  uint64  // of a round that is known
	expect  *uint64 // frames of a round; nil: not known
	live    bool    // its facts are the capture's, and what cannot be sent ends it
	source  *source
	chunk   *program.Sequence
	base    uint64 // when the round began, ns
}

func (f *filler) begin(waits bool) {
	s := &source{filled: make(chan *program.Sequence, chunks), empty: make(chan *program.Sequence, chunks), stop: make(chan struct{}), done: make(chan struct{}), waits: waits}
	for range chunks {
		s.empty <- &program.Sequence{Bytes: make([]byte, 0, chunkBytes+room), Frames: make([]program.SequenceFrame, 0, chunkFrames), Rounds: 1}
	}
	f.source, f.capture.source = s, s
	f.capture.Program.Source = s
	go f.run()
}

// first waits for the first chunk, so that a pipe that is no capture, or empty, is refused before anything is sent.
func (f *filler) first(ctx context.Context) error {
	s := f.source
	select {
	case next, ok := <-s.filled:
		s.peeked = next
		switch {
		case ok:
		case s.err != nil:
			return s.err
		default:
			return refuse("give a capture that has some", "%s has no packets that can be sent", f.capture.Replay.Name())
		}
	case <-ctx.Done():
		s.close()
		return ctx.Err()
	}
	return nil
}

func (f *filler) run() {
	defer close(f.source.done)
	defer func() {
		_ = f.file.Close() // it was only read
	}()
	f.source.err = f.rounds()
	if f.chunk != nil && len(f.chunk.Frames) > 0 {
		f.chunk.Final = true
		f.source.filled <- f.chunk // there is room for every chunk
	}
	if f.live {
		f.maker.finish()
		f.capture.publish(f.maker.facts)
	}
	close(f.source.filled)
}

// rounds reads the capture as often as asked.
func (f *filler) rounds() error {
	r := f.capture.Replay
	for n := uint64(0); ; n++ {
		stopped, err := f.round()
		if stopped || err != nil {
			return err
		}
		if f.expect != nil && f.maker.facts.Frames != *f.expect {
			return fmt.Errorf("%s changed while it was sent: it had %d frames, and now %d", r.Name(), *f.expect, f.maker.facts.Frames)
		}
		if n+1 == r.Loop {
			return nil
		}
		f.base += f.period
		if f.maker, err = newMaker(r, f.limits, &Facts{}); err != nil {
			return err
		}
		again, err := pcapio.Open(r.File, nil)
		if err != nil { // it is gone
			return unreadable(r, err)
		}
		_ = f.file.Close() // it was only read
		f.file = again
	}
}

// round reads the capture once; stopped: nobody wants more.
func (f *filler) round() (stopped bool, err error) {
	r := f.capture.Replay
	var p pcapio.Packet
	for {
		if r.Limit > 0 && f.maker.facts.Packets == r.Limit {
			return false, nil
		}
		if err := f.file.Next(&p); err == io.EOF {
			return false, nil
		} else if err != nil {
			if f.live {
				f.maker.facts.Damage = err.Error()
				return false, refuse("", "%s: %v", r.Name(), err)
			}
			return false, nil // known since the scan
		}
		var frame program.SequenceFrame
		b := f.maker.make(&p, &frame)
		if b == nil {
			if err := f.refused(); err != nil {
				return false, err
			}
			continue
		}
		if f.live && r.Recorded && r.MaxGap == 0 && f.maker.facts.RecordedGap > longGap {
			return false, refuse("--max-gap 1s shortens such gaps", "%s: a gap of %s before packet %d", r.Name(), duration(f.maker.facts.RecordedGap), p.Number)
		}
		frame.Stream = f.remap[frame.Stream]
		frame.Due += f.base
		if !f.add(b, frame) {
			return true, nil
		}
	}
}

// refused ends a capture that could not be read before at the first packet that cannot be sent.
func (f *filler) refused() error {
	facts := f.maker.facts
	if !f.live || f.capture.Replay.AllowSkip || len(facts.Skipped) == 0 {
		return nil
	}
	s := facts.Skipped[0]
	return refuse(facts.mends(), "%s: packet %d cannot be sent (%s: %s)", f.capture.Replay.Name(), s.Packets[0], s.Reason, s.Detail)
}

// add puts a frame into the chunk and hands it over when it is full, or when the sender has nothing left. It is false where
// nobody wants more.
func (f *filler) add(b []byte, frame program.SequenceFrame) bool {
	if f.chunk != nil && (len(f.chunk.Frames) == chunkFrames || len(f.chunk.Bytes) > chunkBytes-room) && !f.hand() {
		return false
	}
	if f.chunk == nil {
		select {
		case f.chunk = <-f.source.empty:
			f.chunk.Bytes, f.chunk.Frames = f.chunk.Bytes[:0], f.chunk.Frames[:0]
		case <-f.source.stop:
			return false
		}
	}
	appendFrame(f.chunk, b, frame)
	if len(f.chunk.Frames) >= f.soon && len(f.source.filled) == 0 {
		return f.hand()
	}
	return true
}

// hand gives the chunk to the sender.
func (f *filler) hand() bool {
	f.source.filled <- f.chunk // there is room for every chunk
	f.chunk = nil
	if f.live {
		f.maker.finish()
		f.capture.publish(f.maker.facts)
	}
	select {
	case <-f.source.stop:
		return false
	default:
		return true
	}
}
