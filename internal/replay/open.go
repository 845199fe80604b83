package replay

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"

	"github.com/wirespeed/wirespeed/internal/packet"
	"github.com/wirespeed/wirespeed/internal/pcapio"
	"github.com/wirespeed/wirespeed/internal/program"
	"github.com/wirespeed/wirespeed/internal/wire"
	"github.com/wirespeed/wirespeed/stream"
)

// Limits are what a port and the memory set.
type Limits struct {
	MaxFrame int    // bytes with FCS; 0: the largest there is
	MaxTag   int    // bytes that a frame whose outermost tag is 0x8100 may have beyond
	Port     string // for messages: what has these limits
	Stdin    io.Reader
}

// beyondMTU is what a frame has beyond the MTU: the Ethernet header and the FCS. Bytes.
const beyondMTU = macs + 2 + fcs

// longGap is the longest gap that is waited out without being asked for by --max-gap. ns.
const longGap = 24 * 3600 * 1e9

// most is the largest size with FCS of a frame that begins like b.
func (l *Limits) most(b []byte) int {
	most := l.MaxFrame
	if most == 0 {
		most = wire.MaxFrame
	}
	if b[macs] == 0x81 && b[macs+1] == 0 {
		most += l.MaxTag
	}
	return min(most, wire.MaxFrame)
}

// tooLong says of a frame of so many bytes with FCS that it has more than most.
func (l *Limits) tooLong(size, most int) string {
	what := "any device takes"
	if l.MaxFrame > 0 && l.MaxFrame <= wire.MaxFrame {
		what = fmt.Sprintf("%s takes at its MTU of %d", cmp.Or(l.Port, "the device"), l.MaxFrame-beyondMTU)
	}
	return fmt.Sprintf("%d bytes with FCS, more than the %d that %s", size, most, what)
}

// Error is why a capture is not sent, and what would mend it.
type Error struct{ Message, Mend string }

func (e *Error) Error() string {
	if e.Mend == "" {
		return e.Message
	}
	return e.Message + "; " + e.Mend
}

func refuse(mend, format string, args ...any) error {
	return &Error{Message: fmt.Sprintf(format, args...), Mend: mend}
}

// A Capture is what a port sends of a capture file.
type Capture struct {
	Replay  *stream.Replay
	Program *program.Program
	// Scanned: the capture was read in full, Facts are all there is. Else it is read while it is sent.
	Scanned bool

	mu     sync.Mutex
	facts  Facts
	source *source
}

// Facts are what is known so far. It may be called at any time.
func (c *Capture) Facts() Facts {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.facts.clone()
}

func (c *Capture) publish(f *Facts) {
	c.mu.Lock()
	c.facts = f.clone()
	c.mu.Unlock()
}

// Preloaded reports whether the whole sequence is in memory.
func (c *Capture) Preloaded() bool { return c.source == nil }

// Rounds is how often the capture is sent; 0: again and again.
func (c *Capture) Rounds() uint64 { return c.Replay.Loop }

// Err is why reading ended early while the capture was sent; nil: it did not.
func (c *Capture) Err() error {
	if c.source == nil {
		return nil
	}
	return c.source.Err()
}

// Close ends reading. The program may not be run any more.
func (c *Capture) Close() error {
	if c.source != nil {
		c.source.close()
	}
	return nil
}

// Open reads the capture and makes the program. It is refused, with what would mend it, where nothing of it, or not all of
// it, can be sent. An error is an *Error, or says what the file system or ctx said.
func Open(ctx context.Context, r *stream.Replay, l Limits) (*Capture, error) {
	c := &Capture{Replay: r}
	piped, size := r.File == "-", int64(0)
	if !piped {
		info, err := os.Stat(r.File)
		if err != nil {
			return nil, refuse("give the path of a capture file", "the capture cannot be read: %v", err)
		}
		if info.IsDir() {
			return nil, refuse("give the path of a capture file", "%s is a directory", r.File)
		}
		piped, size = !info.Mode().IsRegular(), info.Size()
	}
	if piped && r.Preload != stream.PreloadYes {
		if r.Loop != 1 {
			return nil, refuse("preload it (--preload), or give a file", "%s is a pipe, which can be read only once, and is to be sent %s", r.Name(), times(r.Loop))
		}
		return c, c.openPipe(ctx, l)
	}
	seq, err := c.scan(ctx, l, size)
	if err != nil {
		return nil, err
	}
	if err := c.judge(); err != nil {
		return nil, err
	}
	c.Scanned = true
	c.Program = &program.Program{}
	remap := c.entries(&c.facts)
	if seq != nil {
		for i := range seq.Frames {
			seq.Frames[i].Stream = remap[seq.Frames[i].Stream]
		}
		seq.Period, seq.Rounds = c.facts.Period, r.Loop
		c.Program.Sequence = seq
		return c, nil
	}
	return c, c.stream(ctx, l, remap)
}

func times(n uint64) string {
	if n == 0 {
		return "again and again"
	}
	return fmt.Sprintf("%d times", n)
}

// scan reads the whole capture of size bytes, 0: not known. The sequence is nil where it is not to be, or cannot be, in memory.
func (c *Capture) scan(ctx context.Context, l Limits, size int64) (*program.Sequence, error) {
	r := c.Replay
	file, err := pcapio.Open(r.File, l.Stdin)
	if err != nil {
		return nil, unreadable(r, err)
	}
	defer file.Close()
	m, err := newMaker(r, l, &c.facts)
	if err != nil {
		return nil, refuse("", "%v", err)
	}
	keep := newKeeper(r, size)
	var p pcapio.Packet
	for r.Limit == 0 || c.facts.Packets < r.Limit {
		if c.facts.Packets&4095 == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if err := file.Next(&p); err == io.EOF {
			break
		} else if err != nil {
			if err := c.damage(err); err != nil {
				return nil, err
			}
			break
		}
		var f program.SequenceFrame
		if b := m.make(&p, &f); b != nil {
			if err := keep.add(b, f); err != nil {
				return nil, err
			}
		}
	}
	m.finish()
	return keep.seq, nil
}

// judge refuses a capture that was read in full and cannot be sent as asked.
func (c *Capture) judge() error {
	f, r := &c.facts, c.Replay
	if f.Packets == 0 {
		return refuse("give a capture that has some", "%s has no packets%s", r.Name(), behind(f.Damage))
	}
	if len(f.Skipped) > 0 && (!r.AllowSkip || f.Frames == 0) {
		var all []string
		for _, s := range f.Skipped {
			all = append(all, s.String())
		}
		mend := f.mends()
		if f.Frames == 0 {
			mend = strings.TrimSuffix(strings.TrimSuffix(mend, allowSkip), "; ")
		}
		return refuse(mend, "%s: %d of %d packets cannot be sent: %s", r.Name(), f.SkippedFrames(), f.Packets, strings.Join(all, ", "))
	}
	if r.Recorded && r.MaxGap == 0 && f.RecordedGap > longGap {
		return refuse("--max-gap 1s shortens such gaps (a --max-gap beyond it waits), --rate leaves them out",
			"%s: a gap of %s before packet %d", r.Name(), duration(f.RecordedGap), f.RecordedGapAt)
	}
	return nil
}

func behind(damage string) string {
	if damage == "" {
		return ""
	}
	return ": " + damage
}

// damage keeps where a capture is cut: what is before can be sent. Where it holds what no capture may, that has to be allowed.
func (c *Capture) damage(err error) error {
	d, ok := errors.AsType[*pcapio.Damage](err)
	switch {
	case !ok:
		return refuse("", "%s: %v", c.Replay.Name(), err)
	case !d.Cut && !c.Replay.AllowSkip:
		return refuse("--allow-skip sends what is before", "%s: %v", c.Replay.Name(), d)
	}
	c.facts.Damage = d.Error()
	return nil
}

func unreadable(r *stream.Replay, err error) error {
	return refuse("give a capture in pcap or pcapng, as it is or compressed by gzip", "%s: %v", r.Name(), err)
}

// entries fills in Program.Streams: what frames with a signature, and without, are counted as. It returns where each of the
// two is.
func (c *Capture) entries(f *Facts) (remap [2]uint16) {
	lens := []int{f.Smallest - fcs, f.Largest - fcs}
	if lens[0] == lens[1] {
		lens = lens[:1]
	}
	form := map[string]packet.Form{"full": packet.FormFull, "short": packet.FormShort}[c.Replay.Signature]
	add := func(name string, form packet.Form) {
		c.Program.Streams = append(c.Program.Streams, program.Stream{
			Name: name, Form: form, Lens: lens, HasTime: form == packet.FormFull,
			Set: &stream.Stream{Name: name, Weight: 1, Signature: form.String(), Size: stream.Sizes{Cycle: []int{f.Smallest}, Min: f.Smallest, Max: f.Largest, Text: f.Sizes()}},
		})
	}
	if form != packet.FormNone && (f.Signed > 0 || f.Frames == 0) {
		add("replay", form)
	}
	remap[unsigned] = uint16(len(c.Program.Streams))
	switch {
	case remap[unsigned] == 0:
		add("replay", packet.FormNone)
	case f.Signed < f.Frames || f.Frames == 0:
		add("replay, unsigned", packet.FormNone)
	}
	return remap
}
