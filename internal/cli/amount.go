package cli

import (
	"fmt"
	"strconv"
	"time"
)

// frameCount is the value of a flag that counts frames, 1 or more. The zero value is "not given".
type frameCount uint64

// UnmarshalText is called only for flags that were given.
func (c *frameCount) UnmarshalText(b []byte) error {
	n, err := strconv.ParseUint(string(b), 10, 64)
	if err != nil || n == 0 {
		return fmt.Errorf("%q is no number of frames: give 1 or more, such as 1000000", b)
	}
	*c = frameCount(n)
	return nil
}

// span is the value of a flag that says how long, above 0. The zero value is "not given".
type span time.Duration

// UnmarshalText is called only for flags that were given, and for defaults.
func (s *span) UnmarshalText(b []byte) error {
	d, err := time.ParseDuration(string(b))
	if err != nil || d <= 0 {
		return fmt.Errorf("%q is no time to run: give a positive one with its unit, such as 10s or 500ms", b)
	}
	*s = span(d)
	return nil
}
