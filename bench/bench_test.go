package main

import (
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The better peer is the one with the higher median, here them; a round without its figure has no ratio.
func TestRatiosAreTakenWithinARound(t *testing.T) {
	results := map[string][]sample{
		"us":                 {{fps: 10}, {fps: 40}, {fps: 30}},
		"them":               {{fps: 5}, {fps: 40}, {fps: math.NaN()}},
		"others":             {{fps: 8}, {fps: 10}, {fps: 20}},
		trafficgen + " -t 1": {{fps: 1}, {fps: 1}, {fps: 1}},
		trafficgen + " -t 2": {{fps: 2}, {fps: 1}, {fps: 1}},
	}
	best := claim{row: "us", against: []string{"them", "others"}}.ratios(results)
	if want := []float64{2, 1}; !equal(best, want) {
		t.Errorf("ratios against the better peer %v, want %v", best, want)
	}
	scaled := claim{row: "us", against: []string{"others"}, isScaled: true}.ratios(results)
	if want := []float64{0.625, 4, 1.5}; !equal(scaled, want) {
		t.Errorf("scaled ratios %v, want %v", scaled, want)
	}
	if none := (claim{row: "us", against: []string{"absent"}}).ratios(results); len(none) != 0 {
		t.Errorf("ratios %v against nobody", none)
	}
}

func equal(a, b []float64) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if math.Abs(a[i]-b[i]) > 1e-12 {
			return false
		}
	}
	return true
}

func TestPerfectSenderLosesGapsOnlyToInterruptions(t *testing.T) {
	quiet := spun{ns: 1e9}
	if got := quiet.within(1e4, 0.05); got != 1 {
		t.Errorf("undisturbed: %v of the gaps, want 1", got)
	}
	// From 95 to 137 us the core is gone. The frame of 100 us leaves at 137; those of 110 to 170 at 142 to 172, half a gap
	// apart; that of 180 is on time again, 8 us after the one before. The long gap, seven halves and the 8 are off.
	hit := spun{ns: 1e9, all: []interruption{{95e3, 137e3}}}
	if bad := (1 - hit.within(1e4, 0.05)) * (1e5 - 2); math.Abs(bad-9) > 0.5 {
		t.Errorf("%.2f gaps off, want 9", bad)
	}
}

func TestTablesGoBetweenTheirMarkers(t *testing.T) {
	file := filepath.Join(t.TempDir(), "page.md")
	begin, end := markers("one")
	if err := os.WriteFile(file, []byte("before\n"+begin+"old\n"+end+"\nafter\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := insert(file, "one", "new\n"); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(file)
	if err != nil || !strings.Contains(string(got), "new") || strings.Contains(string(got), "old") || !strings.HasSuffix(string(got), "after\n") {
		t.Errorf("page %q, %v", got, err)
	}
	if err := insert(file, "absent", "x"); err == nil {
		t.Error("a page without the markers was accepted")
	}
}

func TestPageHasAPlaceForEveryTable(t *testing.T) {
	page, err := os.ReadFile("../docs/performance.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, table := range tables {
		begin, end := markers(table.name)
		if !strings.Contains(string(page), begin) || !strings.Contains(string(page), end) {
			t.Errorf("docs/performance.md has no place for the table %s", table.name)
		}
	}
}

func TestFrameIs64BytesOnTheWire(t *testing.T) {
	b, err := frame([6]byte{2, 0, 0, 0, 0, 2})
	if err != nil || len(b) != frameNoFCS {
		t.Errorf("%d bytes, %v; want %d", len(b), err, frameNoFCS)
	}
}
