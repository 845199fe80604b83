package main

import (
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
)

// names of the rows that costs are taken from.
const (
	costFixed     = "wirespeed xdp: fixed template"
	costTemplates = "wirespeed xdp: four templates of four lengths, whole frames, five modified fields"
	costNull      = "wirespeed null: signature and three modifiers"
)

// fourTemplates is a stream set whose frames differ in length and in every byte of payload, so that each is copied whole.
func fourTemplates(dst string) string {
	var b strings.Builder
	b.WriteString("streams:\n")
	for i, size := range []int{64, 128, 256, 512} {
		fmt.Fprintf(&b, `  - name: t%d
    size: %d
    signature: none
    layers:
      - eth: {dst: %q}
      - ip: {src: "rand(198.18.0.0,198.18.255.255,%d)", dst: "inc(198.19.0.1,1,200)", id: "inc(0,1,65536)"}
      - udp: {srcport: "inc(1024,1,60000)", dstport: "rand(1024,65535,%d)"}
    payload: {fill: "random(%d)"}
`, i, size, dst, i, i+7, i+1)
	}
	return b.String()
}

// costs are the time of a frame: what more it takes than another, and what making it takes alone.
func costs(ctx context.Context, s settings) (string, error) {
	w, err := newTestbed(1)
	if err != nil {
		return "", err
	}
	defer w.close()
	w.window = s.window
	file := filepath.Join(s.dir, "templates.yaml")
	if err := os.WriteFile(file, []byte(fourTemplates(mac(w.peer.MAC))), 0o644); err != nil {
		return "", err
	}
	xdp := []string{s.wirespeed, "send", "xdp:va@" + w.a, "--stamp", "none", "--duration", "20s", "--json"}
	rows := []contender{
		{name: costFixed, own: true, command: append(xdp[:len(xdp):len(xdp)], "--dst-mac", mac(w.peer.MAC), "--size", "64", "--signature", "none")},
		{name: costTemplates, own: true, command: append(xdp[:len(xdp):len(xdp)], "-f", file)},
	}
	ns := map[string][]float64{}
	var more []float64
	for round := range s.runs {
		one := map[string]float64{}
		for _, c := range rows {
			got, err := turn(ctx, w, c)
			if err != nil {
				return "", fmt.Errorf("%s: %w", c.name, err)
			}
			one[c.name] = 1e9 / got.fps
		}
		if one[costNull], err = nullCost(ctx, s); err != nil {
			return "", err
		}
		for name, v := range one {
			ns[name] = append(ns[name], v)
		}
		more = append(more, one[costTemplates]-one[costFixed])
		fmt.Fprintf(os.Stderr, "round %d: fixed %.1f, templates %.1f, null %.1f ns\n", round+1, one[costFixed], one[costTemplates], one[costNull])
	}
	var b strings.Builder
	b.WriteString("| row | ns per frame, median (min to max) |\n| --- | --- |\n")
	for _, name := range []string{costFixed, costTemplates, costNull} {
		fmt.Fprintf(&b, "| %s | %s |\n", name, spread(ns[name], "%.1f"))
	}
	b.WriteString("\n| claim | ns per frame, median (min to max) | at most | holds |\n| --- | --- | --- | --- |\n")
	for _, c := range []struct {
		what string
		v    []float64
		most float64
	}{{"xdp: four templates above the fixed one", more, 65}, {"null: signature and three modifiers", ns[costNull], 25}} {
		holds := map[bool]string{true: "yes", false: "no"}[median(c.v) <= c.most]
		fmt.Fprintf(&b, "| %s | %s | %.0f | %s |\n", c.what, spread(c.v, "%.1f"), c.most, holds)
	}
	return b.String(), nil
}

// nullCost is what a frame takes that goes nowhere.
func nullCost(ctx context.Context, s settings) (float64, error) {
	p, err := start(ctx, []string{s.wirespeed, "send", "null:", "--size", "64", "--signature", "full", "--src-port", "inc(1024,1,60000)",
		"--src-ip", "rand(198.18.0.0,198.18.255.255,1)", "--dst-ip", "inc(198.19.0.1,1,200)", "--count", "20000000", "--json"})
	if err != nil {
		return 0, err
	}
	defer p.kill()
	<-p.done
	doc, err := decode(p.out.Bytes())
	if err != nil {
		return 0, fmt.Errorf("null: %w: %s", err, p.errs.String())
	}
	if len(doc.Ports) != 1 || doc.Ports[0].Tx == nil || !(doc.Ports[0].Tx.FPS > 0) {
		return math.NaN(), fmt.Errorf("null: the report has no rate: %s", p.out.String())
	}
	return 1e9 / doc.Ports[0].Tx.FPS, nil
}
