package stream

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/wirespeed/wirespeed/internal/packet"
	"github.com/wirespeed/wirespeed/internal/wire"
)

// A problem is something about the parts of a stream together that keeps it from being sent.
type problem struct {
	layer int    // in Layers; -1: of another part
	field string // of the layer; empty: the layer as a whole
	part  part   // where layer is -1
	index int    // of a payload field
	fault
}

// part is what a problem belongs to where that is no layer.
type part uint8

const (
	partSize part = iota
	partSignature
	partModify
)

// Validate says whether the parts of a stream go together: for streams that Parse and FromFlags have not made. The error is
// one sentence with its mend.
func (st *Stream) Validate() error {
	for i := range st.Layers {
		for j := range st.Layers[i].Fields {
			v := &st.Layers[i].Fields[j]
			if err := v.Value.Check(v.Field); err != nil {
				return fmt.Errorf("%s: %w", st.Layers[i].Kind.Wireshark(v.Field), err)
			}
		}
	}
	for i := range st.Modify {
		if err := st.Modify[i].Value.Check(st.Modify[i].Field); err != nil {
			return fmt.Errorf("%s: %w", st.Modify[i].Field.Name, err)
		}
	}
	if len(st.Layers) == 0 {
		return errors.New("it has no layers: begin with eth")
	}
	if !slices.Contains([]string{"", "full", "short", "none"}, st.Signature) {
		return fmt.Errorf("signature %q is none of full, short, none", st.Signature)
	}
	if all := st.problems(); len(all) > 0 {
		return errors.New(all[0].message + "; " + all[0].mend)
	}
	return nil
}

// checkStream notes the problems of one stream, each in its place, and fills in the size where none was given.
func checkStream(st *Stream, src *source, n *notes) {
	if !src.sized && !src.broken {
		size := max(wire.MinFrame, st.headerLen()+st.Form().Len()+wire.FCS)
		for _, v := range st.Modify {
			size = max(size, st.headerLen()+bytesTo(v.Field)+bytesTo(v.Field)%2+wire.FCS)
		}
		st.Size = Sizes{Cycle: []int{size}, Min: size, Max: size, Text: strconv.Itoa(size)}
	}
	var all []problem
	if src.broken {
		all = st.overlaps() // a header is missing from the list: neighbours and lengths say nothing
	} else {
		all = st.problems()
	}
	for _, p := range all {
		switch {
		case p.layer >= 0 && p.layer < len(src.layers):
			n.at(src.layers[p.layer].of(p.field), p.message, p.mend)
		case p.part == partModify && p.index < len(src.modify):
			n.at(src.modify[p.index], p.message, p.mend)
		case p.part == partSignature:
			n.at(src.signature, p.message, p.mend)
		default:
			n.at(src.size, p.message, p.mend)
		}
	}
}

// problems finds all of them. Every value is valid by itself.
func (st *Stream) problems() []problem {
	out := append(st.order(), st.overlaps()...)
	if len(out) > 0 {
		return out
	}
	if out = st.lengths(); len(out) > 0 {
		return out
	}
	return slices.Concat(st.payloadPlaces(), st.oddEnds(), st.sumProblems())
}

// order holds each header against the one below it. Nothing is added silently: what is missing is a mistake.
func (st *Stream) order() []problem {
	var out []problem
	add := func(layer int, message, mend string) {
		out = append(out, problem{layer: layer, fault: fault{message, mend}})
	}
	for i, l := range st.Layers {
		switch {
		case i == 0 && !l.Kind.Outermost:
			add(i, l.Kind.Name+" cannot be the outermost header", "begin the list with `- eth`")
		case i == 0 && l.Kind.Header != packet.HeaderEth && l.Kind.Len < 14:
			add(i, fmt.Sprintf("%s of %d bytes stands where Ethernet has 14", l.Kind.Name, l.Kind.Len), "begin the list with `- eth`, or give at least 14 bytes")
		case i > 0 && !slices.Contains(l.Kind.Follows, st.Layers[i-1].Kind.Name):
			add(i, l.Kind.Name+" cannot stand on "+st.Layers[i-1].Kind.Name, "put "+strings.Join(l.Kind.Follows, " or ")+" before it")
		}
	}
	return out
}

// bitRange is where a given field lies in the frame.
type bitRange struct {
	name     string
	from, to int
	place    problem // with its place alone
}

// overlaps finds fields that were given and share bits: ip.dsfield and ip.dsfield.dscp, or a VLAN tag's tpid and the type
// of the header below, where it lies.
func (st *Stream) overlaps() []problem {
	var given []bitRange
	at := st.Offsets()
	for i, l := range st.Layers {
		for _, v := range l.Fields {
			from := at[i]*8 + v.Field.Bit
			given = append(given, bitRange{l.Kind.Wireshark(v.Field), from, from + v.Field.Bits, problem{layer: i, field: v.Field.Name}})
		}
	}
	for i, v := range st.Modify {
		from := at[len(st.Layers)]*8 + v.Field.Bit
		given = append(given, bitRange{v.Field.Name, from, from + v.Field.Bits, problem{layer: -1, part: partModify, index: i}})
	}
	var out []problem
	for i, s := range given {
		for _, b := range given[:i] {
			if s.from < b.to && b.from < s.to {
				p := s.place
				p.fault = fault{fmt.Sprintf("%s and %s are the same bits of the frame", b.name, s.name), "give one of them"}
				out = append(out, p)
			}
		}
	}
	return out
}

// lengths compares the smallest frame with the headers and the signature that it must hold.
func (st *Stream) lengths() []problem {
	form := st.Form()
	need := st.headerLen() + form.Len() + wire.FCS
	if large := max(need, st.smallest()+wire.FCS); large > wire.MaxFrame {
		return []problem{{layer: -1, part: partSize, fault: fault{fmt.Sprintf("headers and payload fields need frames of %d bytes", large),
			fmt.Sprintf("%d is the largest there is", wire.MaxFrame)}}}
	}
	if st.smallest() < 0 || st.smallest()+wire.FCS >= need {
		return nil
	}
	var parts []string
	for _, l := range st.Layers {
		parts = append(parts, fmt.Sprintf("%s %d", l.Kind.Name, l.Kind.Len))
	}
	what := "the headers"
	if form != packet.FormNone {
		what += " and the signature"
		parts = append(parts, fmt.Sprintf("signature %d", form.Len()))
	}
	parts = append(parts, fmt.Sprintf("FCS %d", wire.FCS))
	mend := fmt.Sprintf("give a size of %d or more", need)
	if form != packet.FormNone {
		mend += ", or another signature"
	}
	return []problem{{layer: -1, part: partSize, fault: fault{
		fmt.Sprintf("size %d is smaller than %s: %s bytes make %d", st.smallest()+wire.FCS, what, strings.Join(parts, " + "), need), mend}}}
}

// bytesTo is the number of payload bytes up to the end of the field.
func bytesTo(f *packet.Field) int { return (f.Bit + f.Bits + 7) / 8 }

// payloadPlaces holds the payload fields against the signature and the smallest frame.
func (st *Stream) payloadPlaces() []problem {
	var out []problem
	form, hdr, smallest := st.Form(), st.headerLen(), st.smallest()
	for i, v := range st.Modify {
		end := hdr + bytesTo(v.Field)
		add := func(message, mend string) {
			out = append(out, problem{layer: -1, part: partModify, index: i, fault: fault{v.Field.Name + " " + message, mend}})
		}
		switch {
		case v.Field.Bit < form.Len()*8:
			add(fmt.Sprintf("lies in the signature %s, the first %d bytes of the payload", form, form.Len()),
				fmt.Sprintf("begin at offset %d or later, or give `signature: none`", form.Len()))
		case end > smallest:
			add(fmt.Sprintf("ends %d bytes behind the smallest frame, of %d bytes", end-smallest, smallest+wire.FCS), fmt.Sprintf("give a size of %d or more", end+wire.FCS))
		}
	}
	return out
}
