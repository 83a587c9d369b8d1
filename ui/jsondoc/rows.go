package jsondoc

import (
	"strings"

	"treering/internal/term"
	"treering/ui/paint"
)

// row is one row of the window.
type row struct {
	spans []Span
	off   int  // where in the line's body it begins, in bytes; within a piece estimated
	more  bool // it goes on to the right of the window
}

// rowKey says of what rows were made.
type rowKey struct {
	line, piece int
	folded      bool
}

// maxKept bounds the rows kept; when there are more, all are made anew.
const maxKept = 2048

// Bounds of what is made at a time.
const (
	pieceRows  = 64   // a piece of a long line fills so many rows
	leastPiece = 1024 // bytes
	indentCols = 2
	maxAside   = 200_000 // cells that can be scrolled aside; wrapped, all can be read
)

// pieceSize is the size of the pieces of long lines, in bytes. It is a multiple
// of the width, so that plain text has no short rows.
func (v *View) pieceSize(lead int) int {
	w := max(v.width-lead, 8)
	return w * max(pieceRows, (leastPiece+w-1)/w)
}

// measured is a line and what is needed to break it.
type measured struct {
	Line
	indent int
	lead   int // width of indent and lead, below which the other rows begin
	whole  bool
	size   int // of a piece
}

func (v *View) measure(n int) measured {
	m := measured{Line: v.stack.Line(n, v.look)}
	if v.folds.is(n) && v.stack.Span(n) > 0 {
		m.Tail = v.stack.Folded(n, v.look)
	}
	m.indent = min(m.Level*indentCols, v.width/3)
	m.lead = m.indent + m.Mark.Text.Width()
	for _, s := range m.Lead {
		m.lead += s.Text.Width()
	}
	if m.lead > v.width/2 && v.wrap {
		// Too little room is left beside the lead: it is broken with the rest.
		m.whole = true
		m.lead = m.indent + m.Mark.Text.Width()
	}
	m.size = v.pieceSize(m.lead)
	return m
}

// pieces is into how many pieces a line is broken.
func (v *View) pieces(n int) int {
	if !v.wrap {
		return 1
	}
	m := v.measure(n)
	return pieces(m.Body, m.size)
}

// rows breaks a piece of a line.
func (v *View) rows(n, k int) []row {
	key := rowKey{n, k, v.folds.is(n)}
	if rows, ok := v.kept[key]; ok {
		return rows
	}
	m := v.measure(n)
	var rows []row
	if v.wrap {
		rows = v.broken(m, k)
	} else {
		rows = []row{v.cut(m)}
	}
	if v.kept == nil || len(v.kept) >= maxKept {
		v.kept = map[rowKey][]row{}
	}
	v.kept[key] = rows
	return rows
}

// broken breaks a piece to the width.
func (v *View) broken(m measured, k int) []row {
	text, from, to := m.Text, 0, len(m.Text.String())
	if m.Body != "" {
		from, to = piece(m.Body, m.Form, m.size, k)
		text = v.look.Term.Sanitise(readable(m.Body[from:to], m.Form))
	}
	first, last := k == 0, m.Body == "" || to == len(m.Body)
	if m.whole && first {
		var lead term.Text
		for _, s := range m.Lead {
			lead = lead.Plus(s.Text)
		}
		text = lead.Plus(text)
	}
	room := max(v.width-m.lead, 1)
	var rows []row
	done := 0
	for i, part := range text.Wrap(room) {
		r := row{off: from}
		if text.Width() > 0 {
			r.off += (to - from) * done / text.Width()
		}
		done += part.Width()
		switch {
		case i == 0 && first:
			r.spans = append(r.spans, Span{Text: term.Spaces(m.indent)}, m.Mark)
			if !m.whole {
				r.spans = append(r.spans, m.Lead...)
			}
		default:
			r.spans = append(r.spans, Span{Text: term.Spaces(m.indent)}, m.Mark, Span{Text: term.Spaces(m.lead - m.indent - m.Mark.Text.Width())})
		}
		r.spans = append(r.spans, Span{part, m.Style})
		rows = append(rows, r)
	}
	if last {
		rows = v.ended(rows, m)
	}
	return rows
}

// ended adds the tail, on a row of its own where it does not fit.
func (v *View) ended(rows []row, m measured) []row {
	width := 0
	for _, s := range m.Tail {
		width += s.Text.Width()
	}
	end := &rows[len(rows)-1]
	used := 0
	for _, s := range end.spans {
		used += s.Text.Width()
	}
	if used+width > v.width {
		rows = append(rows, row{off: max(len(m.Body), len(m.Text.String())), spans: []Span{{Text: term.Spaces(m.indent)}, m.Mark}})
		end = &rows[len(rows)-1]
	}
	end.spans = append(end.spans, m.Tail...)
	return rows
}

// cut is a line as far as it is within the window, from the cell on that was
// scrolled to.
func (v *View) cut(m measured) row {
	spans := append([]Span{{Text: term.Spaces(m.indent)}, m.Mark}, m.Lead...)
	text := m.Text
	if m.Body != "" {
		// One cell takes at most some bytes; what is further away is not looked at.
		const most = 64
		body := m.Body
		if reach := (v.aside + v.width + 2) * most; len(body) > reach {
			body = body[:seam(body, m.Form, reach)]
		}
		text = v.look.Term.SanitiseN(readable(body, m.Form), v.aside+v.width+1)
	}
	spans = append(append(spans, Span{text, m.Style}), m.Tail...)
	out := spans[:0:0]
	at := -v.aside
	for _, s := range spans {
		w := s.Text.Width()
		if at+w > 0 && at < v.width {
			t := s.Text.Cut(max(-at, 0), w)
			s.Text = t.Truncate(v.width-max(at, 0), "…")
			out = append(out, s)
		}
		at += w
	}
	return row{spans: out, more: at > v.width}
}

// paint draws a row.
func (v *View) paint(r row, base paint.Style, width int) string {
	l := paint.NewLine(width, base).Gap(1)
	for _, s := range r.spans {
		v.putMatches(l, s)
	}
	return l.String()
}

// putMatches draws a span, what is searched for in it made to stand out.
func (v *View) putMatches(l *paint.Line, s Span) {
	if v.query == "" || s.Text.Empty() {
		l.Put(s.Style, s.Text)
		return
	}
	text := s.Text.String()
	done, at := 0, 0 // cells put, bytes looked at
	for {
		i, n := index(text[at:], v.query)
		if i < 0 {
			break
		}
		// What is in a text was sanitised, and so its width is that of its parts.
		from := v.look.Term.Sanitise(text[:at+i]).Width()
		to := from + v.look.Term.Sanitise(text[at+i:at+i+n]).Width()
		l.Put(s.Style, s.Text.Cut(done, from)).Put(v.look.Theme.Match, s.Text.Cut(from, to))
		done, at = to, at+i+n
	}
	l.Put(s.Style, s.Text.Cut(done, s.Text.Width()))
}

// index finds the first match of a query in a text; without capital letters in
// the query, those of the text do not matter.
func index(text, query string) (at, n int) {
	if query == "" {
		return -1, 0
	}
	if exact(query) {
		return strings.Index(text, query), len(query)
	}
	return foldIndex(text, query)
}
