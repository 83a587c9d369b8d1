package store_test

import (
	"testing"

	"pgregory.net/rapid"

	"treering/store"
)

func TestWith(t *testing.T) {
	for _, tc := range []struct {
		in    store.JSON
		key   string
		value store.JSON
		want  store.JSON
	}{
		{`{}`, "a", `1`, `{"a":1}`},
		{` { } `, "a", `1`, ` {"a":1 } `},
		{`{"a":1}`, "a", `{"b":[2]}`, `{"a":{"b":[2]}}`},
		{`{"a":1,"b":2,"c":3}`, "b", `"x"`, `{"a":1,"b":"x","c":3}`},
		{`{"a":{"b":1}}`, "b", `2`, `{"a":{"b":1},"b":2}`},
		{`{ "a" : 1 , "b" : 2 }`, "c", `3`, `{ "a" : 1 , "b" : 2,"c":3 }`},
		{`{ "a" : 1 }`, "a", `2`, `{ "a" : 2 }`},
		{`{"a":1,"a":2}`, "a", `3`, `{"a":1,"a":3}`},
		{`{"\u0061":1}`, "a", `2`, `{"\u0061":2}`},
		{`{}`, `say "a"`, `null`, `{"say \"a\"":null}`},
		{`{"a":1}`, "a", ``, `{"a":1}`},
		{`[1]`, "a", `1`, `[1]`},
		{``, "a", `1`, ``},
	} {
		if got := tc.in.With(tc.key, tc.value); got != tc.want {
			t.Errorf("%q with %q = %s is %s, want %s", tc.in, tc.key, tc.value, got, tc.want)
		}
	}
}

func TestWithAgainstAModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		keys := rapid.SampledFrom([]string{"a", "b", "\"", "ü", "\n", "long enough to be more than eight", ""})
		value := rapid.SampledFrom([]store.JSON{`1`, `"x"`, `{}`, `{"a":{"b":["a"]}}`, `[[],{}]`, `-Infinity`, `"\u0061"`})
		obj := store.EmptyObject
		var model []store.Member
		for range rapid.IntRange(0, 12).Draw(t, "members") {
			m := store.Member{Key: keys.Draw(t, "key"), Value: value.Draw(t, "value")}
			before := obj
			obj = obj.With(m.Key, m.Value)
			if kept := store.ObjectOf(model...); before != kept {
				t.Fatalf("%s became %s", kept, before)
			}
			found := false
			for i := range model {
				if model[i].Key == m.Key {
					model[i].Value, found = m.Value, true
				}
			}
			if !found {
				model = append(model, m)
			}
		}
		if want := store.ObjectOf(model...); obj != want {
			t.Fatalf("%s, want %s", obj, want)
		}
	})
}
