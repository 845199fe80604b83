package main

import (
	"context"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
)

// rates lets every contender have its turn in every round and prints the rows and the claims.
func rates(ctx context.Context, s settings, queues int, list func(settings, files, *testbed) []contender, claims []claim) (string, error) {
	w, err := newTestbed(queues)
	if err != nil {
		return "", err
	}
	defer w.close()
	w.window = s.window
	f, err := writeFiles(s.dir, w.peer.MAC)
	if err != nil {
		return "", err
	}
	rows := list(s, f, w)
	results := map[string][]sample{}
	notes := []string{}
	for _, c := range rows {
		if c.absent != "" {
			notes = append(notes, c.name+" was left out: "+c.absent+".")
		}
	}
	rows = slices.DeleteFunc(rows, func(c contender) bool { return c.absent != "" || s.claims && !claimed(c.name, claims) })
	for round := range s.runs {
		for i := range rows { // every second round goes backwards: what drifts hits both of two neighbours alike
			c := rows[i]
			if round%2 == 1 {
				c = rows[len(rows)-1-i]
			}
			one, err := turn(ctx, w, c)
			if ctx.Err() != nil {
				return "", ctx.Err()
			}
			if err != nil {
				fmt.Fprintf(os.Stderr, "round %d: %s: %v\n", round+1, c.name, err)
				one = sample{fps: math.NaN()}
			} else {
				fmt.Fprintf(os.Stderr, "round %d: %-80s %8.0f kpps\n", round+1, c.name, one.fps/1000)
			}
			results[c.name] = append(results[c.name], one)
		}
	}
	text := rowTable(rows, results) + "\n" + claimTable(claims, results)
	if len(notes) > 0 {
		text += "\n" + strings.Join(notes, "\n") + "\n"
	}
	return text, nil
}

// claimed reports whether a claim speaks of the row.
func claimed(row string, claims []claim) bool {
	return slices.ContainsFunc(claims, func(c claim) bool {
		return c.row == row || slices.Contains(c.against, row) || c.isScaled && (row == trafficgen+" -t 1" || row == trafficgen+" -t 2")
	})
}

func rowTable(rows []contender, results map[string][]sample) string {
	var b strings.Builder
	b.WriteString("| row | kpps at the far device, median (min to max) | bytes per frame | lost | dropped by the receiver |\n| --- | --- | --- | --- | --- |\n")
	for _, c := range rows {
		all := results[c.name]
		rate, size := []float64{}, 0.0
		lost, drops, known := int64(0), uint64(0), false
		for _, one := range all {
			if !math.IsNaN(one.fps) {
				rate, size = append(rate, one.fps/1000), c.frameSize(one)
			}
			lost, drops, known = lost+one.lost, drops+one.drops, known || one.known
		}
		if len(rate) < len(all) {
			fmt.Fprintf(&b, "| %s | failed in %d of %d rounds | | | |\n", c.name, len(all)-len(rate), len(all))
			continue
		}
		l, d := "", ""
		if known {
			l, d = fmt.Sprint(lost), fmt.Sprint(drops)
		}
		fmt.Fprintf(&b, "| %s | %s | %.0f | %s | %s |\n", c.name, spread(rate, "%.0f"), size, l, d)
	}
	return b.String()
}

// claimTable prints the ratios: the median over the rounds of the ratio within one round.
func claimTable(claims []claim, results map[string][]sample) string {
	var b strings.Builder
	b.WriteString("| claim | ratio within a round, median (min to max) | at least | holds |\n| --- | --- | --- | --- |\n")
	for _, c := range claims {
		ratios := c.ratios(results)
		if len(ratios) == 0 {
			fmt.Fprintf(&b, "| %s | not measured | %.2f | |\n", c.what, c.atLeast)
			continue
		}
		holds := "yes"
		if median(ratios) < c.atLeast {
			holds = "no"
		}
		fmt.Fprintf(&b, "| %s | %s | %.2f | %s |\n", c.what, spread(ratios, "%.3f"), c.atLeast, holds)
	}
	return b.String()
}

// better is the peer with the higher median over all rounds: the faster one of each round would be the luckier one.
func (c claim) better(results map[string][]sample) (name string) {
	best := math.Inf(-1)
	for _, n := range c.against {
		var fps []float64
		for _, one := range results[n] {
			if !math.IsNaN(one.fps) {
				fps = append(fps, one.fps)
			}
		}
		if len(fps) > 0 && median(fps) > best {
			best, name = median(fps), n
		}
	}
	return name
}

func (c claim) ratios(results map[string][]sample) (ratios []float64) {
	against := results[c.better(results)]
	for round, one := range results[c.row] {
		if round >= len(against) {
			return nil
		}
		ratio := one.fps / against[round].fps
		if c.isScaled {
			one, two := results[trafficgen+" -t 1"], results[trafficgen+" -t 2"]
			if round >= len(one) || round >= len(two) {
				return nil
			}
			ratio /= two[round].fps / one[round].fps
		}
		if !math.IsNaN(ratio) {
			ratios = append(ratios, ratio)
		}
	}
	return ratios
}

// median of an odd number is its middle; of an even one the mean of the two in the middle.
func median(v []float64) float64 {
	v = slices.Sorted(slices.Values(v))
	n := len(v)
	if n == 0 {
		return math.NaN()
	}
	return (v[n/2] + v[(n-1)/2]) / 2
}

func spread(v []float64, form string) string {
	return fmt.Sprintf(form+" ("+form+" to "+form+")", median(v), slices.Min(v), slices.Max(v))
}
