package foreign

import (
	"slices"
	"strings"

	"treering/store"
)

// Object is a JSON object found in a line.
type Object struct {
	Offset, Length int // within the line's text
	JSON           store.JSON
}

// searchPerByte bounds the search for records in a damaged line: looked at are so many
// times its bytes, and never less than minSearch.
const (
	searchPerByte = 16
	minSearch     = 1 << 20
)

// Objects finds the records in a line: the line itself where it is one object, and
// else, in one that was torn or run together with others, every object in it that
// accept takes for a record; in a list, those of its elements. damaged says that there
// is something in the line besides, or a list around it. A line that is no object at
// all yields nothing.
func Objects(text string, accept func(store.JSON) bool) (found []Object, damaged bool) {
	if len(text) == 0 {
		return nil, false
	}
	if j, err := store.ParseJSON(text); err == nil {
		switch j.Kind() {
		case store.Object:
			return []Object{{0, len(text), j}}, false
		case store.Array:
		default:
			return nil, true
		}
	}
	s := search{text: text, accept: accept, budget: max(searchPerByte*len(text), minSearch)}
	at := s.forwards()
	// Where a start has no end every later one costs as much again. What a line ends with
	// is found from there.
	return append(s.found, s.backwards(at)...), true
}

// search looks for records in a damaged line.
type search struct {
	text   string
	accept func(store.JSON) bool
	budget int // bytes that may still be looked at
	found  []Object
}

// forwards returns how far the budget went.
func (s *search) forwards() (at int) {
	for s.budget > 0 {
		i := strings.Index(s.text[at:], `{"`)
		if i < 0 {
			return len(s.text)
		}
		at += i
		o, ok := s.object(at)
		if !ok {
			at++
			continue
		}
		s.found = append(s.found, o)
		at += o.Length
	}
	return at
}

// backwards finds the records that follow each other up to the end, none of which
// begins before from.
func (s *search) backwards(from int) (found []Object) {
	s.budget = max(searchPerByte*len(s.text), minSearch)
	end := len(s.text)
	for at := end; s.budget > 0 && at > from; {
		i := strings.LastIndex(s.text[from:at], `{"`)
		if i < 0 {
			break
		}
		at = from + i
		if o, ok := s.object(at); ok && strings.Trim(s.text[at+o.Length:end], ", ]\t\r\x00") == "" {
			found = append(found, o)
			end = at
		}
	}
	slices.Reverse(found)
	return found
}

// object is the record that begins at an offset.
func (s *search) object(at int) (o Object, ok bool) {
	n, ended := objectLength(s.text[at:])
	s.budget -= n
	if !ended {
		return o, false
	}
	j, err := store.ParseJSON(s.text[at : at+n])
	if s.budget -= n; err != nil || !s.accept(j) {
		return o, false
	}
	return Object{at, n, j}, true
}

// objectLength is how long the object is that text begins with, braces and quotes
// alone considered, or how far it was looked for its end.
func objectLength(text string) (n int, ended bool) {
	depth, quoted := 0, false
	for i := 0; i < len(text); i++ {
		c := text[i]
		switch {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{' || c == '[':
			depth++
		case c == '}' || c == ']':
			if depth--; depth == 0 {
				return i + 1, true
			}
		}
	}
	return len(text), false
}
