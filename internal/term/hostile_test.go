package term

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"treering/internal/testfiles"
)

// TestHostileText puts every string of the file, keys and values alike,
// through the sanitiser.
func TestHostileText(t *testing.T) {
	var all []string
	for line := range bytes.Lines(testfiles.Read(t, "hostile-text.jsonl")) {
		var v any
		if err := json.Unmarshal(line, &v); err != nil {
			t.Fatal(err)
		}
		all = append(all, stringsOf(v)...)
	}
	if len(all) < 300 {
		t.Fatalf("only %d strings in the file", len(all))
	}
	byName := map[string]string{}
	for _, s := range all {
		if name, rest, ok := strings.Cut(s, ": "); ok {
			byName[name] = rest
		}
		for _, rule := range []Rule{Wcwidth, Grapheme} {
			p := Profile{Rule: rule}
			if wrong := check(p.Sanitise(s), rule); wrong != "" {
				t.Errorf("%v: %+q: %s", rule, s, wrong)
			}
			for w := range 12 {
				if got := p.SanitiseN(s, w).Fit(w, "…"); got.Width() != w || check(got, rule) != "" {
					t.Errorf("%v: %+q in %d cells is %+q, %d wide", rule, s, w, got, got.Width())
				}
			}
			for _, l := range p.Lines(s) {
				if wrong := check(l, rule); wrong != "" {
					t.Errorf("%v: line %+q of %+q: %s", rule, l, s, wrong)
				}
			}
		}
	}
	for name, want := range map[string]string{
		"csi_clear":     "before ␛[2J␛[H after: the screen must not be cleared",
		"osc0_title":    "title ␛]0;OWNED␇ set",
		"c1_utf8":       "eight bit: «U+009D»0;OWNED«U+009C» «U+009B»2J end",
		"cr":            "visible text␍FAKE",
		"rlo":           "invoice«U+202E»fdp.exe",
		"arabic_hebrew": "مرحبا שלום",
		"tags":          "flag 🏴«tag gbsct»",
		"spaces":        "   ",
	} {
		if got := Sanitise(byName[name]).String(); got != want {
			t.Errorf("%s is shown as %+q, want %+q", name, got, want)
		}
	}
}

// stringsOf returns every string in the JSON value v, keys included.
func stringsOf(v any) []string {
	switch v := v.(type) {
	case string:
		return []string{v}
	case []any:
		var all []string
		for _, e := range v {
			all = append(all, stringsOf(e)...)
		}
		return all
	case map[string]any:
		var all []string
		for k, e := range v {
			all = append(append(all, k), stringsOf(e)...)
		}
		return all
	}
	return nil
}
