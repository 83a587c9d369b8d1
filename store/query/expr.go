package query

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"treering/store"
)

// expr is a part of a query: *allOf, *anyOf, *negation, *word, *comparison, *call
// or *has. What it is about has been checked against the subject.
type expr interface {
	// render writes the text that parses to the expression again; within is how
	// tightly what stands around it binds.
	render(b *strings.Builder, within binding)
}

// binding orders or, and, not.
type binding uint8

const (
	bindsOr binding = iota
	bindsAnd
	bindsNot
)

// allOf and anyOf have at least two parts, none of which is of the same kind.
type allOf struct{ parts []expr }

type anyOf struct{ parts []expr }

type negation struct{ of expr }

// word is looked for in the subject's word fields: letter by letter, or, as a
// phrase, exactly.
type word struct {
	text   string
	phrase bool
}

// comparison is a field, an operator and a value.
type comparison struct {
	field field
	path  path // of a document
	op    operator
	value literal
}

// call is a function of the tree.
type call struct {
	function function
	id       string
	at       int // where the id stands, in bytes
}

// has asks for a field, or for a value in a document.
type has struct {
	field field
	path  path
}

type operator uint8

const (
	opIs operator = iota
	opEqual
	opDiffers
	opLess
	opAtMost
	opMore
	opAtLeast
	opContains
)

func operatorOf(text string) operator {
	switch text {
	case ":":
		return opIs
	case "!=":
		return opDiffers
	case "<":
		return opLess
	case "<=":
		return opAtMost
	case ">":
		return opMore
	case ">=":
		return opAtLeast
	case "~":
		return opContains
	}
	return opEqual
}

func (o operator) String() string {
	return [...]string{":", "=", "!=", "<", "<=", ">", ">=", "~"}[o]
}

// orders reports whether the operator asks for an order.
func (o operator) orders() bool { return o >= opLess && o <= opAtLeast }

// holds reports whether the operator holds where a value compares like that.
func (o operator) holds(order int) bool {
	switch o {
	case opDiffers:
		return order != 0
	case opLess:
		return order < 0
	case opAtMost:
		return order <= 0
	case opMore:
		return order > 0
	case opAtLeast:
		return order >= 0
	default:
	}
	return order == 0
}

// literal is a value in a query. Text is what it says; a number keeps its digits.
type literal struct {
	kind store.Kind // String, Number, NonFinite, Bool or NullKind
	text string
}

func textLiteral(s string) literal { return literal{store.String, s} }

// bareLiteral reads a value without quotes: what JSON knows is that, all else text.
func bareLiteral(s string) literal {
	j, err := store.ParseJSON(s)
	if err == nil && len(j) == len(s) {
		switch k := j.Kind(); k {
		case store.Number, store.NonFinite, store.Bool, store.NullKind:
			return literal{k, s}
		default:
		}
	}
	return textLiteral(s)
}

// path leads into a document.
type path []step

// step is one key, or the place in a list where the key is a number.
type step struct {
	key   string
	index int // -1: no number
}

func (e *allOf) render(b *strings.Builder, within binding) {
	renderParts(b, e.parts, " ", bindsAnd, within)
}

func (e *anyOf) render(b *strings.Builder, within binding) {
	renderParts(b, e.parts, " or ", bindsOr, within)
}

func renderParts(b *strings.Builder, parts []expr, between string, own, within binding) {
	if own < within {
		b.WriteByte('(')
		defer b.WriteByte(')')
	}
	for i, p := range parts {
		if i > 0 {
			b.WriteString(between)
		}
		p.render(b, own+1)
	}
}

func (e *negation) render(b *strings.Builder, _ binding) {
	b.WriteString("not ")
	e.of.render(b, bindsNot)
}

func (e *word) render(b *strings.Builder, _ binding) {
	if e.phrase {
		b.WriteString(string(store.Quote(e.text)))
		return
	}
	b.WriteString(e.text)
}

func (e *comparison) render(b *strings.Builder, _ binding) {
	b.WriteString(e.field.info().name)
	e.path.render(b)
	b.WriteString(e.op.String())
	if e.value.kind == store.String {
		b.WriteString(quoteValue(e.value.text, e.field.info().form == document && e.op != opContains))
		return
	}
	b.WriteString(e.value.text)
}

func (e *call) render(b *strings.Builder, _ binding) {
	info := e.function.info()
	b.WriteString(info.name + "(")
	if info.takesID {
		b.WriteString(quoteValue(e.id, false))
	}
	b.WriteByte(')')
}

func (e *has) render(b *strings.Builder, _ binding) {
	b.WriteString("has:" + e.field.info().name)
	e.path.render(b)
}

func (p path) render(b *strings.Builder) {
	for _, s := range p {
		b.WriteByte('.')
		b.WriteString(quoteStep(s.key))
	}
}

// quoteStep puts a key in quotes where it would end or part the path.
func quoteStep(key string) string {
	if key == "" || needsQuotes(key) || strings.ContainsAny(key, `.:=<>~!`) {
		return string(store.Quote(key))
	}
	return key
}

// quoteValue puts a value in quotes where it would not be read as this text.
func quoteValue(s string, typed bool) string {
	if s == "" || needsQuotes(s) || operatorAt(s, 0) > 0 || typed && bareLiteral(s).kind != store.String {
		return string(store.Quote(s))
	}
	return s
}

func needsQuotes(s string) bool {
	return !utf8.ValidString(s) || strings.ContainsFunc(s, func(r rune) bool {
		return r == '(' || r == ')' || r == '"' || unicode.IsSpace(r) || unicode.IsControl(r)
	})
}
