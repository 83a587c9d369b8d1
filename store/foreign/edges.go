package foreign

import (
	"bytes"

	"treering/store"
)

// edges is what can be told of a record that is too long to be loaded: the members of
// its object that are whole in what its line begins and ends with, as an object. Ids and
// links stand there; what makes it long is between.
func edges(begin, end []byte) store.JSON {
	var members []store.Member
	known := map[string]bool{}
	add := func(j store.JSON) {
		for key, v := range j.Members() {
			if !known[key] {
				known[key] = true
				members = append(members, store.Member{Key: key, Value: v})
			}
		}
	}
	add(endMembers(end))
	add(beginMembers(begin))
	return store.ObjectOf(members...)
}

// beginMembers are the whole members that the text of an object begins with.
func beginMembers(text []byte) store.JSON {
	text, _ = Clean(text, false)
	depth, quoted, last := 0, false, 0
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{' || c == '[':
			depth++
		case c == '}' || c == ']':
			depth--
		case c == ',' && depth == 1:
			last = i
		}
	}
	return object(text[:last], "}")
}

// endMembers are the whole members that the text of an object ends with: the longest
// part behind a comma that with a brace before it is an object.
func endMembers(text []byte) store.JSON {
	text, _ = Clean(text, false)
	for at := bytes.Index(text, []byte(`,"`)); at >= 0; {
		if j := object([]byte("{"), string(text[at+1:])); j != "" {
			return j
		}
		next := bytes.Index(text[at+1:], []byte(`,"`))
		if next < 0 {
			break
		}
		at += 1 + next
	}
	return ""
}

// object is two parts as one object, "" where they are none.
func object(a []byte, b string) store.JSON {
	if j, err := store.ParseJSON(string(a) + b); err == nil && j.Kind() == store.Object {
		return j
	}
	return ""
}
