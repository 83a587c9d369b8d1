package cli

import (
	"strings"

	"treering/internal/term"
)

// Columns are aligned up to this width; what is wider pushes its own row.
const maxColumn = 44

// tableRows is how many rows are held back to find the widths of the columns.
const tableRows = 1000

// table writes rows in aligned columns as they come. On a terminal it has a head.
// The last column may be empty, any other empty cell is a dash.
type table struct {
	out    *output
	head   []string
	empty  string // said on a terminal when there was no row
	widths []int
	rows   [][]string
	wrote  bool
}

func (o *output) table(empty string, head ...string) *table {
	t := &table{out: o, head: head, empty: empty, widths: make([]int, len(head))}
	if o.terminal {
		for i, h := range head {
			t.widths[i] = len(h)
		}
	}
	return t
}

// row adds one row of foreign text.
func (t *table) row(cells ...string) error {
	row := make([]string, len(cells))
	for i, c := range cells {
		if c == "" && i < len(cells)-1 {
			c = "-"
		}
		row[i] = t.out.show(c)
	}
	t.rows = append(t.rows, row)
	if len(t.rows) >= tableRows {
		return t.flush()
	}
	return nil
}

// flush writes what is held back.
func (t *table) flush() error {
	widths := make([][]int, len(t.rows))
	for r, row := range t.rows {
		widths[r] = make([]int, len(row))
		for i, c := range row {
			// Any text wider than a column is as good as one just wider.
			widths[r][i] = term.SanitiseN(c, maxColumn+2).Width()
			if widths[r][i] <= maxColumn {
				t.widths[i] = max(t.widths[i], widths[r][i])
			}
		}
	}
	if t.out.terminal && !t.wrote && len(t.rows) > 0 {
		head := make([]int, len(t.head))
		for i, h := range t.head {
			head[i] = len(h)
		}
		if err := t.write(t.head, head); err != nil {
			return err
		}
	}
	for r, row := range t.rows {
		t.wrote = true
		if err := t.write(row, widths[r]); err != nil {
			return err
		}
	}
	t.rows = t.rows[:0]
	return t.out.flush()
}

func (t *table) write(row []string, widths []int) error {
	var b strings.Builder
	for i, c := range row {
		b.WriteString(c)
		if i < len(row)-1 {
			b.WriteString(strings.Repeat(" ", max(t.widths[i]-widths[i], 0)+2))
		}
	}
	return t.out.raw(strings.TrimRight(b.String(), " ") + "\n")
}

// end writes the rest.
func (t *table) end() error {
	if err := t.flush(); err != nil {
		return err
	}
	if !t.wrote && t.out.terminal && t.empty != "" {
		if err := t.out.linef("%s", t.empty); err != nil {
			return err
		}
	}
	return t.out.flush()
}
