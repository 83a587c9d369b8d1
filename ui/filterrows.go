package ui

import (
	"unicode/utf8"

	"treering/internal/term"
	"treering/store/query"
	"treering/treeview"
	"treering/ui/paint"
)

// lines are the filter while there is one, what is wrong with it, and while it is
// typed what could stand at the cursor; at most h. note is what came of it.
func (b *filterBar) lines(m *Model, w, h int, note term.Text) []string {
	if b.input == nil && b.query == nil || h < 1 {
		return nil
	}
	l := paint.NewLine(w, "").Put(m.theme.Key, term.Lit("/"))
	if b.input == nil {
		room := w - 1
		if !note.Empty() && note.Width()+8 <= room {
			room -= note.Width() + 2
		} else {
			note = term.Text{}
		}
		l.Put(m.theme.Info, m.term.SanitiseN(b.query.Text(), w).Truncate(room, "…"))
		if !note.Empty() {
			l.To(w-note.Width()-1).Put(m.theme.Dim, note)
		}
		return []string{l.String()}
	}
	shown, cursor := b.input.As(m.term).View(w - 1)
	out := []string{l.Plain(shown).String()}
	switch {
	case b.mistake != nil && (b.asked || !b.mistake.Unfinished):
		out = append(out, b.wrong(m, w, cursor)...)
	case len(b.offers.list) > 0:
		out = append(out, b.offered(m, w))
	case !note.Empty():
		out = append(out, paint.NewLine(w, "").Gap(1).Put(m.theme.Dim, note).String())
	}
	// A row of the list stays in sight.
	return out[:max(min(len(out), h-1), 1)]
}

// wrong says what the mistake is, below a caret where it is.
func (b *filterBar) wrong(m *Model, w, cursor int) []string {
	text := b.input.Text()
	at := m.term.Sanitise(text[:min(b.mistake.At, len(text))]).Width()
	// The field may show a part only; cursor is where its cursor is in that.
	at += cursor - m.term.Sanitise(text[:b.input.Cursor()]).Width()
	message := m.term.Sanitise(b.mistake.Message)
	if b.mistake.Hint != "" {
		message = message.Plus(term.Lit("; "), m.term.Sanitise(b.mistake.Hint))
	}
	caret := paint.NewLine(w, "").To(min(max(at, 0), w-2)+1).Put(m.theme.Error, term.Lit("^"))
	if caret.Left() >= message.Width()+2 {
		return []string{caret.Gap(1).Put(m.theme.Warn, message).String()}
	}
	return append([]string{caret.String()}, paragraph(w, m.theme.Warn, message)...)
}

// offered are the completions, the one in the field marked.
func (b *filterBar) offered(m *Model, w int) string {
	l := paint.NewLine(w, "").Put(m.theme.Key, term.Lit("tab")).Gap(1)
	from := 0
	if b.offers.taking {
		from = b.offers.at
	}
	for i := range b.offers.list {
		c := b.offers.list[(from+i)%len(b.offers.list)]
		text := m.term.SanitiseN(c.Text, 30)
		if l.Left() < text.Width()+3 && i > 0 {
			break
		}
		style := m.theme.Dim
		if i == 0 && b.offers.taking {
			style = m.theme.Bold
		}
		l.Put(style, text)
		if i == 0 && c.About != "" && l.Left() > 40 {
			l.Gap(1).Put(m.theme.Dim, term.Lit("(").Plus(m.term.SanitiseN(c.About, 40), term.Lit(")")))
		}
		l.Gap(2)
	}
	return l.String()
}

// putFound puts a text with what a matcher's words found in it standing out. Where cells
// are no characters it is left plain.
func putFound(l *paint.Line, match *query.Matcher, mark paint.Style, t term.Text) {
	var places []int
	if match != nil && t.Width() == utf8.RuneCountInString(t.String()) {
		places = match.Highlight(t.String(), nil)
	}
	from := 0
	for i := 0; i < len(places); {
		at, end := places[i], places[i]+1
		for i++; i < len(places) && places[i] == end; i++ {
			end++
		}
		l.Plain(t.Cut(from, at)).Put(mark, t.Cut(at, end))
		from = end
	}
	l.Plain(t.Cut(from, t.Width()))
}

// sifted says how much a filter found in how much, and how many rows have no time
// where that would have decided.
func sifted(shown, looked, noTime int) term.Text {
	text := treeview.Grouped(int64(shown)) + " of " + treeview.Grouped(int64(looked))
	switch noTime {
	case 0:
	case 1:
		text += " (1 has no time)"
	default:
		text += " (" + treeview.Grouped(int64(noTime)) + " have no time)"
	}
	return term.Lit(text)
}
