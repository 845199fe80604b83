package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/wirespeed/wirespeed/internal/pcapio"
)

// A recorder writes what arrives at vb into a file; the last element of its command is that file.
type recorder struct {
	contender
	inB bool
}

// The rates that recorders are offered, each a quarter above the one before, in frames/s: 64-byte frames for a second.
var offered = func() (rates []int) {
	for r := 100_000.0; r < 3e6; r *= 1.25 {
		rates = append(rates, int(r))
	}
	return rates
}()

// costRate is a rate that every recorder holds: what it takes of a CPU there is compared.
const costRate = 200_000

// Every recorder has the same memory for what has not been written yet.
const recorderMiB = "64"

// captured finds, in every round, the highest of the offered rates that each recorder writes without missing a frame.
func captured(ctx context.Context, s settings) (string, error) {
	w, err := newTestbed(1)
	if err != nil {
		return "", err
	}
	defer w.close()
	file := filepath.Join(s.dir, "captured.pcapng")
	const own = "wirespeed receive --write"
	recorders := []recorder{
		{contender: contender{name: own, command: []string{s.wirespeed, "receive", "packet:vb@" + w.b, "--ring", recorderMiB + "MiB", "--quiet", "--overwrite", "--write", file}}},
		{contender: peer("dumpcap", "dumpcap", "-q", "-i", "vb", "-B", recorderMiB, "-w", file), inB: true},
		{contender: peer("tcpdump", "tcpdump", "-i", "vb", "-n", "-B", "65536", "-w", file), inB: true},
	}
	best, cost := map[string][]float64{}, map[string][]float64{}
	for round := range s.runs {
		for i := range recorders {
			r := recorders[i]
			if round%2 == 1 {
				r = recorders[len(recorders)-1-i]
			}
			if r.absent != "" {
				continue
			}
			rate, err := highest(ctx, s, w, r, file)
			if err != nil {
				return "", fmt.Errorf("%s: %w", r.name, err)
			}
			one, err := record(ctx, s, w, r, file, costRate)
			if err != nil || one.written == 0 {
				return "", fmt.Errorf("%s: %d frames written: %w", r.name, one.written, err)
			}
			idle, err := record(ctx, s, w, r, file, 0)
			if err != nil {
				return "", fmt.Errorf("%s: %w", r.name, err)
			}
			ns := float64((one.cpu - idle.cpu).Nanoseconds()) / float64(one.written)
			fmt.Fprintf(os.Stderr, "round %d: %-30s %8.0f kpps, %.0f ns of CPU a frame\n", round+1, r.name, rate/1000, ns)
			best[r.name], cost[r.name] = append(best[r.name], rate/1000), append(cost[r.name], ns)
		}
	}
	var b strings.Builder
	b.WriteString("| 64-byte frames to pcapng, " + recorderMiB + " MiB of memory | highest rate without a drop, kpps, median (min to max) | CPU time per frame at " + itoa(costRate/1000) + " kpps, less that of an idle second, ns |\n| --- | --- | --- |\n")
	ahead := true
	for _, r := range recorders {
		if r.absent != "" {
			fmt.Fprintf(&b, "| %s | left out: %s | |\n", r.name, r.absent)
			continue
		}
		fmt.Fprintf(&b, "| %s | %s | %s |\n", r.name, spread(best[r.name], "%.0f"), spread(cost[r.name], "%.0f"))
		ahead = ahead && (r.name == own || median(cost[own]) < median(cost[r.name]))
	}
	holds := map[bool]string{true: "yes", false: "no"}[ahead]
	fmt.Fprintf(&b, "\nwirespeed takes less of a CPU for a frame than the better of the others: %s.\n", holds)
	return b.String(), nil
}

// highest searches the offered rates by halves.
func highest(ctx context.Context, s settings, w *testbed, r recorder, file string) (float64, error) {
	low, high := -1, len(offered) // low holds, high does not
	for high-low > 1 {
		middle := (low + high) / 2
		whole, err := holds(ctx, s, w, r, file, offered[middle])
		if err != nil {
			return 0, err
		}
		if whole {
			low = middle
		} else {
			high = middle
		}
	}
	if low < 0 {
		return 0, nil
	}
	return float64(offered[low]), nil
}

// holds reports whether the recorder wrote every frame of a second at that rate. A rate that the sender does not reach is
// not held by anybody.
func holds(ctx context.Context, s settings, w *testbed, r recorder, file string, fps int) (bool, error) {
	got, err := record(ctx, s, w, r, file, fps)
	return err == nil && float64(got.sent) >= 0.98*float64(fps) && got.written >= got.sent, err
}

// oneSecond is what a recorder made of a second.
type oneSecond struct {
	sent, written uint64
	cpu           time.Duration // of the recorder, from its start to its end
}

// cpu is what a process took of the CPUs. It waits for its end.
func (p *process) cpu() time.Duration {
	<-p.done
	if p.cmd.ProcessState == nil {
		return 0
	}
	return p.cmd.ProcessState.UserTime() + p.cmd.ProcessState.SystemTime()
}

// record offers a recorder frames for a second, or none where fps is 0.
func record(ctx context.Context, s settings, w *testbed, r recorder, file string, fps int) (got oneSecond, err error) {
	if err := os.RemoveAll(file); err != nil {
		return got, err
	}
	command := r.command
	if r.inB {
		command = append([]string{"ip", "netns", "exec", w.b}, command...)
	}
	child, err := start(ctx, command)
	if err != nil {
		return got, err
	}
	defer child.kill()
	if err := sleep(ctx, listenWithin); err != nil {
		return got, err
	}
	before, err := w.counters()
	if err != nil {
		return got, err
	}
	if fps == 0 {
		if err := sleep(ctx, time.Second+writtenWithin); err != nil {
			return got, err
		}
		child.kill()
		got.cpu = child.cpu()
		return got, nil
	}
	sender, err := start(ctx, []string{s.wirespeed, "send", "packet:va@" + w.a, "--dst-mac", mac(w.peer.MAC), "--size", "64", "--signature", "none",
		"--rate", fmt.Sprintf("%dpps", fps), "--duration", "1s", "--catch-up", "100ms", "--cores", "1", "--json"})
	if err != nil {
		return got, err
	}
	defer sender.kill()
	select {
	case <-sender.done:
	case <-time.After(startLimit):
		return got, errors.New("the sender does not end")
	}
	after, err := w.counters()
	if err != nil {
		return got, err
	}
	if err := sleep(ctx, writtenWithin); err != nil {
		return got, err
	}
	child.kill()
	got.cpu = child.cpu()
	got.sent = after.RxFrames - before.RxFrames
	if got.written, err = framesIn(file); err != nil {
		return got, fmt.Errorf("%w: %s%s", err, child.out.String(), child.errs.String())
	}
	return got, nil
}

// framesIn counts the frames of 64 bytes with FCS in a capture.
func framesIn(file string) (n uint64, err error) {
	r, err := pcapio.Open(file, nil)
	if err != nil {
		return 0, err
	}
	defer r.Close()
	var p pcapio.Packet
	for {
		switch err := r.Next(&p); {
		case errors.Is(err, io.EOF):
			return n, nil
		case err != nil:
			return n, err
		case p.Orig == frameNoFCS:
			n++
		}
	}
}
