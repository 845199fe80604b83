package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

// infoFrames of 76 bytes each in the file make one GB.
const infoFrames = 1 << 30 / 76

// info compares how long it takes to say what a capture of 1 GB holds. The file is read once before, so that it is in memory
// for both.
func info(ctx context.Context, s settings) (string, error) {
	peer, err := exec.LookPath("capinfos")
	if err != nil {
		return "", fmt.Errorf("capinfos is not on PATH")
	}
	path := filepath.Join(s.dir, "large.pcap")
	if err := recorded(path, [6]byte{2, 0, 0, 0, 0, 2}, infoFrames, func(int) uint64 { return 1000 }); err != nil {
		return "", err
	}
	defer os.Remove(path)
	var own, others, ratio []float64
	for round := range s.runs {
		a, err := took(ctx, s.wirespeed, "pcap", "info", path)
		if err != nil {
			return "", err
		}
		// All that it says by default but the hashes, which take it twice as long again and pcap info does not make.
		b, err := took(ctx, peer, "-c", "-s", "-d", "-u", "-a", "-e", "-z", "-x", "-o", "-t", "-E", "-I", path)
		if err != nil {
			return "", err
		}
		fmt.Fprintf(os.Stderr, "round %d: pcap info %.2f s, capinfos %.2f s\n", round+1, a, b)
		own, others, ratio = append(own, a), append(others, b), append(ratio, b/a)
	}
	holds := "yes"
	if median(ratio) < 2 {
		holds = "no"
	}
	return fmt.Sprintf("| a capture of 1 GB, %d frames of 64 bytes | s, median (min to max) |\n| --- | --- |\n| wirespeed pcap info | %s |\n| capinfos, without hashes | %s |\n\n"+
		"| claim | ratio within a round, median (min to max) | at least | holds |\n| --- | --- | --- | --- |\n| pcap info against capinfos | %s | 2.00 | %s |\n",
		infoFrames, spread(own, "%.2f"), spread(others, "%.2f"), spread(ratio, "%.2f"), holds), nil
}

func took(ctx context.Context, command ...string) (float64, error) {
	begin := time.Now()
	if out, err := exec.CommandContext(ctx, command[0], command[1:]...).CombinedOutput(); err != nil {
		return 0, fmt.Errorf("%s: %w: %s", filepath.Base(command[0]), err, out)
	}
	return time.Since(begin).Seconds(), nil
}
