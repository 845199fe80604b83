package stream

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/wirespeed/wirespeed/internal/packet"
	"github.com/wirespeed/wirespeed/internal/wire"
)

// check finds the mistakes that concern several parts of a definition at once, and fills in default names and sizes.
// sources has one entry for each stream.
func check(set *Set, sources []source, n *notes) {
	names := map[string]int{}
	weights := make([]int, len(set.Streams))
	for i := range set.Streams {
		st, src := &set.Streams[i], &sources[i]
		weights[i] = st.Weight
		if st.Name == "" {
			st.Name = "stream" + strconv.Itoa(i+1)
		}
		if first, again := names[st.Name]; again {
			n.at(src.name, fmt.Sprintf("stream %d has the name %q already", first+1, shorten(st.Name)), "give every stream a name of its own")
		} else {
			names[st.Name] = i
		}
		checkOrder(st, src, n)
		checkOverlap(st, src, n)
		checkSize(st, src, n)
	}
	if len(weights) > 0 && round(weights) > maxRound {
		n.at(sources[0].weight, fmt.Sprintf("one round of the weights has more than %d frames", maxRound), "use smaller weights in the same proportion")
	}
}

// maxRound is the most frames in one round of the weights: programs keep the round as a list.
const maxRound = 1 << 18

// round is the number of frames after which the weights begin again.
func round(weights []int) int {
	div, sum := 0, 0
	for _, w := range weights {
		sum += w
		for w != 0 {
			div, w = w, div%w
		}
	}
	return sum / max(1, div)
}

// checkOrder holds each header against the one below it. Nothing is added silently: what is missing is a mistake.
func checkOrder(st *Stream, src *source, n *notes) {
	if src.broken {
		return // a header is missing from the list: its neighbours say nothing
	}
	for i, l := range st.Layers {
		switch {
		case i == 0 && !l.Kind.Outermost:
			n.at(src.layers[0], fmt.Sprintf("%s cannot be the outermost header", l.Kind.Name), "begin the list with `- eth`")
		case i > 0 && len(l.Kind.Follows) == 0:
			n.at(src.layers[i], fmt.Sprintf("%s can only be the outermost header", l.Kind.Name), "keep one, as the first of the list")
		case i > 0 && !slices.Contains(l.Kind.Follows, st.Layers[i-1].Kind.Name):
			n.at(src.layers[i], fmt.Sprintf("%s cannot stand on %s", l.Kind.Name, st.Layers[i-1].Kind.Name),
				"put "+strings.Join(l.Kind.Follows, " or ")+" before it")
		}
	}
}

// checkOverlap finds fields that were given and share bits: ip.dsfield and ip.dsfield.dscp, or a VLAN tag's tpid and the
// type of the header below, where it lies.
func checkOverlap(st *Stream, src *source, n *notes) {
	type span struct {
		field    *packet.Field
		name     string
		from, to int
	}
	var before []span
	at := 0
	for i, l := range st.Layers {
		for _, v := range l.Fields {
			s := span{v.Field, l.Kind.Name + "." + v.Field.Name, at + v.Field.Bit, at + v.Field.Bit + v.Field.Bits}
			for _, b := range before {
				if s.from < b.to && b.from < s.to && len(src.layers) > i {
					n.at(src.layers[i], fmt.Sprintf("%s and %s are the same bits of the frame", b.name, s.name), "give one of them")
				}
			}
			before = append(before, s)
		}
		at += 8 * l.Kind.Len
	}
}

// checkSize compares the smallest frame with what it must hold. The default size is the smallest that holds the headers
// and a full signature, at least 64.
func checkSize(st *Stream, src *source, n *notes) {
	if src.broken {
		return
	}
	form := map[string]packet.Form{"": packet.FormNone, "none": packet.FormNone, "short": packet.FormShort, "full": packet.FormFull}[st.Signature]
	if !src.sized {
		if st.Signature == "" {
			form = packet.FormFull
		}
		size := max(wire.MinFrame, st.headerLen()+form.Len()+wire.FCS)
		st.Size = Sizes{Cycle: []int{size}, Min: size, Max: size, Text: strconv.Itoa(size)}
		return
	}
	need := st.headerLen() + form.Len() + wire.FCS
	if st.Size.Min >= need {
		return
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
	n.at(src.size, fmt.Sprintf("size %d is smaller than %s: %s bytes make %d", st.Size.Min, what, strings.Join(parts, " + "), need), mend)
}

// headerLen is the length of all headers in bytes.
func (st *Stream) headerLen() int {
	sum := 0
	for _, l := range st.Layers {
		sum += l.Kind.Len
	}
	return sum
}
