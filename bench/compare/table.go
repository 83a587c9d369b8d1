package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
)

var heading = []string{"", "ours", "reference", "unit", "better by", "goal", ""}

// printAligned prints rows in columns.
func printAligned(w io.Writer, rows [][]string) error {
	out := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, cells := range append([][]string{heading}, rows...) {
		fmt.Fprintln(out, strings.Join(cells, "\t"))
	}
	return out.Flush()
}

// markdown returns rows as a Markdown table.
func markdown(rows [][]string) string {
	var b strings.Builder
	for _, cells := range append([][]string{heading, {"---", "---:", "---:", "---", "---:", "---", "---"}}, rows...) {
		fmt.Fprintf(&b, "| %s |\n", strings.Join(cells, " | "))
	}
	return b.String()
}

// The marks between which a document holds the figures.
const (
	figuresBegin = "<!-- figures: begin -->\n"
	figuresEnd   = "<!-- figures: end -->\n"
)

// replaceFigures puts figures between the marks of a file. Without figures it only
// looks whether it could.
func replaceFigures(path string, figures []byte) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	before, rest, begin := bytes.Cut(text, []byte(figuresBegin))
	_, after, end := bytes.Cut(rest, []byte(figuresEnd))
	if !begin || !end {
		return fmt.Errorf("%s has no place for the figures between %q and %q", path, strings.TrimSpace(figuresBegin), strings.TrimSpace(figuresEnd))
	}
	if figures == nil {
		return nil
	}
	return os.WriteFile(path, slices.Concat(before, []byte(figuresBegin+"\n"), figures, []byte("\n"+figuresEnd), after), 0o644)
}

// cells are the row's figures beside its goal; judge says whether it was met.
func (r row) cells(ours, reference samples, judge bool) ([]string, error) {
	value, ok := ours.median(r.ours + " " + r.metric)
	if !ok {
		return nil, fmt.Errorf("no benchmark reported %s in %s", r.ours, r.metric)
	}
	value *= r.scale
	factor, theirs := 0.0, ""
	if r.reference != "" {
		ref, ok := reference.median(r.reference)
		if !ok {
			return nil, fmt.Errorf("the reference did not report %s", r.reference)
		}
		theirs = figure(ref)
		factor = ref / value
		if r.moreIsGood {
			factor = value / ref
		}
	}
	cells := []string{r.name, figure(value), theirs, r.unit, "", "", ""}
	if factor > 0 {
		cells[4] = fmt.Sprintf("%.2fx", factor)
	}
	met := true
	switch g := r.goal; {
	case g.factor > 0:
		cells[5], met = fmt.Sprintf("%.3gx", g.factor), factor >= g.factor
	case g.bound == none:
		cells[5], met = "0 "+r.unit, value == 0
	case g.bound > 0:
		cells[5], met = fmt.Sprintf("%.3g %s", g.bound, r.unit), value <= g.bound
	default:
		return cells, nil
	}
	switch {
	case !judge:
		cells[6] = "not judged"
	case met:
		cells[6] = "met"
	default:
		cells[6] = "missed"
	}
	return cells, nil
}

// figure prints three significant digits, without an exponent.
func figure(v float64) string {
	switch {
	case v >= 100 || v == 0:
		return strconv.FormatFloat(v, 'f', 0, 64)
	case v >= 10:
		return strconv.FormatFloat(v, 'f', 1, 64)
	}
	return strconv.FormatFloat(v, 'f', 2, 64)
}
