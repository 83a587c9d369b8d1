package postgres

import (
	"slices"
	"strconv"
	"strings"
	"unicode"

	"treering/store"
)

// plainHead matches a blob that begins as harel writes it, as far as the execution's
// own status: then it has one, and is not PENDING for want of it.
const plainHead = `^\{"id":"[^"\\]*","definition_id":"[^"\\]*",("definition_fqn":(null|"[^"\\]*"),)?("root_path":"[^"\\]*",)?"status":"`

// sieveOf is a condition that every row meets that the filter selects, "" where none is
// worth having, and its parameters. It looks for words in the text and parses nothing:
// a row that is no JSON passes or not, and hurts nobody.
func sieveOf(f store.ExecutionFilter) (sieve string, args []any) {
	var all []string
	param := func(v any) string {
		args = append(args, v)
		return "$" + strconv.Itoa(len(args))
	}
	if f.DefinitionID != nil {
		if !sayable(*f.DefinitionID) {
			return "false", nil
		}
		all = append(all, "definition_id = "+param(*f.DefinitionID))
	}
	if f.Status != nil {
		// A word that is written with escapes may be any.
		any := []string{`strpos(data, '\u') > 0`}
		for _, w := range f.Status {
			for _, spelling := range spellings(string(w)) {
				any = append(any, `strpos(lower(data COLLATE "C"), `+param(spelling)+`) > 0`)
			}
			if w.Is(store.Pending) {
				any = append(any, "data !~ '"+plainHead+"'")
			}
		}
		all = append(all, "("+strings.Join(any, " OR ")+")")
	}
	if f.ParentID != nil {
		if !sayable(*f.ParentID) {
			all = append(all, `strpos(data, '\') > 0`)
		} else {
			all = append(all, `(strpos(data, `+param(*f.ParentID)+`) > 0 OR strpos(data, '\') > 0)`)
		}
	}
	return strings.Join(all, " AND "), args
}

// spellings are the texts, in lower case as far as ASCII goes, of which one stands in
// every blob whose status is the word without regard to case: a letter may have others
// beyond ASCII that are the same.
func spellings(word string) []string {
	if !sayable(word) {
		return nil
	}
	if string(store.Quote(word)) != `"`+word+`"` {
		return []string{""} // it is written with escapes, in one way or another
	}
	out := []string{`"`}
	for _, r := range word {
		var next []string
		for f := r; ; {
			form := f
			if form <= unicode.MaxASCII {
				form = unicode.ToLower(form)
			}
			for _, head := range out {
				if next = append(next, head+string(form)); len(next) > 64 {
					return []string{""} // which stands in every text
				}
			}
			if f = unicode.SimpleFold(f); f == r {
				break
			}
		}
		slices.Sort(next)
		out = slices.Compact(next)
	}
	for i := range out {
		out[i] += `"`
	}
	return out
}
