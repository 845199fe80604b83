package cli

import (
	"testing"
	"time"
)

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
