package query

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"treering/store"
)

// drawText draws a text that may need quotes.
func drawText(t *rapid.T, label string) string {
	return rapid.StringOfN(rapid.SampledFrom([]rune("aB0_.:=<>!~()\"\\ \t\n-,*жß日\u2003\u0085\x00\x1b\u202e")), 1, 8, -1).Draw(t, label)
}

func drawWord(t *rapid.T) string {
	w := rapid.StringOfN(rapid.SampledFrom([]rune("aBc0-,.*ж日")), 1, 6, -1).Draw(t, "word")
	return w
}

func drawPath(t *rapid.T, least int) path {
	var p path
	for range rapid.IntRange(least, 3).Draw(t, "steps") {
		key := rapid.OneOf(rapid.SampledFrom([]string{"a", "user", "0", "17", "01", ""}), rapid.Custom(func(t *rapid.T) string { return drawText(t, "key") })).Draw(t, "key")
		p = append(p, stepOf(key))
	}
	return p
}

// drawLeaf draws one test of the subject.
func drawLeaf(t *rapid.T, s Subject) expr {
	fields := fieldsOf(s)
	switch rapid.IntRange(0, 9).Draw(t, "leaf") {
	case 0, 1:
		return &word{text: drawWord(t)}
	case 2:
		return &word{text: drawText(t, "phrase"), phrase: true}
	case 3:
		if s.isTree() {
			e := &call{function: function(rapid.IntRange(0, int(functionCount)-1).Draw(t, "function"))}
			if e.function.info().takesID {
				e.id = rapid.OneOf(rapid.SampledFrom([]string{"n1", "n2", "n3"}), rapid.Custom(func(t *rapid.T) string { return drawText(t, "id") })).Draw(t, "id")
			}
			return e
		}
	case 4:
		f := rapid.SampledFrom(fields).Draw(t, "field")
		switch f {
		case fieldHas, fieldSince, fieldBefore:
			return &has{field: fieldTime}
		default:
		}
		if f.info().form == document {
			return &has{f, drawPath(t, 0)}
		}
		return &has{field: f}
	}
	f := rapid.SampledFrom(fields).Draw(t, "field")
	e := &comparison{field: f}
	text := rapid.OneOf(rapid.SampledFrom([]string{"run", "RUNNING", "shop", "n1", "A", "true", "null", "12", "-0.5e3", "NaN"}), rapid.Custom(func(t *rapid.T) string { return drawText(t, "value") }))
	numbers := rapid.SampledFrom([]string{"0", "1", "2.5", "-3", "1e400", "12345678901234567890.10"})
	switch f.info().form {
	case presence:
		return &word{text: drawWord(t)}
	case number:
		e.op = rapid.SampledFrom([]operator{opIs, opEqual, opDiffers, opLess, opAtMost, opMore, opAtLeast}).Draw(t, "op")
		e.value = literal{store.Number, numbers.Draw(t, "number")}
	case moment:
		e.value = textLiteral(rapid.SampledFrom([]string{"10m", "1h30m", "+2d", "now", "2026-11-30", "2026-11-30 12:00", "1796040000.5"}).Draw(t, "when"))
	case document:
		e.path = drawPath(t, 1)
		e.op = rapid.SampledFrom([]operator{opIs, opEqual, opDiffers, opLess, opAtMost, opMore, opAtLeast, opContains}).Draw(t, "op")
		e.value = rapid.OneOf(
			rapid.Map(numbers, func(s string) literal { return literal{store.Number, s} }),
			rapid.Map(text, textLiteral),
			rapid.SampledFrom([]literal{{store.Bool, "true"}, {store.NullKind, "null"}, {store.NonFinite, "-Infinity"}}),
		).Draw(t, "value")
		if e.op == opContains || e.op.orders() && e.value.kind != store.Number {
			e.value.kind = store.String
		}
	default:
		e.op = rapid.SampledFrom([]operator{opIs, opEqual, opDiffers, opContains}).Draw(t, "op")
		e.value = textLiteral(text.Draw(t, "value"))
	}
	return e
}

// drawExpr draws an expression as the parser makes them: of nothing but its own parts.
func drawExpr(t *rapid.T, s Subject, depth int) expr {
	if depth == 0 {
		return drawLeaf(t, s)
	}
	parts := func(same func(expr) bool) []expr {
		var ps []expr
		for len(ps) < 2 || len(ps) < 4 && rapid.Bool().Draw(t, "more") {
			if p := drawExpr(t, s, depth-1); !same(p) {
				ps = append(ps, p)
			} else {
				ps = append(ps, drawLeaf(t, s))
			}
		}
		return ps
	}
	switch rapid.IntRange(0, 4).Draw(t, "node") {
	case 0:
		return &negation{drawExpr(t, s, depth-1)}
	case 1:
		return &allOf{parts(func(e expr) bool { _, is := e.(*allOf); return is })}
	case 2:
		return &anyOf{parts(func(e expr) bool { _, is := e.(*anyOf); return is })}
	}
	return drawLeaf(t, s)
}

func drawSubject(t *rapid.T) Subject { return rapid.SampledFrom(Subjects()).Draw(t, "subject") }

// What is written down is read as what it was.
func TestRenderedIsParsed(t *testing.T) {
	places := cmp.FilterPath(func(p cmp.Path) bool { return p.Last().String() == ".at" }, cmp.Ignore())
	rapid.Check(t, func(t *rapid.T) {
		s := drawSubject(t)
		root := drawExpr(t, s, 4)
		q := &Query{subject: s, root: root}
		again, err := Parse(q.String(), s)
		if err != nil {
			t.Fatalf("%q: %v\n%s", q, err, err.(*Error).Caret(nil)) //nolint:errorlint // Parse's own
		}
		all := cmp.AllowUnexported(allOf{}, anyOf{}, negation{}, word{}, comparison{}, call{}, has{}, literal{}, step{})
		if diff := cmp.Diff(root, again.root, all, places); diff != "" {
			t.Fatalf("%q:\n%s", q, diff)
		}
	})
}

// drawRow draws a row of the subject that the drawn tests have a chance with.
func drawRow(t *rapid.T, s Subject) Row {
	text := rapid.SampledFrom([]string{"", "run", "stage", "RUNNING", "done", "shop", "n1", "n2", "n3", "A", "A.B", "aB c"})
	opt := func(label string) *string {
		if v := text.Draw(t, label); v != "" {
			return &v
		}
		return nil
	}
	j := rapid.SampledFrom([]store.JSON{"", "{}", `{"a":1}`, `{"a":"A","ts":1796039990}`, `{"a":null,"user":{"a":12}}`, `{"user":["a",{"0":true}],"0":2.5,"ts":"2026-11-30"}`}).Draw(t, "data")
	seq := int64(rapid.IntRange(0, 3).Draw(t, "seq"))
	switch s {
	case Sessions:
		r := &store.SessionInfo{ID: text.Draw(t, "id"), Kind: text.Draw(t, "kind")}
		if rapid.Bool().Draw(t, "expires") {
			at := noon + 60
			r.ExpiresAt = &at
		}
		return &SessionRow{Session: r}
	case Nodes:
		return &NodeRow{ID: text.Draw(t, "id"), Parent: opt("parent"), Kind: text.Draw(t, "kind"), Title: text.Draw(t, "title"), Data: data(j)}
	case Executions:
		return &ExecutionRow{Summary: &store.Summary{
			ID: text.Draw(t, "id"), DefinitionID: text.Draw(t, "definition"), Status: store.Status(text.Draw(t, "status")), Outcome: opt("outcome"),
			ActivePath: opt("state"), Version: seq, ParentID: opt("parent"), UpdatedAt: j.Get("ts"),
		}, Context: data(j)}
	case Steps:
		return &StepRow{Index: seq, Step: &store.Step{EventKind: text.Draw(t, "event"), From: opt("from"), To: opt("to"), Actions: []string{text.Draw(t, "action"), "x"}, EventData: j, Timestamp: j.Get("ts")}}
	case Outbox:
		return &OutboxRow{Entry: &store.OutboxEntry{Seq: seq, TargetID: opt("target"), Event: store.Event{ID: text.Draw(t, "id"), Kind: text.Draw(t, "event"), Data: j}}}
	case Spawns:
		return &SpawnRow{Entry: &store.SpawnEntry{Seq: seq, ParentID: text.Draw(t, "parent"), ChildID: text.Draw(t, "child"), RootPath: text.Draw(t, "path"), Context: j}}
	default:
	}
	return &TimerRow{Timer: &store.Timer{ExecutionID: text.Draw(t, "id"), Path: text.Draw(t, "path"), FireAt: noon + float64(seq) - 1}}
}

var smallTree = forest{0, 1, 1}

func match(t *rapid.T, s Subject, e expr, r Row) Result {
	q := &Query{subject: s, root: e}
	m, err := q.Bind(Env{Now: noon, Tree: smallTree})
	if err != nil {
		t.Fatal(err)
	}
	return m.Match(r)
}

// The laws of logic hold on rows, for what is not known as well.
func TestLogic(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawSubject(t)
		a, b, r := drawExpr(t, s, 2), drawExpr(t, s, 2), drawRow(t, s)
		not := func(e expr) expr { return &negation{e} }
		all := func(a, b expr) expr { return &allOf{[]expr{a, b}} }
		some := func(a, b expr) expr { return &anyOf{[]expr{a, b}} }
		for _, law := range []struct {
			name string
			x, y expr
		}{
			{"not not", a, not(not(a))},
			{"not (a b)", not(all(a, b)), some(not(a), not(b))},
			{"not (a or b)", not(some(a, b)), all(not(a), not(b))},
			{"a b", all(a, b), all(b, a)},
			{"a or b", some(a, b), some(b, a)},
			{"a a", all(a, a), a},
			{"a or a b", some(a, all(a, b)), a},
		} {
			if x, y := match(t, s, law.x, r), match(t, s, law.y, r); x != y {
				t.Fatalf("%s: %d and %d for %q and %q on %+v", law.name, x, y, &Query{root: a, subject: s}, &Query{root: b, subject: s}, r)
			}
		}
	})
}

// A store that pre-selects loses nothing that matches, and nothing whose time is lacking.
func TestPushdownIsASuperset(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.SampledFrom([]Subject{Sessions, Executions, Outbox, Spawns, Timers}).Draw(t, "subject")
		e, r := drawExpr(t, s, 3), drawRow(t, s)
		q := &Query{subject: s, root: e}
		p := q.Pushdown()
		if match(t, s, e, r) == No {
			return
		}
		is := func(id *string, has string) bool { return id == nil || *id == has }
		ok := true
		switch r := r.(type) {
		case *SessionRow:
			ok = p.Sessions.Selects(r.Session.Kind)
		case *ExecutionRow:
			ok = p.Executions.Selects(*r.Summary)
		case *OutboxRow:
			ok = p.Queue.ExecutionID == nil || r.Entry.TargetID != nil && is(p.Queue.ExecutionID, *r.Entry.TargetID)
		case *SpawnRow:
			ok = is(p.Queue.ExecutionID, r.Entry.ParentID)
		case *TimerRow:
			ok = is(p.Queue.ExecutionID, r.Timer.ExecutionID)
		}
		if !ok {
			t.Fatalf("%q matches %+v, which the store would not list: %+v", q, r, p)
		}
	})
}

func TestPushdown(t *testing.T) {
	for _, tt := range []struct {
		subject Subject
		text    string
		want    Pushdown
	}{
		{Executions, "shop", Pushdown{}},
		{Executions, "status:failed shop", Pushdown{Executions: store.ExecutionFilter{Status: []store.Status{"FAILED"}}}},
		{Executions, "status:failed or status:Done", Pushdown{Executions: store.ExecutionFilter{Status: []store.Status{"FAILED", "DONE"}}}},
		{Executions, "status:failed or x", Pushdown{}},
		{Executions, "status:failed status:done", Pushdown{Executions: store.ExecutionFilter{Status: []store.Status{}}}},
		{Executions, "not status:failed", Pushdown{}},
		{Executions, "definition:shop roots() version>1", Pushdown{Executions: store.ExecutionFilter{DefinitionID: text("shop"), RootsOnly: true}}},
		{Executions, "(definition:shop a) or (definition:shop b)", Pushdown{Executions: store.ExecutionFilter{DefinitionID: text("shop")}}},
		{Executions, "definition:shop or definition:other", Pushdown{}},
		{Executions, "parent:a", Pushdown{Executions: store.ExecutionFilter{ParentID: text("a")}}},
		{Sessions, "kind:a or kind:b", Pushdown{Sessions: store.SessionFilter{Kinds: []string{"a", "b"}}}},
		{Sessions, "not kind:a kind!=b x", Pushdown{Sessions: store.SessionFilter{NotKinds: []string{"a", "b"}}}},
		{Sessions, "kind~a", Pushdown{}},
		{Outbox, "target:a", Pushdown{Queue: store.QueueFilter{ExecutionID: text("a")}}},
		{Spawns, "parent:a", Pushdown{Queue: store.QueueFilter{ExecutionID: text("a")}}},
		{Timers, "execution:a before:now", Pushdown{Queue: store.QueueFilter{ExecutionID: text("a")}}},
		{Nodes, "kind:a", Pushdown{}},
	} {
		if diff := cmp.Diff(tt.want, parsed(t, tt.text, tt.subject).Pushdown()); diff != "" {
			t.Errorf("%q:\n%s", tt.text, diff)
		}
	}
}

// subsequence is what a fuzzy match is.
func subsequence(p *Pattern, text string) bool {
	rest := p.runes
	for _, r := range text {
		if len(rest) > 0 && p.fold(r) == rest[0] {
			rest = rest[1:]
		}
	}
	return len(rest) == 0
}

func TestFuzzy(t *testing.T) {
	letters := rapid.StringOfN(rapid.SampledFrom([]rune("abAB_- .0жЖİKſ日\u212a")), 0, 12, -1)
	words := rapid.StringOfN(rapid.SampledFrom([]rune("abAB0жЖİK\u212a")), 1, 4, -1)
	rapid.Check(t, func(t *rapid.T) {
		text, w := letters.Draw(t, "text"), words.Draw(t, "word")
		p := NewPattern(w)
		want := subsequence(p, text)
		if got := p.Matches(text); got != want {
			t.Fatalf("%q in %q: %t, want %t", w, text, got, want)
		}
		score := p.Score(text)
		if (score > 0) != want {
			t.Fatalf("%q in %q scores %d", w, text, score)
		}
		at, ok := p.Positions(text, nil)
		if ok != want || ok && len(at) != len(p.runes) || !ok && len(at) > 0 {
			t.Fatalf("%q in %q at %v, %t", w, text, at, ok)
		}
		runes := []rune(text)
		for i, k := range at {
			if p.fold(runes[k]) != p.runes[i] || i > 0 && at[i-1] >= k {
				t.Fatalf("%q in %q at %v", w, text, at)
			}
		}
		// In one piece ranks above scattered.
		other := letters.Draw(t, "other")
		if p.inOnePiece(text) && p.Matches(other) && !p.inOnePiece(other) && p.Score(other) >= score {
			t.Fatalf("%q: %q scores %d, but %q %d", w, text, score, other, p.Score(other))
		}
	})
}

// The positions shown are those that the score is of.
func TestPositionsScore(t *testing.T) {
	letters := rapid.StringOfN(rapid.SampledFrom([]rune("abcAB_ 0")), 0, 14, -1)
	rapid.Check(t, func(t *rapid.T) {
		p := NewPattern(rapid.StringOfN(rapid.SampledFrom([]rune("abc")), 1, 4, -1).Draw(t, "word"))
		text := letters.Draw(t, "text")
		if !p.Matches(text) {
			return
		}
		runes := []rune(text)
		at := p.bestPositions(runes, nil)
		got := 0
		for i, k := range at {
			prev := rune(0)
			if k > 0 {
				prev = runes[k-1]
			}
			extra := bonus(prev, runes[k])
			switch gap := 0; {
			case i == 0:
				got += scoreLetter + extra*scoreFirst
			case at[i-1] == k-1:
				got += scoreLetter + max(extra, scoreNext)
			default:
				gap = k - at[i-1] - 2
				got += scoreLetter + extra - penaltyGap - gap*penaltyLetter
			}
		}
		rows := make([]int, 2*len(p.runes))
		if want := p.sweep(text, rows); got != want {
			t.Fatalf("%q in %q at %v: %d, want %d", p.text, text, at, got, want)
		}
	})
}

func TestRanking(t *testing.T) {
	for _, tt := range []struct {
		word  string
		texts []string // best first
	}{
		{"bench", []string{"make bench", "workbench", "b-e-n-c-h", "b e x n x c x h"}},
		{"mb", []string{"mb", "make bench", "mxxb"}},
		{"fb", []string{"FooBar", "foobar"}},
		{"make", []string{"make", "unmake", "m a k e"}},
	} {
		p := NewPattern(tt.word)
		scores := make([]int, len(tt.texts))
		for i, text := range tt.texts {
			scores[i] = p.Score(text)
		}
		if !slices.IsSortedFunc(scores, func(a, b int) int { return b - a }) || len(slices.Compact(slices.Clone(scores))) != len(scores) && tt.word != "make" {
			t.Errorf("%q: %v scores %v", tt.word, tt.texts, scores)
		}
	}
	long := strings.Repeat("x", 2*maxScored)
	for text, want := range map[string]bool{long + "ab": true, long + "a" + long + "b": true, "a" + long + "b": true, long: false} {
		p := NewPattern("ab")
		if got := p.Score(text) > 0; got != want {
			t.Errorf("a text of %d bytes scores: %t, want %t", len(text), got, want)
		}
		if at, ok := p.Positions(text, nil); ok != want || ok && (len(at) != 2 || text[at[0]] != 'a' || text[at[1]] != 'b') {
			t.Errorf("a text of %d bytes: %v, %t", len(text), at, ok)
		}
	}
	many := NewPattern(strings.Repeat("ab", 50))
	if many.Score(strings.Repeat("ab", 60)) == 0 || many.Score(strings.Repeat("ab", 49)) != 0 {
		t.Error("a pattern of 100 letters does not score")
	}
}

func TestHighlightAndScore(t *testing.T) {
	q := parsed(t, `mk "ben" not ch kind:run or жа`, Nodes)
	m, err := q.Bind(Env{})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := m.Highlight("make bench", nil), []int{0, 2, 5, 6, 7}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	if got, want := m.Highlight("ЖжА", []int{9}), []int{9, 1, 2}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	if got := m.Highlight("zzz", nil); len(got) > 0 {
		t.Errorf("%v", got)
	}
	good, fair := m.Score(&NodeRow{Title: "mk ben"}), m.Score(&NodeRow{Title: "meek"})
	if good <= fair || fair <= 0 || m.Score(&NodeRow{Title: "x"}) != 0 {
		t.Errorf("scores %d and %d", good, fair)
	}
}
