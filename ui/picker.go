package ui

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	tea "charm.land/bubbletea/v2"

	"treering/internal/term"
	"treering/store/query"
	"treering/treeview"
	"treering/ui/field"
	"treering/ui/paint"
)

// picker is a list over the panes: typing narrows it, enter chooses.
type picker struct {
	title  term.Text
	prompt string // what to type, while nothing is
	empty  string // said where nothing is found
	input  *field.Field
	// list makes the rows for what is typed. It is asked again when anything on the
	// screen changed.
	list func(m *Model, typed string) []pick
	// waiting says what it waits for; it takes no keys but esc then. leave is called
	// when it closes without a choice.
	waiting string
	leave   func(m *Model)
	// findsKeys says that a key that is typed is looked for, the help's own too.
	findsKeys bool
	gone      map[string]bool // of the stores listed, those that are not there any more

	picks  []pick
	listed struct {
		typed string
		rev   int
		done  bool
	}
	at    string // id of the row that enter chooses
	top   int    // first line in the window
	drawn []int  // index of the pick on every line of the window
	shown int
	caret int // column of the cursor; -1 where it is not shown
}

// pick is a row of a picker.
type pick struct {
	id              string // "" for a heading, which cannot be chosen
	key, text, note term.Text
	tail            term.Text // at the right end
	style           paint.Style
	run             func(m *Model) tea.Cmd
}

// maxTyped bounds what is typed, in bytes: an id may be long.
const maxTyped = 4096

// pickFrom opens a picker with something typed already.
func (m *Model) pickFrom(p *picker, typed string) {
	p.input = field.New(typed, maxTyped)
	m.overlay, m.aid = p, nil
	m.keys.pending = nil
	m.screen.bars()
}

// refill brings the rows up to date and the choice back to its row, or to the
// first.
func (p *picker) refill(m *Model) {
	typed := p.input.Text()
	if p.listed.done && p.listed.typed == typed && p.listed.rev == m.screen.barRev {
		return
	}
	if typed != p.listed.typed {
		p.at, p.top = "", 0
	}
	p.picks = p.list(m, typed)
	p.listed.typed, p.listed.rev, p.listed.done = typed, m.screen.barRev, true
	if p.index() < 0 {
		p.at = ""
		p.move(1)
	}
}

// stale has the rows made again.
func (p *picker) stale() { p.listed.done = false }

// index is the row of the choice, -1 where there is none.
func (p *picker) index() int {
	return slices.IndexFunc(p.picks, func(r pick) bool { return r.id != "" && r.id == p.at })
}

// move moves the choice by rows that can be chosen, as far as there are any.
func (p *picker) move(by int) {
	i := p.index()
	step := 1
	if by < 0 {
		step, by = -1, -by
	}
	for n := i + step; n >= 0 && n < len(p.picks) && by > 0; n += step {
		if p.picks[n].id != "" {
			p.at = p.picks[n].id
			by--
		}
	}
}

func (p *picker) key(m *Model, msg tea.KeyPressMsg) tea.Cmd {
	name := msg.String()
	if p.waiting != "" && name != "esc" {
		return nil
	}
	p.refill(m)
	page := max(p.shown-1, 1)
	switch name {
	case "esc":
		m.closeOverlay()
		if p.leave != nil {
			p.leave(m)
		}
	case "enter":
		if i := p.index(); i >= 0 {
			m.closeOverlay()
			return p.picks[i].run(m)
		}
	case "up", "ctrl+p":
		p.move(-1)
	case "down", "ctrl+n":
		p.move(1)
	case "pgup":
		p.move(-page)
	case "pgdown":
		p.move(page)
	default:
		if p.input.Key(name) || msg.Text != "" && p.input.Insert(msg.Text) {
			p.refill(m)
		}
	}
	return nil
}

// first is the row that is chosen at the start.
func (p *picker) first() int {
	return slices.IndexFunc(p.picks, func(r pick) bool { return r.id != "" })
}

func (p *picker) paste(m *Model, text string) tea.Cmd {
	switch {
	case p.waiting != "":
	case p.input.Insert(text):
		p.refill(m)
	default:
		m.refused(treeview.Grouped(int64(len(text))) + " bytes are too many to look for; nothing was taken")
	}
	return nil
}

func (p *picker) wheel(m *Model, rows int) {
	p.refill(m)
	p.move(rows)
}

// click chooses a row. Only enter does what it stands for.
func (p *picker) click(_ *Model, _, y int) {
	if line := y - 2; line >= 0 && line < len(p.drawn) && p.waiting == "" && p.picks[p.drawn[line]].id != "" {
		p.at = p.picks[p.drawn[line]].id
	}
}

func (p *picker) hints(*Model) []hint {
	if p.waiting != "" {
		return []hint{{term.Lit("esc"), term.Lit("leave it")}}
	}
	return []hint{{term.Lit("enter"), term.Lit("do it")}, {term.Lit("esc"), term.Lit("close")}, {term.Lit("type"), term.Lit("to find")}}
}

func (p *picker) cursor() (x, y int, ok bool) { return 2 + p.caret, 1, p.waiting == "" }

func (p *picker) box(m *Model, w, h int) []string {
	p.refill(m)
	inner := w - 4
	keyWidth := 0
	for _, r := range p.picks {
		keyWidth = max(keyWidth, r.key.Width())
	}
	keyWidth = min(keyWidth, max(inner/3, 8))
	var rows []string
	var of []int
	from, to := 0, 0
	for i, r := range p.picks {
		drawn := r.draw(m, inner, keyWidth, r.id != "" && r.id == p.at)
		if r.id != "" && r.id == p.at {
			from, to = len(rows), len(rows)+len(drawn)
		}
		rows = append(rows, drawn...)
		for range drawn {
			of = append(of, i)
		}
	}
	p.shown = max(h-3, 1)
	if p.index() == p.first() {
		p.top = 0 // with the heading above it
	}
	// Of one that is higher than the window, what names it is shown.
	p.top = min(max(min(p.top, from), to-p.shown), from)
	p.top = max(min(p.top, len(rows)-p.shown), 0)
	end := min(p.top+p.shown, len(rows))
	p.drawn = of[p.top:end]
	head := paint.NewLine(inner, "")
	shown, caret := p.input.As(m.term).View(inner - 2)
	p.caret = caret + 2
	head.Put(m.theme.Key, m.theme.Mark).Gap(1)
	switch {
	case p.waiting != "":
		head.Put(m.theme.Info, m.term.Sanitise(p.waiting))
	case p.input.Empty():
		head.Put(m.theme.Dim, term.Lit(p.prompt))
	default:
		head.Plain(shown)
	}
	out := append([]string{head.String()}, rows[p.top:end]...)
	if len(rows) == 0 && p.waiting == "" {
		for _, line := range lines(term.Lit(p.empty), inner) {
			out = append(out, paint.NewLine(inner, "").Put(m.theme.Dim, line).String())
		}
	}
	foot := term.Lit("esc closes")
	if len(rows) > p.shown {
		foot = term.Lit(strconv.Itoa(p.top+1) + "-" + strconv.Itoa(end) + " of " + strconv.Itoa(len(rows)) + ", esc closes")
	}
	return frame(m, w, p.title, foot, out[:min(len(out), max(h-2, 1))])
}

// draw returns the row's lines. The chosen one has a mark, since colours may be
// off.
func (r pick) draw(m *Model, inner, keyWidth int, chosen bool) []string {
	if r.id == "" {
		return []string{paint.NewLine(inner, "").Put(r.style, r.text).String()}
	}
	base, mark := paint.Style(""), m.theme.NoMark
	if chosen {
		base, mark = m.theme.Selected, m.theme.Mark
	}
	room := max(inner-keyWidth-3-1, 8)
	text, tail := lines(r.text, room), r.tail
	if !tail.Empty() && text[0].Width()+2+tail.Width() > room {
		if tail.Width() > room/3 {
			text, tail = append(text, tail.Truncate(room, "…")), term.Text{}
		} else {
			text = lines(r.text, max(room-tail.Width()-2, 8))
		}
	}
	notes := 0
	if !r.note.Empty() {
		if n := lines(r.note, room); len(text) > 1 || text[0].Width()+2+r.note.Width()+tail.Width()+2 > room {
			notes, text = len(n), append(text, n...)
		}
	}
	var out []string
	for i, part := range text {
		l := paint.NewLine(inner, base)
		if i == 0 {
			l.Plain(mark).Put(m.theme.Key, r.key.Truncate(keyWidth, "…"))
		}
		style := r.style
		if i >= len(text)-notes {
			style = m.theme.Warn
		}
		l.To(keyWidth+3).Put(style, part)
		if i == 0 && notes == 0 && !r.note.Empty() {
			l.Gap(2).Put(m.theme.Warn, r.note)
		}
		if i == 0 && !tail.Empty() {
			l.To(inner-tail.Width()-1).Put(m.theme.Key, tail)
		}
		out = append(out, l.String())
	}
	return out
}

// How well a word is found in the texts of an item, the worst first. Within one of
// these the better match of letters is first.
const (
	inLetters  = 1 + iota // its letters are scattered in the name; or in one piece within a word of another text
	inPiece               // in one piece within a word of the name; or where a word of another text begins
	inStart               // where a word of the name begins
	inFront               // the name begins with it
	inWhole               // it is the name
	foundSteps = 1 << 20
)

// foundIn says how well a word, in small letters, is found in texts, of which the
// first is the name; 0 where it is not. In a long text scattered letters are found by
// chance, so they count in the name alone.
func foundIn(word string, pattern *query.Pattern, texts []string) int {
	best := 0
	for i, text := range texts {
		text, how := strings.ToLower(text), 0
		switch at := strings.Index(text, word); {
		case at < 0 && (i > 0 || !pattern.Matches(text)):
			continue
		case at < 0:
			how = inLetters
		case i == 0 && text == word:
			how = inWhole
		case i == 0 && at == 0:
			how = inFront
		case startsWord(text, word, at):
			how = inStart
		default:
			how = inPiece
		}
		if i > 0 && how > inLetters {
			how--
		}
		best = max(best, how*foundSteps+min(pattern.Score(text), foundSteps-1))
	}
	return best
}

// startsWord reports whether one of the places of a part, the first of which is
// given, is where a word begins.
func startsWord(text, part string, at int) bool {
	for from := 0; at >= 0; at = strings.Index(text[from:], part) {
		before, _ := utf8.DecodeLastRuneInString(text[:from+at])
		if from+at == 0 || !unicode.IsLetter(before) && !unicode.IsDigit(before) {
			return true
		}
		_, n := utf8.DecodeRuneInString(text[from+at:])
		from += at + n
	}
	return false
}

// ranked are the items in which every word of what is typed is found, the best first;
// all, in their order, where nothing is typed.
func ranked[T any](items []T, typed string, texts func(T) []string) []T {
	words := strings.Fields(strings.ToLower(typed))
	if len(words) == 0 {
		return items
	}
	patterns := make([]*query.Pattern, len(words))
	for i, w := range words {
		patterns[i] = query.NewPattern(w)
	}
	type hit struct {
		item  T
		score int
		name  int // its length: of equal ones the shorter is meant
	}
	var hits []hit
	for _, it := range items {
		of, sum := texts(it), 0
		for i, w := range words {
			score := foundIn(w, patterns[i], of)
			if score == 0 {
				sum = 0
				break
			}
			sum += score
		}
		if sum > 0 {
			hits = append(hits, hit{it, sum, len(of[0])})
		}
	}
	slices.SortStableFunc(hits, func(a, b hit) int { return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(a.name, b.name)) })
	out := make([]T, len(hits))
	for i, h := range hits {
		out[i] = h.item
	}
	return out
}
