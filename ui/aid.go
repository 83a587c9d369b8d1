package ui

import (
	tea "charm.land/bubbletea/v2"

	"treering/internal/term"
	"treering/store/query"
)

// aidKey leads to the keys of what is open over the panes, whatever takes text there.
// Where nothing is typed, the key of the help does too.
const aidKey = "f1"

// keyLine is a key of something that is open over the panes, and what it does.
type keyLine struct{ key, text string }

// aided opens the keys of what is open over the panes, where a key asks for them. They
// stand before it, and nothing of it is lost.
func (m *Model) aided(msg tea.KeyPressMsg) bool {
	var title string
	var keys []keyLine
	typed := false // something takes text that a letter would belong to
	switch b := m.typing(); {
	case m.dialog != nil:
		title, keys, typed = "Keys of this question", m.dialog.aid(m), m.dialog.editing()
	case m.overlay != nil:
		title, keys, typed = m.overlay.aid(m)
	case b != nil:
		title, keys, typed = "Filters", b.aid(), !b.input.Empty()
	case m.finding():
		title, keys, typed = "Finding in the detail", findAid(), !m.detail.find.input.Empty()
	default:
		return false
	}
	it, _ := m.lookup(msg.String())
	help := it != nil && it.ID == "help"
	if keys == nil || !(msg.String() == aidKey || help && (msg.Text == "" || !typed)) {
		return false
	}
	o := &overlay{title: term.Lit(title)}
	for _, k := range keys {
		o.lines = append(o.lines, overlayLine{key: m.term.Sanitise(k.key), text: m.term.Sanitise(k.text)})
	}
	m.aid = o
	m.keys.pending = nil
	m.screen.bars()
	return true
}

// closeAid goes back to what the keys were of. A question that was covered is as new:
// a key that was meant for its keys does not answer it.
func (m *Model) closeAid() {
	if m.aid == nil {
		return
	}
	m.aid = nil
	if d := m.dialog; d != nil {
		d.since, d.heard = m.now(), m.now()
	}
	m.screen.bars()
}

// fieldAid are the keys that edit a line.
var fieldAid = [...]keyLine{
	{"left right", "by a character; with alt or ctrl by a word"},
	{"home end", "to the beginning, to the end (ctrl+a, ctrl+e)"},
	{"ctrl+w", "take the word before the cursor away (alt+backspace); alt+d the one behind it"},
	{"ctrl+u ctrl+k", "take everything before the cursor away, everything behind it"},
}

func (d *dialog) aid(*Model) []keyLine {
	scroll := keyLine{"pgup pgdown", "through what does not fit"}
	switch {
	case d.busy:
		return []keyLine{{"esc", "leave; the write goes on by itself"}}
	case d.gone != "":
		return []keyLine{{"esc enter", "close; what it was about is another by now"}, scroll}
	}
	var out []keyLine
	if d.editing() {
		out = append(out, keyLine{"enter", "go on; nothing is written before a question is answered"})
		if len(d.fields) > 1 {
			out = append(out, keyLine{"tab shift+tab", "to the next field, to the one before; tab first completes what is grey"})
		}
		out = append(out, d.extraAid()...)
		out = append(out, keyLine{"esc", "leave, nothing is written"}, scroll)
		return append(out, fieldAid[:]...)
	}
	if d.tells == nil {
		out = append(out, keyLine{d.confirm, d.verb + ": when all of it was on the screen, and " + quiet.String() + " after the last key"})
	}
	if len(d.fields) > 0 && !d.lost {
		out = append(out, keyLine{"tab", "back to the fields"})
	}
	out = append(out, d.extraAid()...)
	leaves := "leave, nothing is written"
	if d.lost || d.tells != nil {
		leaves = "leave"
	}
	return append(out, keyLine{"up down g G", "through what does not fit (also k j space pgup pgdown)"}, keyLine{"esc n q", leaves})
}

// extraAid are the keys of the dialog's own.
func (d *dialog) extraAid() (out []keyLine) {
	for _, h := range d.extra() {
		out = append(out, keyLine{h.keys.String(), h.text.String()})
	}
	return out
}

func (p *picker) aid(*Model) (title string, keys []keyLine, typed bool) {
	title = p.title.String()
	if p.waiting != "" {
		return title, []keyLine{{"esc", "leave it"}}, false
	}
	keys = []keyLine{
		{"a letter", "narrows the list: " + p.prompt},
		{"enter", "do what the chosen row stands for"},
		{"up down", "choose a row (also ctrl+p ctrl+n pgup pgdown, the wheel, a click)"},
		{"esc", "close, and do nothing"},
	}
	// In the list of all keys, a key finds what it does.
	return title, append(keys, fieldAid[:]...), !p.input.Empty() || p.findsKeys
}

func (o *overlay) aid(m *Model) (title string, keys []keyLine, typed bool) {
	return o.title.String(), []keyLine{
		{m.hintKeys([]*intent{m.keys.byID["up"], m.keys.byID["down"]}).String(), "scroll by a line"},
		{m.hintKeys([]*intent{m.keys.byID["page-up"], m.keys.byID["page-down"]}).String() + " space", "by a page"},
		{m.hintKeys([]*intent{m.keys.byID["first"], m.keys.byID["last"]}).String(), "to the beginning, to the end"},
		{"esc", "close; so does any other key, which does nothing else"},
	}, false
}

func (v *compareView) aid(m *Model) (title string, keys []keyLine, typed bool) {
	named := func(ids ...string) string {
		var group []*intent
		for _, id := range ids {
			group = append(group, m.keys.byID[id])
		}
		return m.hintKeys(group).String()
	}
	return "Compare", []keyLine{
		{"n N", "to the next step that differs, to the one before"},
		{"tab", "from the steps to the differences of the data, and back"},
		{"r", "read on, where steps are not read yet"},
		{"a b", "close, and go to A, to B"},
		{named("up", "down"), "by a row"},
		{named("page-up", "page-down"), "by a page"},
		{named("first", "last"), "to the first row, to the last"},
		{named("detail-fold"), "in the data: fold or unfold"},
		{named("detail-inward", "detail-outward"), "in the data: out of what the cursor is in, into it"},
		{named("detail-less", "detail-more"), "in the data: everything by a level"},
		{named("detail-unfold-all"), "in the data: unfold everything, what is unchanged too"},
		{named("detail-wrap"), "in the data: wrap long lines, or cut them"},
		{"esc q", "close"},
		{"= ~ < >", "between the steps: equal, changed, only of A, only of B"},
	}, false
}

// aid are the keys of a filter while it is typed, and what may stand in it.
func (b *filterBar) aid() []keyLine {
	out := []keyLine{
		{"enter", "keep the filter"}, {"esc", "clear it"}, {"tab shift+tab", "through what may stand at the cursor"},
		{"down", "keep it, and go to the first row"},
		{"words", "letters that are found in their order; in quotes as they are"},
		{"a b", "both; also: a or b, not a, (a or b) c"},
		{"field:value", "one of those below; also != ~ and for numbers < <= > >="},
	}
	for _, c := range query.Complete("", 0, b.subject, query.Vocabulary{}) {
		out = append(out, keyLine{c.Text, c.About})
	}
	return append(out, fieldAid[:]...)
}

func findAid() []keyLine {
	return append([]keyLine{
		{"a letter", "looks for the text; capital letters count where there are some"},
		{"enter", "stay there; n and N go to the other matches"},
		{"esc", "back to where it began"},
	}, fieldAid[:]...)
}
