package jsondoc

import (
	"context"
	"sort"
	"strconv"
	"strings"

	"treering/internal/term"
	"treering/store"
	"treering/treeview"
)

// Value is a JSON value, one member or element a line.
type Value struct {
	text store.JSON
	doc  *store.Doc
	// Of each line: the token of its value, or ^token where it closes a container;
	// how many lines fold into it; the line of the container that it is in; its
	// place among those there.
	tok, span, up, ord []int32
}

// NewValue makes the index of a value. It takes 16 bytes a line besides those of
// [store.Doc]. Errors are *[store.SyntaxError] and the context's.
func NewValue(ctx context.Context, j store.JSON) (*Value, error) {
	doc, err := store.ParseDocContext(ctx, j)
	if err != nil {
		return nil, err
	}
	return indexed(ctx, j, doc)
}

func indexed(ctx context.Context, j store.JSON, doc *store.Doc) (*Value, error) {
	v := &Value{text: j, doc: doc}
	n := v.measure()
	v.tok, v.span, v.up, v.ord = make([]int32, 0, n), make([]int32, 0, n), make([]int32, 0, n), make([]int32, 0, n)
	type open struct{ line, next int32 }
	var stack []open
	for t := 0; ; {
		for len(stack) > 0 && doc.Next(int(v.tok[stack[len(stack)-1].line])) == t {
			top := stack[len(stack)-1].line
			stack = stack[:len(stack)-1]
			v.add(^v.tok[top], v.up[top], v.ord[top])
			v.span[top] = int32(len(v.tok)) - 1 - top
		}
		if t >= doc.Len() {
			return v, nil
		}
		if len(v.tok)%(1<<15) == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		up, ord := int32(-1), int32(0)
		if len(stack) > 0 {
			top := &stack[len(stack)-1]
			up, ord = top.line, top.next
			top.next++
			if doc.Kind(int(v.tok[up])) == store.Object {
				t++ // past the key
			}
		}
		v.add(int32(t), up, ord)
		if doc.Kind(t) >= store.Array && doc.Next(t) > t+1 {
			stack = append(stack, open{line: int32(len(v.tok) - 1)})
		}
		t++
	}
}

// measure counts the lines, so that the arrays need not grow.
func (v *Value) measure() int {
	n := 0
	for t := range v.doc.Len() {
		kind := v.doc.Kind(t)
		if kind == store.String {
			_, end := v.doc.Span(t)
			if rest := strings.TrimLeft(string(v.text[end:min(end+8, len(v.text))]), " \t\r\n"); strings.HasPrefix(rest, ":") {
				continue // a key
			}
		}
		n++
		if kind >= store.Array && v.doc.Next(t) > t+1 {
			n++
		}
	}
	return n // more where much white space is before a colon
}

func (v *Value) add(tok, up, ord int32) {
	v.tok, v.span, v.up, v.ord = append(v.tok, tok), append(v.span, 0), append(v.up, up), append(v.ord, ord)
}

// Len is the number of lines.
func (v *Value) Len() int { return len(v.tok) }

// Span is how many lines a container has after its first.
func (v *Value) Span(n int) int { return int(v.span[n]) }

// Up is the first line of the container that a line is in. A closing line is in
// the one that it closes.
func (v *Value) Up(n int) int {
	if v.tok[n] < 0 {
		return v.opening(n)
	}
	return int(v.up[n])
}

// opening is the line that the closing line n closes.
func (v *Value) opening(n int) int { return v.lineOf(int(^v.tok[n])) }

// lineOf is the line on which a value begins.
func (v *Value) lineOf(tok int) int {
	start, _ := v.doc.Span(tok)
	return sort.Search(len(v.tok), func(n int) bool { return v.start(n) > start }) - 1
}

// start is where the value of a line begins, or its closing bracket stands.
func (v *Value) start(n int) int {
	if t := v.tok[n]; t < 0 {
		_, end := v.doc.Span(int(^t))
		return end - 1
	}
	start, _ := v.doc.Span(int(v.tok[n]))
	return start
}

// key is the token of a line's key, -1 where it has none.
func (v *Value) key(n int) int {
	if up := v.up[n]; v.tok[n] < 0 || up < 0 || v.doc.Kind(int(v.tok[up])) != store.Object {
		return -1
	}
	return int(v.tok[n]) - 1
}

// Place is where line n begins in the text, in bytes.
func (v *Value) Place(n int) int {
	if k := v.key(n); k >= 0 {
		start, _ := v.doc.Span(k)
		return start
	}
	return v.start(n)
}

// At is the line of a place.
func (v *Value) At(place int) int {
	return max(sort.Search(len(v.tok), func(n int) bool { return v.Place(n) > place })-1, 0)
}

// maxIndent is the deepest level that is indented further than the one above.
const maxIndent = 24

func (v *Value) level(n int) int {
	level := 0
	for up := v.up[n]; up >= 0 && level < maxIndent; up = v.up[up] {
		level++
	}
	return level
}

// last reports whether no sibling follows the value of a token within a
// container.
func (v *Value) last(n int) bool {
	t := v.tok[n]
	if t < 0 {
		t = ^t
	}
	up := v.up[n]
	return up < 0 || v.doc.Next(int(t)) == v.doc.Next(int(v.tok[up]))
}

// longKey is from how many bytes on a key is a part of the line's body, which may
// be of any length.
const longKey = 200

// Line makes line n.
func (v *Value) Line(n int, k Look) Line {
	l := Line{Level: v.level(n), Form: JSON}
	comma := ""
	if !v.last(n) {
		comma = ","
	}
	if v.tok[n] < 0 {
		bracket := "]"
		if v.doc.Kind(int(^v.tok[n])) == store.Object {
			bracket = "}"
		}
		l.Text = term.Lit(bracket + comma)
		return l
	}
	tok := int(v.tok[n])
	kind := v.doc.Kind(tok)
	start, end := v.doc.Span(tok)
	whole := 0
	if v.span[n] > 0 { // an open container: only its bracket
		end = start + 1
		comma = ""
	} else if kind >= store.Array { // an empty one may have blanks inside
		l.Text, whole = term.Lit("[]"), end
		if kind == store.Object {
			l.Text = term.Lit("{}")
		}
	}
	if at := v.key(n); at >= 0 {
		from, to := v.doc.Span(at)
		key := string(v.text[from:to])
		if len(key) > longKey {
			// The key and the value, with what is between them.
			l.Text, l.Body = term.Text{}, string(v.text[from:max(end, whole)])
			return withComma(l, comma)
		}
		l.Lead = []Span{{k.Term.Sanitise(readable(key, JSON)), k.Theme.Info}, {term.Lit(": "), ""}}
	}
	if l.Text.Empty() {
		l.Body = string(v.text[start:end])
	}
	return withComma(l, comma)
}

func withComma(l Line, comma string) Line {
	if comma != "" {
		l.Tail = append(l.Tail, Span{Text: term.Lit(comma)})
	}
	return l
}

// Folded is what a folded container ends with: how much is in it.
func (v *Value) Folded(n int, k Look) []Span {
	count := int(v.ord[n+int(v.span[n])-1]) + 1
	shut, what := "…] ", " item"
	if v.doc.Kind(int(v.tok[n])) == store.Object {
		shut, what = "…} ", " member"
	}
	if count != 1 {
		what += "s"
	}
	return []Span{{term.Lit(shut), ""}, {term.Lit(treeview.Grouped(int64(count)) + what), k.Theme.Dim}}
}

// Name is a member's key as it is written, or an element's place.
func (v *Value) Name(n int) string {
	if k := v.key(n); k >= 0 {
		return string(v.doc.JSON(k))
	}
	if v.tok[n] < 0 {
		return "]"
	}
	return strconv.Itoa(int(v.ord[n]))
}

// Text is a member's key and its value, or a container's bracket.
func (v *Value) Text(n int) (string, Form) {
	if v.tok[n] < 0 {
		return "", JSON
	}
	_, end := v.doc.Span(int(v.tok[n]))
	if v.span[n] > 0 {
		end = v.start(n) + 1
	}
	return string(v.text[v.Place(n):end]), JSON
}

// Same reports whether o is the same text.
func (v *Value) Same(o Source) bool {
	w, ok := o.(*Value)
	return ok && w.text == v.text
}

// JSON is the value of a line: of a closing one that of its container.
func (v *Value) JSON(n int) store.JSON {
	t := v.tok[n]
	if t < 0 {
		t = ^t
	}
	return v.doc.JSON(int(t))
}

// maxPath bounds a path in bytes; of a longer one the end is left.
const maxPath = 64 << 10

// Path is where the value of a line is: items[3].name["odd key"]; "" is the
// whole.
func (v *Value) Path(n int) string {
	if v.tok[n] < 0 {
		n = v.opening(n)
	}
	var steps []string
	size := 0
	for ; v.up[n] >= 0; n = int(v.up[n]) {
		step := "[" + strconv.Itoa(int(v.ord[n])) + "]"
		if k := v.key(n); k >= 0 {
			quoted := v.doc.JSON(k)
			step = "." + string(quoted[1:len(quoted)-1])
			if !bare(string(quoted)) {
				step = "[" + string(quoted) + "]"
			}
		}
		if size += len(step); size > maxPath {
			steps = append(steps, "…")
			break
		}
		steps = append(steps, step)
	}
	var b strings.Builder
	for i := len(steps) - 1; i >= 0; i-- {
		b.WriteString(steps[i])
	}
	return strings.TrimPrefix(b.String(), ".")
}

// bare reports whether a quoted key reads unambiguously without quotes.
func bare(quoted string) bool {
	for i := 1; i < len(quoted)-1; i++ {
		c := quoted[i]
		if c != '_' && c != '-' && c < 0x80 && (c < '0' || c > '9') && (c|0x20 < 'a' || c|0x20 > 'z') {
			return false
		}
	}
	return len(quoted) > 2
}
