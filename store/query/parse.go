package query

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/alecthomas/participle/v2"
	"github.com/alecthomas/participle/v2/lexer"

	"treering/store"
)

// Query is a parsed filter. It is immutable and safe to share.
type Query struct {
	subject Subject
	text    string
	root    expr // nil: everything matches
}

// Parse reads a filter for the rows of one subject. A text of blanks matches
// everything. Every error is an *[Error].
func Parse(text string, s Subject) (*Query, error) {
	q := &Query{subject: s, text: text}
	if len(text) > MaxBytes {
		return nil, mistake(text, MaxBytes, fmt.Sprintf("the filter has %d bytes, at most %d are taken", len(text), MaxBytes), "")
	}
	if !utf8.ValidString(text) {
		at := 0
		for i, r := range text {
			if r == utf8.RuneError && !strings.HasPrefix(text[i:], "\uFFFD") {
				at = i
				break
			}
		}
		return nil, mistake(text, at, "this is not text: it is no valid UTF-8", "")
	}
	list := scan(text)
	if err := balanced(text, list); err != nil {
		return nil, err
	}
	if len(list) == 0 {
		return q, nil
	}
	tree, err := parser().ParseFromLexer(mustPeek(text, list))
	if err != nil {
		return nil, misplaced(text, err)
	}
	c := checker{text: text, subject: s}
	if q.root = c.any(tree); c.err != nil {
		return nil, c.err
	}
	return q, nil
}

// Text is the query as it was given.
func (q *Query) Text() string { return q.text }

// Subject is what it was parsed for.
func (q *Query) Subject() Subject { return q.subject }

// Empty reports whether everything matches.
func (q *Query) Empty() bool { return q.root == nil }

// String is the query in its plainest form: it parses to an equal one.
func (q *Query) String() string {
	if q.root == nil {
		return ""
	}
	var b strings.Builder
	q.root.render(&b, bindsOr)
	return b.String()
}

// The grammar: or binds least, then what stands side by side, then not.
type (
	orNode struct {
		Terms []*andNode `parser:"@@ ( Or @@ )*"`
	}
	andNode struct {
		Terms []*notNode `parser:"@@ ( And? @@ )*"`
	}
	notNode struct {
		Nots []string  `parser:"@Not*"`
		Item *itemNode `parser:"@@"`
	}
	itemNode struct {
		Group *orNode      `parser:"  Open @@ Close"`
		Call  *callNode    `parser:"| @@"`
		Test  *testNode    `parser:"| @@"`
		Word  *lexer.Token `parser:"| @( String | Word )"`
	}
	callNode struct {
		Name lexer.Token  `parser:"@Call"`
		Arg  *lexer.Token `parser:"@( Value | String )?"`
		End  lexer.Token  `parser:"@Close"`
	}
	testNode struct {
		Field lexer.Token  `parser:"@Field"`
		Op    *lexer.Token `parser:"@Op?"`
		Value *lexer.Token `parser:"@( Value | String )?"`
	}
)

// parser is built when it is first needed: not every start filters.
var parser = sync.OnceValue(func() *participle.Parser[orNode] {
	return participle.MustBuild[orNode](participle.Lexer(definition{}))
})

// mustPeek makes a source for the parser. Tokens in hand cannot fail.
func mustPeek(text string, list []lexer.Token) *lexer.PeekingLexer {
	p, err := lexer.Upgrade(&tokens{list: list, end: len(text)})
	if err != nil {
		panic(err)
	}
	return p
}

// balanced finds what is wrong without any grammar: parentheses, quotes, operators
// that stand alone, and nesting that is too deep. After it the parser's own
// recursion is bounded.
func balanced(text string, list []lexer.Token) error {
	var opened []int // the tokens that opened a parenthesis
	var nots []int   // how many nots stood before each
	depth, pending := 0, 0
	for i, t := range list {
		at := t.Pos.Offset
		switch t.Type {
		case tokenNot:
			pending++
			depth++
		case tokenOpen, tokenCall:
			opened, nots = append(opened, i), append(nots, pending)
			pending = 0
			depth++
		case tokenClose:
			if len(opened) == 0 {
				return mistake(text, at, "a closing parenthesis without an opening one", `to look for it write ")"`)
			}
			last := len(opened) - 1
			depth -= 1 + nots[last]
			opened, nots = opened[:last], nots[:last]
		case tokenBad:
			return unfinished(mistake(text, at, "quotes that are not closed", `close them with "`))
		case tokenOp:
			if i == 0 || list[i-1].Type != tokenField {
				return mistake(text, at, fmt.Sprintf("the name of a field is missing before %s", t.Value), fmt.Sprintf("to look for it write %s", store.Quote(t.Value)))
			}
		case tokenField, tokenValue, tokenString, tokenWord:
			if t.Type != tokenField {
				depth -= pending
				pending = 0
			}
		default:
		}
		if depth > MaxDepth {
			return mistake(text, at, fmt.Sprintf("parentheses and nots are nested more than %d deep", MaxDepth), "")
		}
	}
	if len(opened) > 0 {
		t := list[opened[len(opened)-1]]
		return unfinished(mistake(text, t.Pos.Offset+len(t.Value)-1, "a parenthesis that is not closed", "close it with )"))
	}
	return nil
}

// misplaced words what the parser did not expect. What is left for it after
// balanced are operators between things that lack one of the things.
func misplaced(text string, err error) error {
	var unexpected *participle.UnexpectedTokenError
	if !errors.As(err, &unexpected) {
		return mistake(text, len(text), "this is not understood: "+err.Error(), "")
	}
	t := unexpected.Unexpected
	at := t.Pos.Offset
	switch t.Type {
	case lexer.EOF:
		last := strings.TrimSpace(text)
		if i := strings.LastIndexAny(last, " \t()"); i >= 0 {
			last = last[i+1:]
		}
		return mistake(text, len(text), fmt.Sprintf("something to filter by is missing after %q", last), fmt.Sprintf("to look for the word write %s", store.Quote(last)))
	case tokenClose:
		return mistake(text, at, "something to filter by is missing before )", "")
	case tokenAnd, tokenOr:
		return mistake(text, at, fmt.Sprintf("something to filter by is missing before %q", t.Value), fmt.Sprintf("to look for the word write %s", store.Quote(t.Value)))
	}
	return mistake(text, at, fmt.Sprintf("%q does not belong here", t.Value), "put what has blanks or parentheses in quotes")
}

// checker makes expressions of what the grammar found, and remembers the first
// mistake.
type checker struct {
	text    string
	subject Subject
	err     *Error
	// typing is where a value begins that the text ends with: it may be half of one.
	typing int
}

func (c *checker) fail(at int, message, hint string) expr {
	if c.err != nil {
		return nil
	}
	c.err = mistake(c.text, at, message, hint)
	if c.typing > 0 && at >= c.typing {
		c.err.Unfinished = true
	}
	return nil
}

func (c *checker) any(n *orNode) expr {
	var parts []expr
	for _, t := range n.Terms {
		part := c.all(t)
		if inner, ok := part.(*anyOf); ok {
			parts = append(parts, inner.parts...)
			continue
		}
		parts = append(parts, part)
	}
	if len(parts) == 1 {
		return parts[0]
	}
	return &anyOf{parts}
}

func (c *checker) all(n *andNode) expr {
	var parts []expr
	for _, t := range n.Terms {
		part := c.item(t.Item)
		for range t.Nots {
			part = &negation{part}
		}
		if inner, ok := part.(*allOf); ok {
			parts = append(parts, inner.parts...)
			continue
		}
		parts = append(parts, part)
	}
	if len(parts) == 1 {
		return parts[0]
	}
	return &allOf{parts}
}

func (c *checker) item(n *itemNode) expr {
	switch {
	case n.Group != nil:
		return c.any(n.Group)
	case n.Call != nil:
		return c.call(n.Call)
	case n.Test != nil:
		return c.test(n.Test)
	case n.Word.Type == tokenString:
		text := c.unquote(*n.Word)
		if text == "" && c.err == nil {
			return c.fail(n.Word.Pos.Offset, "there is nothing between the quotes", "")
		}
		return &word{text: text, phrase: true}
	}
	return &word{text: n.Word.Value}
}

// unquote reads a string, whose escapes are JSON's.
func (c *checker) unquote(t lexer.Token) string {
	j, err := store.ParseJSON(t.Value)
	var syntax *store.SyntaxError
	switch {
	case errors.As(err, &syntax):
		c.fail(t.Pos.Offset+syntax.Offset, syntax.Reason+", in quotes", `a backslash is written \\`)
	case err != nil:
		c.fail(t.Pos.Offset, err.Error(), "")
	}
	text, _ := j.Text()
	return text
}

func (c *checker) call(n *callNode) expr {
	name, at := strings.TrimSuffix(n.Name.Value, "("), n.Name.Pos.Offset
	f, ok := functionNamed(name)
	if !ok {
		return c.fail(at, fmt.Sprintf("there is no function %q", name), c.functionHint(name))
	}
	if !c.subject.isTree() {
		return c.fail(at, fmt.Sprintf("%s() is of nodes and executions, and this is a list of %s", name, c.subject.Entries()), "")
	}
	e := &call{function: f}
	switch takes := f.info().takesID; {
	case !takes && n.Arg != nil:
		return c.fail(n.Arg.Pos.Offset, name+"() takes nothing between its parentheses", "")
	case !takes:
		return e
	case n.Arg == nil:
		return c.fail(n.End.Pos.Offset, name+"() takes an id", "such as "+name+"(ID), in quotes where it has blanks or parentheses")
	}
	e.at = n.Arg.Pos.Offset
	if e.id = c.plain(*n.Arg); e.id == "" {
		return c.fail(e.at, name+"() takes an id, which is never empty", "")
	}
	return e
}

func (c *checker) functionHint(name string) string {
	if !c.subject.isTree() {
		return fmt.Sprintf("to look for the text write %s", store.Quote(name))
	}
	var names []string
	for f := range functionCount {
		names = append(names, f.info().name)
	}
	if near := nearest(name, names); near != "" {
		return "did you mean " + near + "()?"
	}
	return "there are " + strings.Join(names, "(), ") + "()"
}

// plain is a token's text, without quotes.
func (c *checker) plain(t lexer.Token) string {
	if t.Type == tokenString {
		return c.unquote(t)
	}
	return t.Value
}

// parsePath reads NAME.KEY.KEY, where keys may be quoted. at is its offset.
func (c *checker) parsePath(text string, at int) (name string, p path) {
	name, rest, more := strings.Cut(text, ".")
	at += len(name) + 1
	for more {
		var key string
		if strings.HasPrefix(rest, `"`) {
			end, ok := stringEnd(rest, 0)
			if !ok {
				c.fail(at, "quotes that are not closed", `close them with "`)
				return name, nil
			}
			key = c.unquote(lexer.Token{Value: rest[:end], Pos: lexer.Position{Offset: at}})
			if end < len(rest) && rest[end] != '.' {
				c.fail(at+end, "a point is missing between two keys", "")
				return name, nil
			}
			more = end < len(rest)
			at += end + 1
			rest = rest[min(end+1, len(rest)):]
		} else {
			key, rest, more = strings.Cut(rest, ".")
			if key == "" {
				c.fail(at, "a key is missing after the point", `the empty key is written ""`)
				return name, nil
			}
			at += len(key) + 1
		}
		p = append(p, stepOf(key))
	}
	return name, p
}

func stepOf(key string) step {
	n, err := strconv.Atoi(key)
	if err != nil || n < 0 || strconv.Itoa(n) != key {
		n = -1
	}
	return step{key, n}
}

// field finds the field of a name and says why there is none.
func (c *checker) field(name string, at int, whole string) (field, bool) {
	f, ok := fieldNamed(name)
	switch {
	case !ok:
		c.fail(at, fmt.Sprintf("there is no field %q", name), c.fieldHint(name, whole))
	case !f.of(c.subject):
		c.fail(at, fmt.Sprintf("%s is of %s, and this is a list of %s", name, listSubjects(f), c.subject.Entries()), c.otherDocument(f))
	default:
		return f, true
	}
	return fieldNone, false
}

func (c *checker) fieldHint(name, whole string) string {
	var names []string
	for _, f := range fieldsOf(c.subject) {
		names = append(names, f.info().name)
	}
	if near := nearest(name, names); near != "" {
		return "did you mean " + near + "?"
	}
	return fmt.Sprintf("to look for the text write %s", store.Quote(whole))
}

func (c *checker) otherDocument(f field) string {
	if f.info().form != document {
		return ""
	}
	for _, o := range fieldsOf(c.subject) {
		if o.info().form == document {
			return "theirs is " + o.info().name + ", as in " + o.info().name + ".total>100"
		}
	}
	return ""
}

func listSubjects(f field) string {
	var of []string
	for _, s := range Subjects() {
		if f.of(s) {
			of = append(of, s.Entries())
		}
	}
	if n := len(of) - 1; n > 0 {
		return strings.Join(of[:n], ", ") + " and " + of[n]
	}
	return strings.Join(of, "")
}
