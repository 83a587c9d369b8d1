package query

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"
)

func parsed(t testing.TB, text string, s Subject) *Query {
	t.Helper()
	q, err := Parse(text, s)
	if err != nil {
		t.Fatalf("%q: %v", text, err)
	}
	return q
}

// Every form, and the plainest way to write it.
func TestParse(t *testing.T) {
	for _, tt := range []struct {
		subject    Subject
		text, want string
	}{
		{Nodes, "", ""},
		{Nodes, " \t\n ", ""},
		{Nodes, "make", "make"},
		{Nodes, "make  bench", "make bench"},
		{Nodes, "make and bench AND x", "make bench x"},
		{Nodes, "make OR bench", "make or bench"},
		{Nodes, "NOT make", "not make"},
		{Nodes, "not not make", "not not make"},
		{Nodes, `"make bench"`, `"make bench"`},
		{Nodes, `"\u0041\t\"\\"`, `"A\t\"\\"`},
		{Nodes, `"or"`, `"or"`},
		{Nodes, "-O3 v1.2 a,b it's", "-O3 v1.2 a,b it's"},
		{Nodes, "data.error", "data.error"}, // a word like any other
		{Nodes, "a b or c d", "a b or c d"},
		{Nodes, "(a b) or (c d)", "a b or c d"},
		{Nodes, "a (b or c) d", "a (b or c) d"},
		{Nodes, "(a or (b or c))", "a or b or c"},
		{Nodes, "not (a b)", "not (a b)"},
		{Nodes, "not a b", "not a b"},
		{Nodes, "not(a)", "not a"},
		{Nodes, "a(b)", ""}, // an unknown function: below
		{Nodes, "kind:run", "kind:run"},
		{Nodes, "kind=run", "kind=run"},
		{Nodes, "kind!=run", "kind!=run"},
		{Nodes, "kind == run", "kind=run"},
		{Nodes, `title:"two words"`, `title:"two words"`},
		{Nodes, `title:"one"`, "title:one"},
		{Nodes, "title~x)", ""},
		{Nodes, "id:order-1:P:0", "id:order-1:P:0"},
		{Nodes, `id:"a (b)"`, `id:"a (b)"`},
		{Nodes, "parent:n=1", "parent:n=1"},
		{Nodes, "depth>3", "depth>3"},
		{Nodes, "depth > 3", "depth>3"},
		{Nodes, "depth >3.50e0", "depth>3.50e0"},
		{Nodes, "depth<= 3 children >=2", "depth<=3 children>=2"},
		{Nodes, "since:10m", "since:10m"},
		{Nodes, "since:1h30m before:2d", "since:1h30m before:2d"},
		{Nodes, "before:2026-11-30T12:00:00.5+01:00", "before:2026-11-30T12:00:00.5+01:00"},
		{Nodes, "before:now", "before:now"},
		{Timers, "before:+1h", "before:+1h"},
		{Nodes, `before:"2026-11-30 12:00"`, `before:"2026-11-30 12:00"`},
		{Nodes, "data.user.label=first", "data.user.label=first"},
		{Nodes, `data.user.label="first"`, "data.user.label=first"},
		{Nodes, `data.n="1"`, `data.n="1"`},
		{Nodes, `data.n=1`, `data.n=1`},
		{Nodes, `data.n=true data.n=null data.n=NaN data.n=False`, `data.n=true data.n=null data.n=NaN data.n=False`},
		{Nodes, `data.n="true"`, `data.n="true"`},
		{Nodes, `data.text=""`, `data.text=""`},
		{Nodes, "data.items.0.name~x", "data.items.0.name~x"},
		{Nodes, "data.n~12", "data.n~12"},
		{Nodes, `data."user name"."a.b".c>=1`, `data."user name"."a.b".c>=1`},
		{Nodes, `data."plain"=1`, `data.plain=1`},
		{Nodes, `data.""=1`, `data.""=1`},
		{Nodes, `data.ж=1`, `data.ж=1`},
		{Nodes, "data.n=-1.5E+300", "data.n=-1.5E+300"},
		{Nodes, "has:data.error", "has:data.error"},
		{Nodes, `has:data."a b"`, `has:data."a b"`},
		{Nodes, "has:parent has:time", "has:parent has:time"},
		{Nodes, "ancestors(x)", "ancestors(x)"},
		{Nodes, "ancestors( x )", "ancestors(x)"},
		{Nodes, `descendants("a (b)")`, `descendants("a (b)")`},
		{Nodes, "heads() roots() forks()", "heads() roots() forks()"},
		{Nodes, "ancestors(order-1:P:0)", "ancestors(order-1:P:0)"},
		{Executions, "status:failed", "status:failed"},
		{Executions, "definition:shop version>=3 outcome:success state:A.B", "definition:shop version>=3 outcome:success state:A.B"},
		{Executions, "context.total>100 has:row_error error~boom", "context.total>100 has:row_error error~boom"},
		{Steps, "event:Paid from:A to:B action:mail note:x index<10 data.a=1 context.b=2", "event:Paid from:A to:B action:mail note:x index<10 data.a=1 context.b=2"},
		{Outbox, "target:order-2 event:Cancel id:ev1 seq<10 data.by=support", "target:order-2 event:Cancel id:ev1 seq<10 data.by=support"},
		{Spawns, "parent:a child:b path:P seq:1 context.limit>3", "parent:a child:b path:P seq:1 context.limit>3"},
		{Timers, "execution:a path:@ttl", "execution:a path:@ttl"},
		{Sessions, "kind:session id:a since:now", "kind:session id:a since:now"},
	} {
		q, err := Parse(tt.text, tt.subject)
		if tt.want == "" && strings.TrimSpace(tt.text) != "" {
			if err == nil {
				t.Errorf("%q is taken as %q", tt.text, q)
			}
			continue
		}
		if err != nil {
			t.Errorf("%q: %v", tt.text, err)
			continue
		}
		if got := q.String(); got != tt.want {
			t.Errorf("%q is %q, want %q", tt.text, got, tt.want)
		}
		if again := parsed(t, q.String(), tt.subject); again.String() != tt.want {
			t.Errorf("%q is %q the second time", tt.want, again)
		}
		if q.Text() != tt.text || q.Subject() != tt.subject || q.Empty() != (tt.want == "") {
			t.Errorf("%q: text %q, subject %v, empty %t", tt.text, q.Text(), q.Subject(), q.Empty())
		}
	}
}

// Every mistake, where it is and what to do about it.
func TestMistakes(t *testing.T) {
	for _, tt := range []struct {
		subject Subject
		text    string
		column  int
		says    string
	}{
		{Executions, "status:", 8, "a value is missing after status:; status takes a word such as running, failed or done"},
		{Executions, "status: failed", 8, "status takes a word such as running"},
		{Executions, `status:""`, 8, "nothing between the quotes"},
		{Executions, "sttaus:x", 1, `there is no field "sttaus"; did you mean status?`},
		{Executions, "ж def:x", 3, `did you mean definition?`},
		{Executions, "order-1:P:0", 1, `to look for the text write "order-1:P:0"`},
		{Executions, "kind:run", 1, "kind is of sessions and nodes, and this is a list of executions"},
		{Executions, "data.x=1", 1, "data is of nodes, steps and outbox entries, and this is a list of executions; theirs is context"},
		{Outbox, "depth>1", 1, "depth is of nodes and executions, and this is a list of outbox entries"},
		{Nodes, "depth>", 7, "depth takes a number"},
		{Nodes, "depth>x", 7, `depth takes a number, not "x"`},
		{Nodes, "depth~1", 6, "depth does not compare with ~; it does with"},
		{Nodes, "kind>a", 5, "kind does not compare with >"},
		{Nodes, "since=10m", 6, "since does not compare with =; it does with :"},
		{Nodes, "since:10", 7, "a span needs a unit"},
		{Nodes, "since:10y", 7, `since takes a span such as 10m`},
		{Nodes, "since:2026-13-01", 7, "since takes"},
		{Nodes, "data=1", 5, "data needs the path of a value in it; such as data.user.label"},
		{Nodes, "data.=1", 6, "a key is missing after the point"},
		{Nodes, "data.a..b=1", 8, "a key is missing"},
		{Nodes, `data."a b"`, 11, "an operator and a value are missing"},
		{Nodes, `data."a"x=1`, 9, "a point is missing between two keys"},
		{Nodes, "kind.x=1", 1, "kind has nothing inside it"},
		{Nodes, "data.x<true", 8, "true has no order"},
		{Nodes, `data.x~""`, 8, "nothing to look for"},
		{Nodes, "time:x", 1, "time can only be asked for; write has:time"},
		{Nodes, "has:", 5, "has takes the name of a field"},
		{Nodes, "has:nothing", 5, `there is no field "nothing"`},
		{Nodes, "has:kind.x", 5, "kind has nothing inside it"},
		{Nodes, "has:since", 5, "has:time asks"},
		{Nodes, "has:1", 5, `"1" is not the name of a field`},
		{Nodes, "(a or b", 1, "a parenthesis that is not closed; close it with )"},
		{Nodes, "heads(", 6, "a parenthesis that is not closed"},
		{Nodes, "a or b)", 7, "a closing parenthesis without an opening one"},
		{Nodes, "()", 2, "something to filter by is missing before )"},
		{Nodes, "a or", 5, `something to filter by is missing after "or"; to look for the word write "or"`},
		{Nodes, "not", 4, `missing after "not"`},
		{Nodes, "or a", 1, `missing before "or"`},
		{Nodes, "a or or b", 6, `missing before "or"`},
		{Nodes, "a and", 6, `missing after "and"`},
		{Nodes, `x "a`, 3, "quotes that are not closed"},
		{Nodes, `"\q"`, 2, `a backslash is written \\`},
		{Nodes, `""`, 1, "nothing between the quotes"},
		{Nodes, ":x", 1, "the name of a field is missing before :"},
		{Nodes, "a >3", 1, `there is no field "a"`},
		{Nodes, "headz()", 1, `there is no function "headz"; did you mean heads()?`},
		{Nodes, "qqq()", 1, "there are ancestors(), descendants(), heads(), roots(), forks()"},
		{Nodes, "heads(x)", 7, "takes nothing between its parentheses"},
		{Nodes, "ancestors()", 11, "ancestors() takes an id"},
		{Nodes, `ancestors("")`, 11, "takes an id, which is never empty"},
		{Nodes, "ancestors(a b)", 13, "does not belong here"},
		{Timers, "heads()", 1, "heads() is of nodes and executions, and this is a list of timers"},
		{Nodes, "a\xffb", 2, "no valid UTF-8"},
	} {
		_, err := Parse(tt.text, tt.subject)
		var mistake *Error
		if !errors.As(err, &mistake) {
			t.Errorf("%q: %v, want a mistake", tt.text, err)
			continue
		}
		if mistake.Column != tt.column || !strings.Contains(err.Error(), tt.says) {
			t.Errorf("%q: %v\nwant column %d and %q", tt.text, err, tt.column, tt.says)
		}
		if want := fmt.Sprintf("at column %d: ", tt.column); !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q: %q does not begin with %q", tt.text, err, want)
		}
		checkPlace(t, tt.text, err)
	}
	// More text may mend these, and none of those.
	for _, text := range []string{"kind:", "a or", "not", "(a", "heads(", "ancestors(", `"a`, `kind:"a`, "depth>", "depth>-", "since:1", "since:2026-1", "has:", "has:da", "data.a=b or"} {
		_, err := Parse(text, Nodes)
		if e, ok := err.(*Error); !ok || !e.Unfinished { //nolint:errorlint // Parse's own
			t.Errorf("%q: %+v, want one that is not finished", text, err)
		}
	}
	for _, text := range []string{"kidn:run", "a)", "or a", "since:1 a", "has:da a", ":x", "status:failed", "depth>x a", "data.x<true b", "headz() b", strings.Repeat("a", MaxBytes+1)} {
		_, err := Parse(text, Nodes)
		if e, ok := err.(*Error); !ok || e.Unfinished { //nolint:errorlint // Parse's own
			t.Errorf("%.30q: %+v, want one that is finished", text, err)
		}
	}
}

// checkPlace checks what holds of every mistake.
func checkPlace(t testing.TB, text string, err error) {
	t.Helper()
	e, ok := err.(*Error) //nolint:errorlint // Parse's own
	if !ok {
		t.Fatalf("%q: %T", text, err)
	}
	if e.Query != text || e.At < 0 || e.At > len(text) || e.Message == "" {
		t.Fatalf("%q: %+v", text, e)
	}
	if want := utf8.RuneCountInString(text[:e.At]) + 1; e.Column != want {
		t.Fatalf("%q: column %d, want %d", text, e.Column, want)
	}
	if lines := strings.Split(e.Caret(nil), "\n"); len(lines) != 2 || strings.Trim(lines[1], " ") != "^" {
		t.Fatalf("%q: %q", text, lines)
	}
}

func TestCaret(t *testing.T) {
	wide := func(s string) int { return 2 * utf8.RuneCountInString(s) }
	long := strings.Repeat("a ", 100)
	for _, tt := range []struct {
		e     *Error
		width func(string) int
		want  string
	}{
		{mistake("status:", 7, "", ""), nil, "status:\n       ^"},
		{mistake("ж def:x", 3, "", ""), nil, "ж def:x\n  ^"},
		{mistake("ж d:x", 3, "", ""), wide, "ж d:x\n    ^"},
		{mistake("a\n\x1bb", 2, "", ""), nil, "a  b\n  ^"},
		{mistake(long+"x", len(long), "", ""), nil, "..." + long[len(long)-48:] + "x\n" + strings.Repeat(" ", 51) + "^"},
		{mistake("x"+long, 0, "", ""), nil, ("x" + long)[:72] + "...\n^"},
		{mistake("", 0, "", ""), nil, "\n^"},
	} {
		if got := tt.e.Caret(tt.width); got != tt.want {
			t.Errorf("%q at %d:\n%s\nwant\n%s", tt.e.Query, tt.e.At, got, tt.want)
		}
	}
}

// Nothing that can be typed or pasted is too much: it is a mistake, and in time.
func TestBounds(t *testing.T) {
	for _, text := range []string{
		strings.Repeat("(", 1<<20), strings.Repeat("not ", 1<<18), strings.Repeat("(a ", 1<<18), strings.Repeat("a", 1<<20),
		strings.Repeat("(", MaxBytes), strings.Repeat("not ", MaxBytes/4), strings.Repeat("(not ", MaxBytes/5),
		strings.Repeat("(", 101) + "a" + strings.Repeat(")", 101), strings.Repeat("not ", 101) + "a",
		"a" + strings.Repeat(")", MaxBytes-1), strings.Repeat(`"`, MaxBytes-1), strings.Repeat("heads(", MaxBytes/6),
	} {
		_, err := Parse(text, Nodes)
		if err == nil {
			t.Errorf("%.20q... of %d bytes is taken", text, len(text))
			continue
		}
		checkPlace(t, text, err)
	}
	for _, text := range []string{
		strings.Repeat("(", 100) + "a" + strings.Repeat(")", 100), strings.Repeat("not ", 100) + "a", strings.Repeat("(not ", 50) + "a" + strings.Repeat(")", 50),
		strings.Repeat("not a ", MaxBytes/6), strings.Repeat("(a)", MaxBytes/3), strings.Repeat("a or ", MaxBytes/5-1) + "a",
		strings.Repeat("not (a) ", 1000), "data" + strings.Repeat(".a", 30000) + "=1",
	} {
		if _, err := Parse(text, Nodes); err != nil {
			t.Errorf("%.20q... of %d bytes: %v", text, len(text), err)
		}
	}
}

func TestSubjects(t *testing.T) {
	for _, s := range Subjects() {
		if got, ok := SubjectNamed(s.String()); !ok || got != s {
			t.Errorf("%v by its name: %v, %t", s, got, ok)
		}
		if len(s.wordFields()) == 0 {
			t.Errorf("words are looked for nowhere in %v", s)
		}
		for _, f := range append(s.wordFields(), fieldsOf(s)...) {
			if !f.of(s) {
				t.Errorf("%v have no %s", s, f.info().name)
			}
			if !strings.Contains(Help(s), f.info().name) {
				t.Errorf("the help of %v does not name %s", s, f.info().name)
			}
		}
	}
	if s, ok := SubjectNamed("trees"); ok {
		t.Errorf("trees are %v", s)
	}
	for f := fieldNone + 1; f < fieldCount; f++ {
		info := f.info()
		if got, ok := fieldNamed(info.name); !ok || got != f {
			t.Errorf("field %d is not found by its name %q", f, info.name)
		}
		if info.about == "" || info.testable && info.takes == "" {
			t.Errorf("%s does not say what it is", info.name)
		}
	}
}

func TestNearest(t *testing.T) {
	names := []string{"status", "state", "since", "kind", "depth"}
	for _, tt := range [][2]string{
		{"sttaus", "status"}, {"stat", "status"}, {"knd", "kind"}, {"KIND", "kind"}, {"dept", "depth"}, {"zzz", ""}, {"x", ""}, {"", ""},
		{strings.Repeat("s", 40), ""},
	} {
		if got := nearest(tt[0], names); got != tt[1] {
			t.Errorf("%q is near %q, want %q", tt[0], got, tt[1])
		}
	}
}

// Whatever is typed is a query or a mistake in its text, and a query can be written
// down again.
func FuzzParse(f *testing.F) {
	for _, s := range []string{
		`a or (b not "c") kind:run`, `data."a b".0.x>=1.5 has:data.x since:1h`, `ancestors("x y") heads() status:`, "((((((", "not not not", `"\u00`, "a\x00b",
	} {
		f.Add(s, uint8(Nodes))
	}
	f.Fuzz(func(t *testing.T, text string, subject uint8) {
		s := Subject(subject) % subjectCount
		q, err := Parse(text, s)
		if err != nil {
			checkPlace(t, text, err)
			return
		}
		plain := q.String()
		again, err := Parse(plain, s)
		if len(plain) > MaxBytes {
			return
		}
		if err != nil {
			t.Fatalf("%q is %q, and that is %v", text, plain, err)
		}
		if again.String() != plain {
			t.Fatalf("%q is %q, then %q", text, plain, again.String())
		}
		Complete(text, len(text)/2, s, Vocabulary{})
		if m, err := q.Bind(Env{Tree: forest{}}); err != nil {
			t.Fatal(err)
		} else {
			m.Match(rowOf(s))
			m.Score(rowOf(s))
		}
	})
}
