package stream

import (
	"fmt"
	"slices"

	"github.com/wirespeed/wirespeed/internal/packet"
	"github.com/wirespeed/wirespeed/internal/wire"
)

// A varied is a field that changes from frame to frame: its first byte in the frame, the one behind its last, and its place.
type varied struct {
	name     string
	off, end int
	at       problem
}

// variedFields lists what changes in headers and payload, the signature left out.
func (st *Stream) variedFields() []varied {
	var out []varied
	at := st.Offsets()
	of := func(name string, header int, f *packet.Field, place problem) varied {
		bit := header*8 + f.Bit
		return varied{name, bit / 8, (bit + f.Bits + 7) / 8, place}
	}
	for i := range st.Layers {
		l := &st.Layers[i]
		for j := range l.Fields {
			v := &l.Fields[j]
			if _, same := v.Value.Constant(); !same {
				out = append(out, of(l.Kind.Wireshark(v.Field), at[i], v.Field, problem{layer: i, field: v.Field.Name}))
			}
		}
	}
	for i := range st.Modify {
		v := &st.Modify[i]
		if _, same := v.Value.Constant(); !same {
			out = append(out, of(v.Field.Name, at[len(st.Layers)], v.Field, problem{layer: -1, part: partModify, index: i}))
		}
	}
	return out
}

// oddEnds finds what changes in the last byte of frames of odd length, which no container of whole words reaches.
func (st *Stream) oddEnds() []problem {
	var out []problem
	smallest := st.smallest()
	for _, v := range st.variedFields() {
		if v.end == smallest && smallest%2 != 0 {
			p := v.at
			p.fault = fault{fmt.Sprintf("%s varies the last byte of frames of %d bytes, an odd number", v.name, smallest+wire.FCS), fmt.Sprintf("give a size of %d or more", smallest+1+wire.FCS)}
			out = append(out, p)
		}
	}
	return out
}

// sumProblems finds the checksums that would have to follow what changes and cannot.
func (st *Stream) sumProblems() []problem {
	var out []problem
	changes, sums := st.variedFields(), st.Checksums()
	signed := st.Form() != packet.FormNone
	moving := make([]bool, len(sums)) // changes from frame to frame
	count := 0
	for i := range sums {
		c := &sums[i]
		k := st.Layers[c.Layer].Kind
		name := k.Wireshark(k.Field(c.Field))
		if c.Shifts {
			out = append(out, problem{layer: c.Layer, fault: fault{fmt.Sprintf("%s cannot be computed: %s", name, c.Unknown),
				fmt.Sprintf("give %s a value, such as 0, or leave the field as it is", name)}})
			continue
		}
		if c.Unknown == "" && signed && !c.HeaderOnly {
			moving[i] = true
			if bad := st.oddSignature(c, name); bad != nil {
				out = append(out, *bad)
				continue
			}
		}
		for _, v := range changes {
			if !c.Covers(v.off) {
				continue
			}
			moving[i] = true
			if bad := c.follow(name, v); bad != nil {
				out = append(out, *bad)
			}
		}
		for j := range sums[:i] {
			moving[i] = moving[i] || moving[j] && c.Covers(sums[j].Off)
		}
		if moving[i] = moving[i] && c.Unknown == ""; moving[i] {
			count++
		}
	}
	if count > MaxSums {
		out = append(out, problem{layer: 0, fault: fault{fmt.Sprintf("%d checksums change from frame to frame, %d is the most", count, MaxSums),
			"give some of them a value, or vary less"}})
	}
	return out
}

// follow says why the checksum cannot follow a field that changes; nil where it can.
func (c *Checksum) follow(name string, v varied) *problem {
	p := v.at
	switch {
	case c.Unknown != "":
		p.fault = fault{fmt.Sprintf("%s changes, and %s over it cannot be computed: %s", v.name, name, c.Unknown),
			fmt.Sprintf("give %s a value, such as 0, or leave the field as it is", name)}
	case c.Body.From%2 != 0:
		p.fault = fault{fmt.Sprintf("%s changes, and what %s covers begins at the odd offset %d: not every engine keeps it right", v.name, name, c.Body.From),
			fmt.Sprintf("give raw bytes of an even number, or %s a value", name)}
	case c.oddAddress(v.off):
		p.fault = fault{fmt.Sprintf("%s changes at an odd offset, and %s covers it: not every engine keeps it right", v.name, name),
			fmt.Sprintf("give raw bytes of an even number, or %s a value", name)}
	default:
		return nil
	}
	return &p
}

// oddAddress reports whether the byte belongs to an address of the pseudo header that begins at an odd offset.
func (c *Checksum) oddAddress(off int) bool {
	return slices.ContainsFunc(c.Addresses, func(a Span) bool { return a.Has(off) && a.From%2 != 0 })
}

// oddSignature says why the signature cannot count in the checksum; nil where it can.
func (st *Stream) oddSignature(c *Checksum, name string) *problem {
	switch at := st.headerLen(); {
	case c.Body.From%2 != 0:
		return &problem{layer: -1, part: partSignature, fault: fault{
			fmt.Sprintf("the signature changes, and what %s covers begins at the odd offset %d: not every engine keeps it right", name, c.Body.From),
			"give `signature: none`, raw bytes of an even number, or " + name + " a value"}}
	case at%2 != 0:
		return &problem{layer: -1, part: partSignature, fault: fault{
			fmt.Sprintf("the signature would begin at the odd offset %d, and %s covers it: not every engine keeps it right", at, name),
			"give `signature: none`, raw bytes of an even number, or " + name + " a value"}}
	}
	return nil
}
