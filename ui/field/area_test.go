package field_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"treering/internal/term"
	"treering/ui/field"
)

func TestAreaKeys(t *testing.T) {
	const text = "{\n  \"a\": 1,\n\n  \"bé\": \"two words\"\n}"
	for _, c := range []struct {
		keys string
		want string // the text with | at the cursor
	}{
		{"", text + "|"},
		{"up", "{\n  \"a\": 1,\n\n | \"bé\": \"two words\"\n}"},
		{"up end", "{\n  \"a\": 1,\n\n  \"bé\": \"two words\"|\n}"},
		{"up end up", "{\n  \"a\": 1,\n|\n  \"bé\": \"two words\"\n}"},
		{"up end up up", "{\n  \"a\": 1,|\n\n  \"bé\": \"two words\"\n}"}, // the column is kept beyond short lines
		{"up end up up down down", "{\n  \"a\": 1,\n\n  \"bé\": \"two words\"|\n}"},
		{"ctrl+home", "|" + text},
		{"ctrl+home down ctrl+k", "{\n|\n\n  \"bé\": \"two words\"\n}"},
		{"ctrl+home down ctrl+k ctrl+k", "{\n|\n  \"bé\": \"two words\"\n}"},
		{"ctrl+home right right right right delete", "{\n  |a\": 1,\n\n  \"bé\": \"two words\"\n}"},
		{"up ctrl+u ctrl+u", "{\n  \"a\": 1,\n| \"bé\": \"two words\"\n}"},
		{"up end left ctrl+w", "{\n  \"a\": 1,\n\n  \"bé\": \"two |\"\n}"},
		{"up end alt+b alt+b", "{\n  \"a\": 1,\n\n  \"bé\": \"|two words\"\n}"},
		{"ctrl+home alt+f alt+f", "{\n  \"a\": 1|,\n\n  \"bé\": \"two words\"\n}"},
		{"ctrl+j", text + "\n|"},
		{"backspace backspace", strings.TrimSuffix(text, "\n}") + "|"},
		{"ctrl+home alt+d", "|\": 1,\n\n  \"bé\": \"two words\"\n}"},
	} {
		a := field.NewArea(text, 0)
		for _, k := range strings.Fields(c.keys) {
			a.Key(k)
		}
		a.Insert("|")
		if got := a.Text(); got != c.want {
			t.Errorf("%q: %q, want %q", c.keys, got, c.want)
		}
	}
	a := field.NewArea("one\ntwo", 0)
	if a.Key("down") || !a.Key("up") || a.Key("up") || a.Key("x") || a.Key("enter") {
		t.Error("the edges, or keys that are none")
	}
}

func TestAreaBounds(t *testing.T) {
	a := field.NewArea("", 10)
	if !a.Insert("12345678") || a.Insert("abc") || a.Text() != "12345678" || !a.Insert("ab") || a.Insert("c") {
		t.Errorf("holds %q", a.Text())
	}
	if a.Insert("\xff") {
		t.Error("took more than it may")
	}
	a = field.NewArea("a\r\nb\rc\xffd", 0)
	if a.Text() != "a\nb\nc\ufffdd" {
		t.Errorf("%q", a.Text())
	}
}

// A buffer with a gap is the same as one without.
func TestAreaIsAText(t *testing.T) {
	pieces := []string{"a", "é", "\n", "漢", "{\"x\":1}", "e\u0301", "\t", "😀", " ", "long line of some words"}
	keys := []string{"left", "right", "backspace", "delete", "up", "down", "home", "end"}
	rapid.Check(t, func(t *rapid.T) {
		a := field.NewArea("", 0)
		var before, after []rune
		for range rapid.IntRange(0, 60).Draw(t, "steps") {
			if rapid.Bool().Draw(t, "typed") {
				p := rapid.SampledFrom(pieces).Draw(t, "piece")
				a.Insert(p)
				before = append(before, []rune(p)...)
			} else {
				k := rapid.SampledFrom(keys).Draw(t, "key")
				a.Key(k)
				before, after = naive(before, after, k, a)
			}
			if got, want := a.Text(), string(before)+string(after); got != want {
				t.Fatalf("%q, want %q", got, want)
			}
			w, h := rapid.IntRange(2, 12).Draw(t, "w"), rapid.IntRange(1, 5).Draw(t, "h")
			rows, x, y := a.View(w, h)
			if len(rows) > h || y >= len(rows) || x >= w {
				t.Fatalf("%d rows, the cursor at %d,%d in %dx%d", len(rows), x, y, w, h)
			}
			if all := 1 + strings.Count(a.Text(), "\n"); len(rows) != min(all, h) {
				t.Fatalf("%d rows of %d lines in a window of %d", len(rows), all, h)
			}
			for _, r := range rows {
				if r.Text.Width() > w {
					t.Fatalf("%q is wider than %d", r.Text, w)
				}
			}
		}
	})
}

// naive does what a key does. Where up and down go is the area's own matter: the
// place is taken from the text before a mark typed there.
func naive(before, after []rune, key string, a *field.Area) (b, c []rune) {
	all := string(before) + string(after)
	switch key {
	case "backspace":
		return before[:max(len(before)-1, 0)], after
	case "delete":
		return before, after[min(1, len(after)):]
	}
	a.Insert("\x00")
	at := strings.IndexByte(a.Text(), 0)
	a.Key("backspace")
	return []rune(all[:at]), []rune(all[at:])
}

func TestAreaFind(t *testing.T) {
	const text = "{\n  \"é\": tru,\n}"
	a := field.NewArea(text, 0)
	rows, _, _ := a.View(20, 5)
	at := strings.Index(text, "tru")
	if x, y, ok := a.Find(rows, at); !ok || x != 7 || y != 1 {
		t.Errorf("at %d,%d, %v", x, y, ok)
	}
	if line, column := field.LineColumn(text, at); line != 2 || column != 8 {
		t.Errorf("line %d column %d", line, column)
	}
	if x, y, ok := a.Find(rows, len(text)); !ok || x != 1 || y != 2 {
		t.Errorf("the end is at %d,%d, %v", x, y, ok)
	}
	// A long line is shown around the cursor.
	long := strings.Repeat("0123456789", 30)
	a = field.NewArea(long, 0)
	rows, x, _ := a.View(20, 3)
	if got := rows[0].Text.String(); x != 19 || !strings.HasPrefix(got, "…") || !strings.HasSuffix(got, "789") {
		t.Errorf("%q, the cursor at %d", got, x)
	}
	if x, _, ok := a.Find(rows, len(long)-1); !ok || x != 18 {
		t.Errorf("the last one at %d, %v", x, ok)
	}
	if _, _, ok := a.Find(rows, 5); ok {
		t.Error("what is not shown was found")
	}
}

// Keys and views of the largest text cost what those of a small one do.
func TestAreaOfSixteenMegabytes(t *testing.T) {
	one := strings.Repeat("x", 16<<20)
	for name, text := range map[string]string{"one line": one, "many lines": strings.Repeat("{\"a\":1}\n", 2<<20)} {
		a := field.NewArea(text, 0)
		a.Key("ctrl+home")
		a.Key("ctrl+end")
		n := testing.AllocsPerRun(20, func() {
			a.Key("left")
			a.Insert("y")
			a.View(80, 10)
		})
		if n > 400 {
			t.Errorf("%s: %v allocations", name, n)
		}
		if rows, _, _ := a.View(80, 10); len(rows) == 0 || utf8.RuneCountInString(rows[0].Text.String()) > 80 {
			t.Errorf("%s: %v", name, rows)
		}
	}
}

func FuzzArea(f *testing.F) {
	f.Add("a\nb", "\u202e\x1b[2J", 7)
	f.Fuzz(func(t *testing.T, text, more string, at int) {
		a := field.NewArea(text, 0)
		a.MoveTo(0)
		for range at & 63 {
			a.Key("right")
		}
		a.Insert(more)
		rows, _, _ := a.View(10, 4)
		for _, r := range rows {
			if r.Text.Width() > 10 || r.Text.String() != term.Sanitise(r.Text.String()).String() {
				t.Fatalf("%q", r.Text)
			}
		}
	})
}
