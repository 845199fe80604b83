package packet

import "encoding/binary"

// Bits of GRE's first two bytes.
const (
	greChecksum = 0x8000
	greRouting  = 0x4000
	greKey      = 0x2000
	greSequence = 0x1000
	greVersion  = 0x0007
)

// A greWord is an optional word of GRE: it exists where one of its fields, or its flag, is given.
type greWord struct {
	flag   uint16
	fields []Field // Bit counts from the start of the word
}

// greWords are the optional words in the order of the header.
func greWords() []greWord {
	return []greWord{
		{greChecksum, []Field{
			{Name: "checksum", Bit: 0, Bits: 16, Auto: true, Doc: "checksum; it is there where it, offset or flags.checksum is given"},
			{Name: "offset", Bit: 16, Bits: 16, Doc: "offset, reserved since RFC 2784; behind the checksum"},
		}},
		{greKey, []Field{{Name: "key", Bit: 0, Bits: 32, Doc: "key; it is there where it or flags.key is given"}}},
		{greSequence, []Field{{Name: "sequence_number", Bit: 0, Bits: 32, Doc: "sequence number; it is there where it or flags.sequence_number is given"}}},
	}
}

// gre is RFC 2784 with the key and sequence number of RFC 2890.
func gre() *Kind {
	return greOf(greWords(), func(given func(string) bool, _ []byte) (*Kind, error) {
		var there []greWord
		for _, w := range greWords() {
			has := given(greFlag(w))
			for i := range w.fields {
				has = has || given(w.fields[i].Name)
			}
			if has {
				there = append(there, w)
			}
		}
		return greOf(there, nil), nil
	})
}

// greFlag is the name of the flag that announces a word.
func greFlag(w greWord) string { return "flags." + w.fields[0].Name }

func greOf(words []greWord, shape func(func(string) bool, []byte) (*Kind, error)) *Kind {
	k := &Kind{
		Name: "gre", Header: HeaderGRE, Len: 4,
		Follows: onIP(), Proto: ProtoGRE,
		Fields: []Field{
			{Name: "flags_and_version", Bit: 0, Bits: 16, Auto: true, Doc: "all flags and the version: they say which optional fields are there"},
			{Name: "flags.checksum", Bit: 0, Bits: 1, Auto: true, Doc: "checksum and offset are there"},
			{Name: "flags.routing", Bit: 1, Bits: 1, Doc: "routing is there (RFC 1701)"},
			{Name: "flags.key", Bit: 2, Bits: 1, Auto: true, Doc: "the key is there"},
			{Name: "flags.sequence_number", Bit: 3, Bits: 1, Auto: true, Doc: "the sequence number is there"},
			{Name: "flags.version", Bit: 13, Bits: 3, Doc: "version, 0"},
			{Name: "proto", Bit: 16, Bits: 16, Auto: true, Values: etherValues(), Doc: "EtherType of what follows"},
		},
		Shape: shape,
	}
	var flags uint16
	for _, w := range words {
		flags |= w.flag
		if w.flag == greChecksum {
			k.Checksum = &Checksum{Field: "checksum", Off: k.Len}
		}
		for _, f := range w.fields {
			f.Bit += k.Len * 8
			k.Fields = append(k.Fields, f)
		}
		k.Len += 4
	}
	k.Finish = func(h []byte, next *Kind, _ int) {
		binary.BigEndian.PutUint16(h, flags)
		binary.BigEndian.PutUint16(h[2:], etherTypeOf(next))
	}
	return k
}
