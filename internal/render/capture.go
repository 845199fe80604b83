package render

import (
	"fmt"
	"io"
	"math/bits"
	"strings"
	"time"

	"github.com/wirespeed/wirespeed/internal/pcapio"
)

// Capture writes what a capture holds as text.
func Capture(w io.Writer, s *pcapio.Summary) error {
	p := &page{reasons: s.Reasons}
	kind := s.Format
	if s.Compressed {
		kind += ", compressed by gzip"
	}
	p.sentence("", fmt.Sprintf("%s: %s, %s-endian, %s packets", s.File, kind, s.ByteOrder, count(s.Packets)))
	p.line("")
	p.captureTimes(s)
	p.captureSources(s)
	p.captureSizes(s.Frames)
	p.sendable(s, 0)
	return p.write(w)
}

// Sendable writes what of a capture can be sent through a port of an MTU, 0 where none is given.
func Sendable(w io.Writer, s *pcapio.Summary, mtu int) error {
	p := &page{reasons: s.Reasons}
	p.sentence("", s.File+":")
	p.sendable(s, mtu)
	return p.write(w)
}

// shownInterfaces is how many are listed.
const shownInterfaces = 20

func (p *page) captureTimes(s *pcapio.Summary) {
	t := p.table([]string{"", ""})
	t.row("bytes of the packets", fmt.Sprintf("%s, of which %s are captured", count(s.OriginalBytes), count(s.CapturedBytes)))
	if s.FirstNs == nil {
		t.row("times", p.unknown("first_ns"))
	} else {
		t.row("first", moment(*s.FirstNs))
		t.row("last", moment(*s.LastNs))
		t.row("span", span(*s.SpanNs))
		longest := "0"
		if *s.LongestGapNs > 0 {
			longest = fmt.Sprintf("%s, before packet %s", span(*s.LongestGapNs), count(s.LongestGapBefore))
		}
		t.row("longest gap", longest)
	}
	if s.Backwards > 0 {
		t.row("backwards in time", packets(s.Backwards))
	}
	if s.Untimed > 0 && s.FirstNs != nil {
		t.row("without a time", packets(s.Untimed))
	}
	if s.Sections != 1 {
		t.row("sections", count(s.Sections))
	}
	if s.OtherBlocks > 0 {
		t.row("other blocks", count(s.OtherBlocks))
	}
	t.end()
}

func (p *page) captureSources(s *pcapio.Summary) {
	t := p.table([]string{"interface", "link type", "snaplen", "resolution", "packets", "received", "dropped"})
	for i, f := range s.Interfaces {
		if i == shownInterfaces {
			break
		}
		name := f.Name
		if name == "" {
			name = fmt.Sprint(f.Index)
		}
		if s.Sections > 1 {
			name = fmt.Sprintf("%s of section %d", name, f.Section+1)
		}
		snap := "none"
		if f.SnapLenBytes > 0 {
			snap = count(int(f.SnapLenBytes))
		}
		t.row(name, f.LinkType, snap, resolution(f.TicksPerSecond), count(f.Packets), known(f.Received), known(f.Dropped))
	}
	t.end()
	if more := len(s.Interfaces) + s.MoreInterfaces - shownInterfaces; more > 0 {
		p.line("and %s more interfaces", count(more))
		p.line("")
	}
}

func (p *page) captureSizes(s *pcapio.Sizes) {
	if s == nil {
		return
	}
	if s.MinBytes == s.MaxBytes {
		p.line("%s Ethernet frames of %s bytes with FCS", count(s.Frames), count(s.MinBytes))
		p.line("")
		return
	}
	p.line("%s Ethernet frames of %s to %s bytes with FCS, mean %s", count(s.Frames), count(s.MinBytes), count(s.MaxBytes), significant(s.MeanBytes))
	p.line("")
	t := p.table([]string{"size", "frames", "share"})
	t.numbers(3)
	for _, c := range s.Histogram {
		if c.Frames == 0 {
			continue
		}
		size := fmt.Sprintf("%d or more", c.MinBytes)
		switch {
		case c.MaxBytes != nil && c.MinBytes == *c.MaxBytes:
			size = fmt.Sprint(c.MinBytes)
		case c.MaxBytes != nil && c.MinBytes == 0:
			size = fmt.Sprintf("up to %d", *c.MaxBytes)
		case c.MaxBytes != nil:
			size = fmt.Sprintf("%d to %d", c.MinBytes, *c.MaxBytes)
		}
		t.row(size, count(c.Frames), share(float64(c.Frames)/float64(s.Frames)))
	}
	t.end()
}

// sendable says what cannot be sent, why, and what can be done about it.
func (p *page) sendable(s *pcapio.Summary, mtu int) {
	switch {
	case s.Sendable == s.Packets:
		p.line("all %s can be sent", packets(s.Packets))
	default:
		p.line("%s of %s can be sent", count(s.Sendable), packets(s.Packets))
	}
	for _, u := range s.Unsendable {
		p.sentence("  ", fmt.Sprintf("%s: %s: %s", u.Reason, packets(u.Packets), examples(&u, mtu)))
		p.sentence("    ", "mend: "+u.Mend)
	}
	if s.Damage != nil {
		p.sentence("  ", s.Damage.Message)
	}
}

// examples names the first packets, each with what is wrong with it.
func examples(u *pcapio.Unsendable, mtu int) string {
	var all []string
	for _, x := range u.First {
		what := fmt.Sprintf("%d bytes", x.OriginalBytes)
		if x.SizeBytes != nil {
			what = fmt.Sprintf("%d bytes with FCS", *x.SizeBytes)
		}
		switch u.Reason {
		case pcapio.TooLong.String():
			if mtu > 0 {
				what += fmt.Sprintf(", MTU %d", mtu)
			}
		case pcapio.TooShort.String(), pcapio.Truncated.String():
			what = fmt.Sprintf("%d of %d bytes", x.CapturedBytes, x.OriginalBytes)
		case pcapio.LinkTypeReason.String():
			if what = x.LinkType; x.Problem != "" {
				what += ": " + x.Problem
			}
		}
		all = append(all, fmt.Sprintf("packet %d (%s)", x.Packet, what))
	}
	if uint64(len(all)) < u.Packets {
		all = append(all, "...")
	}
	return strings.Join(all, ", ")
}

func packets(n uint64) string {
	if n == 1 {
		return "1 packet"
	}
	return count(n) + " packets"
}

// known prints what a capture may say or not.
func known(n *uint64) string {
	if n == nil {
		return "-"
	}
	return count(*n)
}

// moment is a time since 1970 in UTC, to the ns.
func moment(ns int64) string {
	return time.Unix(0, ns).UTC().Format("2006-01-02 15:04:05.000000000 UTC")
}

// span is a duration to the ns.
func span(ns uint64) string {
	switch {
	case ns < 1e3:
		return fmt.Sprintf("%d ns", ns)
	case ns < 1e6:
		return fmt.Sprintf("%d.%03d us", ns/1e3, ns%1e3)
	}
	return fmt.Sprintf("%s.%09d s", count(ns/1e9), ns%1e9)
}

// resolution is what a tick of an interface's clock is.
func resolution(perSecond uint64) string {
	switch perSecond {
	case 1:
		return "1 s"
	case 1e3:
		return "1 ms"
	case 1e6:
		return "1 us"
	case 1e9:
		return "1 ns"
	}
	if bits.OnesCount64(perSecond) == 1 {
		return fmt.Sprintf("2^-%d s", bits.Len64(perSecond)-1)
	}
	return fmt.Sprintf("1/%d s", perSecond)
}
