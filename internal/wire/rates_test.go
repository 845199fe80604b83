package wire

import (
	"math"
	"testing"
	"time"
)

// lineSizes and lineRates are the largest whole numbers of frames per second, computed apart from this package; 10M to 10G
// agree with the tables of RFC 5180 appendix A and RFC 2544 appendix B.
var lineSizes = []int{64, 128, 256, 512, 1024, 1280, 1518, 1522, 9000, 9018}

var lineRates = []struct {
	speed string
	fps   [10]uint64
}{
	{"10M", [10]uint64{14880, 8445, 4528, 2349, 1197, 961, 812, 810, 138, 138}},
	{"100M", [10]uint64{148809, 84459, 45289, 23496, 11973, 9615, 8127, 8106, 1385, 1383}},
	{"1G", [10]uint64{1488095, 844594, 452898, 234962, 119731, 96153, 81274, 81063, 13858, 13830}},
	{"2.5G", [10]uint64{3720238, 2111486, 1132246, 587406, 299329, 240384, 203185, 202658, 34645, 34576}},
	{"5G", [10]uint64{7440476, 4222972, 2264492, 1174812, 598659, 480769, 406371, 405317, 69290, 69152}},
	{"10G", [10]uint64{14880952, 8445945, 4528985, 2349624, 1197318, 961538, 812743, 810635, 138580, 138304}},
	{"25G", [10]uint64{37202380, 21114864, 11322463, 5874060, 2993295, 2403846, 2031859, 2026588, 346452, 345762}},
	{"40G", [10]uint64{59523809, 33783783, 18115942, 9398496, 4789272, 3846153, 3250975, 3242542, 554323, 553219}},
	{"50G", [10]uint64{74404761, 42229729, 22644927, 11748120, 5986590, 4807692, 4063719, 4053177, 692904, 691524}},
	{"100G", [10]uint64{148809523, 84459459, 45289855, 23496240, 11973180, 9615384, 8127438, 8106355, 1385809, 1383049}},
	{"200G", [10]uint64{297619047, 168918918, 90579710, 46992481, 23946360, 19230769, 16254876, 16212710, 2771618, 2766098}},
	{"400G", [10]uint64{595238095, 337837837, 181159420, 93984962, 47892720, 38461538, 32509752, 32425421, 5543237, 5532197}},
	{"800G", [10]uint64{1190476190, 675675675, 362318840, 187969924, 95785440, 76923076, 65019505, 64850843, 11086474, 11064394}},
}

// maxFPS is MaxFPS of one size.
func maxFPS(t testing.TB, linkBps uint64, size int) FPS {
	t.Helper()
	f, err := MaxFPS(uint64(size), 1, linkBps)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// fpsOf is the rate for frames of sizes, one after the other.
func fpsOf(r Rate, linkBps uint64, sizes ...int) (FPS, error) {
	var sum uint64
	for _, size := range sizes {
		sum += uint64(size)
	}
	return r.FPSMean(sum, uint64(len(sizes)), linkBps)
}

func TestMaxFPSTable(t *testing.T) {
	n := 0
	for _, row := range lineRates {
		bps, err := ParseBitRate(row.speed)
		if err != nil {
			t.Fatal(err)
		}
		if got := FormatBitRate(bps); got != row.speed {
			t.Errorf("%s prints as %s", row.speed, got)
		}
		for i, size := range lineSizes {
			if got := maxFPS(t, bps, size); got.Num/got.Den != row.fps[i] {
				t.Errorf("%s, %d bytes: %v fps, want %d", row.speed, size, got, row.fps[i])
			}
			n++
		}
	}
	if n != 130 {
		t.Fatalf("%d values checked, want 130", n)
	}
}

func TestMaxFPSExact(t *testing.T) {
	for _, c := range []struct {
		bps  uint64
		size int
		want FPS
	}{
		{1e9, 64, FPS{31250000, 21}},
		{10e9, 64, FPS{312500000, 21}},
		{10e9, 1518, FPS{625000000, 769}},
		{10e9, 1522, FPS{625000000, 771}},
		{10e9, 9018, FPS{625000000, 4519}},
	} {
		if got := maxFPS(t, c.bps, c.size); got != c.want {
			t.Errorf("MaxFPS(%d, %d) = %v, want %v", c.bps, c.size, got, c.want)
		}
	}
}

// TestLayerShares checks wire time and the shares of the line that L2, L2 without FCS and L3 have when the line is full.
func TestLayerShares(t *testing.T) {
	for _, c := range []struct {
		size          int
		bits          uint64
		tags          int
		l2, noFCS, l3 float64
	}{
		{64, 672, 0, 76.1905, 71.4286, 54.7619},
		{128, 1184, 0, 86.4865, 83.7838, 74.3243},
		{256, 2208, 0, 92.7536, 91.3043, 86.2319},
		{512, 4256, 0, 96.2406, 95.4887, 92.8571},
		{1024, 8352, 0, 98.0843, 97.7011, 96.3602},
		{1280, 10400, 0, 98.4615, 98.1538, 97.0769},
		{1518, 12304, 0, 98.6996, 98.4395, 97.5293},
		{1522, 12336, 1, 98.7030, 98.4436, 97.2763},
		{9018, 72304, 0, 99.7787, 99.7345, 99.5796},
	} {
		if got := wireBitsMean(rat(uint64(c.size), 1)); got.Cmp(rat(c.bits, 1)) != 0 {
			t.Errorf("%d bytes: %v wire bits, want %d", c.size, got, c.bits)
		}
		for _, link := range []uint64{1e9, 10e9} {
			f := maxFPS(t, link, c.size)
			num, den := f.GapNs()
			if num*link != c.bits*1e9*den {
				t.Errorf("%d bytes at %d: gap %d/%d ns", c.size, link, num, den)
			}
			l := LayersAt(f, uint64(c.size), 1, c.tags)
			if l.L1Bps != float64(link) || l.LineShare(link) != 1 {
				t.Errorf("%d bytes at %d: L1 %v bit/s, share %v", c.size, link, l.L1Bps, l.LineShare(link))
			}
			for _, share := range []struct {
				name      string
				got, want float64
			}{{"L2", l.L2LineShare(link), c.l2}, {"L2 without FCS", l.L2NoFCSBps / float64(link), c.noFCS}, {"L3", l.L3Bps / float64(link), c.l3}} {
				if math.Abs(share.got*100-share.want) > 0.00006 {
					t.Errorf("%d bytes at %d: %s is %.4f %%, want %.4f", c.size, link, share.name, share.got*100, share.want)
				}
			}
		}
	}
}

// TestHalfFullGigabit: one measured rate, four honest bit rates; the link was half full, not 36 or 38 percent.
func TestHalfFullGigabit(t *testing.T) {
	f, err := NewFPS(750064, 1)
	if err != nil {
		t.Fatal(err)
	}
	want := Layers{FPS: 750064, L1Bps: 504043008, L2Bps: 384032768, L2NoFCSBps: 360030720, L3Bps: 276023552}
	if got := LayersAt(f, 64, 1, 0); got != want {
		t.Errorf("LayersAt = %+v, want %+v", got, want)
	}
	if got := LayersMeasured(750064*3, 750064*3*64, 3*time.Second, 0); got != want {
		t.Errorf("LayersMeasured = %+v, want %+v", got, want)
	}
	if got := want.LineShare(1e9); math.Abs(got-0.5040) > 0.00005 {
		t.Errorf("line share %v, want 0.5040", got)
	}
	if got := want.L2LineShare(1e9); math.Abs(got-0.3840) > 0.00005 {
		t.Errorf("L2 line share %v, want 0.3840", got)
	}
}

func TestFramesIn(t *testing.T) {
	for _, c := range []struct {
		num, den uint64
		d        time.Duration
		want     uint64
	}{
		{730000, 1, time.Second, 730000},
		{73302646, 100, time.Second, 733026},
		{1, 2, time.Second, 1}, // half up
		{1, 2, time.Second - 1, 0},
		{31250000, 21, 21 * time.Second, 31250000},
		{math.MaxUint64 / 2, 1, time.Hour, math.MaxUint64},
		{5, 1, 0, 0},
		{5, 1, -time.Second, 0},
	} {
		if got := (FPS{c.num, c.den}).FramesIn(c.d); got != c.want {
			t.Errorf("%d/%d fps for %v: %d frames, want %d", c.num, c.den, c.d, got, c.want)
		}
	}
}

func TestDue(t *testing.T) {
	line := FPS{31250000, 21}
	for _, c := range []struct {
		f       FPS
		i, want uint64
	}{
		{line, 0, 0},
		{line, 1, 672},
		{line, 31250000, 21e9},
		{FPS{3, 1}, 1, 333333333},
		{FPS{3, 1}, 2, 666666666},
		{FPS{3, 1}, 3, 1e9},
		{FPS{1e6, 1}, 1 << 54, 1000 << 54},
		{FPS{1, 1000}, math.MaxUint64, math.MaxUint64}, // beyond 64 bits
		{FPS{}, 7, 0},
	} {
		if got := c.f.Due(c.i); got != c.want {
			t.Errorf("frame %d at %v is due at %d ns, want %d", c.i, c.f, got, c.want)
		}
	}
	var sink uint64
	if n := testing.AllocsPerRun(100, func() { sink += line.Due(sink) }); n != 0 {
		t.Errorf("Due allocates %v times", n)
	}
}

func TestFPSArithmetic(t *testing.T) {
	f, err := NewFPS(100, 6)
	if err != nil || f != (FPS{50, 3}) {
		t.Fatalf("NewFPS(100, 6) = %v, %v", f, err)
	}
	for _, c := range [][2]uint64{{0, 1}, {1, 0}, {1, math.MaxUint64}} {
		if f, err := NewFPS(c[0], c[1]); err == nil {
			t.Errorf("NewFPS(%d, %d) = %v", c[0], c[1], f)
		}
	}
	if (FPS{1, 3}).Cmp(FPS{2, 6}) != 0 || (FPS{}).Cmp(FPS{1, 9}) != -1 || (FPS{math.MaxUint64, 2}).Cmp(FPS{math.MaxUint64, 3}) != 1 {
		t.Error("Cmp is wrong")
	}
	if f := maxFPS(t, 1e9, 64).Float(); math.Abs(f-1488095.238) > 0.001 {
		t.Errorf("Float = %v", f)
	}
	if (FPS{}).Float() != 0 {
		t.Error("the zero FPS is not 0")
	}
}
