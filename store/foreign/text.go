package foreign

import (
	"strings"
	"time"
	"unicode"

	"treering/store"
)

// Title makes a title of a text: its first line that is not blank, white space
// collapsed, at most [MaxTitle] code points. It is not sanitised: what shows it does
// that.
func Title(s string) string {
	var b strings.Builder
	n, blank := 0, false
	for _, r := range s {
		switch {
		case r == '\n' && b.Len() > 0:
			return b.String()
		case unicode.IsSpace(r):
			blank = b.Len() > 0
			continue
		}
		if blank {
			b.WriteByte(' ')
			n++
			blank = false
		}
		if n >= MaxTitle {
			break
		}
		b.WriteRune(r)
		n++
	}
	return b.String()
}

// TextAt is the string at a path in a record, "" where there is none. It is a copy: what
// a scanner keeps of a line must not keep the line.
func TextAt(j store.JSON, path ...string) string {
	s, _ := j.At(path...).Text()
	return strings.Clone(s)
}

// Fallback is the title of what has none.
func Fallback(kind, id string) string {
	if r := []rune(id); len(r) > 8 {
		id = string(r[:8])
	}
	return strings.TrimSpace(kind + " " + id)
}

// Content is what was said: a string, or the texts among blocks.
func Content(j store.JSON) string {
	if s, ok := j.Text(); ok {
		return s
	}
	var parts []string
	for b := range j.Elements() {
		if s, ok := b.Text(); ok {
			parts = append(parts, s)
			continue
		}
		if kind, _ := b.Get("type").Text(); kind != "text" {
			continue
		}
		if s, ok := b.Get("text").Text(); ok {
			parts = append(parts, s)
		}
	}
	return strings.Join(parts, "\n")
}

// Time reads a time: a text as RFC 3339 has it, or seconds or milliseconds since 1970.
// 0 is none.
func Time(j store.JSON) float64 {
	if s, ok := j.Text(); ok {
		for _, layout := range []string{time.RFC3339Nano, "2006-01-02T15:04:05", "2006-01-02 15:04:05"} {
			if t, err := time.Parse(layout, s); err == nil {
				return float64(t.UnixMilli()) / 1000
			}
		}
		return 0
	}
	n, ok := j.Float64()
	switch {
	case !ok || n != n || n < 0 || n > 1e14:
		return 0
	case n > 1e11:
		return n / 1000
	}
	return n
}
