package wire

import (
	"encoding/json"
	"math"
	"strings"
	"testing"
)

func reportOf(t *testing.T, sizes, link, rate string, tags int) (RateReport, error) {
	t.Helper()
	s, err := ParseSizes(sizes)
	if err != nil {
		t.Fatal(err)
	}
	var bps uint64
	if link != "" {
		if bps, err = ParseBitRate(link); err != nil {
			t.Fatal(err)
		}
	}
	r, err := ParseRate(rate)
	if err != nil {
		t.Fatal(err)
	}
	return Report(s, bps, r, tags)
}

func TestReport(t *testing.T) {
	got, err := reportOf(t, "64", "1G", "750064pps", 0)
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(got)
	if err != nil {
		t.Fatal(err)
	}
	var doc map[string]any
	if err := json.Unmarshal(text, &doc); err != nil {
		t.Fatal(err)
	}
	for field, want := range map[string]float64{
		"size": 64, "link_bps": 1e9, "fps_max": 1488095.238095238, "fps": 750064, "l1_bps": 504043008, "l2_bps": 384032768,
		"l2_nofcs_bps": 360030720, "l3_bps": 276023552, "line_share": 0.504043008, "l2_line_share": 0.384032768, "gap_ns": 1333.2195652,
	} {
		v, ok := doc[field].(float64)
		if !ok || math.Abs(v-want) > want*1e-9 {
			t.Errorf("%s is %v, want %v", field, doc[field], want)
		}
	}
}

func TestReportFullLine(t *testing.T) {
	got, err := reportOf(t, "64", "1G", "max", 0)
	if err != nil {
		t.Fatal(err)
	}
	if got.FPS != *got.FPSMax || *got.LineShare != 1 || *got.GapNs != 672 {
		t.Errorf("max on 1G: %+v", got)
	}
	got, err = reportOf(t, "1522", "10G", "max", 1)
	if err != nil || math.Abs(got.L3Bps/1e10-0.972763) > 1e-6 {
		t.Errorf("one tag on 10G: %+v, %v", got, err)
	}
	if got, err = reportOf(t, "imix", "1G", "max", 0); err != nil || math.Abs(got.Size-4246.0/12) > 1e-9 || *got.LineShare != 1 {
		t.Errorf("imix on 1G: %+v, %v", got, err)
	}
}

func TestReportWithoutLink(t *testing.T) {
	got, err := reportOf(t, "64", "", "1Mpps", 0)
	if err != nil {
		t.Fatal(err)
	}
	if got.LinkBps != nil || got.FPSMax != nil || got.LineShare != nil || got.L2LineShare != nil {
		t.Errorf("shares of an unknown line are not null: %+v", got)
	}
	for _, field := range []string{"link_bps", "fps_max", "line_share", "l2_line_share"} {
		if got.Reasons[field] == "" {
			t.Errorf("%s is null without a reason", field)
		}
	}
	for _, tags := range []int{-1, 12} {
		if _, err := reportOf(t, "64", "1G", "max", tags); err == nil || !strings.Contains(err.Error(), "write 0 to 11") {
			t.Errorf("%d tags: %v", tags, err)
		}
	}
	for rate, want := range map[string]string{"max": "--link 1G", "50%": "add --link 1G"} {
		if _, err := reportOf(t, "64", "", rate, 0); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s without a link: %v", rate, err)
		}
	}
}
