package jsondoc

import (
	"treering/store"
	"treering/ui/paint"
)

// place is a place in a document: a line, and where in its body, in bytes. It
// means the same whatever the width and whatever is folded. Where several rows
// begin at one byte, because it is shown as a mark wider than the window, nth is
// which of them.
type place struct{ line, off, nth int }

// spot is a place in rows: of which line, of which of its pieces, which row.
type spot struct{ line, piece, row int }

// View is a window on a document, with what of it is folded, a cursor and a
// search. The zero value shows nothing.
type View struct {
	doc    *Doc
	stack  *stack
	folds  folds
	cursor place
	top    place
	width  int // of the text
	height int
	wrap   bool
	raw    bool
	aside  int // cells scrolled aside, while not wrapped
	depth  int // what everything was folded to last, -1: nothing is
	query  string
	// found is where the cursor was put by a search, foundAt the match in the text of
	// that line; -1 where the search is over.
	found   place
	foundAt int
	look    Look
	kept    map[rowKey][]row
}

// NewView returns a view in which long lines are wrapped.
func NewView(look Look) View {
	v := View{wrap: true, look: look, width: 1, height: 1, depth: -1, foundAt: -1}
	v.Set(&Doc{}, false)
	return v
}

// Empty reports whether there is nothing to show.
func (v *View) Empty() bool { return v.stack.len == 0 }

// Doc is the document shown.
func (v *View) Doc() *Doc { return v.doc }

// Set shows a document. Where it is the one shown in a newer state, the cursor,
// what is folded and what is searched for are kept.
func (v *View) Set(d *Doc, newer bool) {
	var was memory
	if newer {
		was = v.remember()
	}
	v.doc, v.kept, v.foundAt = d, nil, -1
	v.show()
	if !newer {
		v.cursor, v.top, v.aside, v.depth, v.query = place{}, place{}, 0, -1, ""
	} else {
		v.recall(was)
	}
	v.settle()
}

// show makes the stack, with what is folded from the beginning.
func (v *View) show() {
	v.stack = stacked(v.doc, v.raw)
	v.folds.reset(v.stack.len)
	for i := range v.doc.parts {
		if d, ok := v.stack.source(i).(*Diff); ok {
			for _, n := range d.quiet {
				v.folds.put(v.stack.first(i)+int(n), true)
				v.folds.outer = append(v.folds.outer, int32(v.stack.first(i))+n)
			}
		}
	}
	v.folds.sum(v.stack)
}

// SetLook draws with another look.
func (v *View) SetLook(k Look) {
	if k != v.look {
		v.look, v.kept = k, nil
	}
}

// Resize says how much room there is.
func (v *View) Resize(width, height int) {
	width, height = max(width-2, 1), max(height, 1)
	if width != v.width {
		v.width, v.kept = width, nil
	}
	if height != v.height || v.kept == nil {
		v.height = height
		v.settle()
	}
}

// Height is how many rows the window has.
func (v *View) Height() int { return v.height }

// spotOf finds the row of a place.
func (v *View) spotOf(p place) spot {
	s := spot{line: p.line}
	if !v.wrap || v.stack.len == 0 {
		return s
	}
	m := v.measure(p.line)
	s.piece = min(p.off/m.size, pieces(m.Body, m.size)-1)
	// A piece may begin a little before its multiple of the size.
	if s.piece+1 < pieces(m.Body, m.size) {
		if _, to := piece(m.Body, m.Form, m.size, s.piece); p.off >= to {
			s.piece++
		}
	}
	rows := v.rows(p.line, s.piece)
	for i, r := range rows {
		if r.off <= p.off && r.off > rows[s.row].off {
			s.row = i
		}
	}
	for nth := p.nth; nth > 0 && s.row+1 < len(rows) && rows[s.row+1].off == rows[s.row].off; nth-- {
		s.row++
	}
	return s
}

func (v *View) placeOf(s spot) place {
	rows := v.rows(s.line, s.piece)
	p := place{line: s.line, off: rows[s.row].off}
	for i := s.row; i > 0 && rows[i-1].off == p.off; i-- {
		p.nth++
	}
	return p
}

// next is the row after, ok is false at the end.
func (v *View) next(s spot) (spot, bool) {
	if s.row+1 < len(v.rows(s.line, s.piece)) {
		return spot{s.line, s.piece, s.row + 1}, true
	}
	if s.piece+1 < v.pieces(s.line) {
		return spot{s.line, s.piece + 1, 0}, true
	}
	n := s.line + 1
	if v.folds.is(s.line) {
		n += v.stack.Span(s.line)
	}
	if n >= v.stack.len {
		return s, false
	}
	return spot{line: n}, true
}

// previous is the row before, ok is false at the beginning.
func (v *View) previous(s spot) (spot, bool) {
	switch {
	case s.row > 0:
		return spot{s.line, s.piece, s.row - 1}, true
	case s.piece > 0:
		return spot{s.line, s.piece - 1, len(v.rows(s.line, s.piece-1)) - 1}, true
	case s.line == 0:
		return s, false
	}
	return v.lastOf(v.seen(s.line - 1)), true
}

func (v *View) lastOf(line int) spot {
	piece := v.pieces(line) - 1
	return spot{line, piece, len(v.rows(line, piece)) - 1}
}

// seen is the line, or the folded one that hides it.
func (v *View) seen(n int) int {
	if at := v.folds.around(n, v.stack); at >= 0 {
		return at
	}
	return n
}

// settle brings the cursor to a row and the window to the cursor.
func (v *View) settle() {
	if v.stack.len == 0 {
		v.cursor, v.top = place{}, place{}
		return
	}
	v.cursor = v.within(v.cursor)
	v.top = v.within(v.top)
	cursor, top := v.spotOf(v.cursor), v.spotOf(v.top)
	if less(cursor, top) {
		v.top = v.placeOf(cursor)
	} else {
		// As many rows as the window has above the cursor.
		at, ok := cursor, true
		for range v.height - 1 {
			if at == top {
				break
			}
			if at, ok = v.previous(at); !ok {
				break
			}
		}
		if less(top, at) {
			v.top = v.placeOf(at)
		}
	}
	v.fill()
}

// fill leaves no room below the last row while there are rows above the window.
func (v *View) fill() {
	at := v.spotOf(v.top)
	rows := 1
	for end := at; rows < v.height; rows++ {
		next, ok := v.next(end)
		if !ok {
			break
		}
		end = next
	}
	ok := true
	for ; rows < v.height; rows++ {
		if at, ok = v.previous(at); !ok {
			break
		}
	}
	v.top = v.placeOf(at)
}

// within keeps a place inside the document and out of what is folded.
func (v *View) within(p place) place {
	if p.line >= v.stack.len {
		p = place{line: v.stack.len - 1}
	}
	if at := v.folds.around(p.line, v.stack); at >= 0 {
		return place{line: at}
	}
	return p
}

func less(a, b spot) bool {
	if a.line != b.line {
		return a.line < b.line
	}
	if a.piece != b.piece {
		return a.piece < b.piece
	}
	return a.row < b.row
}

// Wrapped reports whether long lines are wrapped, Raw whether values are shown as
// they are stored.
func (v *View) Wrapped() bool { return v.wrap }

// Raw reports whether values are shown as they are stored.
func (v *View) Raw() bool { return v.raw }

// Wrap wraps long lines, or cuts them.
func (v *View) Wrap(on bool) {
	v.wrap, v.aside, v.kept = on, 0, nil
	v.settle()
}

// Aside scrolls sideways, while lines are not wrapped: to the right as long as a
// line in the window goes on there.
func (v *View) Aside(cells int) {
	if v.wrap || v.stack.len == 0 || cells > 0 && !v.goesOn() {
		return
	}
	v.aside = min(max(v.aside+cells, 0), maxAside)
	v.kept = nil
}

// goesOn reports whether a row of the window is cut at its right.
func (v *View) goesOn() bool {
	s, ok := v.spotOf(v.top), true
	for n := 0; ok && n < v.height; n++ {
		if v.rows(s.line, s.piece)[s.row].more {
			return true
		}
		s, ok = v.next(s)
	}
	return false
}

// ShowRaw shows values as they are stored, or unfolded again. The cursor stays on
// the same byte.
func (v *View) ShowRaw(on bool) {
	if on == v.raw || v.stack.len == 0 {
		v.raw = on
		v.show()
		return
	}
	i, line := v.stack.part(v.cursor.line)
	at := -1
	if line >= 0 {
		at = v.stack.source(i).Place(line) + v.cursor.off
		at += skip(v.stack, v.cursor.line)
	}
	v.raw, v.kept, v.depth = on, nil, -1
	v.show()
	v.cursor = place{line: v.stack.base[i]}
	if at >= 0 {
		src := v.stack.source(i)
		n := src.At(at)
		v.cursor.line = v.stack.first(i) + n
		v.cursor.off = max(at-src.Place(n)-skip(v.stack, v.cursor.line), 0)
	}
	v.top = v.cursor
	v.settle()
}

// Place is the visible line that the cursor is on, from 1, and how many there
// are.
func (v *View) Place() (line, of int) {
	if v.stack.len == 0 {
		return 0, 0
	}
	n := v.cursor.line
	return n - v.folds.before(n) + 1, v.stack.len - v.folds.total()
}

// Bottom is the visible line at the end of the window, from 1.
func (v *View) Bottom() int {
	if v.stack.len == 0 {
		return 0
	}
	s := v.walk(v.spotOf(v.top), v.height-1)
	return s.line - v.folds.before(s.line) + 1
}

// Fits reports whether the whole document is in the window.
func (v *View) Fits() bool {
	s, rows, ok := spot{}, 1, true
	if v.stack.len == 0 {
		return true
	}
	for ; rows <= v.height; rows++ {
		if s, ok = v.next(s); !ok {
			return true
		}
	}
	return false
}

// valued are sources whose lines are values.
type valued interface {
	JSON(n int) store.JSON
	Path(n int) string
}

// Value is the JSON value under the cursor, and its path; ok is false where it is
// on something else.
func (v *View) Value() (j store.JSON, path string, ok bool) {
	if v.stack.len == 0 {
		return "", "", false
	}
	i, line := v.stack.part(v.cursor.line)
	p := v.doc.parts[i]
	src, is := p.src.(valued)
	if !is || p.src.Len() == 0 {
		return "", "", false
	}
	if v.raw && p.raw != nil {
		// In raw view the value is the one at the byte under the cursor.
		if line >= 0 {
			line = p.src.At(v.stack.source(i).Place(line) + v.cursor.off)
		}
	}
	line = max(line, 0)
	path = src.Path(line)
	switch {
	case p.name == "":
	case path == "":
		path = p.name
	case path[0] == '[':
		path = p.name + path
	default:
		path = p.name + "." + path
	}
	return src.JSON(line), path, true
}

// Draw draws the window: rows of the width that was given to Resize. cursor is
// the style of the row under the cursor, "" for none.
func (v *View) Draw(cursor paint.Style) []string {
	if v.stack.len == 0 {
		return nil
	}
	at, here := v.spotOf(v.top), v.spotOf(v.cursor)
	out := make([]string, 0, v.height)
	for ok := true; ok && len(out) < v.height; at, ok = v.next(at) {
		base := paint.Style("")
		if at == here {
			base = cursor
		}
		out = append(out, v.paint(v.rows(at.line, at.piece)[at.row], base, v.width+2))
	}
	return out
}
