package jsondoc

import (
	"treering/internal/term"
	"treering/store"
	"treering/ui/paint"
)

// Doc is a document: finished lines, and below headings what folds into them. It
// is immutable once it is shown. The zero value is empty.
type Doc struct {
	parts []part
}

// part is a piece of a document. In raw view, what is stored is shown instead.
type part struct {
	name   string // of what is in it, the beginning of its paths
	title  term.Text
	style  paint.Style
	headed bool
	src    Source
	raw    Source // nil: there is nothing else to show
}

// finished are lines that are ready.
type finished []Line

func (f finished) Len() int                  { return len(f) }
func (f finished) Line(n int, _ Look) Line   { return f[n] }
func (f finished) Span(int) int              { return 0 }
func (f finished) Folded(int, Look) []Span   { return nil }
func (f finished) Up(int) int                { return -1 }
func (f finished) Name(n int) string         { return Plainly(f[n]) }
func (f finished) Place(n int) int           { return n }
func (f finished) At(place int) int          { return min(max(place, 0), max(len(f)-1, 0)) }
func (f finished) Text(n int) (string, Form) { return Plainly(f[n]), Plain }

func (f finished) Same(o Source) bool {
	g, ok := o.(finished)
	if !ok || len(f) != len(g) {
		return false
	}
	for i := range f {
		if Plainly(f[i]) != Plainly(g[i]) || f[i].Style != g[i].Style {
			return false
		}
	}
	return true
}

// Plainly is a finished line without its styles.
func Plainly(l Line) string {
	s := l.Mark.Text.String()
	for _, p := range l.Lead {
		s += p.Text.String()
	}
	s += l.Text.String()
	for _, p := range l.Tail {
		s += p.Text.String()
	}
	return s
}

// Add puts a finished line at the end.
func (d *Doc) Add(l Line) {
	if n := len(d.parts); n > 0 && !d.parts[n-1].headed {
		d.parts[n-1].src = append(d.parts[n-1].src.(finished), l)
		return
	}
	d.parts = append(d.parts, part{src: finished{l}})
}

// Blank puts an empty line between what is there and what comes.
func (d *Doc) Blank() {
	if len(d.parts) > 0 {
		d.Add(Line{})
	}
}

// Head puts a heading at the end into which src folds. name is what paths in it
// begin with; raw, if not nil, is shown instead of src in raw view.
func (d *Doc) Head(name string, title term.Text, style paint.Style, src, raw Source) {
	d.parts = append(d.parts, part{name: name, title: title, style: style, headed: true, src: src, raw: raw})
}

// Len is the number of lines with everything unfolded.
func (d *Doc) Len() int { return stacked(d, false).len }

// Equal reports whether both show the same.
func (d *Doc) Equal(o *Doc) bool {
	if d == o {
		return true
	}
	if d == nil || o == nil || len(d.parts) != len(o.parts) {
		return false
	}
	for i, p := range d.parts {
		q := o.parts[i]
		if p.name != q.name || p.title != q.title || p.headed != q.headed || !p.src.Same(q.src) || (p.raw == nil) != (q.raw == nil) ||
			p.raw != nil && !p.raw.Same(q.raw) {
			return false
		}
	}
	return true
}

// Value finds the index of a text that is shown already, nil where there is
// none: a document that is read again need not be scanned again.
func (d *Doc) Value(j store.JSON) *Value {
	if d == nil {
		return nil
	}
	for _, p := range d.parts {
		if v, ok := p.src.(*Value); ok && v.text == j {
			return v
		}
	}
	return nil
}

// stack are the sources of a document, one under the other.
type stack struct {
	doc  *Doc
	raw  bool
	base []int // the first line of each part
	len  int
}

func stacked(d *Doc, raw bool) *stack {
	s := &stack{doc: d, raw: raw}
	for i := range d.parts {
		s.base = append(s.base, s.len)
		s.len += s.source(i).Len()
		if d.parts[i].headed {
			s.len++
		}
	}
	return s
}

func (s *stack) source(i int) Source {
	if p := &s.doc.parts[i]; !s.raw || p.raw == nil {
		return p.src
	}
	return s.doc.parts[i].raw
}

// part finds the part of a line and its number there; -1 is the heading.
func (s *stack) part(n int) (i, line int) {
	for i = len(s.base) - 1; i > 0 && s.base[i] > n; i-- {
	}
	line = n - s.base[i]
	if s.doc.parts[i].headed {
		line--
	}
	return i, line
}

// first is the line of a part's source that is its first.
func (s *stack) first(i int) int {
	if s.doc.parts[i].headed {
		return s.base[i] + 1
	}
	return s.base[i]
}

func (s *stack) Len() int { return s.len }

func (s *stack) Line(n int, k Look) Line {
	i, line := s.part(n)
	if line < 0 {
		return Line{Text: s.doc.parts[i].title, Style: s.doc.parts[i].style}
	}
	return s.source(i).Line(line, k)
}

func (s *stack) Span(n int) int {
	i, line := s.part(n)
	if line < 0 {
		return s.source(i).Len()
	}
	return s.source(i).Span(line)
}

func (s *stack) Folded(n int, k Look) []Span {
	i, line := s.part(n)
	if line < 0 {
		return []Span{{term.Lit(" …"), ""}}
	}
	return s.source(i).Folded(line, k)
}

func (s *stack) Up(n int) int {
	i, line := s.part(n)
	if line < 0 {
		return -1
	}
	if up := s.source(i).Up(line); up >= 0 {
		return s.first(i) + up
	}
	if s.doc.parts[i].headed {
		return s.base[i]
	}
	return -1
}

func (s *stack) Name(n int) string {
	i, line := s.part(n)
	if line < 0 {
		return s.doc.parts[i].name
	}
	return s.source(i).Name(line)
}

func (s *stack) Text(n int) (string, Form) {
	i, line := s.part(n)
	if line < 0 {
		return s.doc.parts[i].title.String(), Plain
	}
	return s.source(i).Text(line)
}
