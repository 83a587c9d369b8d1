package query

import (
	"cmp"
	"slices"
	"strings"

	"github.com/alecthomas/participle/v2/lexer"

	"treering/store"
)

// CompletionKind says what a completion is.
type CompletionKind uint8

// The kinds of completions.
const (
	CompleteField CompletionKind = iota
	CompleteOperator
	CompleteValue
	CompleteFunction
	CompleteKeyword
	CompletePath // into data or context
)

// Completion replaces the bytes From to To of the text by Text; the cursor goes
// behind it.
type Completion struct {
	Kind     CompletionKind
	Text     string
	From, To int
	About    string // what it is, in a few words; may be empty
}

// Vocabulary is what was seen in the rows so far.
type Vocabulary struct {
	// Values by the name of the field: kinds, definitions, ids.
	Values map[string][]string
	// Paths into data or context, such as data.user.label.
	Paths []string
}

// maxCompletions bounds an answer.
const maxCompletions = 100

// Complete offers what could stand at the cursor, a byte offset, the likeliest
// first. What is typed there already is a beginning, or letters in their order.
func Complete(text string, cursor int, s Subject, v Vocabulary) []Completion {
	cursor = min(max(cursor, 0), len(text))
	list := scan(text[:cursor])
	var last, before, third lexer.Token // from the cursor backwards
	for i, t := range slices.Backward(list) {
		switch len(list) - i {
		case 1:
			last = t
		case 2:
			before = t
		case 3:
			third = t
		}
	}
	touches := len(list) > 0 && last.Pos.Offset+len(last.Value) == cursor
	c := completer{subject: s, vocabulary: v, to: cursor}
	switch {
	case !touches:
		c.from = cursor
		if last.Type == tokenOp || last.Type == tokenCall { // depth > |
			c.after(last, before)
			break
		}
		c.heads(len(list) > 0)
	case last.Type == tokenOp, last.Type == tokenCall:
		c.from = cursor
		c.after(last, before)
	case (last.Type == tokenValue || last.Type == tokenString || last.Type == tokenBad) && (before.Type == tokenOp || before.Type == tokenCall):
		c.from, c.typed = last.Pos.Offset, strings.Trim(last.Value, `"`)
		c.to = valueEnd(text, last.Pos.Offset)
		c.after(before, third)
	case last.Type == tokenWord, last.Type == tokenField, last.Type == tokenNot, last.Type == tokenAnd, last.Type == tokenOr:
		c.from, c.typed = last.Pos.Offset, last.Value
		c.to = runEnd(text, last.Pos.Offset, true)
		c.heads(len(list) > 1)
		if c.to == cursor {
			c.operators(last.Value)
		}
	case last.Type == tokenOpen:
		c.from = cursor
		c.heads(false)
	}
	slices.SortStableFunc(c.found, func(a, b offer) int { return cmp.Compare(b.score, a.score) })
	var out []Completion
	for _, o := range c.found[:min(len(c.found), maxCompletions)] {
		out = append(out, o.Completion)
	}
	return out
}

// valueEnd is where the value that begins at i ends, behind the cursor.
func valueEnd(text string, i int) int {
	if text[i] == '"' {
		end, _ := stringEnd(text, i)
		return end
	}
	return runEnd(text, i, false)
}

type offer struct {
	Completion
	score int
}

type completer struct {
	subject    Subject
	vocabulary Vocabulary
	from, to   int
	typed      string
	found      []offer
}

// offer adds a completion if it fits what was typed: one that begins like it first.
func (c *completer) offer(k CompletionKind, name, text, about string) {
	score := 1
	if c.typed != "" {
		p := NewPattern(c.typed)
		if score = p.Score(name); score == 0 {
			return
		}
		if len(name) >= len(c.typed) && strings.EqualFold(name[:len(c.typed)], c.typed) {
			score += 1 << 20
		}
	}
	c.found = append(c.found, offer{Completion{k, text, c.from, c.to, about}, score})
}

// heads offers what a term begins with; follows: one stands before it.
func (c *completer) heads(follows bool) {
	for _, f := range fieldsOf(c.subject) {
		info := f.info()
		text := info.name
		switch info.form {
		case number:
		case document:
			text += "."
		default:
			text += ":"
		}
		if text != c.typed {
			c.offer(CompleteField, info.name, text, info.about)
		}
	}
	for _, p := range c.vocabulary.Paths {
		name, _, _ := strings.Cut(p, ".")
		if f, ok := fieldNamed(name); ok && f.of(c.subject) && f.info().form == document && strings.HasPrefix(c.typed, name+".") && p != c.typed {
			c.offer(CompletePath, p, p, "")
		}
	}
	if c.subject.isTree() {
		for f := range functionCount {
			info := f.info()
			text := info.name + "()"
			if info.takesID {
				text = info.name + "("
			}
			c.offer(CompleteFunction, info.name, text, info.about)
		}
	}
	c.offer(CompleteKeyword, "not", "not ", "what does not match the next one")
	if follows {
		c.offer(CompleteKeyword, "or", "or ", "what matches one of both")
	}
}

// operators offers those of a field whose name is complete.
func (c *completer) operators(head string) {
	if !isPath(head) {
		return
	}
	name, rest, _ := strings.Cut(head, ".")
	f, ok := fieldNamed(name)
	if !ok || !f.of(c.subject) || !f.info().testable || (f.info().form == document) == (rest == "") {
		return
	}
	c.from, c.typed = c.to, ""
	about := [...]string{"is", "equals", "differs from", "below", "at most", "above", "at least", "contains"}
	ch := checker{subject: c.subject}
	for op := opIs; op <= opContains; op++ {
		if ch.err = nil; ch.operatorFits(f.info(), op, 0) && !(op == opIs && f.info().form == document) {
			c.offer(CompleteOperator, op.String(), op.String(), about[op])
		}
	}
}

// after offers values: of the field before an operator, or ids within a call.
func (c *completer) after(opener, subjectOf lexer.Token) {
	if opener.Type == tokenCall {
		for _, id := range c.vocabulary.Values["id"] {
			c.offer(CompleteValue, id, quoteValue(id, false), "")
		}
		return
	}
	name, _, _ := strings.Cut(subjectOf.Value, ".")
	f, ok := fieldNamed(name)
	if !ok || !f.of(c.subject) {
		return
	}
	values := c.vocabulary.Values[subjectOf.Value]
	switch {
	case f == fieldHas:
		c.presences()
		return
	case f == fieldStatus:
		for _, s := range store.Statuses() {
			if !slices.ContainsFunc(values, func(v string) bool { return strings.EqualFold(v, string(s)) }) {
				values = append(slices.Clip(values), string(s))
			}
		}
	case f.info().form == moment:
		for _, span := range []string{"10m", "1h", "1d", "7d"} {
			c.offer(CompleteValue, span, span, "")
		}
	}
	for _, v := range values {
		c.offer(CompleteValue, v, quoteValue(v, f.info().form == document), "")
	}
}

// presences offers what may stand after has:.
func (c *completer) presences() {
	for f := fieldNone + 1; f < fieldCount; f++ {
		if !f.of(c.subject) || f == fieldHas || f == fieldSince || f == fieldBefore {
			continue
		}
		c.offer(CompleteValue, f.info().name, f.info().name, f.info().about)
	}
	for _, p := range c.vocabulary.Paths {
		c.offer(CompletePath, p, p, "")
	}
}
