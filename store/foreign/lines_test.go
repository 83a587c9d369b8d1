package foreign

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"treering/store"
)

func linesOf(t testing.TB, text string, from Position) (out []string, at Position) {
	t.Helper()
	at, err := ReadLines(context.Background(), strings.NewReader(text), 0, from, func(l Line) error {
		s := fmt.Sprintf("%d@%d+%d %s", l.Place.Line, l.Place.Offset, l.Place.Length, l.Text)
		if l.Mended {
			s += " mended"
		}
		out = append(out, s)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out, at
}

func TestReadLines(t *testing.T) {
	for _, c := range []struct {
		name, text string
		want       []string
		at         Position
	}{
		{"empty", "", nil, Position{}},
		{"whole lines", "a\nbc\n", []string{"1@0+1 a", "2@2+2 bc"}, Position{Offset: 5, Line: 2}},
		{"carriage returns", "a\r\nb\r\n", []string{"1@0+2 a", "2@3+2 b"}, Position{Offset: 6, Line: 2}},
		{"half a line is held back", "a\n{\"b\":", []string{"1@0+1 a"}, Position{Offset: 2, Line: 1}},
		{"a value needs no end", "a\n{\"b\":1}", []string{"1@0+1 a", `2@2+7 {"b":1}`}, Position{Offset: 9, Line: 2, Open: true}},
		{"a byte order mark", "\ufeffa\n\ufeffb\n", []string{"1@0+4 a", "2@5+4 \ufeffb"}, Position{Offset: 10, Line: 2}},
		{"other separators are characters", "a\u2028b\u0085c\n", []string{"1@0+8 a\u2028b\u0085c"}, Position{Offset: 9, Line: 1}},
		{"NULs around a line", "\x00\x00a\x00\n\x00\x00\n", []string{"1@0+4 a", "2@5+2 "}, Position{Offset: 8, Line: 2}},
		{"no UTF-8", "a\xffb\n", []string{"1@0+3 a\ufffdb mended"}, Position{Offset: 4, Line: 1}},
		{"empty lines", "\n\na\n", []string{"1@0+0 ", "2@1+0 ", "3@2+1 a"}, Position{Offset: 4, Line: 3}},
	} {
		got, at := linesOf(t, c.text, Position{})
		if diff := cmp.Diff(c.want, got); diff != "" || at != c.at {
			t.Errorf("%s: %s\nat %+v, want %+v", c.name, diff, at, c.at)
		}
	}
}

// However a file grows, every line is seen once, whole, with its own number and place.
func TestAGrowingFile(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var whole bytes.Buffer
		var want []string
		for i := range rapid.IntRange(0, 8).Draw(t, "lines") {
			text := fmt.Sprintf(`{"n":%d,"text":%q}`, i, strings.Repeat("x", rapid.SampledFrom([]int{0, 1, 7, 300_000}).Draw(t, "long")))
			want = append(want, fmt.Sprintf("%d@%d+%d %s", i+1, whole.Len(), len(text), text))
			whole.WriteString(text + "\n")
		}
		var got []string
		at := Position{}
		for end := 0; end < whole.Len(); {
			end = min(end+rapid.IntRange(1, whole.Len()).Draw(t, "grows by"), whole.Len())
			var err error
			at, err = ReadLines(context.Background(), bytes.NewReader(whole.Bytes()[:end]), 0, at, func(l Line) error {
				got = append(got, fmt.Sprintf("%d@%d+%d %s", l.Place.Line, l.Place.Offset, l.Place.Length, l.Text))
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatal(diff[:min(len(diff), 2000)])
		}
	})
}

func TestALineThatIsTooLong(t *testing.T) {
	text := "a\nbegins " + strings.Repeat("x", MaxLine+chunk+3-12) + " ends\nb\n"
	type line struct {
		Place Place
		Text  string
	}
	var got []line
	_, err := ReadLines(context.Background(), strings.NewReader(text), 0, Position{}, func(l Line) error {
		if len(l.Text) > 10 || l.Text == nil && l.Place.Length < 10 {
			t.Errorf("%d bytes of text for %d", len(l.Text), l.Place.Length)
		}
		got = append(got, line{l.Place, string(l.Text)})
		if l.TooLong && (string(l.Begin[:7]) != "begins " || string(l.End[len(l.End)-5:]) != " ends" || len(l.Begin) != edgeBytes || len(l.End) != edgeBytes) {
			t.Errorf("it begins %.9q and ends %q", l.Begin, l.End[len(l.End)-9:])
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	long := int64(MaxLine + chunk + 3)
	want := []line{{Place{Offset: 0, Length: 1, Line: 1}, "a"}, {Place{Offset: 2, Length: long, Line: 2}, ""}, {Place{Offset: long + 3, Length: 1, Line: 3}, "b"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestObjects(t *testing.T) {
	record := func(j store.JSON) bool { return !j.Get("id").IsNull() }
	for _, c := range []struct {
		text    string
		want    []string
		damaged bool
	}{
		{``, nil, false},
		{`{"id":1}`, []string{`0+8 {"id":1}`}, false},
		{`{"no":1}`, []string{`0+8 {"no":1}`}, false},
		{`[1,2,3]`, nil, true},
		{`"text"`, nil, true},
		{`not json`, nil, true},
		{`{"id":1}{"id":2}`, []string{`0+8 {"id":1}`, `8+8 {"id":2}`}, true},
		{`{"id":"a{"id":"b"}`, []string{`8+10 {"id":"b"}`}, true},
		{`{"id":1}{"id":2,"x`, []string{`0+8 {"id":1}`}, true},
		{`{"id":1,"in":{"inner":1},"torn`, nil, true},
		{`{"id":"}{\"","x":[{"id":9}]} tail`, []string{`0+28 {"id":"}{\"","x":[{"id":9}]}`}, true},
	} {
		found, damaged := Objects(c.text, record)
		var got []string
		for _, o := range found {
			got = append(got, fmt.Sprintf("%d+%d %s", o.Offset, o.Length, o.JSON))
		}
		if diff := cmp.Diff(c.want, got); diff != "" || damaged != c.damaged {
			t.Errorf("%s: %s damaged %t", c.text, diff, damaged)
		}
	}
}

func FuzzObjects(f *testing.F) {
	f.Add([]byte(`{"id":1}{"id":2}`))
	f.Add([]byte(`{"id":"a{"id":"b"}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		clean, _ := Clean(text, true)
		found, _ := Objects(string(clean), func(store.JSON) bool { return true })
		at := 0
		for _, o := range found {
			if o.Offset < at || string(clean[o.Offset:o.Offset+o.Length]) != string(o.JSON) || o.JSON.Kind() != store.Object {
				t.Fatalf("%+v in %q", o, clean)
			}
			at = o.Offset + o.Length
		}
	})
}

// However many records a line was run together of, and whatever stands before them,
// each is found; and no line takes longer than its length.
func TestManyObjects(t *testing.T) {
	record := func(j store.JSON) bool { return !j.Get("id").IsNull() }
	many := strings.Repeat(`{"id":1,"in":{"a":[{"b":1}]}}`, 5000)
	torn := `{"id":0,"text":"` + strings.Repeat(`{"x":"y","in":{"z":`, 40_000)
	for _, c := range []struct {
		name, text string
		want       int
	}{
		{"many", many, 5000},
		{"a list of them", "[" + strings.Join(slices.Repeat([]string{`{"id":1}`}, 3000), ", ") + "]", 3000},
		{"behind one that is torn", torn + many, 5000},
		{"torn alone", torn, 0},
		{"brackets", strings.Repeat(`{"[`, 1<<20), 0},
		{"quotes", strings.Repeat(`{""`, 1<<20), 0},
	} {
		found, damaged := Objects(c.text, record)
		if len(found) != c.want || !damaged {
			t.Errorf("%s: %d records, damaged %t", c.name, len(found), damaged)
		}
		for i, o := range found {
			if c.text[o.Offset:o.Offset+o.Length] != string(o.JSON) || i > 0 && o.Offset < found[i-1].Offset+found[i-1].Length {
				t.Fatalf("%s: object %d at %d+%d", c.name, i, o.Offset, o.Length)
			}
		}
	}
}

// Of a record that is too long to be loaded its id and its links are told, wherever they
// stand.
func TestEdges(t *testing.T) {
	for _, c := range []struct{ begin, end, want string }{
		{`{"id":"a","parentId":null,"message":{"content":"xxx`, `xxx"}}`, `{"id":"a","parentId":null}`},
		{`{"parentUuid":"p","message":{"content":"x,\"y\":1`, `x"}],"usage":{"n":1}},"uuid":"u","x":[{"a":1}]}`, `{"uuid":"u","x":[{"a":1}],"parentUuid":"p"}`},
		{`{"id":"a","data":"x`, `x","id":"b"}`, `{"id":"b"}`},
		{`xxxx`, `xxxx`, `{}`},
		{``, ``, `{}`},
		{`{"a":1`, `,"b":2`, `{}`},
	} {
		if got := edges([]byte(c.begin), []byte(c.end)); string(got) != c.want {
			t.Errorf("%s … %s: %s", c.begin, c.end, got)
		}
	}
}
