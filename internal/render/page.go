package render

import (
	"fmt"
	"io"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
)

// lineWidth is where long sentences are broken, and cellWidth where long cells are. A label has labelWidth: what is left of
// a line is shared by the columns of two ports.
const (
	lineWidth  = 80
	cellWidth  = 40
	labelWidth = 26
	portWidth  = (lineWidth - labelWidth - 4) / portsAbreast
)

// page collects a report as text.
type page struct {
	b       strings.Builder
	reasons map[string]string // why something is unknown, by its path
	clocks  []string          // those that were named already

	absent   map[string][]string // which tables are missing, by the reason and whose it is
	absences []string            // these, in order
}

func (p *page) line(format string, args ...any) {
	p.b.WriteString(strings.TrimRight(fmt.Sprintf(format, args...), " "))
	p.b.WriteByte('\n')
}

// sentence writes a long line, broken at spaces, with its continuation indented.
func (p *page) sentence(indent, s string) {
	for i, part := range strings.Split(text.WrapSoft(clean(s), lineWidth-len(indent)), "\n") {
		if i > 0 {
			part = strings.Repeat(" ", len(indent)) + strings.TrimSpace(part)
		} else {
			part = indent + part
		}
		p.line("%s", part)
	}
}

// Sentence is indent and s, broken at spaces to lines of 80 columns, with a newline at the end. Continuations are indented
// as far.
func Sentence(indent, s string) string {
	p := page{}
	p.sentence(indent, s)
	return p.b.String()
}

// write hands the page over in one call.
func (p *page) write(w io.Writer) error {
	_, err := io.WriteString(w, p.b.String())
	return err
}

// why is the reason of a null.
func (p *page) why(path string) string {
	if why := p.reasons[path]; why != "" {
		return why
	}
	return "no reason was recorded"
}

// unknown prints a null with its reason.
func (p *page) unknown(path string) string { return "unknown (" + p.why(path) + ")" }

// floatOr prints v, or why it is unknown.
func (p *page) floatOr(path string, v *float64, format func(float64) string) string {
	if v == nil {
		return p.unknown(path)
	}
	return format(*v)
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
		configs[len(configs)-1].WidthMax = lineWidth - labelWidth - 2
	}
	t.SetColumnConfigs(configs)
	return g
}

// narrow gives the columns of ports equal shares of a line.
func (g *grid) narrow(columns int) {
	configs := []table.ColumnConfig{{Number: 1, WidthMax: cellWidth, WidthMaxEnforcer: text.WrapSoft}}
	for i := 1; i < columns; i++ {
		configs = append(configs, table.ColumnConfig{Number: i + 1, WidthMax: portWidth, WidthMaxEnforcer: text.WrapSoft})
	}
	g.t.SetColumnConfigs(configs)
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
