package show

import (
	"bufio"
	"encoding/hex"
	"fmt"
	"io"
	"strings"
)

// lineWidth is what 80 columns leave for the fields of a header.
const lineWidth = 67

// Text writes the document for people.
func Text(w io.Writer, d *Document) error {
	b := bufio.NewWriter(w)
	for _, s := range d.Streams {
		fmt.Fprintf(b, "stream %s: size %s, weight %d, signature %s\n", s.Name, s.Size, s.Weight, s.Signature)
	}
	fmt.Fprintf(b, "rate %s\n", d.Rate)
	for _, u := range d.Unsupported {
		fmt.Fprintf(b, "no engine runs this yet: %s\n", u)
	}
	for i := range d.Frames {
		writeFrame(b, &d.Frames[i])
	}
	return b.Flush()
}

// rows joins the parts to lines of lineWidth; a part is never broken.
func rows(parts []string) (lines []string) {
	for _, p := range parts {
		if n := len(lines); n > 0 && len(lines[n-1])+len(", ")+len(p) <= lineWidth {
			lines[n-1] += ", " + p
		} else {
			lines = append(lines, p)
		}
	}
	return lines
}

func writeFrame(b *bufio.Writer, f *Frame) {
	fmt.Fprintf(b, "\nframe %d  stream %s  %d bytes with FCS\n", f.Index, f.Stream, f.Size)
	for _, l := range f.Layers {
		var parts []string
		for _, v := range l.Fields {
			part := fmt.Sprintf("%s %v", v.Name, v.Value)
			if v.Name == "checksum" && l.ChecksumOK != nil {
				part += map[bool]string{true: " (right)", false: " (wrong)"}[*l.ChecksumOK]
			}
			parts = append(parts, part)
		}
		if l.Problem != "" {
			parts = append(parts, l.Problem)
		}
		fmt.Fprintf(b, "  %-9s %s\n", l.Name, strings.Join(rows(parts), ",\n            "))
	}
	if s := f.Signature; s != nil {
		fmt.Fprintf(b, "  %-9s %s, run %d, stream %d, seq %d\n", "signature", s.Form, s.Run, s.Stream, s.Seq)
	}
	fmt.Fprintf(b, "  %-9s %d bytes\n", "payload", f.Payload)
	raw, err := hex.DecodeString(f.Hex)
	if err != nil {
		return
	}
	for line := range strings.Lines(hex.Dump(raw)) {
		b.WriteString("  " + line)
	}
}
