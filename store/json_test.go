package store_test

import (
	"cmp"
	"strings"
	"testing"

	"treering/store"
)

func TestParseJSON(t *testing.T) {
	for _, tc := range []struct {
		in      string
		lax     string // "" refuses
		strict  bool
		comment string
	}{
		{` {"a":1} `, `{"a":1}`, true, "white space around goes"},
		{`{"a":NaN,"b":-Infinity,"c":Infinity}`, `{"a":NaN,"b":-Infinity,"c":Infinity}`, false, "Python's tokens"},
		{`{"a":1,"a":2}`, `{"a":1,"a":2}`, false, "a repeated key"},
		{`{"a":{"b":1,"b":1}}`, `{"a":{"b":1,"b":1}}`, false, "a repeated key below"},
		{`"\ud800"`, `"\ud800"`, true, "a half surrogate stays"},
		{``, ``, false, "nothing"}, {`{`, ``, false, "cut"}, {`[1,]`, ``, false, "trailing comma"},
		{`{"a" 1}`, ``, false, "no colon"}, {`01`, ``, false, "leading zero"}, {`1.`, ``, false, "no fraction"},
		{`1e`, ``, false, "no exponent"}, {`-`, ``, false, "sign alone"}, {`nul`, ``, false, "cut word"},
		{"\"a\nb\"", ``, false, "raw control"}, {`"\x"`, ``, false, "unknown escape"}, {`"\u12g4"`, ``, false, "bad hex"},
		{"\"\xff\"", ``, false, "invalid UTF-8"}, {`{} {}`, ``, false, "two values"}, {`[1 2]`, ``, false, "no comma"},
		{`-NaN`, ``, false, "no such token"}, {`{"a":1]`, ``, false, "crossed"}, {`'a'`, ``, false, "single quotes"},
	} {
		got, err := store.ParseJSON(tc.in)
		if (err == nil) != (tc.lax != "") || string(got) != tc.lax {
			t.Errorf("%s: ParseJSON(%q) = %q, %v", tc.comment, tc.in, got, err)
		}
		if _, err := store.ParseStrictJSON(tc.in); (err == nil) != tc.strict {
			t.Errorf("%s: ParseStrictJSON(%q): %v", tc.comment, tc.in, err)
		}
	}
}

func TestDepthCostsNothing(t *testing.T) {
	const depth = 1_000_000
	deep := strings.Repeat("[", depth) + strings.Repeat("]", depth)
	j, err := store.ParseJSON(deep)
	if err != nil {
		t.Fatal(err)
	}
	if !store.Equal(j, store.JSON(" "+deep)) {
		t.Error("a deep value does not equal itself")
	}
	if got, _ := store.Strict(j); string(got) != deep {
		t.Error("Strict changed a deep value")
	}
}

func TestEqualByValue(t *testing.T) {
	for _, tc := range []struct {
		a, b store.JSON
		want bool
	}{
		{`{"a":1,"b":[1,2]}`, `{ "b" : [1, 2], "a": 1.0 }`, true},
		{`1`, `10e-1`, true}, {`100`, `1E2`, true}, {`-0`, `0.0`, true}, {`1`, `true`, false},
		{`9007199254740993`, `9007199254740992`, false}, {`0.1`, `0.1000000000000000055511151231257827`, false},
		{`1e400`, `10e399`, true}, {`1e999999999999999999999`, `10e999999999999999999998`, true}, {`1`, `-1`, false},
		{`1e999999999999999999999`, `10e999999999999999999999`, false}, {`1e-1000000000000000000000`, `0.1e-999999999999999999999`, true},
		{`10e-1000000000000000000001`, `1e-1000000000000000000000`, true}, {`100e9999999999999999999`, `1e10000000000000000000001`, false}, {`100e9999999999999999999`, `1e10000000000000000000001`, false},
		{`100e9999999999999999999`, `1e0010000000000000000001`, true}, {`"\u0041"`, `"A"`, true}, {`"\ud83d\ude00"`, `"😀"`, true}, {`"\ud800"`, `"\ufffd"`, false}, {`"\ud800"`, `"\uD800"`, true},
		{`{"a":1,"a":2}`, `{"a":2}`, true}, {`{"a":1}`, `{"a":1,"b":null}`, false}, {`[1,2]`, `[2,1]`, false},
		{`[]`, `{}`, false}, {`null`, `null`, true}, {`NaN`, `NaN`, true}, {`NaN`, `null`, false}, {`[[1],[2]]`, `[[1],[2],[3]]`, false},
		{`{"\u0061":1}`, `{"a":1}`, true}, {`"1"`, `1`, false}, {`broken`, `broken`, true}, {`broken`, `1`, false},
	} {
		if got := store.Equal(tc.a, tc.b); got != tc.want {
			t.Errorf("Equal(%s, %s) = %v", tc.a, tc.b, got)
		}
		if got := store.Equal(tc.b, tc.a); got != tc.want {
			t.Errorf("Equal(%s, %s) = %v", tc.b, tc.a, got)
		}
	}
}

func TestStrictAndIndent(t *testing.T) {
	got, nonFinite := store.Strict("{\"r\": NaN, \"s\":\"a\u202eb\u009b\x7f\", \"e\": [ ], \"o\":{}, \"l\":[-Infinity , 1e400]}")
	want := `{"r":"NaN","s":"a\u202eb\u009b\u007f","e":[],"o":{},"l":["-Infinity",1e400]}`
	if string(got) != want || !nonFinite {
		t.Errorf("Strict = %s, %v; want %s", got, nonFinite, want)
	}
	var b strings.Builder
	if _, err := store.Indent(&b, `{"a":[1,{"b":2}],"c":{}}`, 40, 0); err != nil {
		t.Fatal(err)
	}
	if want := "{\n  \"a\": [\n    1,\n    {\n      \"b\": 2\n    }\n  ],\n  \"c\": {}\n}"; b.String() != want {
		t.Errorf("Indent = %s", b.String())
	}
	b.Reset()
	if cut, err := store.Indent(&b, `[1,2,3,4,5,6]`, 40, 3); err != nil || !cut || strings.Count(b.String(), "\n") > 3 {
		t.Errorf("Indent bounded = %q, %v, %v", b.String(), cut, err)
	}
}

func TestReaders(t *testing.T) {
	j := store.JSON(`{"a":{"b":"x\ny"},"n":[1, "two" ,null],"a2":3.0}`)
	if got, _ := j.At("a", "b").Text(); got != "x\ny" {
		t.Errorf("At = %q", got)
	}
	var els []string
	for e := range j.Get("n").Elements() {
		els = append(els, string(e))
	}
	if strings.Join(els, "|") != `1|"two"|null` {
		t.Errorf("Elements = %q", els)
	}
	for text, want := range map[store.JSON]int64{"3.0": 3, "30e-1": 3, "-1e3": -1000, "0.0": 0, "-0e5": 0, "9223372036854775807": 9223372036854775807} {
		if n, ok := text.Int64(); !ok || n != want {
			t.Errorf("Int64(%s) = %d, %v", text, n, ok)
		}
	}
	for _, text := range []store.JSON{"3.5", "1e19", "9223372036854775808", `"3"`, "NaN", "1e999999999999"} {
		if n, ok := text.Int64(); ok {
			t.Errorf("Int64(%s) = %d", text, n)
		}
	}
	if got := store.Quote("a\"\\\n\x01<é\xff"); got != `"a\"\\\n\u0001<é�"` {
		t.Errorf("Quote = %s", got)
	}
}

func TestExecutionKeepsWhatItDoesNotKnow(t *testing.T) {
	const blob = `{"zeta":1.50,"id":"x","status":"RUNNING","outcome":"\ud800","version":3,"processed_events":3.0,"context":{"n":NaN,"big":12345678901234567890123},"later":[null],"children":null}`
	e, err := store.DecodeExecutionRow("x", "d", 3, blob)
	if err != nil {
		t.Fatal(err)
	}
	e.Status = store.Suspended
	got, err := e.Encode(4)
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"zeta":1.50,"id":"x","status":"SUSPENDED","outcome":"\ud800","version":4,"processed_events":3.0,"context":{"n":NaN,"big":12345678901234567890123},"later":[null],"children":{}}`
	if got != want {
		t.Errorf("encoded\n%s\nwant\n%s", got, want)
	}
	fresh, err := (&store.Execution{ID: "x", DefinitionID: "d", Status: store.Pending}).Encode(1)
	if err != nil {
		t.Fatal(err)
	}
	const harel = `{"id":"x","definition_id":"d","definition_fqn":null,"root_path":"","status":"PENDING","outcome":null,"error":null,"active_path":null,"history":{},"context":{},"processed_events":0,"version":1,"priority":0,"parent_id":null,"child_id":null,"deferred":[],"children":{},"invoke_seq":{}}`
	if fresh != harel {
		t.Errorf("fresh\n%s\nwant\n%s", fresh, harel)
	}
}

func TestCursor(t *testing.T) {
	c := store.EncodeCursor("s", "a", "", "b\x00c")
	key, err := store.DecodeCursor("s", c)
	if err != nil || strings.Join(key, "|") != "a||b\x00c" {
		t.Fatalf("key %q, %v", key, err)
	}
	for _, bad := range []string{"", c[:len(c)-1], c + "A", "Mg==", strings.Repeat("A", 1<<20), strings.ToUpper(c)} {
		if _, err := store.DecodeCursor("s", bad); err != store.ErrBadCursor {
			t.Errorf("DecodeCursor(%.20q) = %v", bad, err)
		}
	}
	if _, err := store.DecodeCursor("other", c); err != store.ErrBadCursor {
		t.Errorf("a foreign cursor: %v", err)
	}
}

func TestFormatFireAt(t *testing.T) {
	for f, want := range map[float64]string{1784730012.5: "1784730012.5", 1e15: "1000000000000000.0", 1e16: "1e+16", 1e-5: "1e-05", 0.0001: "0.0001", 0: "0.0", -1.5: "-1.5", 1.79e18: "1.79e+18"} {
		if got := store.FormatFireAt(f); got != want {
			t.Errorf("FormatFireAt(%v) = %s, want %s", f, got, want)
		}
	}
}

func FuzzJSON(f *testing.F) {
	for _, s := range []string{`{"a":[1,2,{"b":null}],"c":"\ud83d"}`, `[NaN,-Infinity]`, `{"a":1,"a":2}`, "\"\u202e\"", `-0.0e-10`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		j, err := store.ParseJSON(s)
		if err != nil {
			return
		}
		c := store.Compact(j)
		if !store.Equal(j, c) {
			t.Errorf("Compact(%q) = %q is another value", j, c)
		}
		strict, non := store.Strict(j)
		if _, err := store.ParseJSON(string(strict)); err != nil {
			t.Errorf("Strict(%q) = %q: %v", j, strict, err)
		}
		if !non && !store.Equal(j, strict) {
			t.Errorf("Strict(%q) = %q is another value", j, strict)
		}
	})
}

func TestCompareNumbers(t *testing.T) {
	// Ascending; those on one line are equal.
	order := [][]store.JSON{
		{"-1e1000000000000000000000"}, {"-1e400"}, {"-12345678901234567890.11"}, {"-12345678901234567890.10", "-12345678901234567890.1"}, {"-10", "-1e1", "-10.0"},
		{"-9.99"}, {"-1e-400"}, {"0", "-0", "0.000", "0e99999999999999999999"}, {"1e-1000000000000000000000"}, {"1e-400"}, {"0.1", "1e-1", "0.10"}, {"0.12"},
		{"0.123", " 123e-3 "}, {"1"}, {"9"}, {"10", "1e1"}, {"11"}, {"9007199254740993"}, {"9007199254740993.5"}, {"12345678901234567890"}, {"1e400", "10e399"},
		{"1.5e400"}, {"1e1000000000000000000000"}, {"1e1000000000000000000001", "10e1000000000000000000000"},
	}
	for i, row := range order {
		for j, other := range order {
			for _, a := range row {
				for _, b := range other {
					if got, want := store.CompareNumbers(a, b), cmp.Compare(i, j); got != want {
						t.Errorf("CompareNumbers(%s, %s) = %d, want %d", a, b, got, want)
					}
				}
			}
		}
	}
}
