package stream

import (
	"strings"
	"testing"
)

// The parser recurses: what would exhaust its stack, or hours, is refused before it begins.
func TestDepthIsBounded(t *testing.T) {
	const n = 1 << 18
	for name, text := range map[string]string{
		"brackets": strings.Repeat("[", n), "braces": strings.Repeat("{a: ", n), "lists": strings.Repeat("- ", n),
		"keys": strings.Repeat("? ", n), "anchors": strings.Repeat("&", n), "below keys": "streams:\n  " + strings.Repeat("[", n),
	} {
		_, err := Parse("x", []byte(text))
		if err == nil || !strings.Contains(err.Error(), "nested too deep") {
			t.Errorf("%s: error is %v", name, err)
		}
	}
	_, err := Parse("x", []byte("streams: "+strings.Repeat("[", maxDepth+2)+strings.Repeat("]", maxDepth+2)))
	if err == nil || !strings.Contains(err.Error(), "nested too deep") {
		t.Errorf("error is %v", err)
	}
	if _, err = Parse("x", make([]byte, maxFile+1)); err == nil || !strings.Contains(err.Error(), "more than the 1048576") {
		t.Errorf("error is %v", err)
	}
}
