package sqlite

import (
	"fmt"
	"strconv"
	"strings"

	"treering/store"
)

// AmbiguousSetError: the database has several execution sets and none can be
// preferred. Their Rows are counted.
type AmbiguousSetError struct {
	Sets []Set
}

func (e *AmbiguousSetError) Error() string {
	return "several sets of execution tables: " + listSets(e.Sets) + "; choose one with --prefix"
}

// UnknownPrefixError: the database has no execution set with the prefix asked for.
// It matches [store.ErrNotFound].
type UnknownPrefixError struct {
	Prefix string
	Sets   []Set // that there are
}

func (e *UnknownPrefixError) Error() string {
	s := fmt.Sprintf("no execution tables with prefix %q", e.Prefix)
	if e.Prefix == "" {
		s = "no execution tables without a prefix"
	}
	if len(e.Sets) == 0 {
		return s + ", nor with any other"
	}
	return s + "; there are " + listSets(e.Sets)
}

// Unwrap returns [store.ErrNotFound].
func (e *UnknownPrefixError) Unwrap() error { return store.ErrNotFound }

// listSets names sets in one line: "harel" (81 executions), no prefix (empty).
func listSets(sets []Set) string {
	var parts []string
	for _, s := range sets {
		name, rows := strconv.Quote(s.Prefix), "empty"
		if s.Prefix == "" {
			name = "no prefix"
		}
		switch {
		case s.Rows == 1:
			rows = "1 execution"
		case s.Rows > 1:
			rows = strconv.FormatInt(s.Rows, 10) + " executions"
		case s.HasRows:
			rows = "with executions"
		}
		parts = append(parts, name+" ("+rows+")")
	}
	return strings.Join(parts, ", ")
}

// PickSet chooses an execution set. With a prefix it is that one; one trailing
// underscore of it is ignored, and empty means the names without a prefix. Without
// one (nil) it is the only set, or of several the only one with rows, with a note
// that says so. Otherwise the error is an *[AmbiguousSetError], or an
// *[UnknownPrefixError] where there is no such set or none at all.
func PickSet(l Layout, prefix *string) (set Set, note string, err error) {
	if prefix != nil {
		for _, name := range []string{*prefix, strings.TrimSuffix(*prefix, "_")} {
			for _, s := range l.Sets {
				if fold(s.Prefix) == fold(name) {
					return s, "", nil
				}
			}
		}
		return Set{}, "", &UnknownPrefixError{*prefix, l.Sets}
	}
	switch len(l.Sets) {
	case 0:
		return Set{}, "", &UnknownPrefixError{DefaultPrefix, nil}
	case 1:
		return l.Sets[0], "", nil
	}
	var full []Set
	for _, s := range l.Sets {
		if s.HasRows {
			full = append(full, s)
		}
	}
	if len(full) != 1 {
		return Set{}, "", &AmbiguousSetError{l.Sets}
	}
	return full[0], "of several sets of execution tables the one with rows is shown: " + listSets(l.Sets), nil
}
