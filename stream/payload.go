package stream

import (
	"fmt"
	"strings"

	"github.com/wirespeed/wirespeed/internal/packet"
)

const fillForms = "0x00 (any byte), inc, random(seed), hex:DEADBEEF, text:hello"

// parseFill reads what follows the signature: a byte, inc, random(seed), hex:... or text:... (both repeated).
func parseFill(text string) (Payload, *fault) {
	bare := strings.TrimSpace(text)
	if t, ok := strings.CutPrefix(text, "text:"); ok {
		return parseData([]byte(t))
	}
	if t, ok := strings.CutPrefix(bare, "hex:"); ok {
		data, err := parseHex(t)
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

// maxModify is the most payload fields of one stream that change.
const maxModify = 64

// modify reads the payload fields that change.
func (d *decoder) modify(st *Stream, v *node, at located, src *source) {
	const mend = `begin each with a dash: ` + "`- {offset: 20, bits: 32, value: \"inc(0,1,100)\"}`"
	if !d.is(v, sequence, at, "needs a list of payload fields", mend) {
		return
	}
	if len(v.list) > maxModify {
		d.at(at, fmt.Sprintf("%d payload fields", len(v.list)), fmt.Sprintf("a stream has up to %d", maxModify))
		return
	}
	for i, e := range v.list {
		d.payloadField(st, e, located{e.pos, fmt.Sprintf("%s[%d]", at.path, i)}, src)
	}
}

// payloadField reads one of them. Its value needs its width, so it is read last.
func (d *decoder) payloadField(st *Stream, v *node, at located, src *source) {
	offset, bit, width := -1, 0, 0
	var value *node
	var place located
	number := func(keep *int, low, high int, what string) func(*node, located) {
		return func(v *node, at located) {
			d.scalar(v, at, func(t string) *fault {
				n, ok := number(t)
				if !ok || n < uint64(low) || n > uint64(high) {
					return &fault{fmt.Sprintf("%s %q is not a number from %d to %d", what, shorten(t), low, high), "offset counts bytes from the end of the last header, bit counts in that byte from the left"}
				}
				*keep = int(n)
				return nil
			})
		}
	}
	before := len(d.list)
	d.mapping(v, at, "a payload field", []field{
		{"offset", number(&offset, 0, maxData, "offset")},
		{"bit", number(&bit, 0, 7, "bit")},
		{"bits", number(&width, 1, 128, "bits")},
		{"value", func(v *node, at located) { value, place = v, at }},
	})
	if len(d.list) == before && v.kind == mapping && (offset < 0 || width == 0 || value == nil) {
		d.at(at, "a payload field needs offset, bits and value", "write {offset: 20, bits: 32, value: \"inc(0,1,100)\"}")
	}
	if offset < 0 || width == 0 || value == nil {
		return
	}
	f := PayloadBits(offset, bit, width)
	d.scalar(value, place, func(t string) *fault {
		val, bad := parseValue(f, t)
		if bad == nil {
			st.Modify = append(st.Modify, PayloadField{Field: f, Value: val})
			src.modify = append(src.modify, at)
		}
		return bad
	})
}

// PayloadBits is a field of the payload: bits of it, from a bit of the byte at the offset on.
func PayloadBits(offset, bit, bits int) *packet.Field {
	name := fmt.Sprintf("payload[%d]", offset)
	if bit != 0 {
		name += fmt.Sprintf(".%d", bit)
	}
	return &packet.Field{Name: name, Bit: offset*8 + bit, Bits: bits}
}
