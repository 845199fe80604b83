package main

import (
	"context"
	"fmt"
	"math"
	"os"
	"strings"
	"time"

	"github.com/wirespeed/wirespeed/report"
)

// pacing measures how well a rate is kept, and what of the misses the machine itself explains.
func pacing(ctx context.Context, s settings) (string, error) {
	w, err := newTestbed(1)
	if err != nil {
		return "", err
	}
	defer w.close()
	mean, err := meanRates(ctx, s, w)
	if err != nil {
		return "", err
	}
	gaps, err := gapShares(ctx, s, w)
	return mean + "\n" + gaps, err
}

// meanCatchUp is what the runs for the mean rate may make up for: a host that takes the core for longer than the default
// of 10 ms would otherwise be what is measured.
const meanCatchUp = 200 * time.Millisecond

// meanRates runs both engines for 10 s at each rate.
func meanRates(ctx context.Context, s settings, w *testbed) (string, error) {
	var b strings.Builder
	b.WriteString("| engine | asked pps | sent pps | error | by the receiver's mean interval | behind_ns_max | lost |\n| --- | --- | --- | --- | --- | --- | --- |\n")
	for _, engine := range []string{"xdp", "packet"} {
		for _, pps := range []int{1_000, 100_000, 500_000} {
			doc, err := paced(ctx, s, w, engine, pps, 10*time.Second, "--catch-up", meanCatchUp.String())
			if err != nil {
				return "", err
			}
			tx, rx, stream := doc.Ports[0].Tx, doc.Ports[1].Rx, doc.Streams[0].Rx
			byReceiver, lost := "", ""
			if rx.MeanIntervalNs != nil {
				byReceiver = fmt.Sprintf("%+.5f %%", 100*(1e9 / *rx.MeanIntervalNs / float64(pps) - 1))
			}
			if stream.Lost != nil {
				lost = fmt.Sprint(*stream.Lost)
			}
			fmt.Fprintf(&b, "| %s | %d | %.3f | %+.5f %% | %s | %d | %s |\n", engine, pps, tx.FPS, 100*(tx.FPS/float64(pps)-1), byReceiver, tx.BehindNsMax, lost)
			fmt.Fprintf(os.Stderr, "%s at %d pps: %.3f\n", engine, pps, tx.FPS)
		}
	}
	return b.String(), nil
}

// gapShares compares the share of gaps within 5 % at 100 kpps and batch 1 with what the interruptions of a thread that
// only spins would have left of it; the thread spins before and after each run.
func gapShares(ctx context.Context, s settings, w *testbed) (string, error) {
	const pps = 100_000
	const gap = 1e9 / pps
	var got, possible, difference, rate, taken []float64
	for round := range s.runs {
		before := spin(2 * time.Second)
		doc, err := paced(ctx, s, w, "xdp", pps, 3*time.Second, "--batch", "1")
		if err != nil {
			return "", err
		}
		after := spin(2 * time.Second)
		stream := doc.Streams[0].Rx
		if stream.GapNs == nil || stream.GapNs.Within5Pct == nil {
			return "", fmt.Errorf("the report says nothing of gaps within 5 %%: %v", doc.Reasons)
		}
		share := 100 * *stream.GapNs.Within5Pct
		best := 50 * (before.within(gap, 0.05) + after.within(gap, 0.05))
		got, possible, difference = append(got, share), append(possible, best), append(difference, share-best)
		rate = append(rate, (before.perSecond()+after.perSecond())/2)
		taken = append(taken, 50*(before.share()+after.share()))
		fmt.Fprintf(os.Stderr, "round %d: gaps within 5 %%: %.1f, spinning thread %.1f\n", round+1, share, best)
	}
	holds := "yes"
	if median(difference) < -3 {
		holds = "no"
	}
	return fmt.Sprintf("| 100 kpps, batch 1, median (min to max) | %% |\n| --- | --- |\n"+
		"| gaps within 5 %% of 10 us at the receiver | %s |\n| what the interruptions of a spinning thread leave | %s |\n"+
		"| difference, points; at least -3: %s | %s |\n| a spinning thread is interrupted for | %s |\n\nInterruptions of more than 1 us, each second: %s.\n",
		spread(got, "%.1f"), spread(possible, "%.1f"), holds, spread(difference, "%.1f"), spread(taken, "%.1f"), spread(rate, "%.0f")), nil
}

// paced runs wirespeed at a rate to its end and reads its report.
func paced(ctx context.Context, s settings, w *testbed, engine string, pps int, d time.Duration, flags ...string) (*report.Run, error) {
	args := append([]string{s.wirespeed, "send", engine + ":va@" + w.a, "--rx", "xdp:vb@" + w.b, "--size", "64", "--rate", fmt.Sprintf("%dpps", pps), "--duration", d.String(), "--json"}, flags...)
	p, err := start(ctx, args)
	if err != nil {
		return nil, err
	}
	defer p.kill()
	select {
	case <-p.done:
	case <-time.After(d + startLimit):
		return nil, fmt.Errorf("%s at %d pps does not end", engine, pps)
	}
	doc, err := decode(p.out.Bytes())
	if err != nil {
		return nil, fmt.Errorf("%s at %d pps: %w: %s", engine, pps, err, p.errs.String())
	}
	if len(doc.Ports) != 2 || doc.Ports[0].Tx == nil || doc.Ports[1].Rx == nil || len(doc.Streams) != 1 || doc.Streams[0].Rx == nil {
		return nil, fmt.Errorf("%s at %d pps: the report lacks a port or a stream: %s", engine, pps, p.out.String())
	}
	if math.IsNaN(doc.Ports[0].Tx.FPS) {
		return nil, fmt.Errorf("%s at %d pps: no rate", engine, pps)
	}
	return doc, nil
}
