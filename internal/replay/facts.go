package replay

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Facts are what is known of a capture and of what is sent of it. Of a capture that is read while it is sent and that nobody
// could read before, they grow.
type Facts struct {
	Packets  uint64 // read
	Frames   uint64 // that are sent in one round
	Bytes    uint64 // of these, with FCS
	Smallest int    // of these, with FCS
	Largest  int
	Padded   uint64 // frames that were filled up
	Signed   uint64 // frames that carry a signature
	LastHop  uint64 // frames whose outermost time to live or hop limit is 1 or less: no router forwards them

	Skipped []Skip
	Edits   []Missing // edits that found no such header in some frames
	Unused  []string  // prefix maps that no address lies in, as they were written

	Span          uint64 // ns from the first frame to the last as they are sent
	Period        uint64 // ns from the first frame of a round to that of the next
	RecordedGap   uint64 // ns, the longest gap before MaxGap shortened it, after Speed
	RecordedGapAt uint64 // number of the packet behind it
	Shortened     uint64 // gaps that MaxGap shortened
	Backwards     uint64 // frames whose time is before that of one before: their gap is 0
	Untimed       uint64 // frames without a time: their gap is 0

	SrcMACs    [][6]byte // of the frames without a signature, in their order
	EtherTypes []uint16  // behind the tags, of the same
	VLANs      int       // the most tags of a frame
	ManyMACs   bool      // more than are kept
	Damage     string    // where and how the file breaks off; empty: it does not

	macs    map[[6]byte]int // place in SrcMACs
	lastMAC int
	types   [1 << 10]uint64 // bit t: EtherType t is in EtherTypes
}

// A Skip is why some frames are not sent.
type Skip struct {
	Reason  string // a word: "truncated"
	Count   uint64
	Packets []uint64 // numbers of the first ones
	Detail  string   // of the first one, a sentence without its subject
	Mend    string
}

// Missing are the frames that have no header of the kind that an edit changes.
type Missing struct {
	Flag  string
	Count uint64
}

// shown is how many packet numbers a message names.
const shown = 5

// maxMACs is how many addresses are kept; no receiver takes more.
const maxMACs = 4096

// skip counts a packet that is not sent; detail is asked for the first of its reason only.
func (f *Facts) skip(reason string, number uint64, mend string, detail func() string) {
	i := slices.IndexFunc(f.Skipped, func(s Skip) bool { return s.Reason == reason })
	if i < 0 {
		i = len(f.Skipped)
		f.Skipped = append(f.Skipped, Skip{Reason: reason, Detail: detail(), Mend: mend})
	}
	s := &f.Skipped[i]
	s.Count++
	if len(s.Packets) < shown {
		s.Packets = append(s.Packets, number)
	}
}

// Sizes are those of the frames, with FCS.
func (f *Facts) Sizes() string {
	if f.Largest == f.Smallest {
		return fmt.Sprint(f.Smallest)
	}
	return fmt.Sprintf("%d-%d", f.Smallest, f.Largest)
}

// SkippedFrames is how many packets are not sent.
func (f *Facts) SkippedFrames() (n uint64) {
	for _, s := range f.Skipped {
		n += s.Count
	}
	return n
}

// Missed is how many edits found nothing to change.
func (f *Facts) Missed() (n uint64) {
	for _, e := range f.Edits {
		n += e.Count
	}
	return n
}

// String says how many, which and why.
func (s Skip) String() string {
	numbers := make([]string, len(s.Packets))
	for i, n := range s.Packets {
		numbers[i] = fmt.Sprint(n)
	}
	which := "packet " + strings.Join(numbers, ", ")
	if len(numbers) > 1 {
		which = "packets " + strings.Join(numbers, ", ")
	}
	if uint64(len(numbers)) < s.Count {
		which += ", ..."
	}
	return fmt.Sprintf("%d %s (%s: %s)", s.Count, s.Reason, which, s.Detail)
}

// mends are the mends of all reasons, each once.
func (f *Facts) mends() string {
	seen := map[string]int{}
	for i, s := range f.Skipped {
		if _, ok := seen[s.Mend]; !ok && s.Mend != "" {
			seen[s.Mend] = i
		}
	}
	all := slices.SortedFunc(maps.Keys(seen), func(a, b string) int { return seen[a] - seen[b] })
	return strings.Join(append(all, allowSkip), "; ")
}

func (f *Facts) clone() Facts {
	c := *f
	c.macs = nil
	c.Skipped = slices.Clone(f.Skipped)
	for i := range c.Skipped {
		c.Skipped[i].Packets = slices.Clone(f.Skipped[i].Packets)
	}
	c.Edits, c.Unused = slices.Clone(f.Edits), slices.Clone(f.Unused)
	c.SrcMACs, c.EtherTypes = slices.Clone(f.SrcMACs), slices.Clone(f.EtherTypes)
	return c
}

const allowSkip = "--allow-skip leaves such frames out and sends the others"
