package jsondoc

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"treering/internal/term"
	"treering/store"
	"treering/ui/paint"
)

var theme = paint.Default(false)

func value(t testing.TB, j store.JSON) *Value {
	t.Helper()
	v, err := NewValue(context.Background(), j)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// docOf is a document of one value below a heading.
func docOf(t testing.TB, j store.JSON) *Doc {
	d := &Doc{}
	d.Add(Line{Lead: []Span{{term.Lit("id  "), ""}}, Text: term.Lit("n1")})
	d.Blank()
	d.Head("data", term.Lit("data"), theme.Bold, value(t, j), NewText(string(j), ""))
	return d
}

func viewOf(t testing.TB, d *Doc, w, h int) *View {
	v := NewView(Look{Theme: theme})
	v.Set(d, false)
	v.Resize(w, h)
	return &v
}

// rowsOf are all rows of a view, without styles.
func rowsOf(v *View) []string {
	var out []string
	if v.stack.len == 0 {
		return nil
	}
	s := spot{}
	for ok := true; ok; s, ok = v.next(s) {
		out = append(out, strings.TrimRight(term.Unstyled(v.paint(v.rows(s.line, s.piece)[s.row], "", v.width+2)), " "))
	}
	return out
}

func TestAValueIsShownOneMemberALine(t *testing.T) {
	j := store.JSON(`{"a": 1.50, "b":[true,{"c":"x\ny"}, [] , { }],"e\u0301":"\u0041\u202e\"","":{"d":NaN}}`)
	v := viewOf(t, docOf(t, j), 60, 40)
	want := []string{
		" id  n1", "", " data", " {",
		`   "a": 1.50,`, `   "b": [`, `     true,`, `     {`, `       "c": "x\ny"`, `     },`, `     [],`, `     {}`, `   ],`,
		"   \"e\u0301\": \"A\\u202e\\\"\",", `   "": {`, `     "d": NaN`, `   }`, ` }`,
	}
	if diff := cmp.Diff(want, rowsOf(v)); diff != "" {
		t.Error(diff)
	}
	v.Move(5)
	if j, path, ok := v.Value(); !ok || path != "data.b" || !strings.HasPrefix(string(j), "[true") {
		t.Errorf("%s at %q, %v", j, path, ok)
	}
	v.Toggle()
	if rows := rowsOf(v); rows[5] != `   "b": […] 4 items` || len(rows) != 11 {
		t.Errorf("%q", rows)
	}
	if line, of := v.Place(); line != 6 || of != 11 {
		t.Errorf("line %d of %d", line, of)
	}
	v.Outward()
	v.Move(3)
	if j, path, _ := v.Value(); path != "data.b[1].c" || j != `"x\ny"` {
		t.Errorf("%s at %q", j, path)
	}
	v.Inward()
	v.Inward()
	if rows := rowsOf(v); rows[7] != `     {…} 1 member` {
		t.Errorf("%q", rows)
	}
	v.Home()
	v.Move(2)
	v.Toggle()
	if rows := rowsOf(v); len(rows) != 3 || rows[2] != " data …" {
		t.Errorf("%q", rows)
	}
}

func TestLevels(t *testing.T) {
	v := viewOf(t, docOf(t, `{"a":{"b":{"c":1}},"d":[[2]]}`), 60, 40)
	lines := func() int { return len(rowsOf(v)) - 3 }
	all := lines()
	for _, c := range []struct{ by, lines, level int }{{1, all, -1}, {-1, 4, 1}, {1, 8, 2}, {1, all, 3}, {-1, 8, 2}, {-1, 4, 1}, {-1, 1, 0}, {-1, 1, 0}} {
		v.Deeper(c.by)
		if lines() != c.lines || v.Level() != c.level {
			t.Errorf("%+d: %d lines, level %d, want %d, %d", c.by, lines(), v.Level(), c.lines, c.level)
		}
	}
	v.UnfoldAll()
	if lines() != all {
		t.Errorf("%d lines of %d", lines(), all)
	}
}

func TestTheRawViewStaysOnTheByte(t *testing.T) {
	j := store.JSON("{\n  \"a\" : 1,\n  \"b\" : [1,\n 2]\n}")
	v := viewOf(t, docOf(t, j), 60, 40)
	v.Move(7)
	if _, path, _ := v.Value(); path != "data.b[1]" {
		t.Fatal(path)
	}
	v.ShowRaw(true)
	want := []string{" id  n1", "", " data", " {", `   "a" : 1,`, `   "b" : [1,`, "  2]", " }"}
	if diff := cmp.Diff(want, rowsOf(v)); diff != "" {
		t.Error(diff)
	}
	if line, _ := v.Place(); line != 7 {
		t.Errorf("line %d", line)
	}
	v.ShowRaw(false)
	if _, path, _ := v.Value(); path != "data.b[1]" {
		t.Error(path)
	}
}

func words(n int) store.JSON {
	return store.ObjectOf(store.Member{Key: "short", Value: "1"}, store.Member{Key: "long", Value: store.Quote(strings.Repeat("x", n))},
		store.Member{Key: "after", Value: "[]"})
}

func TestAWordOfAnyLengthIsReachedWhole(t *testing.T) {
	v := viewOf(t, docOf(t, words(200_000)), 82, 24)
	n := 0
	for _, row := range rowsOf(v) {
		if len(row) > 81 {
			t.Fatalf("%d cells wide", len(row))
		}
		n += strings.Count(row, "x")
	}
	if n != 200_000 {
		t.Errorf("%d of 200,000 characters are shown", n)
	}
	v.End()
	v.Move(-3) // the last row of the word
	place := v.cursor
	if place.line != 5 || place.off < 199_000 {
		t.Fatalf("the cursor is at %+v", place)
	}
	for _, size := range [][2]int{{40, 10}, {200, 60}, {20, 3}, {82, 24}} {
		v.Resize(size[0], size[1])
		if v.cursor != place {
			t.Errorf("at %v the cursor is at %+v, was %+v", size, v.cursor, place)
		}
	}
	v.Wrap(false)
	v.Wrap(true)
	if got := v.spotOf(v.cursor); got.line != 5 || got.piece < 30 {
		t.Errorf("after unwrapping: %+v", got)
	}
}

func TestLinesThatAreNotWrappedScrollAside(t *testing.T) {
	v := viewOf(t, docOf(t, `{"k":"0123456789"}`), 12, 24)
	v.Wrap(false)
	rows := func() string { return rowsOf(v)[4] }
	if got := rows(); got != `   "k": "0…` {
		t.Errorf("%q", got)
	}
	v.Aside(8)
	if got := rows(); got != ` 012345678…` {
		t.Errorf("%q", got)
	}
	v.Aside(8)
	v.Aside(8)
	if got := rows(); got != ` 89"` {
		t.Errorf("past the end: %q", got)
	}
	v.Wrap(true)
	v.Aside(8)
	if got := rows(); got != `   "k":` {
		t.Errorf("wrapped lines scroll aside: %q", got)
	}
}

// generated draws JSON with long and odd strings.
func generated() *rapid.Generator[store.JSON] {
	leaf := rapid.OneOf(
		rapid.SampledFrom([]store.JSON{`1`, `-0.50`, `null`, `NaN`, `[]`, `{}`, `"\u0041\ud83d\ude00\ud800"`, `"\\\\\u202e"`, "\"\u202e\u0301\u00ad漢字\""}),
		rapid.Custom(func(t *rapid.T) store.JSON { return store.Quote(rapid.StringN(0, 40, -1).Draw(t, "s")) }),
		rapid.Custom(func(t *rapid.T) store.JSON {
			unit := rapid.SampledFrom([]string{"x", "ab ", "é", "漢", "\\u00e9", `\ud83d\ude00`, `\\`, "\u202e", "e\u0301"}).Draw(t, "unit")
			return store.JSON(`"` + strings.Repeat(unit, rapid.IntRange(0, 3000).Draw(t, "times")) + `"`)
		}),
	)
	var value func(level int) *rapid.Generator[store.JSON]
	value = func(level int) *rapid.Generator[store.JSON] {
		if level == 0 {
			return leaf
		}
		return rapid.Custom(func(t *rapid.T) store.JSON {
			items := rapid.SliceOfN(value(level-1), 0, 4)
			switch rapid.IntRange(0, 2).Draw(t, "kind") {
			case 0:
				return leaf.Draw(t, "leaf")
			case 1:
				return store.ArrayOf(items.Draw(t, "items")...)
			default:
				var ms []store.Member
				for _, j := range items.Draw(t, "members") {
					key := rapid.StringN(0, 12, -1).Draw(t, "key")
					if rapid.IntRange(0, 9).Draw(t, "long") == 0 {
						key = strings.Repeat("k", 500)
					}
					ms = append(ms, store.Member{Key: key, Value: j})
				}
				return store.ObjectOf(ms...)
			}
		})
	}
	return value(3)
}

// Whatever is done, the cursor is in the window, rows are as wide as the window,
// and the window is full while there is more to show.
func TestAnyKeysOnAnyDocument(t *testing.T) {
	gen := generated()
	rapid.Check(t, func(rt *rapid.T) {
		v := viewOf(t, docOf(t, gen.Draw(rt, "value")), 60, 10)
		if rapid.Bool().Draw(rt, "diff") {
			v.Set(diffOf(t, gen.Draw(rt, "before"), gen.Draw(rt, "after")), false)
		}
		for range rapid.IntRange(1, 25).Draw(rt, "acts") {
			switch rapid.IntRange(0, 16).Draw(rt, "act") {
			case 0:
				v.Resize(rapid.IntRange(0, 220).Draw(rt, "w"), rapid.IntRange(0, 70).Draw(rt, "h"))
			case 1:
				v.Toggle()
			case 2:
				v.Inward()
			case 3:
				v.Outward()
			case 4:
				v.Deeper(rapid.SampledFrom([]int{-1, 1}).Draw(rt, "by"))
			case 5:
				v.UnfoldAll()
			case 6:
				v.Wrap(!v.Wrapped())
			case 7:
				v.ShowRaw(!v.Raw())
			case 8:
				v.Home()
			case 9:
				v.End()
			case 10:
				v.Aside(rapid.IntRange(-30, 30).Draw(rt, "aside"))
			case 11:
				v.Set(docOf(t, gen.Draw(rt, "newer")), true)
			case 12:
				v.Find(rapid.SampledFrom([]string{"", "x", "漢", "a"}).Draw(rt, "query"))
				if hit, ok, err := v.Search(v.Query(), rapid.SampledFrom([]Direction{Before, Here, After}).Draw(rt, "to"))(context.Background()); err != nil {
					rt.Fatal(err)
				} else if ok {
					v.Show(hit)
				}
			case 13:
				v.Scroll(rapid.IntRange(-80, 80).Draw(rt, "scrolled"))
			case 14:
				v.Click(rapid.IntRange(-1, 70).Draw(rt, "clicked"))
			default:
				v.Move(rapid.IntRange(-80, 80).Draw(rt, "rows"))
			}
			looksRight(rt, v)
		}
	})
}

func looksRight(t *rapid.T, v *View) {
	rows := v.Draw(theme.Selected)
	seen := 0
	for _, r := range rows {
		if w := term.StyledWidth(r); w != v.width+2 {
			t.Fatalf("%d wide, want %d: %q", w, v.width+2, r)
		}
		if strings.HasPrefix(r, string(theme.Selected)) {
			seen++
		}
	}
	line, of := v.Place()
	if v.stack.len > 0 && (seen != 1 || line < 1 || line > of) {
		t.Fatalf("%d rows have the cursor; it is on line %d of %d", seen, line, of)
	}
	if len(rows) < v.height {
		if first := v.spotOf(v.top); first != (spot{}) {
			t.Fatalf("%d rows of %d, from %+v", len(rows), v.height, first)
		}
	}
	here := v.spotOf(v.cursor)
	if back := v.spotOf(v.placeOf(here)); back != here {
		t.Fatalf("%+v became %+v", here, back)
	}
	if next, ok := v.next(here); ok {
		if back, ok := v.previous(next); !ok || back != here {
			t.Fatalf("%+v, then %+v, then %+v", here, next, back)
		}
	}
	if n := v.folds.total(); n < 0 || n >= max(v.stack.len, 1) {
		t.Fatalf("%d of %d lines are hidden", n, v.stack.len)
	}
	v.Value()
}

func TestEscapesAreDecodedWhereTheyCanBeSeen(t *testing.T) {
	for in, want := range map[string]string{
		`"\u674e\u96f7"`:       `"李雷"`,
		`"\ud83d\ude00!"`:      `"😀!"`,
		`"\ud83d!"`:            `"\ud83d!"`,
		`"\ud83d\u0041"`:       `"\ud83dA"`,
		`"\u0000\u001b\u0022"`: `"\u0000\u001b\u0022"`,
		`"\u005cu674e"`:        `"\u005cu674e"`,
		`"\\u674e"`:            `"\\u674e"`,
		`"\u67"`:               `"\u67"`,
		`9007199254740993.10`:  `9007199254740993.10`,
		`"\u202e"`:             `"\u202e"`,
	} {
		if got := readable(in, JSON); got != want {
			t.Errorf("%s: %s, want %s", in, got, want)
		}
	}
}

// What is shown of a string is a way to write the same string.
func TestWhatIsShownOfAStringMeansTheSame(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var b strings.Builder
		for range rapid.IntRange(0, 40).Draw(t, "parts") {
			b.WriteString(rapid.SampledFrom([]string{`\\`, `\"`, `\u0041`, `\u005c`, `\u0022`, `\ud83d`, `\ude00`, `\n`, "x", "漢", "\u202e", "\U000e0041", "\u3000", "\u00a0", `\u202E`}).Draw(t, "part"))
		}
		raw := b.String()
		size := rapid.IntRange(1, 30).Draw(t, "size")
		shown := ""
		for k := range pieces(raw, size) {
			from, to := piece(raw, JSON, size, k)
			shown += readable(raw[from:to], JSON)
		}
		if !store.Equal(store.JSON(`"`+raw+`"`), store.JSON(`"`+shown+`"`)) {
			t.Fatalf("%s is shown as %s", raw, shown)
		}
		for _, r := range shown {
			if !visible(r) {
				t.Fatalf("%U is in %q", r, shown)
			}
		}
	})
}

func TestWhatIsNewerKeepsThePlace(t *testing.T) {
	v := viewOf(t, docOf(t, `{"a":{"x":1},"b":[1,{"c":2,"d":3}],"e":5}`), 60, 40)
	v.Move(4)
	v.Toggle() // data.a
	v.Move(5)
	if _, path, _ := v.Value(); path != "data.b[1].d" {
		t.Fatal(path)
	}
	v.Set(docOf(t, `{"new":0,"more":[[]],"a":{"x":1,"y":2},"b":[1,{"c":2,"z":0,"d":4}],"e":5}`), true)
	if _, path, _ := v.Value(); path != "data.b[1].d" {
		t.Errorf("the cursor is on %s", path)
	}
	if rows := strings.Join(rowsOf(v), "\n"); !strings.Contains(rows, `"a": {…} 2 members`) || strings.Contains(rows, "[…]") {
		t.Errorf("folds were lost:\n%s", rows)
	}
	v.Set(docOf(t, `{"b":[]}`), true)
	if _, path, _ := v.Value(); path != "data.b" {
		t.Errorf("the cursor is on %s", path)
	}
	v.Set(docOf(t, `{"b":[]}`), false)
	if line, _ := v.Place(); line != 1 {
		t.Errorf("another document begins at line %d", line)
	}
}

func TestSearch(t *testing.T) {
	v := viewOf(t, docOf(t, `{"name":"Älter","list":["needle",{"Needle":"a needle, another NEEDLE","x":"\u006eeedle"}]}`), 60, 40)
	v.Move(5)
	v.Deeper(-1)
	walk := func(query string, to Direction, n int) (got []string) {
		for range n {
			hit, ok, err := v.Search(query, to)(context.Background())
			if err != nil || !ok {
				t.Fatal(ok, err)
			}
			v.Show(hit)
			_, path, _ := v.Value()
			got = append(got, fmt.Sprintf("%s+%d", path, hit.at))
		}
		return got
	}
	v.Find("needle")
	on := []string{"data.list[0]+1", "data.list[1].Needle+1", "data.list[1].Needle+12", "data.list[1].Needle+28", "data.list[1].x+7", "data.list[0]+1"}
	if diff := cmp.Diff(on, walk("needle", After, 6)); diff != "" {
		t.Error(diff)
	}
	back := []string{on[4], on[3], on[2], on[1], on[0], on[4]}
	if diff := cmp.Diff(back, walk("needle", Before, 6)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(on[4:5], walk("needle", Here, 1)); diff != "" {
		t.Error(diff)
	}
	if hit, ok, _ := v.Search("älter", After)(context.Background()); !ok {
		t.Error("a capital letter is not found by a small one")
	} else {
		v.Show(hit)
	}
	if _, ok, _ := v.Search("ÄLTER", After)(context.Background()); ok {
		t.Error("capital letters match small ones")
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, _, err := v.Search("nowhere", Before)(ctx); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	v.Find("needle")
	if rows := strings.Join(v.Draw(""), "\n"); !strings.Contains(rows, string(theme.Match)+"needle") {
		t.Errorf("matches do not stand out: %q", rows)
	}
}

func TestFoldIndex(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringMatching(`[aAbBkKéÉ\x{212a}xX ]{0,30}`).Draw(t, "text")
		query := rapid.StringMatching(`[abkéx ]{1,3}`).Draw(t, "query")
		at, n := foldIndex(text, query)
		wantAt, wantN := slowIndex(text, query)
		if at != wantAt || n != wantN {
			t.Fatalf("%d+%d, want %d+%d", at, n, wantAt, wantN)
		}
	})
}

func TestHexadecimal(t *testing.T) {
	d := &Doc{}
	d.Head("", term.Lit("stored"), "", NewStored("{\"a\":\xff\x00 abcdefghijk\x1b"), nil)
	want := []string{" stored",
		` 00000000  7b 22 61 22 3a ff 00 20  61 62 63 64 65 66 67 68  {"a":.. abcdefgh`,
		` 00000010  69 6a 6b 1b                                       ijk.`}
	if diff := cmp.Diff(want, rowsOf(viewOf(t, d, 90, 10))); diff != "" {
		t.Error(diff)
	}
}

func TestDeepAndOpenValues(t *testing.T) {
	v := viewOf(t, docOf(t, store.JSON(strings.Repeat("[", 12_000)+strings.Repeat("]", 12_000))), 80, 24)
	v.Move(11_000)
	if _, path, _ := v.Value(); path != "data"+strings.Repeat("[0]", 10_997) {
		t.Errorf("path of %d bytes", len(path))
	}
	v.End()
	v.Draw(theme.Selected)
	if line, of := v.Place(); line != of || of != 3+2*12_000-1 {
		t.Errorf("line %d of %d", line, of)
	}
	size := 16 << 20
	if testing.Short() {
		size = 1 << 20
	}
	if _, err := NewValue(context.Background(), store.JSON(strings.Repeat("[", size))); err == nil {
		t.Error("open brackets are a value")
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := NewValue(ctx, giant(1<<20)); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// Where lines are cut, a match comes into the window sideways too.
func TestAMatchInALineThatIsCutIsShown(t *testing.T) {
	shows := func(v *View, query, want string) {
		t.Helper()
		v.Find(query)
		hit, ok, err := v.Search(query, After)(context.Background())
		if err != nil || !ok {
			t.Fatalf("%q: %v %v", query, ok, err)
		}
		v.Show(hit)
		// Where it is wrapped it may be broken.
		if got := strings.Join(rowsOf(v), "\n"); !strings.Contains(got, want) && (!v.Wrapped() || !strings.Contains(strings.Join(strings.Fields(got), ""), want)) {
			t.Errorf("%q is not in\n%s", want, got)
		}
	}
	long := `{"a":"` + strings.Repeat("x", 3000) + `needle` + strings.Repeat("y", 3000) + `漢字ǆ","key":"\u001b\u001b` + strings.Repeat("e\u0301", 500) + `thread"}`
	for _, raw := range []bool{false, true} {
		v := viewOf(t, docOf(t, store.JSON(long)), 40, 12)
		v.ShowRaw(raw)
		v.Wrap(false)
		shows(v, "needle", "xneedley")
		shows(v, "字ǆ", "字ǆ")
		shows(v, "thread", "thread")
		shows(v, `"a"`, `"a"`)
		shows(v, "needle", "xneedley")
		shows(v, `"key"`, `"key"`)
		if v.Wrapped() {
			t.Error("lines are wrapped now")
		}
	}
	// One that is further away than can be scrolled.
	v := viewOf(t, docOf(t, store.JSON(`{"a":"`+strings.Repeat("x", maxAside+1000)+`needle"}`)), 40, 12)
	v.Wrap(false)
	shows(v, "needle", "needle")
	v = viewOf(t, docOf(t, store.JSON(`{"a":"`+strings.Repeat("x", maxLook+1000)+`needle"}`)), 40, 12)
	v.Wrap(false)
	shows(v, "needle", "needle")
}
