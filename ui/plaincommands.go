package ui

import (
	"slices"
	"strconv"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"treering/ui/field"
	"treering/ui/layout"
)

// maxTimes is how often one line may do a thing.
const maxTimes = 10_000

// screenOnly are the intents that only make sense on a screen.
var screenOnly = []string{"zoom", "wider", "narrower", "taller", "shorter", "even", "mouse"}

// ownCommands are what a plain run has besides the intents.
const ownCommands = `where: what is selected, again
list: the rows around it; list 10: so many
read: the whole detail of it
filter TEXT: narrow the navigator; filter alone: all again
goto ID: to a session, an execution or a node of this session
commands: the name of every command
NAME 5: a command five times; keys count too, as j or ctrl+d
esc: out of a question or a text; tab, shift+tab: to another of several texts; enter, or an empty line: as it is
quit, or the end of the input: leave`

// line does what one line of the input says.
func (p *plainRun) line(l typedLine) {
	m := p.e.m
	text := strings.TrimRight(l.text, "\r")
	word, rest, _ := strings.Cut(strings.TrimSpace(text), " ")
	rest = strings.TrimSpace(rest)
	if d := m.dialog; d != nil {
		if p.asks && l.at.Sub(d.since) < grace {
			p.say("that was typed before the question was asked; nothing was done")
			return
		}
		d.since, d.heard = time.Time{}, time.Time{} // a line is no key that slipped
	}
	switch {
	case m.cursor() != nil:
		p.fill(text)
	case m.dialog != nil:
		p.press(answerKey(m.dialog, word))
	case m.overlay != nil:
		p.press(word)
	case m.telling() && rest == "" && (word == "" || word == "enter" || word == "next"):
		p.do(m.turnPage)
	case word == "":
		p.again()
	default:
		p.command(word, rest, text)
	}
}

// answerKey is the key that an answer to a dialog stands for.
func answerKey(d *dialog, word string) string {
	switch strings.ToLower(word) {
	case "yes":
		return d.confirm
	case "no", "leave", "cancel":
		return "esc"
	}
	return word
}

// fill puts a line into what is being typed, and goes on.
func (p *plainRun) fill(text string) {
	switch key := strings.TrimSpace(text); key {
	case "esc", "tab", "shift+tab":
		p.press(key)
		return
	case "enter":
		text = ""
	}
	if text != "" { // an empty line keeps what is there
		p.clear()
		p.hand(tea.PasteMsg{Content: text})
	}
	p.then = append(p.then, "enter") // once what the text sets going is done
}

// clear empties what is being typed.
func (p *plainRun) clear() {
	if d := p.e.m.dialog; d != nil && d.editing() {
		switch in := d.fields[d.at].input.(type) {
		case *field.Field:
			in.Set("")
			return
		case *field.Area:
			in.Set("")
			return
		}
	}
	p.press("ctrl+e", "ctrl+u")
}

// press presses keys by their names.
func (p *plainRun) press(names ...string) {
	for _, name := range names {
		if msg, ok := keyPress(name); ok {
			p.hand(msg)
		} else {
			p.say(name + " is no key")
		}
	}
}

// again describes what is selected once more.
func (p *plainRun) again() { p.surface, p.lines = nil, nil }

// command does what is named: an own command, an intent, or what keys are bound to.
func (p *plainRun) command(word, rest, text string) {
	m := p.e.m
	m.fade()
	switch word {
	case "where":
		p.again()
		return
	case "list":
		p.list(rest)
		return
	case "read":
		p.readOut()
		return
	case "commands", "palette", ":":
		if rest == "" || word == "commands" {
			p.commands()
			return
		}
		p.command(rest, "", rest)
		return
	case "help", "?":
		p.help()
		return
	case "filter":
		p.do(func() tea.Cmd { return tea.Batch(m.focusOn(layout.Navigator), m.filterBy(rest)) })
		return
	case "goto":
		if rest != "" {
			p.do(func() tea.Cmd { return m.goTo(rest) })
			return
		}
	case "exit":
		word = "quit"
	}
	times := 1
	if n, err := strconv.Atoi(rest); err == nil && n > 0 {
		times, rest = min(n, maxTimes), ""
	}
	it := m.keys.byID[word]
	if it == nil || rest != "" {
		it, _ = m.lookup(strings.Fields(strings.TrimSpace(text))...)
	}
	if it == nil && rest == "" {
		it, _ = m.lookup(word)
	}
	switch {
	case it == nil:
		p.say("there is no command or key " + strconv.Quote(strings.TrimSpace(text)) + "; commands lists them, help explains")
		return
	case slices.Contains(screenOnly, it.ID):
		p.say(it.ID + ": that is for a screen, and here is none")
		return
	}
	for range times {
		p.do(func() tea.Cmd { return m.invoke(it) })
	}
	if o, ok := m.overlay.(*overlay); ok { // a text is written at once, and needs no closing
		p.write(o, boxed(o.box(m, plainWidth/2, 1<<16)))
		m.closeOverlay()
		p.surface, p.lines = p.describe()
	}
}

// do applies an act as Update does an answer.
func (p *plainRun) do(act func() tea.Cmd) {
	p.hand(answerFunc(func(*Model) tea.Cmd { return act() }))
}

// list writes rows of the focused pane, n of them around the selected one.
func (p *plainRun) list(n string) {
	rows := p.rows()
	if at, count := p.selected(rows), 0; at >= 0 {
		if c, err := strconv.Atoi(n); err == nil && c > 0 {
			count = c
			from := max(min(at-count/2, len(rows)-count), 0)
			rows = rows[from:min(from+count, len(rows))]
		}
	}
	for i, row := range rows {
		if i == p.selected(rows) {
			p.say("selected: " + p.row(row))
		} else if lines := spoken([]string{row}); len(lines) > 0 {
			p.say(lines[0])
		}
	}
}

// readOut writes all of the detail.
func (p *plainRun) readOut() {
	for _, line := range spoken(p.e.m.panes[layout.Detail].draw(p.e.m, plainWidth, 1<<20, false)) {
		p.say(line)
	}
}

// commands writes the names of all intents.
func (p *plainRun) commands() {
	var names []string
	for i := range p.e.m.keys.table {
		if id := p.e.m.keys.table[i].ID; !slices.Contains(screenOnly, id) {
			names = append(names, id)
		}
	}
	p.say(strings.Join(names, " "))
}

// help writes what every command does, and which cannot be used now.
func (p *plainRun) help() {
	if p.e.m.telling() {
		p.say("enter, next, or an empty line: the next scene of the story")
	}
	for line := range strings.SplitSeq(ownCommands, "\n") {
		p.say(line)
	}
	m := p.e.m
	for i := range m.keys.table {
		it := &m.keys.table[i]
		if slices.Contains(screenOnly, it.ID) {
			continue
		}
		line := it.ID + ": " + it.Long
		if keys := m.keysOf(it); len(keys) > 0 {
			line += "; key " + string(keys[0])
		}
		if !it.appliesIn(m.focus) {
			line += "; for the " + m.paneList(it.Panes)
		} else if why := it.disabled(m); why != "" {
			line += "; not now: " + why
		}
		p.say(line)
	}
}

// keyPress is the press of a key by its name, as Bubble Tea names it.
func keyPress(name string) (tea.KeyPressMsg, bool) {
	codes := map[string]rune{
		"up": tea.KeyUp, "down": tea.KeyDown, "left": tea.KeyLeft, "right": tea.KeyRight, "enter": tea.KeyEnter, "esc": tea.KeyEscape,
		"tab": tea.KeyTab, "pgup": tea.KeyPgUp, "pgdown": tea.KeyPgDown, "home": tea.KeyHome, "end": tea.KeyEnd, "space": tea.KeySpace,
		"backspace": tea.KeyBackspace, "delete": tea.KeyDelete,
	}
	var msg tea.KeyPressMsg
	rest := name
	for {
		mod, after, ok := strings.Cut(rest, "+")
		bit, known := map[string]tea.KeyMod{"ctrl": tea.ModCtrl, "shift": tea.ModShift, "alt": tea.ModAlt}[mod]
		if !ok || !known || after == "" {
			break
		}
		msg.Mod, rest = msg.Mod|bit, after
	}
	if code, ok := codes[rest]; ok {
		msg.Code = code
		if rest == "space" && msg.Mod == 0 {
			msg.Text = " "
		}
		return msg, true
	}
	r := []rune(rest)
	if len(r) != 1 {
		return msg, false
	}
	msg.Code = r[0]
	if msg.Mod == 0 {
		msg.Text = rest
	}
	return msg, true
}
