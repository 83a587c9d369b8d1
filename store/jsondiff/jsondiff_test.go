package jsondiff

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"treering/store"
)

func compare(t testing.TB, a, b store.JSON) *Diff {
	t.Helper()
	d, err := Compare(context.Background(), a, b)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// listed are the leaves that are not the same, as a diff prints them.
func listed(d *Diff) []string {
	var out []string
	for n, node := range d.Nodes {
		if node.Op == Same || !d.Leaf(n) && node.Op != Moved {
			continue
		}
		switch {
		case node.Op == Moved:
			out = append(out, fmt.Sprintf("> %s was [%d]", d.Path(n), node.IndexA))
		case d.Lines(n) != nil:
			s := "~ " + d.Path(n)
			for _, l := range d.Lines(n) {
				s += fmt.Sprintf(" %c%s", l.Op, l.Text)
			}
			out = append(out, s)
		default:
			out = append(out, fmt.Sprintf("%c %s %s -> %s", node.Op, d.Path(n), d.ValueA(n), d.ValueB(n)))
		}
	}
	return out
}

func TestCompare(t *testing.T) {
	for _, c := range []struct {
		name, before, after string
		want                []string
	}{
		{"equal", `{"a":1}`, `{ "a" : 1.0 }`, nil},
		{"keys in another order", `{"a":1,"b":2}`, `{"b":2,"a":1}`, nil},
		{"added, changed, removed", `{"a":1,"b":2}`, `{"b":3,"c":"x"}`, []string{`~ b 2 -> 3`, `+ c  -> "x"`, `- a 1 -> `}},
		{"nested", `{"o":{"x":1,"y":[1,2]}}`, `{"o":{"x":1,"y":[1,5,6]}}`, []string{`~ o.y[1] 2 -> 5`, `+ o.y[2]  -> 6`}},
		{"shorter list", `[1,2,3]`, `[1]`, []string{`- [1] 2 -> `, `- [2] 3 -> `}},
		{"put in front", `["b","c"]`, `["a","b","c"]`, []string{`+ [0]  -> "a"`}},
		{"another kind", `{"a":{"b":1}}`, `{"a":[1]}`, []string{`~ a {"b":1} -> [1]`}},
		{"exact numbers", `{"n":10000000000000000000001}`, `{"n":10000000000000000000002}`,
			[]string{`~ n 10000000000000000000001 -> 10000000000000000000002`}},
		{"one number written in four ways", `[1,100,1e400,0.5]`, `[1e0,1.00e2,10e399,5e-1]`, nil},
		{"zeros", `[0,-0,0.0,0e5]`, `[0e9,0,-0.0,0]`, nil},
		{"a number is no string", `["1"]`, `[1]`, []string{`~ [0] "1" -> 1`}},
		{"escapes are no change", `{"\u0061":"\u00e9\/"}`, `{"a":"é/"}`, nil},
		{"half surrogates are told apart", `["\ud800"]`, `["\ud801"]`, []string{`~ [0] "\ud800" -> "\ud801"`}},
		{"odd keys", `{}`, `{"a b":1,"":2,"é":3,"x.y":4}`, []string{`+ ["a b"]  -> 1`, `+ [""]  -> 2`, `+ é  -> 3`, `+ ["x.y"]  -> 4`}},
		{"the last of equal keys counts", `{"a":1}`, `{"a":2,"a":1}`, nil},
		{"NaN", `{"a":NaN}`, `{"a":NaN,"b":Infinity}`, []string{`+ b  -> Infinity`}},
		{"whole values", `1`, `2`, []string{`~  1 -> 2`}},
		{"from nothing", ``, `{"a":1}`, []string{`+   -> {"a":1}`}},
		{"to nothing", `{"a":1}`, ``, []string{`-  {"a":1} -> `}},
		{"not JSON", `{"a":`, `{}`, []string{`~  {"a": -> {}`}},
		{"neither is JSON", "x\ny\n", "x\nz\n", []string{"~   x -y +z"}},
		{"an item moved", `["a","b","c","d"]`, `["d","a","b","c"]`, []string{`> [0] was [3]`}},
		{"two items changed places", `[[1],[2]]`, `[[2],[1]]`, []string{`> [1] was [0]`}},
		{"items by id", `[{"id":1,"v":"a"},{"id":2,"v":"b"}]`, `[{"id":3,"v":"c"},{"id":1,"v":"x"}]`,
			[]string{`+ [0]  -> {"id":3,"v":"c"}`, `~ [1].v "a" -> "x"`, `- [1] {"id":2,"v":"b"} -> `}},
		{"an item moved and changed", `[{"id":1,"v":"a"},{"id":2},{"id":3}]`, `[{"id":2},{"id":3},{"id":1,"v":"x"}]`,
			[]string{`> [2] was [0]`, `~ [2].v "a" -> "x"`}},
		{"a name that repeats is no key", `[{"name":"x","n":1},{"name":"x","n":2}]`, `[{"name":"x","n":1},{"name":"x","n":3}]`,
			[]string{`~ [1].n 2 -> 3`}},
		{"ids by their ending", `[{"parent_id":1,"v":1},{"parent_id":2,"v":2}]`, `[{"parent_id":2,"v":3},{"parent_id":1,"v":1}]`,
			[]string{`> [0] was [1]`, `~ [0].v 2 -> 3`}},
		{"lines", `{"t":"a\nb\nc\n"}`, `{"t":"a\nx\nc"}`, []string{`~ t  a -b -c +x +c`}},
	} {
		t.Run(c.name, func(t *testing.T) {
			a, b := store.JSON(c.before), store.JSON(c.after)
			d := compare(t, a, b)
			if diff := cmp.Diff(c.want, listed(d)); diff != "" {
				t.Error(diff)
			}
			got, err := d.Apply(a)
			if err != nil || !store.Equal(got, b) {
				t.Errorf("applied: %s, %v", got, err)
			}
		})
	}
}

func TestApplyRefusesAnotherValue(t *testing.T) {
	if _, err := compare(t, `1`, `2`).Apply(`3`); !errors.Is(err, ErrOtherValue) {
		t.Error(err)
	}
}

// values draws JSON in which two of them often have something in common.
func values() *rapid.Generator[store.JSON] {
	leaf := rapid.SampledFrom([]store.JSON{
		`0`, `-0`, `1`, `1.0`, `10e-1`, `2`, `12345678901234567890`, `1234567890123456789e1`, `true`, `null`, `NaN`, `-Infinity`, `""`, `"a"`, `"\u0061"`,
		`"a\nb"`, `"a\nc\n"`, `"b\na\nb\n"`, `"\ud800\n"`, `"\ud801\nx"`, `{}`, `[]`,
	})
	var value func(level int) *rapid.Generator[store.JSON]
	value = func(level int) *rapid.Generator[store.JSON] {
		if level == 0 {
			return leaf
		}
		return rapid.Custom(func(t *rapid.T) store.JSON {
			inner := value(level - 1)
			switch rapid.IntRange(0, 3).Draw(t, "kind") {
			case 0:
				return leaf.Draw(t, "leaf")
			case 1:
				return store.ArrayOf(rapid.SliceOfN(inner, 0, 6).Draw(t, "items")...)
			case 2: // items with a key
				var items []store.JSON
				for _, id := range rapid.SliceOfNDistinct(rapid.IntRange(0, 6), 0, 6, rapid.ID[int]).Draw(t, "ids") {
					items = append(items, store.JSON(fmt.Sprintf(`{"id":%d,"v":%s}`, id, inner.Draw(t, "v"))))
				}
				return store.ArrayOf(items...)
			default:
				var b strings.Builder
				for i, k := range rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", `\u0061`, "c d", "id"}), 0, 5).Draw(t, "keys") {
					if i > 0 {
						b.WriteString(",")
					}
					b.WriteString(`"` + k + `":` + string(inner.Draw(t, "member")))
				}
				return store.JSON("{" + b.String() + "}")
			}
		})
	}
	return value(3)
}

func TestADiffLeadsFromOneValueToTheOther(t *testing.T) {
	gen := values()
	rapid.Check(t, func(t *rapid.T) {
		a, b := gen.Draw(t, "a"), gen.Draw(t, "b")
		check(t, a, b)
	})
}

type fataler interface {
	Fatal(...any)
	Fatalf(string, ...any)
}

// check holds a diff against what must be true of any.
func check(t fataler, a, b store.JSON) {
	d, err := Compare(context.Background(), a, b)
	if err != nil {
		t.Fatal(err)
	}
	if d.Empty() != store.Equal(a, b) {
		t.Fatalf("%s and %s: empty %v", a, b, d.Empty())
	}
	got, err := d.Apply(a)
	if err != nil {
		t.Fatal(err)
	}
	if !store.Equal(got, b) {
		t.Fatalf("%s made %s, want %s: %q", a, got, b, listed(d))
	}
	back, err := Compare(context.Background(), b, a)
	if err != nil {
		t.Fatal(err)
	}
	want := d.Counts
	want.Added, want.Removed = want.Removed, want.Added
	if back.Counts != want {
		t.Fatalf("%s to %s: %+v, back %+v\n%q\n%q", a, b, d.Counts, back.Counts, listed(d), listed(back))
	}
	var counts Counts
	for n, node := range d.Nodes {
		if int(node.Next) <= n || int(node.Next) > len(d.Nodes) || n > 0 && (node.Up < 0 || int(node.Up) >= n) {
			t.Fatalf("node %d: %+v", n, node)
		}
		if d.Leaf(n) || node.Op == Moved {
			switch node.Op {
			case Same:
				counts.Same++
			case Added:
				counts.Added++
			case Removed:
				counts.Removed++
			case Changed:
				counts.Changed++
			case Moved:
				counts.Moved++
			}
		}
	}
	if counts != d.Counts {
		t.Fatalf("%+v counted, %+v found", d.Counts, counts)
	}
	if self, err := Compare(context.Background(), a, store.Compact(a)); err != nil || !self.Empty() {
		t.Fatalf("%s is not itself", a)
	}
}

func FuzzCompare(f *testing.F) {
	f.Add(`{"a":[1,2,{"id":"x"}]}`, `{"a":[{"id":"x"},2]}`)
	f.Add(`"a\nb"`, `"a\nc"`)
	f.Add(`[1,1,2]`, `[2,1,1]`)
	f.Fuzz(func(t *testing.T, a, b string) {
		x, errA := store.ParseJSON(a)
		y, errB := store.ParseJSON(b)
		if errA != nil || errB != nil {
			if _, err := Compare(context.Background(), store.JSON(a), store.JSON(b)); err != nil {
				t.Fatal(err)
			}
			return
		}
		check(t, x, y)
	})
}

func TestDeepValues(t *testing.T) {
	deep := func(n int, leaf string) store.JSON {
		return store.JSON(strings.Repeat("[", n) + leaf + strings.Repeat("]", n))
	}
	d := compare(t, deep(12_000, "1"), deep(12_000, "2"))
	if last := len(d.Nodes) - 1; last != 12_000 || d.Nodes[last].Op != Changed || len(d.Path(last)) != 12_000*len("[0]") || d.Coarse != 0 {
		t.Errorf("%d nodes of a value 12,000 levels deep, %d coarse", len(d.Nodes), d.Coarse)
	}
	if testing.Short() {
		return
	}
	a, b := deep(8<<20, ""), deep(8<<20, "0")
	d = compare(t, a, b)
	if d.Counts != (Counts{Changed: 1}) || d.Coarse != 1 {
		t.Errorf("%+v, %d coarse", d.Counts, d.Coarse)
	}
	if got, err := d.Apply(a); err != nil || got != b {
		t.Errorf("applied: %d bytes, %v", len(got), err)
	}
}

// What is no JSON is text, however much of it there is.
func TestOpenBrackets(t *testing.T) {
	size := 16 << 20
	if testing.Short() {
		size = 1 << 20
	}
	a := store.JSON(strings.Repeat("[", size))
	if d := compare(t, a, a+"["); d.Counts != (Counts{Changed: 1}) || len(d.Nodes) != 1 {
		t.Errorf("%+v", d.Counts)
	}
}

func TestListsWithoutMuchInCommon(t *testing.T) {
	var a, b []store.JSON
	for i := range 20_000 {
		a = append(a, store.JSON(fmt.Sprint(i%7)))
		b = append(b, store.JSON(fmt.Sprint(i%5+7*(i%3))))
	}
	x, y := store.ArrayOf(a...), store.ArrayOf(b...)
	d := compare(t, x, y)
	if d.Coarse != 1 {
		t.Errorf("%d coarse", d.Coarse)
	}
	if got, err := d.Apply(x); err != nil || !store.Equal(got, y) {
		t.Errorf("applied wrong, %v", err)
	}
}

func TestACancelledComparisonSaysSo(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	a, b := large(1), large(2)
	if _, err := Compare(ctx, a, b); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// large is about a megabyte as agents write it: records with an id, texts,
// numbers and short lists, of which some differ from variant to variant.
func large(variant int) store.JSON {
	var b strings.Builder
	b.WriteString(`{"version":` + fmt.Sprint(variant) + `,"items":[`)
	for i := range 4500 {
		if i > 0 {
			b.WriteByte(',')
		}
		n := i
		if i%50 == 0 {
			n += variant
		}
		fmt.Fprintf(&b, `{"id":"rec-%06d","title":"python3 tools/port.py --module %d","score":%d.25,"tags":["a","b",%d],"meta":{"at":17000%05d,"ok":true,"note":null},"log":"line one\nline %d\nline three\n"}`, i, n, n, n%13, i, n)
	}
	b.WriteString(`],"lines":[`)
	for i := range 5000 {
		if i > 0 {
			b.WriteByte(',')
		}
		n := i
		if i%70 == 0 {
			n = i * variant
		}
		fmt.Fprintf(&b, `"output line %d"`, n)
	}
	b.WriteString(`]}`)
	return store.JSON(b.String())
}

func BenchmarkCompareAMegabyte(b *testing.B) {
	x, y := large(1), large(2)
	b.SetBytes(int64(len(x) + len(y)))
	b.ReportAllocs()
	for b.Loop() {
		if d := compare(b, x, y); d.Counts.Changed == 0 {
			b.Fatal("nothing changed")
		}
	}
}
