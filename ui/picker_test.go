package ui

import (
	"strings"
	"testing"
)

// Whole words are above parts of words, the name above what is said of it, and letters
// that are scattered count in the name alone.
func TestWhatIsTypedIsRanked(t *testing.T) {
	items := [][]string{
		{"clear-marks", "no marks", "take both marks away"},
		{"reload", "reload", "read everything on the screen again; a remarkable thing"},
		{"copy-json", "copy value", "copy what is selected as JSON"},
		{"copy", "copy id", "copy the id of what is selected"},
		{"mark-a", "mark A", "mark one end of a comparison"},
		{"compare", "compare", "compare A with B: common ancestor, one pair at a time, yes"},
	}
	for typed, want := range map[string]string{
		"copy":      "copy copy-json",
		"mark":      "mark-a clear-marks reload",
		"MARK a":    "mark-a clear-marks reload",
		"cjson":     "copy-json",
		"id":        "copy",
		"ancestor":  "compare",
		"cpy":       "copy copy-json",
		"value cop": "copy-json",
		"qq":        "",
		" ":         "clear-marks reload copy-json copy mark-a compare",
	} {
		var got []string
		for _, it := range ranked(items, typed, func(it []string) []string { return it }) {
			got = append(got, it[0])
		}
		if s := strings.Join(got, " "); s != want {
			t.Errorf("%q: %s, want %s", typed, s, want)
		}
	}
}
