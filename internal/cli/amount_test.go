package cli

import (
	"strings"
	"testing"
	"time"
)

func TestByteSizesNameTheirUnits(t *testing.T) {
	var n byteSize
	for text, want := range map[string]byteSize{"1": 1, "100MB": 100e6, "64KiB": 64 << 10, "2TiB": 2 << 40} {
		if err := n.UnmarshalText([]byte(text)); err != nil || n != want {
			t.Errorf("%q is %d, %v", text, n, err)
		}
	}
	for _, bad := range []string{"100KB", "1.5MB", "0", "MB", "", "100mb"} {
		if err := n.UnmarshalText([]byte(bad)); err == nil || !strings.Contains(err.Error(), "kB, MB, GB, TB, KiB") {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

func TestAmountsAreAboveZero(t *testing.T) {
	var c frameCount
	var s span
	if err := c.UnmarshalText([]byte("1000000")); err != nil || c != 1_000_000 {
		t.Errorf("%d, %v", c, err)
	}
	if err := s.UnmarshalText([]byte("1500ms")); err != nil || time.Duration(s) != 1500*time.Millisecond {
		t.Errorf("%d, %v", s, err)
	}
	for _, bad := range []string{"", "0", "-1", "1.5", "x", "18446744073709551616"} {
		if err := c.UnmarshalText([]byte(bad)); err == nil {
			t.Errorf("a count of %q", bad)
		}
	}
	for _, bad := range []string{"", "0", "0s", "-1s", "10", "x", "1000000h10"} {
		if err := s.UnmarshalText([]byte(bad)); err == nil {
			t.Errorf("a duration of %q", bad)
		}
	}
}
