package render

import (
	"fmt"
	"io"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
)

// lineWidth is where long sentences are broken, and cellWidth where long cells are.
const (
	lineWidth = 100
	cellWidth = 40
)

// page collects a report as text.
type page struct {
	b       strings.Builder
	reasons map[string]string // why something is unknown, by its path
}

func (p *page) line(format string, args ...any) {
	p.b.WriteString(strings.TrimRight(fmt.Sprintf(format, args...), " "))
	p.b.WriteByte('\n')
}

// sentence writes a long line, broken at spaces, with its continuation indented.
func (p *page) sentence(indent, s string) {
	for i, part := range strings.Split(text.WrapSoft(clean(s), lineWidth), "\n") {
		if i > 0 {
			part = strings.Repeat(" ", len(indent)) + strings.TrimSpace(part)
		} else {
			part = indent + part
		}
		p.line("%s", part)
	}
}

// write hands the page over in one call.
func (p *page) write(w io.Writer) error {
	_, err := io.WriteString(w, p.b.String())
	return err
}

// unknown prints a null with its reason.
func (p *page) unknown(path string) string {
	if why := p.reasons[path]; why != "" {
		return "unknown (" + why + ")"
	}
	return "unknown (no reason was recorded)"
}

// because appends the reason that a known number carries, if it carries one.
func (p *page) because(path, value string) string {
	if why := p.reasons[path]; why != "" {
		return value + " (" + why + ")"
	}
	return value
}

// floatOr prints v, or why it is unknown.
func (p *page) floatOr(path string, v *float64, format func(float64) string) string {
	if v == nil {
		return p.unknown(path)
	}
	return format(*v)
}

// countOr prints v, or why it is unknown.
func (p *page) countOr(path string, v *uint64) string {
	if v == nil {
		return p.unknown(path)
	}
	return count(*v)
}

// grid is a table under construction.
type grid struct {
	page *page
	t    table.Writer
}

// table begins a table with plain columns: no frame, two spaces between the columns, a rule below the header.
func (p *page) table(header []string) *grid {
	t := table.NewWriter()
	style := table.StyleDefault
	style.Options = table.Options{SeparateHeader: true}
	style.Format.Header = text.FormatDefault
	style.Box.PaddingLeft, style.Box.PaddingRight = "", "  "
	t.SetStyle(style)
	g := &grid{page: p, t: t}
	named := false
	for _, h := range header {
		named = named || h != ""
	}
	if named {
		t.AppendHeader(cells(header))
	}
	configs := make([]table.ColumnConfig, len(header))
	for i := range configs {
		configs[i] = table.ColumnConfig{Number: i + 1, WidthMax: cellWidth, WidthMaxEnforcer: text.WrapSoft}
	}
	if len(header) <= 2 {
		configs[len(configs)-1].WidthMax = lineWidth - cellWidth
	}
	t.SetColumnConfigs(configs)
	return g
}

// numbers aligns all columns but the first to the right.
func (g *grid) numbers(columns int) {
	configs := make([]table.ColumnConfig, columns)
	for i := range configs {
		configs[i] = table.ColumnConfig{Number: i + 1, Align: text.AlignRight, AlignHeader: text.AlignRight}
	}
	configs[0].Align, configs[0].AlignHeader = text.AlignLeft, text.AlignLeft
	g.t.SetColumnConfigs(configs)
}

func (g *grid) row(values ...string) { g.t.AppendRow(cells(values)) }

// quiet adds a row of counts that is left out where there is nothing to say: every one is 0.
func (g *grid) quiet(values ...string) {
	for _, v := range values[1:] {
		if v != "0" && v != "" {
			g.row(values...)
			return
		}
	}
}

// end writes the table and an empty line.
func (g *grid) end() {
	for line := range strings.SplitSeq(g.t.Render(), "\n") {
		g.page.line("%s", line)
	}
	g.page.line("")
}

func cells(values []string) table.Row {
	row := make(table.Row, len(values))
	for i, v := range values {
		row[i] = clean(v)
	}
	return row
}
