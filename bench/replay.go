package main

import (
	"bufio"
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// recorded writes a capture (pcap, ns) of n frames of 64 bytes with FCS that differ in their source port and payload; gap is
// the time from frame i to the next, ns.
func recorded(path string, dst [6]byte, n int, gap func(i int) uint64) error {
	b, err := frame(dst)
	if err != nil {
		return err
	}
	out, err := os.Create(path)
	if err != nil {
		return err
	}
	defer out.Close()
	w := bufio.NewWriterSize(out, 1<<20)
	head := make([]byte, 24)
	binary.LittleEndian.PutUint32(head, 0xa1b23c4d) // ns
	binary.LittleEndian.PutUint16(head[4:], 2)
	binary.LittleEndian.PutUint16(head[6:], 4)
	binary.LittleEndian.PutUint32(head[16:], 1<<18)
	binary.LittleEndian.PutUint32(head[20:], 1)
	if _, err := w.Write(head); err != nil {
		return err
	}
	rec := append(make([]byte, 16), b...)
	binary.LittleEndian.PutUint32(rec[8:], uint32(len(b)))
	binary.LittleEndian.PutUint32(rec[12:], uint32(len(b)))
	at := uint64(1_700_000_000e9)
	for i := range n {
		binary.LittleEndian.PutUint32(rec, uint32(at/1e9))
		binary.LittleEndian.PutUint32(rec[4:], uint32(at%1e9))
		f := rec[16:]
		binary.BigEndian.PutUint16(f[34:], uint16(1024+i%60000))
		binary.BigEndian.PutUint32(f[42:], uint32(i))
		f[40], f[41] = 0, 0 // no UDP checksum: every tool sends what stands there
		if _, err := w.Write(rec); err != nil {
			return err
		}
		at += gap(i)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	return out.Sync()
}

// sizes of the sequences that are sent from memory.
const (
	shortSequence = 1000
	longSequence  = 65536
)

func replayRow(engine string, n int) string {
	return fmt.Sprintf("wirespeed %s: replay of %d frames", engine, n)
}

func tcpreplayRow(n int) string { return fmt.Sprintf("%s, %d frames", replay, n) }

var claimsReplay = []claim{
	{"xdp: replay of 1000 preloaded frames against tcpreplay", replayRow("xdp", shortSequence), []string{tcpreplayRow(shortSequence)}, 5, false},
	{"xdp: replay of 65,536 preloaded frames against tcpreplay", replayRow("xdp", longSequence), []string{tcpreplayRow(longSequence)}, 3, false},
	{"packet: replay of 1000 frames against tcpreplay", replayRow("packet", shortSequence), []string{tcpreplayRow(shortSequence)}, 1.05, false},
}

// replayed lists replays at full rate.
func replayed(s settings, _ files, w *testbed) (rows []contender) {
	for _, n := range []int{shortSequence, longSequence} {
		path := filepath.Join(s.dir, fmt.Sprintf("replay-%d.pcap", n))
		if err := recorded(path, w.peer.MAC, n, func(int) uint64 { return 1000 }); err != nil {
			return append(rows, contender{name: "captures", absent: err.Error()})
		}
		own := func(engine string) contender {
			return contender{name: replayRow(engine, n), own: true, command: []string{
				s.wirespeed, "send", engine + ":va@" + w.a, "--pcap", path, "--preload", "--rate", "max", "--loop", "0", "--duration", "20s", "--json"}}
		}
		rows = append(rows, own("xdp"), socket(peer(tcpreplayRow(n), "tcpreplay", "--intf1=va", "--topspeed", "--preload-pcap", "--loop=0", path)), socket(own("packet")))
	}
	return rows
}

// The capture whose gaps are to be kept: 10,000 frames/s on average, every gap another.
const (
	timedFrames = 20_000
	timedMean   = 100_000 // ns
)

// timedGap is between half the mean and one and a half.
func timedGap(i int) uint64 {
	z := uint64(i+1) * 0x9e3779b97f4a7c15
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	return timedMean/2 + (z^z>>27)%timedMean
}

// timing replays with the recorded gaps and compares them with those of the kernel's time stamps at the far end, which
// tcpdump writes down whoever sends.
func timing(ctx context.Context, s settings) (string, error) {
	w, err := newTestbed(1)
	if err != nil {
		return "", err
	}
	defer w.close()
	path := filepath.Join(s.dir, "timed.pcap")
	if err := recorded(path, w.peer.MAC, timedFrames, timedGap); err != nil {
		return "", err
	}
	const own = "wirespeed packet: recorded gaps"
	senders := []contender{
		{name: own, command: []string{s.wirespeed, "send", "packet:va@" + w.a, "--pcap", path, "--quiet"}},
		peer("tcpreplay", "tcpreplay", "--intf1=va", path),
		peer("tcpreplay --preload-pcap", "tcpreplay", "--intf1=va", "--preload-pcap", path),
	}
	dump := peer("tcpdump", "tcpdump", "-i", "vb", "-n", "-s", "128", "-B", "65536", "--time-stamp-precision=nano", "-U", "-w")
	if dump.absent != "" {
		return "", fmt.Errorf("the far end: %s", dump.absent)
	}
	results := map[string][]gapErrors{}
	for round := range s.runs {
		for i := range senders {
			c := senders[i]
			if round%2 == 1 {
				c = senders[len(senders)-1-i]
			}
			if c.absent != "" {
				continue
			}
			one, err := oneTiming(ctx, s, w, c, dump.command)
			if errors.Is(err, errIncomplete) { // the recorder lost some: no gap can be trusted
				fmt.Fprintf(os.Stderr, "round %d: %s: %v\n", round+1, c.name, err)
				continue
			}
			if err != nil {
				return "", fmt.Errorf("%s: %w", c.name, err)
			}
			fmt.Fprintf(os.Stderr, "round %d: %-30s %8.2f us, median %.2f us, %.1f us late at the end\n", round+1, c.name, one.stdev, one.median, one.late)
			results[c.name] = append(results[c.name], one)
		}
	}
	var b strings.Builder
	b.WriteString("| 20,000 frames, 10 kpps, gaps of 50 to 150 us; us, median (min to max) | standard deviation of the gap error | median gap error | last frame late by |\n| --- | --- | --- | --- |\n")
	best, who := math.Inf(1), ""
	for _, c := range senders {
		all := results[c.name]
		if c.absent != "" || len(all) == 0 {
			fmt.Fprintf(&b, "| %s | %s | | |\n", c.name, cmp.Or(c.absent, "not recorded whole in any round"))
			continue
		}
		stdev := column(all, func(g gapErrors) float64 { return g.stdev })
		fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", c.name, spread(stdev, "%.2f"),
			spread(column(all, func(g gapErrors) float64 { return g.median }), "%.2f"), spread(column(all, func(g gapErrors) float64 { return g.late }), "%.1f"))
		if m := median(stdev); m < best {
			best, who = m, c.name
		}
	}
	holds := map[bool]string{true: "yes", false: "no"}[who == own]
	fmt.Fprintf(&b, "\nThe smallest standard deviation is wirespeed's: %s.\n", holds)
	return b.String(), nil
}

// gapErrors are by how much the gaps of a run differ from the recorded ones, us.
type gapErrors struct {
	stdev, median float64
	late          float64 // the last frame, against the first
}

func column(all []gapErrors, f func(gapErrors) float64) (v []float64) {
	for _, g := range all {
		v = append(v, f(g))
	}
	return v
}

// writtenWithin is how long a recorder is given for what it has not written: told to end, it leaves it.
const writtenWithin = 1200 * time.Millisecond

var errIncomplete = errors.New("not every frame was recorded")

// listenWithin is how long a recorder is given to listen: each says so in its own words, or not at all.
const listenWithin = 1500 * time.Millisecond

// oneTiming lets one sender replay the capture.
func oneTiming(ctx context.Context, s settings, w *testbed, c contender, dump []string) (g gapErrors, err error) {
	seen := filepath.Join(s.dir, "seen.pcap")
	receiver, err := start(ctx, append(append([]string{"ip", "netns", "exec", w.b}, dump...), seen))
	if err != nil {
		return g, err
	}
	defer receiver.kill()
	if err := sleep(ctx, listenWithin); err != nil {
		return g, err
	}
	command := c.command
	if c.inA {
		command = append([]string{"ip", "netns", "exec", w.a}, command...)
	}
	sender, err := start(ctx, command)
	if err != nil {
		return g, err
	}
	defer sender.kill()
	select {
	case <-sender.done:
	case <-time.After(30 * time.Second):
		return g, fmt.Errorf("it does not end")
	}
	if err := sleep(ctx, writtenWithin); err != nil {
		return g, err
	}
	receiver.kill()
	times, err := timesOf(seen)
	if err != nil {
		return g, err
	}
	if len(times) != timedFrames {
		return g, fmt.Errorf("%w: %d of %d: %s%s", errIncomplete, len(times), timedFrames, sender.out.String(), sender.errs.String())
	}
	var sum, squares, all float64
	sizes := make([]float64, 0, len(times))
	for i := range len(times) - 1 {
		e := float64(times[i+1]-times[i]) - float64(timedGap(i))
		sum, squares, all = sum+e, squares+e*e, all+float64(timedGap(i))
		sizes = append(sizes, math.Abs(e)/1000)
	}
	n := float64(len(sizes))
	g.stdev, g.median = math.Sqrt(squares/n-sum/n*(sum/n))/1000, median(sizes)
	g.late = (float64(times[len(times)-1]-times[0]) - all) / 1000
	return g, nil
}

// timesOf are the time stamps of the run's frames in a capture, ns.
func timesOf(path string) (times []int64, err error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	if len(b) < 24 || binary.LittleEndian.Uint32(b) != 0xa1b23c4d {
		return nil, fmt.Errorf("%s is no pcap file of this machine with ns", path)
	}
	for b = b[24:]; len(b) >= 16; {
		n := int(binary.LittleEndian.Uint32(b[8:]))
		if len(b) < 16+n {
			break
		}
		if n >= 42 && slices.Equal(b[16+26:16+30], []byte{198, 18, 0, 1}) {
			times = append(times, int64(binary.LittleEndian.Uint32(b))*1e9+int64(binary.LittleEndian.Uint32(b[4:])))
		}
		b = b[16+n:]
	}
	return times, nil
}
