// Command bench measures wirespeed against the packet generators found on PATH, on one veth pair whose far end drops every
// frame in XDP, in rounds in which every tool has its turn, by the counters of the far device. It prints Markdown tables, or
// writes them into a page between its markers. Needs root; see docs/performance.md.
//
// Tools run one at a time, each a child process; everything else is this goroutine's.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// settings are what the command line asks for.
type settings struct {
	runs      int
	window    time.Duration // that the far device's counter is watched
	claims    bool          // only the rows that claims speak of
	only      string
	write     string
	wirespeed string
	reference string // another sender of live frames: `tx -dev D -ts N`, `rx -dev D`
	dir       string // temporary files
	command   string // how to repeat it
}

func run(ctx context.Context) error {
	s := settings{command: strings.Join(append([]string{"go run ./bench"}, os.Args[1:]...), " ")}
	flag.IntVar(&s.runs, "runs", 5, "rounds; medians are printed")
	flag.DurationVar(&s.window, "window", time.Second, "how long each turn is measured; shorter ones and more rounds suit a noisy machine")
	flag.BoolVar(&s.claims, "claims", false, "only the rows that claims speak of")
	flag.StringVar(&s.only, "only", "", "only these tables, separated by commas: one, two, analysis, scaling, pacing, replay, timing, captured, info, cost")
	flag.StringVar(&s.write, "write", "", "Markdown page to write the tables into, between its markers")
	flag.StringVar(&s.wirespeed, "wirespeed", "", "binary to measure; built from the source when not given")
	flag.StringVar(&s.reference, "reference-live", "", "another sender of XDP live frames, with the commands tx and rx")
	flag.Parse()
	if os.Geteuid() != 0 {
		return errors.New("needs root, for namespaces and counters: run it with sudo")
	}
	dir, err := os.MkdirTemp("", "wirespeed-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	s.dir = dir
	for _, path := range []*string{&s.reference, &s.wirespeed} {
		if *path == "" {
			continue
		}
		// The page names what was measured, not where it lay.
		s.command = strings.ReplaceAll(s.command, *path, filepath.Base(*path))
		if *path, err = exec.LookPath(*path); err != nil {
			return err
		}
	}
	if s.wirespeed == "" {
		s.wirespeed = filepath.Join(dir, "wirespeed")
		build := exec.CommandContext(ctx, "go", "build", "-trimpath", "-buildvcs=false", "-o", s.wirespeed, "./cmd/wirespeed")
		build.Env = append(os.Environ(), "CGO_ENABLED=0")
		if out, err := build.CombinedOutput(); err != nil {
			return fmt.Errorf("build: %w: %s", err, out)
		}
	}
	for _, t := range tables {
		if s.only != "" && !strings.Contains(","+s.only+",", ","+t.name+",") {
			continue
		}
		text, err := t.measure(ctx, s)
		if err != nil {
			return fmt.Errorf("%s: %w", t.name, err)
		}
		text = conditions(s) + "\n" + text
		if s.write == "" {
			fmt.Printf("## %s\n\n%s\n", t.name, text)
		} else if err := insert(s.write, t.name, text); err != nil {
			return err
		}
	}
	return nil
}

// tables are the parts of the page, in its order.
var tables = []struct {
	name    string
	measure func(context.Context, settings) (string, error)
}{
	{"one", func(ctx context.Context, s settings) (string, error) { return rates(ctx, s, 1, dropped(1), claimsOne) }},
	{"two", func(ctx context.Context, s settings) (string, error) { return rates(ctx, s, 2, dropped(2), claimsTwo) }},
	{"analysis", func(ctx context.Context, s settings) (string, error) {
		return rates(ctx, s, 1, analysed, claimsAnalysis)
	}},
	{"scaling", func(ctx context.Context, s settings) (string, error) {
		return rates(ctx, s, 2, scaling, claimsScaling)
	}},
	{"pacing", pacing},
	{"replay", func(ctx context.Context, s settings) (string, error) {
		return rates(ctx, s, 1, replayed, claimsReplay)
	}},
	{"timing", timing},
	{"captured", captured},
	{"info", info},
	{"cost", costs},
}
