package foreign

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// The elements of a list are found whatever they are and however the document is laid
// out, each with its place, and none before it is whole; reading on after more was
// written finds the rest.
func TestElements(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		element := rapid.SampledFrom([]string{
			`{"id":1}`, `{ "a": [1, {"b": "]}"}],` + "\n" + ` "c": "\"\\" }`, `{}`, `[1,[2]]`, `"te,xt"`, `-1.5e3`, `null`, `true`, `{"long":"` + strings.Repeat("x", chunk+7) + `"}`,
		})
		blank := rapid.SampledFrom([]string{"", " ", "\n", "\r\n\t"})
		elements := rapid.SliceOfN(element, 1, 8).Draw(t, "elements")
		var b strings.Builder
		b.WriteString(rapid.SampledFrom([]string{"[", `{"v": "[{", "x": [1], "nodes": [`}).Draw(t, "document"))
		from := Position{Offset: int64(b.Len())}
		ends := make([]int, len(elements))
		for i, e := range elements {
			if i > 0 {
				b.WriteString(",")
			}
			b.WriteString(blank.Draw(t, "before") + e)
			ends[i] = b.Len()
			b.WriteString(blank.Draw(t, "after"))
		}
		b.WriteString("]")
		text := b.String()
		cut := rapid.IntRange(int(from.Offset), len(text)).Draw(t, "cut")
		var got []string
		read := func(at Position, upto int) Position {
			at, err := readElements(context.Background(), strings.NewReader(text[:upto]), 0, at, func(l Line) error {
				if place := text[l.Place.Offset:][:l.Place.Length]; place != string(l.Text) || l.Place.Line != 1+int64(strings.Count(text[from.Offset:l.Place.Offset], "\n")) {
					t.Fatalf("%.40q at %+v is %.40q", l.Text, l.Place, place)
				}
				got = append(got, string(l.Text))
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
			return at
		}
		at := read(from, cut)
		if whole := len(got); whole > 0 && ends[whole-1] > cut || whole < len(ends) && ends[whole] < cut {
			t.Fatalf("%d elements in %d bytes, they end at %d", whole, cut, ends)
		}
		if !at.Open {
			at = read(at, len(text))
		}
		if diff := cmp.Diff(elements, got); diff != "" || !at.Open {
			t.Fatalf("%t %s", at.Open, diff)
		}
	})
}

func TestListIn(t *testing.T) {
	for text, want := range map[string]int64{
		`[{`: 1, " \n[ {": 3, `{"a":[{"b":1}]`: 6, `{"a":{"b":[{}]},"c":[{`: 21, `{"a":"[{","b":[{`: 15, `[[{`: 0, `[1,{`: 0, `{"a":1}`: 0, `"[{"`: 0, `x[{`: 0, ``: 0, `{"a":[1,2],"b":[{`: 16,
	} {
		if got, _ := listIn([]byte(text)); got != want {
			t.Errorf("%s: %d", text, got)
		}
	}
	for text, want := range map[string]bool{`[{"a":1}]`: true, "[{\"a\":1}]\n": true, "[{\"a\":1}]\n{\"b\":2}\n": false, `[{"a":1},`: true, `{"a":[{`: false} {
		if _, alone := listIn([]byte(text)); alone != want {
			t.Errorf("%s: alone %t", text, alone)
		}
	}
}
