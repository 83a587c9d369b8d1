package jsondoc

import (
	"context"
	"strconv"

	"treering/internal/term"
	"treering/store"
	"treering/store/jsondiff"
	"treering/treeview"
	"treering/ui/paint"
)

// Diff is how one JSON value became another: the value after with what was
// removed among it, each line marked as a diff marks it. What did not change is
// folded from the beginning.
type Diff struct {
	d     *jsondiff.Diff
	a, b  *Value // the lines of values before and after; nil where one is not JSON
	lines []diffLine
	span  []int32
	up    []int32
	quiet []int32 // the lines folded from the beginning
}

// diffLine is one line: what it is, of which node, and which line of that.
type diffLine struct {
	is   lineKind
	node int32
	sub  int32
}

type lineKind uint8

const (
	openLine  lineKind = iota // a container in which something changed
	closeLine                 // its end
	sameRun                   // so many values that did not change; sub is the number of them
	oldValue                  // a line of a value before
	newValue                  // a line of a value after
	sameValue                 // a line of a value after that did not change
	movedItem                 // the first line of an item that only moved
	bothValue                 // a value before and after on one line
	textHead                  // a text that was compared by line
	textLine                  // one of its lines
	textRun                   // lines of it that did not change
	oldText                   // a value before that is not JSON
	newText                   // a value after that is not JSON
)

// Bounds of what stands on one line.
const (
	shortValue = 60 // bytes of a value beside another one
	sameLines  = 4  // lines of a text that did not change and are not folded
)

// NewDiff lays out a comparison. The only error is the context's.
func NewDiff(ctx context.Context, d *jsondiff.Diff) (*Diff, error) {
	v := &Diff{d: d}
	var err error
	if d.A != nil {
		if v.a, err = indexed(ctx, d.Before, d.A); err != nil {
			return nil, err
		}
	}
	if d.B != nil {
		if v.b, err = indexed(ctx, d.After, d.B); err != nil {
			return nil, err
		}
	}
	var open []int32 // lines of the containers around
	for n := 0; n <= len(d.Nodes); n++ {
		for len(open) > 0 && int(d.Nodes[v.lines[open[len(open)-1]].node].Next) == n {
			top := open[len(open)-1]
			open = open[:len(open)-1]
			v.put(diffLine{closeLine, v.lines[top].node, 0}, top)
			v.shut(top)
		}
		if n == len(d.Nodes) {
			break
		}
		if n%4096 == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		up := int32(-1)
		if len(open) > 0 {
			up = open[len(open)-1]
		}
		switch node := d.Nodes[n]; {
		case !d.Leaf(n):
			open = append(open, int32(len(v.lines)))
			v.put(diffLine{openLine, int32(n), 0}, up)
		case node.Op == jsondiff.Same:
			n = v.unchanged(n, up)
		default:
			v.leaf(n, up)
		}
	}
	return v, nil
}

func (v *Diff) put(l diffLine, up int32) {
	v.lines, v.span, v.up = append(v.lines, l), append(v.span, 0), append(v.up, up)
}

// shut ends what folds into a line.
func (v *Diff) shut(top int32) { v.span[top] = int32(len(v.lines)) - 1 - top }

// unchanged puts the siblings from node n on that are the same, and returns the
// last of them.
func (v *Diff) unchanged(n int, up int32) int {
	last := n
	for last+1 < len(v.d.Nodes) && v.d.Nodes[last+1].Op == jsondiff.Same && v.d.Nodes[last+1].Up == v.d.Nodes[n].Up {
		last++
	}
	head := int32(len(v.lines))
	v.put(diffLine{sameRun, int32(n), int32(last - n + 1)}, up)
	for k := n; k <= last; k++ {
		v.value(sameValue, k, v.b, v.d.Nodes[k].B, head)
	}
	v.shut(head)
	v.quiet = append(v.quiet, head)
	return last
}

// value puts the lines of a value, with what folds in it.
func (v *Diff) value(is lineKind, node int, of *Value, tok, up int32) {
	from := of.lineOf(int(tok))
	base := int32(len(v.lines) - from)
	for k := from; k <= from+of.Span(from); k++ {
		in := up
		if k > from {
			in = base + int32(of.Up(k))
		}
		v.put(diffLine{is, int32(node), int32(k)}, in)
		v.span[len(v.span)-1] = of.span[k]
	}
}

// leaf puts a value that was added, removed, changed or moved as a whole.
func (v *Diff) leaf(n int, up int32) {
	node := v.d.Nodes[n]
	if v.d.A == nil || v.d.B == nil {
		v.whole(n, up)
		return
	}
	switch {
	case v.d.Lines(n) != nil:
		v.text(n, up)
	case node.Op == jsondiff.Added:
		v.value(newValue, n, v.b, node.B, up)
	case node.Op == jsondiff.Removed:
		v.value(oldValue, n, v.a, node.A, up)
	case node.Op == jsondiff.Moved:
		v.value(sameValue, n, v.b, node.B, up)
		first := len(v.lines) - 1 - v.b.Span(v.b.lineOf(int(node.B)))
		v.lines[first].is = movedItem
	case len(v.d.ValueA(n)) <= shortValue && len(v.d.ValueB(n)) <= shortValue:
		v.put(diffLine{bothValue, int32(n), 0}, up)
	default:
		v.value(oldValue, n, v.a, node.A, up)
		v.value(newValue, n, v.b, node.B, up)
	}
}

// whole puts a comparison of which one side is not JSON or not there.
func (v *Diff) whole(n int, up int32) {
	if v.d.Lines(n) != nil {
		v.text(n, up)
		return
	}
	switch {
	case v.a != nil:
		v.value(oldValue, n, v.a, 0, up)
	case v.d.Before != "":
		v.put(diffLine{oldText, int32(n), 0}, up)
	}
	switch {
	case v.b != nil:
		v.value(newValue, n, v.b, 0, up)
	case v.d.After != "":
		v.put(diffLine{newText, int32(n), 0}, up)
	}
}

// text puts a text that was compared by line.
func (v *Diff) text(n int, up int32) {
	head := int32(len(v.lines))
	v.put(diffLine{textHead, int32(n), 0}, up)
	lines := v.d.Lines(n)
	for i := 0; i < len(lines); {
		end := i
		for end < len(lines) && lines[end].Op == jsondiff.Same {
			end++
		}
		in := head
		if end-i > sameLines {
			in = int32(len(v.lines))
			v.put(diffLine{textRun, int32(n), int32(end - i)}, head)
			v.quiet = append(v.quiet, in)
		}
		for k := i; k < max(end, i+1); k++ {
			v.put(diffLine{textLine, int32(n), int32(k)}, in)
		}
		if in != head {
			v.shut(in)
		}
		i = max(end, i+1)
	}
	v.shut(head)
}

// Len is the number of lines.
func (v *Diff) Len() int { return len(v.lines) }

// Span is how many lines fold into a line.
func (v *Diff) Span(n int) int { return int(v.span[n]) }

// Up is the line that a line folds into.
func (v *Diff) Up(n int) int { return int(v.up[n]) }

// Place is the number of the line.
func (v *Diff) Place(n int) int { return n }

// At is the line of that number.
func (v *Diff) At(place int) int { return min(max(place, 0), max(len(v.lines)-1, 0)) }

// Same reports whether o is the same comparison.
func (v *Diff) Same(o Source) bool {
	w, ok := o.(*Diff)
	return ok && w.d.Before == v.d.Before && w.d.After == v.d.After
}

func mark(k Look, op jsondiff.Op) (Span, paint.Style) {
	style := paint.Style("")
	switch op {
	case jsondiff.Added:
		style = k.Theme.Added
	case jsondiff.Removed:
		style = k.Theme.Removed
	case jsondiff.Changed, jsondiff.Moved:
		style = k.Theme.Changed
	}
	return Span{term.Lit(string(op) + " "), style}, style
}

// Line makes line n.
func (v *Diff) Line(n int, k Look) Line {
	l := v.lines[n]
	node := v.d.Nodes[l.node]
	level := v.level(n)
	out := Line{Level: level}
	switch l.is {
	case sameRun:
		out.Mark, _ = mark(k, jsondiff.Same)
		out.Text, out.Style = term.Lit(treeview.Grouped(int64(l.sub))+" unchanged"), k.Theme.Dim
	case openLine:
		out.Mark, _ = mark(k, node.Op)
		out.Lead = append(v.named(k, int(l.node)), v.from(k, node)...)
		out.Text = term.Lit("[")
		if v.d.B.Kind(int(node.B)) == store.Object {
			out.Text = term.Lit("{")
		}
	case closeLine:
		out.Mark, _ = mark(k, jsondiff.Same)
		out.Text = term.Lit("]")
		if v.d.B.Kind(int(node.B)) == store.Object {
			out.Text = term.Lit("}")
		}
	case oldValue:
		return v.marked(k, v.a.Line(int(l.sub), k), n, jsondiff.Removed, v.first(n, v.a, node.A))
	case newValue:
		return v.marked(k, v.b.Line(int(l.sub), k), n, jsondiff.Added, v.first(n, v.b, node.B))
	case sameValue:
		return v.marked(k, v.b.Line(int(l.sub), k), n, jsondiff.Same, v.first(n, v.b, node.B))
	case movedItem:
		return v.marked(k, v.b.Line(int(l.sub), k), n, jsondiff.Moved, true)
	case bothValue:
		var style paint.Style
		out.Mark, style = mark(k, node.Op)
		out.Lead = v.named(k, int(l.node))
		out.Text = k.Term.Sanitise(readable(string(v.d.ValueA(int(l.node))), JSON)).Plus(
			term.Spaces(1), k.Theme.Arrow, term.Spaces(1), k.Term.Sanitise(readable(string(v.d.ValueB(int(l.node))), JSON)))
		out.Style = style
	case textHead:
		out.Mark, _ = mark(k, node.Op)
		out.Lead = v.named(k, int(l.node))
		added, removed := 0, 0
		for _, t := range v.d.Lines(int(l.node)) {
			switch t.Op {
			case jsondiff.Added:
				added++
			case jsondiff.Removed:
				removed++
			}
		}
		out.Text = term.Lit("text, lines added: " + treeview.Grouped(int64(added)) + ", removed: " + treeview.Grouped(int64(removed)))
		out.Style = k.Theme.Dim
	case textRun:
		out.Mark, _ = mark(k, jsondiff.Same)
		out.Text, out.Style = term.Lit(treeview.Grouped(int64(l.sub))+" unchanged lines"), k.Theme.Dim
	case textLine:
		t := v.d.Lines(int(l.node))[l.sub]
		out.Mark, out.Style = mark(k, t.Op)
		out.Body = t.Text
	case oldText:
		out.Mark, out.Style = mark(k, jsondiff.Removed)
		out.Body = string(v.d.Before)
	case newText:
		out.Mark, out.Style = mark(k, jsondiff.Added)
		out.Body = string(v.d.After)
	}
	return out
}

// level is how deep a line is, as far as it is indented.
func (v *Diff) level(n int) int {
	level := 0
	for up := v.up[n]; up >= 0 && level < maxIndent; up = v.up[up] {
		if v.lines[up].is != sameRun {
			level++
		}
	}
	if v.lines[n].is == closeLine {
		level--
	}
	if is := v.lines[n].is; is == textLine && v.lines[v.up[n]].is == textRun {
		level--
	}
	return max(level, 0)
}

// first reports whether line n is the first one of its value.
func (v *Diff) first(n int, of *Value, tok int32) bool {
	return int(v.lines[n].sub) == of.lineOf(max(int(tok), 0))
}

// marked is a line of a value with the mark of what became of it.
func (v *Diff) marked(k Look, l Line, n int, op jsondiff.Op, first bool) Line {
	var style paint.Style
	l.Mark, style = mark(k, op)
	l.Level = v.level(n)
	if v.closes(n) {
		l.Level = max(l.Level-1, 0)
	}
	if style != "" && op != jsondiff.Moved {
		l.Style = style
		for i := range l.Lead {
			l.Lead[i].Style = style
		}
	}
	if first {
		node := v.d.Nodes[v.lines[n].node]
		if _, keyed := v.d.Key(int(v.lines[n].node)); !keyed && node.Up >= 0 {
			l.Lead = append(v.named(k, int(v.lines[n].node)), v.from(k, node)...)
		}
	}
	// Lines of two values stand among each other, so commas would mislead.
	if k := len(l.Tail); k > 0 && l.Tail[k-1].Text == term.Lit(",") {
		l.Tail = l.Tail[:k-1]
	}
	if l.Body == "" {
		switch l.Text {
		case term.Lit("],"):
			l.Text = term.Lit("]")
		case term.Lit("},"):
			l.Text = term.Lit("}")
		}
	}
	return l
}

// closes reports whether line n ends a container of a value.
func (v *Diff) closes(n int) bool {
	of, ok := v.of(n)
	return ok && of.tok[v.lines[n].sub] < 0
}

// of is the value that line n is a line of.
func (v *Diff) of(n int) (*Value, bool) {
	switch v.lines[n].is {
	case oldValue:
		return v.a, true
	case newValue, sameValue, movedItem:
		return v.b, true
	default:
		return nil, false
	}
}

// named is what a node is called in its container.
func (v *Diff) named(k Look, n int) []Span {
	node := v.d.Nodes[n]
	if key, ok := v.d.Key(n); ok {
		return []Span{{k.Term.SanitiseN(readable(string(key), JSON), 4*longKey), k.Theme.Info}, {term.Lit(": "), ""}}
	}
	at := node.IndexB
	if at < 0 {
		at = node.IndexA
	}
	if at < 0 {
		return nil
	}
	return []Span{{term.Lit("[" + strconv.Itoa(int(at)) + "] "), k.Theme.Dim}}
}

// from is where an item that moved was.
func (v *Diff) from(k Look, node jsondiff.Node) []Span {
	if node.Op != jsondiff.Moved {
		return nil
	}
	return []Span{{term.Lit("was [" + strconv.Itoa(int(node.IndexA)) + "]  "), k.Theme.Changed}}
}

// Folded is what a folded line ends with.
func (v *Diff) Folded(n int, k Look) []Span {
	switch l := v.lines[n]; l.is {
	case openLine:
		shut := "…] "
		if v.d.B.Kind(int(v.d.Nodes[l.node].B)) == store.Object {
			shut = "…} "
		}
		return []Span{{term.Lit(shut), ""}, {term.Lit("changed"), k.Theme.Dim}}
	case sameRun, textRun, textHead:
		return []Span{{term.Lit(" …"), k.Theme.Dim}}
	default:
		if of, ok := v.of(n); ok {
			return of.Folded(int(l.sub), k)
		}
		return nil
	}
}

// Name tells lines apart: by what they are and what they are called there.
func (v *Diff) Name(n int) string {
	l := v.lines[n]
	name := strconv.Itoa(int(l.is)) + " "
	if of, ok := v.of(n); ok && v.up[n] >= 0 {
		return name + of.Name(int(l.sub))
	}
	if key, ok := v.d.Key(int(l.node)); ok && (l.is == openLine || l.is == bothValue || l.is == textHead) {
		return name + string(key)
	}
	return name + strconv.Itoa(int(l.sub))
}

// Text is what is on the line.
func (v *Diff) Text(n int) (string, Form) {
	if of, ok := v.of(n); ok {
		return of.Text(int(v.lines[n].sub))
	}
	l := v.Line(n, plainLook)
	if l.Body != "" {
		return l.Body, l.Form
	}
	return Plainly(l), Plain
}

// JSON is the value of a line: the one after, or before where there is none.
func (v *Diff) JSON(n int) store.JSON {
	if of, ok := v.of(n); ok {
		return of.JSON(int(v.lines[n].sub))
	}
	if j := v.d.ValueB(int(v.lines[n].node)); j != "" {
		return j
	}
	return v.d.ValueA(int(v.lines[n].node))
}

// Path is where the value of a line is.
func (v *Diff) Path(n int) string {
	if of, ok := v.of(n); ok {
		return of.Path(int(v.lines[n].sub))
	}
	return v.d.Path(int(v.lines[n].node))
}
