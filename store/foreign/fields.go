package foreign

import (
	"strings"

	"treering/store"
)

// Fields are the members of one object, found in one pass over its text: a scanner
// looks at many of them.
type Fields struct{ list []store.Member }

// Of takes the members of another object.
func (f *Fields) Of(j store.JSON) {
	f.list = f.list[:0]
	for key, v := range j.Members() {
		f.list = append(f.list, store.Member{Key: key, Value: v})
	}
}

// Get returns a member, the last of its name, or "".
func (f *Fields) Get(key string) store.JSON {
	for i := len(f.list) - 1; i >= 0; i-- {
		if f.list[i].Key == key {
			return f.list[i].Value
		}
	}
	return ""
}

// Text is a member that is a string, or "". It is part of the object's text, or a copy.
func (f *Fields) Text(key string) string {
	s, _ := f.Get(key).Text()
	return s
}

// Kept is Text for what is kept: a copy, so that it does not keep the line.
func (f *Fields) Kept(key string) string { return strings.Clone(f.Text(key)) }
