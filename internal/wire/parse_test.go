package wire

import (
	"slices"
	"strings"
	"testing"
)

func TestParseRate(t *testing.T) {
	for _, c := range []struct {
		text  string
		want  Rate
		print string
	}{
		{"max", Rate{}, "max"},
		{" MAX ", Rate{}, "max"},
		{"1.2Mpps", Rate{RateFPS, 1200000, 1, false}, "1.2Mpps"},
		{"10mpps", Rate{RateFPS, 10000000, 1, false}, "10Mpps"},
		{"10kpps", Rate{RateFPS, 10000, 1, false}, "10kpps"},
		{"1e6pps", Rate{RateFPS, 1000000, 1, false}, "1Mpps"},
		{"1000pps", Rate{RateFPS, 1000, 1, false}, "1kpps"},
		{"750064 pps", Rate{RateFPS, 750064, 1, false}, "750.064kpps"},
		{"1488095.24pps", Rate{RateFPS, 37202381, 25, false}, "1.48809524Mpps"},
		{"31250000/21pps", Rate{RateFPS, 31250000, 21, false}, "31250000/21pps"},
		{"010/1pps", Rate{RateFPS, 10, 1, false}, "10pps"},
		{"0.5pps", Rate{RateFPS, 1, 2, false}, "0.5pps"},
		{"1Kipps", Rate{RateFPS, 1024, 1, false}, "1.024kpps"},
		{"1Mifps", Rate{RateFPS, 1 << 20, 1, false}, "1.048576Mpps"},
		{"500Mbps@L1", Rate{RateL1, 500000000, 1, false}, "500Mbps@L1"},
		{"500Mbps@l2", Rate{RateL2, 500000000, 1, false}, "500Mbps@L2"},
		{"500Mbps", Rate{RateL1, 500000000, 1, true}, "500Mbps"},
		{"1G", Rate{RateL1, 1000000000, 1, true}, "1Gbps"},
		{"1Gbps", Rate{RateL1, 1000000000, 1, true}, "1Gbps"},
		{"5gbps", Rate{RateL1, 5000000000, 1, true}, "5Gbps"},
		{"1Gbit/s@L2", Rate{RateL2, 1000000000, 1, false}, "1Gbps@L2"},
		{"1Gbit", Rate{RateL1, 1000000000, 1, true}, "1Gbps"},
		{"1Mi", Rate{RateL1, 1 << 20, 1, true}, "1.048576Mbps"},
		{"87.5%", Rate{RatePercent, 175, 2, false}, "87.5%"},
		{"100 %", Rate{RatePercent, 100, 1, false}, "100%"},
		{"gap=10us", Rate{RateGap, 10000, 1, false}, "gap=10us"},
		{"gap=1.5ms", Rate{RateGap, 1500000, 1, false}, "gap=1.5ms"},
		{"gap=67.2ns", Rate{RateGap, 336, 5, false}, "gap=67.2ns"},
		{"gap=10µs", Rate{RateGap, 10000, 1, false}, "gap=10us"},
		{"gap=2s", Rate{RateGap, 2000000000, 1, false}, "gap=2s"},
	} {
		got, err := ParseRate(c.text)
		if err != nil || got != c.want {
			t.Errorf("ParseRate(%q) = %+v, %v; want %+v", c.text, got, err, c.want)
			continue
		}
		if got.String() != c.print {
			t.Errorf("%q prints as %q, want %q", c.text, got.String(), c.print)
		}
	}
}

// TestParseRateRefuses: every refusal is one sentence that contains the mend.
func TestParseRateRefuses(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"", "write max, 1.2Mpps"},
		{"fast", "write max, 1.2Mpps"},
		{"Mpps", "write max, 1.2Mpps"},
		{"NaNpps", "write max, 1.2Mpps"},
		{"0pps", "is zero: ask for more, or for max"},
		{"0%", "is zero: ask for more, or for max"},
		{"-5Mpps", "is negative: ask for more"},
		{"1000", "has no unit: add pps"},
		{"10MB/s", "write bits, 8 times as many"},
		{"10MBps", "write bits, 8 times as many"},
		{"1,5Mpps", "unknown unit"},
		{"10furlongs", "unknown unit"},
		{"1Mpps@L1", "leave out @L1"},
		{"1Gbps@L3", "write @L1 (with preamble and gap) or @L2"},
		{"gap=0us", "write a longer gap"},
		{"gap=-1us", "write a longer gap"},
		{"gap=10", "add ns, us, ms or s"},
		{"gap=", "write gap=10us"},
		{"gap=1h", "write ns, us, ms or s"},
		{"1e99pps", "exponent"},
		{"1e30pps", "give it fewer digits"},
		{"5/0pps", "not understood"},
		{strings.Repeat("9", 500) + "pps", "500 characters"},
	} {
		r, err := ParseRate(c.text)
		if err == nil {
			t.Errorf("ParseRate(%q) = %+v", c.text, r)
			continue
		}
		if msg := err.Error(); !strings.Contains(msg, c.want) || strings.Contains(msg, "\n") {
			t.Errorf("ParseRate(%q): %q does not contain %q", c.text, msg, c.want)
		}
	}
}

func TestRateFPS(t *testing.T) {
	mix := []int{64, 64, 64, 570} // mean 190.5
	for _, c := range []struct {
		rate  string
		sizes []int
		link  uint64
		want  FPS
	}{
		{"max", []int{64}, 1e9, FPS{}},
		{"1.2Mpps", []int{64}, 0, FPS{1200000, 1}},
		{"100%", []int{64}, 1e9, FPS{31250000, 21}},
		{"87.5%", []int{64}, 1e9, FPS{3906250, 3}},
		{"1G", []int{64}, 1e9, FPS{31250000, 21}},
		{"504043008bps@L1", []int{64}, 1e9, FPS{750064, 1}},
		{"384032768bps@L2", []int{64}, 1e9, FPS{750064, 1}},
		{"gap=672ns", []int{64}, 1e9, FPS{31250000, 21}},
		{"gap=10us", []int{64}, 0, FPS{100000, 1}},
		{"1684bps@L1", mix, 0, FPS{1, 1}},
		{"1524bps@L2", mix, 0, FPS{1, 1}},
	} {
		r, err := ParseRate(c.rate)
		if err != nil {
			t.Fatal(err)
		}
		got, err := fpsOf(r, c.link, c.sizes...)
		if err != nil || got != c.want {
			t.Errorf("%s of %v at %d = %v, %v; want %v", c.rate, c.sizes, c.link, got, err, c.want)
		}
	}
}

func TestRateFPSRefuses(t *testing.T) {
	for _, c := range []struct {
		rate  string
		sizes []int
		link  uint64
		want  []string
	}{
		{"50%", []int{64}, 0, []string{"?speed=1G"}},
		{"2Mpps", []int{64}, 1e9, []string{"2000000.00 fps", "1G carries at most 1488095.23 fps", "64 bytes"}},
		{"120%", []int{64}, 1e9, []string{"1785714.29 fps", "at most 1488095.23 fps"}},
		{"gap=671ns", []int{64}, 1e9, []string{"above the line"}},
		{"1G@L2", []int{1518}, 1e9, []string{"above the line"}},
		{"1Mpps", nil, 0, []string{"mean frame size"}},
		{"1Mpps", []int{0}, 0, []string{"mean frame size"}},
	} {
		r, err := ParseRate(c.rate)
		if err != nil {
			t.Fatal(err)
		}
		got, err := fpsOf(r, c.link, c.sizes...)
		if err == nil {
			t.Errorf("%s of %v at %d = %v", c.rate, c.sizes, c.link, got)
			continue
		}
		for _, want := range c.want {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%s of %v at %d: %q does not contain %q", c.rate, c.sizes, c.link, err, want)
			}
		}
	}
	// What the message names as the most is accepted.
	r, _ := ParseRate("1488095.23pps")
	if _, err := fpsOf(r, 1e9, 64); err != nil {
		t.Error(err)
	}
}

func TestParseSizes(t *testing.T) {
	for _, c := range []struct {
		text   string
		cycle  []int
		random bool
		print  string
	}{
		{"64", []int{64}, false, "64"},
		{"64,128,1518", []int{64, 128, 1518}, false, "64,128,1518"},
		{" 64 , 128 ", []int{64, 128}, false, "64,128"},
		{"64-68", []int{64, 65, 66, 67, 68}, false, "64-68"},
		{"64-256/64", []int{64, 128, 192, 256}, false, "64-256/64"},
		{"64-260/64", []int{64, 128, 192, 256}, false, "64-256/64"},
		{"64-64", []int{64}, false, "64"},
		{"64-65/9999999999", nil, false, ""},
		{"imix", []int{64, 570, 64, 64, 570, 64, 1518, 64, 570, 64, 570, 64}, false, "imix"},
		{"imix:64:7,570:4,1518:1", []int{64, 570, 64, 64, 570, 64, 1518, 64, 570, 64, 570, 64}, false, "imix"},
		{"imix:64:2,128:4", []int{128, 64, 128}, false, "128,64,128"},
		{"rand(64,1518,7)", nil, true, "rand(64,1518,7)"},
		{"rand(64, 1518)", nil, true, "rand(64,1518,0)"},
	} {
		got, err := ParseSizes(c.text)
		if c.print == "" {
			continue // only that it ends
		}
		if err != nil || !slices.Equal(got.Cycle, c.cycle) || got.Random != c.random {
			t.Errorf("ParseSizes(%q) = %+v, %v; want %v", c.text, got, err, c.cycle)
			continue
		}
		if got.String() != c.print {
			t.Errorf("%q prints as %q, want %q", c.text, got.String(), c.print)
		}
	}
	imix, _ := ParseSizes("imix")
	if num, den := imix.Mean(); num != 2123 || den != 6 {
		t.Errorf("the mean of imix is %d/%d, want 4246/12", num, den)
	}
	random, _ := ParseSizes("rand(64,1517,1)")
	if num, den := random.Mean(); num != 1581 || den != 2 {
		t.Errorf("the mean of rand(64,1517) is %d/%d, want 1581/2", num, den)
	}
}

func TestParseSizesRefuses(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"", "write 64, a list"},
		{"63", "at least 64 bytes with its FCS; write 64 or more"},
		{"64,60", "write 64 or more"},
		{"16111", "write 16110 or less"},
		{"99999999999999999999", "write 16110 or less"},
		{"-64", "write 64 or more"},
		{"big", "write 64, a list"},
		{"64,", "write 64, a list"},
		{"1518-64", "write 64-1518"},
		{"64-128/0", "a step is 1 byte or more"},
		{"64-128,256", "mixes a list and a sweep"},
		{"imix:64", "write imix:64:7"},
		{"imix:64:0", "a whole number from 1"},
		{"imix:64:65536,128:65535", "use smaller weights"},
		{"rand(1518,64,1)", "write rand(64,1518)"},
		{"rand(64)", "write rand(64,1518,seed)"},
		{"rand(64,128,x)", "a seed is a whole number"},
	} {
		s, err := ParseSizes(c.text)
		if err == nil {
			t.Errorf("ParseSizes(%q) = %+v", c.text, s)
			continue
		}
		if !strings.Contains(err.Error(), c.want) {
			t.Errorf("ParseSizes(%q): %q does not contain %q", c.text, err, c.want)
		}
	}
}

// TestSpread: weights are kept exactly, and no index is ever further than one frame from its even share.
func TestSpread(t *testing.T) {
	for _, weights := range [][]uint64{{7, 4, 1}, {1}, {3, 3}, {100, 1}, {5, 0, 2}, {1, 1, 1, 50}} {
		var total uint64
		for _, w := range weights {
			total += w
		}
		order := Spread(weights)
		count := make([]uint64, len(weights))
		for i, j := range order {
			count[j]++
			for k, w := range weights {
				due := float64(w) * float64(i+1) / float64(total)
				if d := float64(count[k]) - due; d >= 1.5 || d <= -1.5 {
					t.Errorf("%v: after %d frames index %d came %d times, its share is %.2f", weights, i+1, k, count[k], due)
				}
			}
		}
		for k, w := range weights {
			if count[k]*total != w*uint64(len(order)) {
				t.Errorf("%v: index %d came %d of %d times", weights, k, count[k], len(order))
			}
		}
	}
	if Spread(nil) != nil || Spread([]uint64{0, 0}) != nil {
		t.Error("nothing to spread gives a round")
	}
}

func TestParseBitRate(t *testing.T) {
	for text, want := range map[string]uint64{
		"1G": 1e9, "100M": 1e8, "2.5G": 25e8, "1000000000": 1e9, "10Gbps": 1e10, "10gbit": 1e10, "800G": 8e11, "1 Gbit/s": 1e9, "1T": 1e12,
	} {
		if got, err := ParseBitRate(text); err != nil || got != want {
			t.Errorf("ParseBitRate(%q) = %d, %v; want %d", text, got, err, want)
		}
	}
	for _, text := range []string{"", "fast", "0", "-1G", "0.5", "1GB", "1Gpps", "1e30", "1G@L1"} {
		if got, err := ParseBitRate(text); err == nil {
			t.Errorf("ParseBitRate(%q) = %d", text, got)
		} else if !strings.Contains(err.Error(), "write") {
			t.Errorf("ParseBitRate(%q): %q has no mend", text, err)
		}
	}
}
