package render

import "fmt"

// footnotes number the reasons of a table whose cells are too narrow for them. The same reason has the same number.
type footnotes struct {
	page  *page
	order []string
	index map[string]int
	of    map[string][]string // the streams that the reason was given for by unknownOf
}

func (p *page) footnotes() *footnotes {
	return &footnotes{page: p, index: map[string]int{}, of: map[string][]string{}}
}

// mark is the number of a reason, in parentheses.
func (f *footnotes) mark(why string) string {
	if f.index[why] == 0 {
		f.order = append(f.order, why)
		f.index[why] = len(f.order)
	}
	return fmt.Sprintf("(%d)", f.index[why])
}

// noted adds the number of why, if there is one, to a value.
func (f *footnotes) noted(value, why string) string {
	if why == "" {
		return value
	}
	return value + " " + f.mark(why)
}

// unknown prints a null with the number of its reason.
func (f *footnotes) unknown(path string) string { return "unknown " + f.mark(f.page.why(path)) }

// unknownOf is unknown, and keeps whose it is.
func (f *footnotes) unknownOf(stream, path string) string {
	why := f.page.why(path)
	f.of[why] = append(f.of[why], stream)
	return f.unknown(path)
}

func (f *footnotes) count(path string, v *uint64) string {
	if v == nil {
		return f.unknown(path)
	}
	return count(*v)
}

// countUnlessZero leaves a known 0 out.
func (f *footnotes) countUnlessZero(path string, v *uint64) string {
	if v == nil {
		return f.unknown(path)
	}
	return unlessZero(*v)
}

// ns prints a time; a percentile that is null had too few samples, which needs no reason of its own.
func (f *footnotes) ns(v *uint64) string {
	if v == nil {
		return "too few"
	}
	return nanoseconds(float64(*v))
}

// end writes the reasons below the table, where the table left an empty line.
func (f *footnotes) end() {
	for i, why := range f.order {
		f.page.sentence(fmt.Sprintf("(%d) ", i+1), why)
	}
	if len(f.order) > 0 {
		f.page.line("")
	}
}
