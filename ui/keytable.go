package ui

import (
	settings "treering/ui/config"
)

// KeyRow is one thing that a user can want, for lists of keys outside of the
// explorer.
type KeyRow struct {
	ID    string
	Keys  []string // in force; none where it is bound to nothing
	Usual []string // without any settings
	Panes []string // where it applies; nil: everywhere
	Text  string   // what it does
	Write bool     // it changes the store
}

// KeyTable lists every intent, with the keys that settings give it.
func KeyTable(c settings.Config) []KeyRow {
	k := bind(intents(), c.Keys)
	out := make([]KeyRow, len(k.table))
	for i, it := range k.table {
		out[i] = KeyRow{ID: it.ID, Keys: chordTexts(k.bound.Keys(it.ID)), Usual: it.Keys, Text: it.Long, Write: it.Write}
		for _, p := range it.Panes {
			out[i].Panes = append(out[i].Panes, paneNames[p])
		}
	}
	return out
}

// KeyProblems are what is wrong with the keys of settings, with their places in
// the file.
func KeyProblems(c settings.Config) []settings.Problem {
	var out []settings.Problem
	for _, p := range bind(intents(), c.Keys).problems {
		sp := settings.Problem{Path: c.Path, Key: "keys." + p.ID, Text: p.Text}
		if c.Found {
			sp.Line, sp.Column = settings.At(c.Path, sp.Key)
			if sp.Line == 0 && p.Rival != "" { // it lost a usual key to one that the file names
				sp.Key = "keys." + p.Rival
				sp.Line, sp.Column = settings.At(c.Path, sp.Key)
			}
		}
		out = append(out, sp)
	}
	return out
}
