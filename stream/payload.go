package stream

import (
	"encoding/hex"
	"fmt"
	"strings"
)

const fillForms = "0x00 (any byte), inc, random(seed), hex:DEADBEEF, text:hello"

// parseFill reads what follows the signature: a byte, inc, random(seed), hex:... or text:... (both repeated).
func parseFill(text string) (Payload, *fault) {
	bare := strings.TrimSpace(text)
	if t, ok := strings.CutPrefix(text, "text:"); ok {
		return parseData([]byte(t))
	}
	if t, ok := strings.CutPrefix(bare, "hex:"); ok {
		t = strings.NewReplacer(" ", "", ":", "", "\n", "").Replace(t)
		data, err := hex.DecodeString(t)
		if err != nil {
			return Payload{}, &fault{fmt.Sprintf("%q is not pairs of hexadecimal digits", shorten(t)), "write hex:DEADBEEF"}
		}
		return parseData(data)
	}
	if t, ok := strings.CutPrefix(bare, "random("); ok && strings.HasSuffix(t, ")") {
		seed, bad := parseSeed(strings.TrimSuffix(t, ")"))
		return Payload{Fill: FillRandom, Seed: seed}, bad
	}
	if bare == "inc" {
		return Payload{Fill: FillInc}, nil
	}
	b, ok := number(bare)
	switch {
	case !ok:
		return Payload{}, &fault{fmt.Sprintf("unknown fill %q", shorten(bare)), "known: " + fillForms}
	case b > 255:
		return Payload{}, &fault{fmt.Sprintf("fill %s is more than one byte", bare), "give 0x00 to 0xff, or hex:... for several bytes"}
	}
	return Payload{Fill: FillByte, Byte: byte(b)}, nil
}

// maxData is the longest pattern: no frame holds more.
const maxData = 16384

func parseData(data []byte) (Payload, *fault) {
	if len(data) == 0 {
		return Payload{}, &fault{"an empty pattern fills nothing", "known fills: " + fillForms}
	}
	if len(data) > maxData {
		return Payload{}, &fault{fmt.Sprintf("a pattern of %d bytes is longer than %d", len(data), maxData), "no frame holds more"}
	}
	return Payload{Fill: FillData, Data: data}, nil
}
