package cli

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"treering/store"
	"treering/store/foreign"
	"treering/store/locate"
)

// sessionReport is what was found in a session of another program besides its nodes.
type sessionReport struct {
	id, title string
	foreign.Report
}

// Reports are read of so many sessions, as long as their files hold no more than so
// many bytes together: to know what is wrong with one all of it is read.
const (
	maxReports     = 100
	maxReportBytes = 256 << 20
)

// readReports reads the sessions of another program's store and says how many it left
// out.
func readReports(ctx context.Context, o *locate.Opened) (reports []sessionReport, left int, err error) {
	if o.Foreign == nil {
		return nil, 0, nil
	}
	heads, err := o.Foreign.Heads(ctx)
	if err != nil {
		return nil, 0, err
	}
	size := int64(0)
	for i, h := range heads {
		size += max(h.Size, 0)
		if i > 0 && (i == maxReports || size > maxReportBytes) {
			return reports, len(heads) - i, nil
		}
		r, title, err := o.Foreign.Report(ctx, h.ID)
		if errors.Is(err, store.ErrNotFound) {
			continue // it went away meanwhile
		}
		if err != nil {
			return nil, 0, fmt.Errorf("session %q: %w", h.ID, err)
		}
		reports = append(reports, sessionReport{h.ID, title, r})
	}
	return reports, 0, nil
}

// counters are the report's counters that are not zero, with their names.
func (r sessionReport) counters() []field {
	var out []field
	for _, c := range []struct {
		name string
		n    int64
	}{
		{"records", r.Records}, {"roots", r.Roots}, {"duplicates", r.Duplicates}, {"renamed", r.Renamed}, {"orphans", r.Orphans}, {"cycles", r.Cycles},
		{"chained", r.Chained}, {"unreadable", r.Unreadable}, {"skipped", r.Skipped},
	} {
		if c.n != 0 || c.name == "records" {
			out = append(out, field{c.name, fmt.Sprint(c.n)})
		}
	}
	return out
}

// shownWarnings is how many warnings of a session are shown where nobody asked for
// JSON.
const shownWarnings = 10

func (r sessionReport) fields() []field {
	var counts []string
	for _, c := range r.counters() {
		counts = append(counts, c.name+" "+c.value)
	}
	name := r.id
	if r.title != "" {
		name += " (" + r.title + ")"
	}
	out := []field{{"session", name}, {"found", strings.Join(counts, ", ")}}
	if len(r.Others) > 0 {
		var kinds []string
		for _, k := range slices.Sorted(maps.Keys(r.Others)) {
			kinds = append(kinds, fmt.Sprintf("%s %d", k, r.Others[k]))
		}
		out = append(out, field{"no nodes", strings.Join(kinds, ", ")})
	}
	if t := r.Totals; t.Messages > 0 {
		text := fmt.Sprintf("%d messages, tokens in %d, out %d, cache read %d, written %d", t.Messages, t.Input, t.Output, t.CacheRead, t.CacheWrite)
		if t.Cost != 0 {
			text += fmt.Sprintf(", cost %.4f", t.Cost)
		}
		for _, m := range slices.Sorted(maps.Keys(t.Models)) {
			text += fmt.Sprintf(", %s %d", m, t.Models[m])
		}
		out = append(out, field{"usage", text})
	}
	for i, w := range r.Warnings {
		if i == shownWarnings {
			out = append(out, field{"warning", fmt.Sprintf("and %d more", int64(len(r.Warnings)-i)+r.Dropped)})
			break
		}
		out = append(out, field{"warning", locate.WarningText(w)})
	}
	return out
}

func (r sessionReport) json() store.JSON {
	var l line
	l.text("session_id", r.id)
	putText(&l, "title", r.title)
	for _, c := range []struct {
		key string
		n   int64
	}{
		{"records", r.Records}, {"roots", r.Roots}, {"duplicates", r.Duplicates}, {"renamed", r.Renamed}, {"orphans", r.Orphans}, {"cycles", r.Cycles},
		{"chained", r.Chained}, {"unreadable", r.Unreadable}, {"skipped", r.Skipped},
	} {
		l.integer(c.key, c.n)
	}
	l.json("others", counted(r.Others))
	t := r.Totals
	var totals line
	totals.integer("messages", t.Messages).integer("input", t.Input).integer("output", t.Output).integer("cache_read", t.CacheRead).integer("cache_write", t.CacheWrite)
	if cost, err := store.ValueOf(t.Cost); err == nil {
		totals.json("cost", cost)
	} else {
		totals.null("cost")
	}
	totals.json("models", counted(t.Models))
	l.json("totals", store.JSON(totals.end()))
	var warnings []store.JSON
	for _, w := range r.Warnings {
		var one line
		if w.Place.Line > 0 {
			one.integer("line", w.Place.Line).integer("byte", w.Place.Offset)
		} else {
			putText(&one, "table", w.Table)
			one.integer("row", w.Place.Offset)
		}
		putText(&one, "id", w.ID)
		one.text("text", w.Text)
		warnings = append(warnings, store.JSON(one.end()))
	}
	l.json("warnings", store.ArrayOf(warnings...)).integer("warning_count", int64(len(r.Warnings))+r.Dropped)
	return store.JSON(l.end())
}

// counted is numbers by name, in the order of the names.
func counted(by map[string]int64) store.JSON {
	var l line
	for _, k := range slices.Sorted(maps.Keys(by)) {
		l.integer(k, by[k])
	}
	return store.JSON(l.end())
}
