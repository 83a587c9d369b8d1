package jsondoc

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"treering/internal/term"
	"treering/store"
	"treering/store/jsondiff"
)

func diffOf(t testing.TB, a, b store.JSON) *Doc {
	t.Helper()
	d, err := jsondiff.Compare(context.Background(), a, b)
	if err != nil {
		t.Fatal(err)
	}
	src, err := NewDiff(context.Background(), d)
	if err != nil {
		t.Fatal(err)
	}
	doc := &Doc{}
	doc.Head("", term.Lit("context"), "", src, nil)
	return doc
}

func TestDiffs(t *testing.T) {
	a := store.JSON(`{"same":1,"also":[1],"n":1,"o":{"x":1,"y":2},"list":["a","b","c"],"gone":{"k":[1]},"text":"l1\nl2\nl3\nl4\nl5\nl6\n","items":[{"id":1,"v":1},{"id":2,"v":2}]}`)
	b := store.JSON(`{"same":1,"also":[1],"n":2.5,"o":{"x":1,"y":3},"list":["c","a","b"],"text":"l1\nl2\nl3\nl4\nl5\nnew\n","items":[{"id":2,"v":2},{"id":1,"v":9}],"came":[true]}`)
	v := viewOf(t, diffOf(t, a, b), 60, 60)
	want := `
 context
 ~ {
     2 unchanged …
   ~ "n": 1 → 2.5
   ~ "o": {
       1 unchanged …
     ~ "y": 2 → 3
     }
   ~ "list": [
     > [0] was [2]  "c"
       2 unchanged …
     ]
   ~ "text": text, lines added: 1, removed: 1
       5 unchanged lines …
     - l6
     + new
   ~ "items": [
       1 unchanged …
     > [1] was [0]  {
         1 unchanged …
       ~ "v": 1 → 9
       }
     ]
   + "came": [
     + true
   + ]
   - "gone": {
     - "k": [
       - 1
     - ]
   - }
   }`
	if diff := cmp.Diff(want, "\n"+strings.Join(rowsOf(v), "\n")); diff != "" {
		t.Error(diff)
	}
	v.Move(2)
	v.Toggle()
	if rows := rowsOf(v); rows[3] != `     "same": 1` || rows[4] != `     "also": [` || len(rows) != 36 {
		t.Errorf("%d rows: %q", len(rows), rows[:8])
	}
	v.Move(2)
	if j, path, ok := v.Value(); !ok || path != "also" || j != "[1]" {
		t.Errorf("%s at %q", j, path)
	}
	for _, c := range []struct{ a, b, want string }{
		{"", `{"a":1}`, "+ {|  + \"a\": 1|+ }"},
		{`[1]`, "", "- [|  - 1|- ]"},
		{"{torn", `1`, "- {torn|+ 1"},
		{"a\nb", "a\nc", "~ text, lines added: 1, removed: 1|    a|  - b|  + c"},
		{`"` + strings.Repeat("x", 70) + `"`, `2`, `- "` + strings.Repeat("x", 70) + `"|+ 2`},
	} {
		var got []string
		for _, r := range rowsOf(viewOf(t, diffOf(t, store.JSON(c.a), store.JSON(c.b)), 100, 60))[1:] {
			got = append(got, strings.TrimPrefix(r, " "))
		}
		if s := strings.Join(got, "|"); s != c.want {
			t.Errorf("%q to %q:\n%s\nwant\n%s", c.a, c.b, s, c.want)
		}
	}
}
