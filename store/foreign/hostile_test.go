package foreign_test

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"

	"treering/store"
	"treering/store/foreign"
)

// hostile are ways to spoil a file of lines. Each is given whole records, and returns
// what is written in their place and how many of them can still be read.
func hostile() map[string]func(a, b string) (text string, readable int) {
	const other = "\n"
	return map[string]func(a, b string) (string, int){
		"torn in the middle":    func(a, b string) (string, int) { return a[:len(a)/2] + other + b + other, 1 },
		"torn and run together": func(a, b string) (string, int) { return a[:len(a)-5] + b + other, 1 },
		"two in a line":         func(a, b string) (string, int) { return a + b + other, 2 },
		"one within dirt":       func(a, b string) (string, int) { return "]]}" + a + "\x01, {" + other + b + other, 2 },
		"a bare array":          func(a, b string) (string, int) { return "[" + a + "]" + other + b + other, 1 },
		"a bare number":         func(a, b string) (string, int) { return "-1e999" + other + a + other + b + other, 2 },
		"a bare string": func(a, b string) (string, int) {
			return `"` + strings.Repeat("{", 9999) + `"` + other + a + other + b + other, 2
		},
		"zeros around": func(a, b string) (string, int) {
			return strings.Repeat("\x00", 4096) + a + "\x00\x00" + other + b + other, 2
		},
		"only zeros": func(a, b string) (string, int) {
			return strings.Repeat("\x00", 9999) + other + a + other + b + other, 2
		},
		"carriage returns": func(a, b string) (string, int) { return a + "\r\n" + b + "\r\n", 2 },
		"a line separator in a text": func(a, b string) (string, int) {
			return strings.Replace(a, "said", "sa\u2028id", 1) + other + b + other, 2
		},
		"no UTF-8": func(a, b string) (string, int) {
			return strings.Replace(a, "said", "sa\xff\xfeid", 1) + other + b + other, 2
		},
		"half a surrogate": func(a, b string) (string, int) {
			return strings.Replace(a, "said", `sa\ud800id`, 1) + other + b + other, 2
		},
		"a key twice": func(a, b string) (string, int) {
			return strings.Replace(a, "{", `{"kind":[],"kind":{},`, 1) + other + b + other, 2
		},
		"deeply nested": func(a, b string) (string, int) {
			return strings.Replace(a, "{", `{"deep":`+strings.Repeat("[", 50_000)+strings.Repeat("]", 50_000)+",", 1) + other + b + other, 2
		},
		"never closed": func(a, b string) (string, int) {
			return strings.Repeat(`{"a":[`, 50_000) + other + a + other + b + other, 2
		},
		"many starts": func(a, b string) (string, int) {
			return strings.Repeat(`{"`, 200_000) + other + a + other + b + other, 2
		},
		"a huge number": func(a, b string) (string, int) {
			return strings.Replace(a, "{", `{"n":`+strings.Repeat("9", 100_000)+`,"length":4000000000,`, 1) + other + b + other, 2
		},
	}
}

// Whatever is in a file, every record that can be read is shown, every bad place is
// counted and named with its line and byte, and reading it in two steps finds the same.
func TestHostileLines(t *testing.T) {
	for name, s := range samples() {
		for what, spoil := range hostile() {
			t.Run(name+"/"+what, func(t *testing.T) {
				start := s.first + "\n" + fmt.Sprintf(s.line(0), "x") + "\n"
				bad, readable := spoil(fmt.Sprintf(s.line(1), "said it"), fmt.Sprintf(s.line(2), "y"))
				text := start + bad + fmt.Sprintf(s.line(3), "z") + "\n"
				path := filepath.Join(t.TempDir(), "s.jsonl")
				write(t, path, text)
				opened := s.open(path)
				session, lines := outlined(t, opened)
				r, _, err := opened.Report(t.Context(), session)
				if err != nil || r.Records < int64(readable)+2 {
					t.Errorf("%d records, want %d: %q; %v", r.Records, readable+2, lines, err)
				}
				for _, w := range r.Warnings {
					if w.Place.Line < 1 || w.Place.Offset < 0 || w.Place.Offset >= int64(len(text)) {
						t.Errorf("no place: %+v", w)
					} else if w.Place.Offset > 0 && text[w.Place.Offset-1] != '\n' {
						t.Errorf("line %d does not begin at byte %d", w.Place.Line, w.Place.Offset)
					}
				}
				if r.Unreadable > 0 && len(r.Warnings) == 0 {
					t.Errorf("%d places are unreadable, none is named", r.Unreadable)
				}
				bodies(t, opened, session)

				again := filepath.Join(t.TempDir(), "s.jsonl")
				write(t, again, text[:len(start)+len(bad)/3])
				steps := s.open(again)
				outlined(t, steps)
				appendTo(t, again, text[len(start)+len(bad)/3:])
				_, got := outlined(t, steps)
				if strings.Join(got, "\n") != strings.Join(lines, "\n") {
					t.Errorf("in steps %.300q\nat once %.300q", got, lines)
				}
			})
		}
	}
}

func bodies(t *testing.T, s *foreign.Store, session string) {
	t.Helper()
	err := store.All(func(p store.PageRequest) (store.Page[store.Node], error) { return s.ListNodes(t.Context(), session, p) },
		func(store.Node) error { return nil })
	if err != nil {
		t.Error(err)
	}
}

// Links may lead anywhere: parents that never come, loops below a root, one id again
// and again. There is one tree of all that was written, whatever the order.
func TestHostileLinks(t *testing.T) {
	s := samples()["shape"]
	rng := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		var b strings.Builder
		b.WriteString(s.first + "\n")
		n := 1 + rng.IntN(60)
		for i := range n {
			id := rng.IntN(n + 3)
			fmt.Fprintf(&b, `{"id":"n%d","parent_id":"n%d","kind":"k","title":"t %d"}`+"\n", id, rng.IntN(n+3), i%7)
		}
		path := filepath.Join(t.TempDir(), "s.jsonl")
		write(t, path, b.String())
		opened := s.open(path)
		session, lines := outlined(t, opened)
		r, _, err := opened.Report(t.Context(), session)
		if err != nil || r.Records+r.Duplicates != int64(n)+1 || int64(len(lines)) < r.Records {
			t.Fatalf("%d lines: %d nodes, %+v, %v", n+1, len(lines), r, err)
		}
		reached := 0
		for todo := []string{""}; len(todo) > 0; todo = todo[1:] {
			page, err := opened.ListChildren(t.Context(), session, todo[0], store.PageRequest{})
			if err != nil {
				t.Fatal(err)
			}
			for _, c := range page.Items {
				reached++
				todo = append(todo, c.ID)
			}
		}
		if reached != len(lines) {
			t.Fatalf("%d of %d nodes hang below the root:\n%s", reached, len(lines), b.String())
		}
	}
}
