package ui

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	tea "charm.land/bubbletea/v2"

	"treering/internal/term"
	"treering/store/locate"
	"treering/ui/layout"
	"treering/ui/state"
	"treering/ui/when"
)

// openable says why no other store can be opened; "" where one can.
func openable(m *Model) string {
	if m.open == nil {
		return "no other store can be opened from here"
	}
	return ""
}

// openStores lists the stores that were open before, and takes the locator of
// another.
func openStores(m *Model, _ string) tea.Cmd {
	m.pickFrom(&picker{
		title: term.Lit("Open a store"), prompt: "a path or a locator, or letters of one of these",
		empty: "nothing was open before; type a path or a locator",
		list:  storePicks,
	}, "")
	p := m.overlay.(*picker)
	p.input.Mask = locate.Mask
	return m.missing(p)
}

// missing finds which of the files that were open are not there any more. A disk may
// take its time, so that is done off the program's goroutine.
func (m *Model) missing(p *picker) tea.Cmd {
	recent := m.memory.RecentStores()
	return func() tea.Msg {
		gone := map[string]bool{}
		for _, r := range recent {
			if !filepath.IsAbs(r.Store) { // on a server: only opening it tells
				continue
			}
			if _, err := os.Stat(r.Store); errors.Is(err, fs.ErrNotExist) {
				gone[r.Store] = true
			}
		}
		return answerFunc(func(m *Model) tea.Cmd {
			if m.overlay == surface(p) {
				p.gone = gone
				p.stale()
			}
			return nil
		})
	}
}

// forget takes a store out of those that were open, and lists the others again.
func (m *Model) forget(key string) tea.Cmd {
	s := m.memory
	return func() tea.Msg {
		err := s.Forget(key)
		return answerFunc(func(m *Model) tea.Cmd {
			if err != nil {
				m.refused(key + " is in the list again at the next start: " + err.Error())
			} else {
				m.say(key + " is out of the list")
			}
			if m.dialog != nil || m.overlay != nil {
				return nil
			}
			return openStores(m, "")
		})
	}
}

// forgetOrOpen asks what to do about a store that is not there any more.
func (m *Model) forgetOrOpen(r state.Recent) {
	m.pickFrom(&picker{
		title: m.term.SanitiseN(r.Store, 200).Plus(term.Lit(" is gone")), prompt: "choose", empty: "there is no such choice",
		list: func(_ *Model, typed string) []pick {
			return ranked([]pick{
				{id: "forget", text: term.Lit("take it out of this list, with the names of its branches kept"), run: func(m *Model) tea.Cmd {
					return m.forget(r.Store)
				}},
				{id: "open", text: term.Lit("try to open it all the same"), run: func(m *Model) tea.Cmd { return m.visit(r.Store, r.Prefix) }},
			}, typed, func(p pick) []string { return []string{p.text.String()} })
		},
	}, "")
}

func storePicks(m *Model, typed string) []pick {
	var out []pick
	var gone map[string]bool
	if p, is := m.overlay.(*picker); is {
		gone = p.gone
	}
	for _, r := range ranked(m.memory.RecentStores(), typed, func(r state.Recent) []string { return []string{r.Store} }) {
		p := pick{id: r.Store, text: m.term.Sanitise(r.Store).TruncateMiddle(200, "…"), tail: term.Lit(when.Distance(m.now().Sub(r.Opened).Seconds(), false) + " ago"),
			run: func(m *Model) tea.Cmd { return m.visit(r.Store, r.Prefix) }}
		switch {
		case r.Store == m.storeKey():
			p.note = term.Lit("open now")
		case gone[r.Store]:
			p.note = term.Lit("gone; enter takes it out of this list")
			p.run = func(m *Model) tea.Cmd { m.forgetOrOpen(r); return nil }
		}
		out = append(out, p)
	}
	if locator := strings.TrimSpace(typed); locator != "" {
		other := pick{id: "\x00" + locator, key: term.Lit("open"), text: m.term.SanitiseN(locate.Redact(locator), 300),
			run: func(m *Model) tea.Cmd { return m.visit(locator, nil) }}
		// What looks like a path or a locator is one.
		if strings.ContainsAny(locator, `/\:.`) {
			return append([]pick{other}, out...)
		}
		out = append(out, other)
	}
	return out
}

// storeKey is what the store is called in what is remembered; "" for one that is
// not to be.
func (m *Model) storeKey() string {
	if m.made.passing {
		return ""
	}
	return state.Key(m.info)
}

// visit opens another store. Nothing else can be done meanwhile but leave it.
func (m *Model) visit(locator string, prefix *string) tea.Cmd {
	ctx, gen := m.visiting.begin(m.ctx)
	shown := locate.Redact(locator)
	m.pickFrom(&picker{title: term.Lit("Open a store"), waiting: "opening " + shown + "…", list: func(*Model, string) []pick { return nil },
		leave: func(m *Model) {
			m.visiting.stop()
			m.say("open " + shown + ": left; the store before is still open")
		}}, "")
	open := m.open
	return func() tea.Msg {
		a, err := open(ctx, locator, prefix)
		return visited{gen, locator, a, err}
	}
}

// visited is what became of it.
type visited struct {
	gen     int
	locator string
	arrival arrival
	err     error
}

func (v visited) apply(m *Model) tea.Cmd {
	if !m.visiting.ends(v.gen) {
		return nil // what was opened is closed at the end
	}
	m.closeOverlay()
	var several *locate.AmbiguousSetError
	switch {
	case v.err == nil:
		m.next = &v.arrival
	case errors.As(v.err, &several):
		m.chooseSet(v.locator, several.Sets)
	case !abandoned(v.err):
		m.sayStyled(m.theme.Error, "the store before is still open: "+v.err.Error())
	}
	return nil
}

// chooseSet asks which of several sets of execution tables to open.
func (m *Model) chooseSet(locator string, sets []locate.Set) {
	m.pickFrom(&picker{
		title: term.Lit("It holds several sets of execution tables"), prompt: "choose one", empty: "there is no such set",
		list: func(m *Model, typed string) []pick {
			var out []pick
			for _, s := range ranked(sets, typed, func(s locate.Set) []string { return []string{s.Prefix} }) {
				name := s.Prefix + "_"
				if s.Prefix == "" {
					name = "tables without a prefix"
				}
				p := pick{id: "set " + s.Prefix, text: m.term.SanitiseN(name, 200), run: func(m *Model) tea.Cmd { return m.visit(locator, &s.Prefix) }}
				if s.Executions != nil {
					p.tail = countText(int(*s.Executions), "execution", "executions")
				}
				out = append(out, p)
			}
			return out
		},
	}, "")
}

// inherit takes over from the model of another store what is the window's and the
// terminal's.
func (m *Model) inherit(old *Model) {
	m.width, m.height = old.width, old.height
	m.theme, m.scheme, m.ascii, m.term = old.theme, old.scheme, old.ascii, old.term
	m.asks = false // it was asked
	m.mouse, m.splits, m.forgetful = old.mouse, old.splits, old.forgetful
	m.screen.relayout()
	if m.status.text.Empty() {
		m.say("opened " + m.info.Locator)
	}
}

// arrived notes at the start that the store was opened.
func (m *Model) arrived() tea.Cmd {
	key := m.storeKey()
	if key == "" {
		return nil
	}
	var prefix *string
	if len(m.info.Sets) > 1 {
		for _, s := range m.info.Sets {
			if s.Open {
				prefix = &s.Prefix
			}
		}
	}
	at := m.now()
	return m.remember(func(s *state.State) error { return s.Touch(key, prefix, at) })
}

// memorise notes at the end what was looked at. It does I/O, and is called when
// nothing else works on the model any more.
func (m *Model) memorise() error {
	kinds := map[subjectKind]string{session: "session", execution: "execution"}
	now := state.Subject{Kind: kinds[m.subject.kind], ID: m.subject.id}
	if was, _ := m.memory.LastSubject(m.storeKey()); m.storeKey() == "" || now.Kind == "" || was == now || m.forgetful {
		return nil
	}
	return m.memory.SetLastSubject(m.storeKey(), now)
}

// lastSubject is what was looked at the last time.
func (m *Model) lastSubject() subject {
	s, _ := m.memory.LastSubject(m.storeKey())
	switch s.Kind {
	case "session":
		return subject{session, s.ID}
	case "execution":
		return subject{execution, s.ID}
	}
	return subject{}
}

// resume moves the cursor to what was looked at the last time, where it is listed
// and nobody has moved it since.
func (n *navigator) resume(m *Model) tea.Cmd {
	want := m.resuming
	if want.kind == nothing || !n.chosen {
		return nil
	}
	started := n.sessions.started
	if want.kind == execution {
		started = n.execs.started
	}
	if !started {
		return nil
	}
	m.resuming = subject{}
	if n.sessions.held || n.execs.held || m.focus != layout.Navigator || n.bySess.on() || n.byExec.on() {
		return nil
	}
	switch {
	case want.kind == session && n.sessions.find(want.id) >= 0:
		cmd, _ := n.selectSession(m, want.id)
		return cmd
	case want.kind == execution && n.execs.find(want.id) >= 0:
		cmd, _ := n.selectExecution(m, want.id)
		return cmd
	}
	return nil
}
