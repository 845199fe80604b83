package stream

import (
	"fmt"
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

// What takes the parser time that grows with a square is bounded, and so is what is said about it.
func TestNumberIsBounded(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"keys":      {strings.Repeat("a: 1\n", 1<<17), "more than 16384 lines with keys"},
		"streams":   {"streams:\n" + strings.Repeat("- layers: [eth]\n", 1<<15), "more than 16384 lines with keys"},
		"documents": {strings.Repeat("---\na\n", 1<<16), "more than 8 documents"},
		"headers":   {"streams:\n- layers: [" + strings.Repeat("eth,", 1<<16) + "eth]\n", "65537 headers; a stream has up to 64"},
		"fields":    {"streams:\n- layers: [eth]\n  payload: {modify: [" + strings.Repeat("{offset: 0, bits: 1, value: 0},", 65) + "]}", "65 payload fields; a stream has up to 64"},
		"a list":    {"streams:\n- layers:\n  - eth:\n      type: list(" + strings.Repeat("1,", 1<<17) + "1)\n", "131073 values"},
		"mistakes":  {"streams: [" + strings.Repeat("1,", 1<<12) + "1]\n", "more than 999 mistakes; mend those first"},
		"raw bytes": {"streams:\n- layers: [eth" + strings.Repeat(", {raw: "+strings.Repeat("00", 8000)+"}", 3) + "]\n", "need frames of 24018 bytes; 16110 is the largest there is"},
		"payload":   {"streams:\n- layers: [eth]\n  payload: {modify: [{offset: 16384, bits: 1, value: 0}]}\n", "need frames of 16404 bytes"},
		"heads":     {"streams:\n" + strings.Repeat("- {size: \"rand(64,16110,1)\", layers: [eth, ip, udp]}\n", 1000), "the headers of all sizes of all streams come to 918 MiB, more than 256"},
		"an error":  {"a: [" + strings.Repeat(",", 1<<17), "not YAML"},
	} {
		_, err := Parse("x", []byte(c.text))
		if err == nil || !strings.Contains(err.Error(), c.want) || len(err.Error()) > 1<<20 {
			t.Errorf("%s: error is %.200s", name, fmt.Sprint(err))
		}
	}
}
