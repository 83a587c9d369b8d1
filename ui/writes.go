package ui

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	tea "charm.land/bubbletea/v2"

	"treering/internal/term"
	"treering/store"
	"treering/treeview"
	"treering/ui/field"
	"treering/ui/when"
)

// command is the shell command that does what a dialog does, of a verb with its
// flags and arguments; where there is none, it says why.
func (m *Model) command(verb string, flags []string, args ...string) string {
	if m.info.Path == "" && m.info.Backend == "memory" {
		return "none: no other program reaches a store in memory"
	}
	words := []string{"treering", "-s", m.info.Locator}
	if len(m.info.Sets) > 1 {
		for _, set := range m.info.Sets {
			if set.Open {
				words = append(words, "--prefix", set.Prefix)
			}
		}
	}
	if !m.info.Ours {
		words = append(words, "--rw")
	}
	words = append(append(words, strings.Fields(verb)...), flags...)
	for _, arg := range args {
		if strings.HasPrefix(arg, "-") {
			words = append(words, "--")
			break
		}
	}
	words = append(words, args...)
	for i, w := range words {
		if strings.ContainsRune(w, 0) {
			return "none: a command line cannot hold the NUL in " + strconv.Quote(w)
		}
		words[i] = shellWord(w)
	}
	return strings.Join(words, " ")
}

// shellWord quotes a word for a shell, where it needs to be. What a screen cannot
// show as it is, a control or a half character, is written as its bytes, in the
// quotes that bash, zsh and ksh read escapes in.
func shellWord(s string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_./:@%+=,", r) || r > 0x7f
	}
	switch {
	case term.Sanitise(s).String() != s:
		return shellBytes(s)
	case s != "" && strings.IndexFunc(s, func(r rune) bool { return !plain(r) }) < 0:
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

func shellBytes(s string) string {
	var b strings.Builder
	b.WriteString("$'")
	for i := 0; i < len(s); {
		_, size := utf8.DecodeRuneInString(s[i:])
		part := s[i : i+size]
		i += size
		switch {
		case part == "'" || part == `\`:
			b.WriteString(`\` + part)
		case part >= " " && part < "\x7f":
			b.WriteString(part)
		default:
			for _, c := range []byte(part) {
				fmt.Fprintf(&b, `\%03o`, c) // three digits, so that none after it is taken for one of them
			}
		}
	}
	return b.String() + "'"
}

// sessionDialog is what was found of the session that a dialog is about.
type sessionDialog struct {
	read bool
	gone bool
	info store.SessionInfo
}

// look reads the session again.
func (s *sessionDialog) look(ts store.TreeStore, id string) func(context.Context) func() {
	return func(ctx context.Context) func() {
		info, err := ts.Session(ctx, id)
		return func() {
			// What cannot be read for a while is looked at again by the write.
			if s.gone = errors.Is(err, store.ErrNotFound); err == nil {
				s.read, s.info = true, info
			}
		}
	}
}

// moved says why the session cannot be written to any more.
func (s *sessionDialog) moved(m *Model) string {
	if s.gone {
		return "the session was deleted or has expired"
	}
	if at := s.info.ExpiresAt; at != nil && m.until(*at) <= 0 {
		return "the session expired " + when.Clock(*at, m.now(), m.zone, 0)
	}
	return ""
}

// expired says since when the session that is looked at cannot be written to; "" where it can.
func expired(m *Model) string {
	t := &m.tree
	if t.of != m.subject || t.info == nil || t.info.ExpiresAt == nil || m.until(*t.info.ExpiresAt) > 0 {
		return ""
	}
	return "the session expired " + when.Clock(*t.info.ExpiresAt, m.now(), m.zone, 0)
}

// siblingKind is the kind that a new child most likely has: that of all children
// looked at, or run.
func siblingKind(x *treeview.Index, parent treeview.Ref) string {
	const enough = 100
	kind, n := "", 0
	for r := range x.Children(parent) {
		k := x.Kind(r)
		if n++; k == "" || n > 1 && k != kind {
			return "run"
		}
		if kind = k; n == enough {
			break
		}
	}
	if kind == "" {
		return "run"
	}
	return kind
}

// maxCommandData bounds the data that is part of a command: a system takes no
// longer arguments.
const maxCommandData = 100_000

// openAppend asks for a node to append under the selected one.
func openAppend(m *Model, _ string) tea.Cmd {
	t := &m.tree
	id := t.of.id
	node := store.Node{ID: store.NewID()} // prepared once: a retry must be the same node
	kind, children := "init", 0
	target := []dialogRow{row("session", id)}
	if parent, ok := t.selectedNode(); ok {
		r, _ := t.widget.Cursor()
		node.ParentID = &parent
		kind = siblingKind(t.widget.Index(), r)
		children = t.widget.Index().CountChildren(r, maxCounted)
		target = append(target, row("parent", parent))
	} else {
		target = append(target, row("parent", "none: it becomes the root"))
	}
	data := &formField{"data", field.New("", store.MaxDataBytes), string(store.EmptyObject)}
	kinds := &formField{"kind", field.New(kind, store.MaxIDBytes), ""}
	d := &dialog{title: term.Lit("Append a node"), target: target, verb: "append it", fields: []*formField{data, kinds}}
	prepared := func() store.Node {
		n := node
		n.Kind, n.Data = kinds.text(), store.JSON(strings.TrimSpace(data.text()))
		return n
	}
	d.effect = func() []dialogRow {
		said := "one node is added; nothing that is there changes"
		if children > 0 {
			said = fmt.Sprintf("a new branch: the parent has %s already", countText(children, "child", "children"))
		}
		return []dialogRow{row("effect", said), row("new id", node.ID)}
	}
	d.command = func() string {
		n := prepared()
		where := []string{"--root"}
		if n.ParentID != nil {
			where = []string{"--parent", *n.ParentID}
		}
		text := string(n.Data)
		if len(text) > maxCommandData {
			text = "@FILE" // with the data in it
		}
		return m.command("append", append([]string{"--kind", n.Kind, "--data", text, "--id", n.ID}, where...), id)
	}
	d.invalid = func() string {
		if err := prepared().Check(); err != nil {
			return err.Error()
		}
		return ""
	}
	s := new(sessionDialog)
	ts := m.ts
	d.look, d.guard = s.look(ts, id), s.moved
	d.run = func(ctx context.Context) outcome {
		n := prepared()
		if err := ts.Append(ctx, id, n); err != nil {
			return outcome{err: err}
		}
		return outcome{done: "appended " + n.ID, after: func(m *Model) tea.Cmd { return m.tree.appended(m, id, n) }}
	}
	return m.ask(d)
}

// appended shows a node that was just written, without waiting for the store to
// be read again.
func (t *treePane) appended(m *Model, of string, n store.Node) tea.Cmd {
	if t.of != (subject{kind: session, id: of}) {
		return nil
	}
	t.widget.Index().Add(treeview.EntryOf(n))
	t.widget.Grow()
	m.detail.release()
	return t.selectNode(m, n.ID)
}

// openTTL asks for a session's time to live.
func openTTL(m *Model, _ string) tea.Cmd {
	id := m.subject.id
	d := &dialog{
		title: term.Lit("Time to live"), target: []dialogRow{row("session", id)}, verb: "set it",
		fields: []*formField{{"lives", field.New("", 64), ""}},
	}
	if info := m.tree.info; info != nil && m.tree.of.id == id {
		now := "kept until it is deleted"
		if info.ExpiresAt != nil {
			now = "expires " + when.Clock(*info.ExpiresAt, m.now(), m.zone, 0)
		}
		d.target = append(d.target, row("now", now))
	}
	text := func() string { return strings.TrimSpace(d.fields[0].field.Text()) }
	d.effect = func() []dialogRow {
		ttl, err := store.ParseTTL(text())
		switch {
		case err != nil:
			return []dialogRow{row("effect", "seconds, a duration such as 90m or 7d, or none")}
		case ttl == nil:
			return []dialogRow{row("effect", "kept until it is deleted")}
		case *ttl == 0:
			return []dialogRow{row("effect", "it expires at once: the tree cannot be seen any more")}
		}
		return []dialogRow{row("effect", "expires "+when.Clock(when.Seconds(m.now())+*ttl, m.now(), m.zone, 0)+", by the store's clock")}
	}
	d.command = func() string {
		if text() == "" {
			return ""
		}
		return m.command("session ttl", nil, id, text())
	}
	d.invalid = func() string {
		if text() == "" {
			return "how long? seconds, a duration, or none"
		}
		if _, err := store.ParseTTL(text()); err != nil {
			return err.Error()
		}
		return ""
	}
	s := new(sessionDialog)
	d.look, d.guard = s.look(m.ts, id), s.moved
	ts, now, zone := m.ts, m.clock, m.zone
	d.run = func(ctx context.Context) outcome {
		ttl, err := store.ParseTTL(text())
		if err != nil {
			return outcome{err: err}
		}
		info, err := ts.SetSessionTTL(ctx, id, ttl)
		switch {
		case errors.Is(err, store.ErrNotFound):
			return outcome{moot: "the session is gone: deleted or expired"}
		case err != nil:
			return outcome{err: err}
		case info.ExpiresAt == nil:
			return outcome{done: id + " is kept until it is deleted"}
		}
		return outcome{done: id + " expires " + when.Clock(*info.ExpiresAt, now(), zone, 0)}
	}
	return m.ask(d)
}

func acknowledgeable(m *Model) string {
	switch m.queues.tab {
	case outboxTab:
		if _, ok := m.queues.outbox.selected(); ok {
			return ""
		}
	case spawnsTab:
		if _, ok := m.queues.spawns.selected(); ok {
			return ""
		}
	case timersTab:
		return "timers are not acknowledged; " + m.keyFor("fire") + " makes one due"
	}
	return "no entry is selected"
}

// openAcknowledge asks whether to remove a queue entry.
func openAcknowledge(m *Model, _ string) tea.Cmd {
	q := &m.queues
	d := &dialog{verb: "remove it"}
	var seq int64
	var name string
	var ack func(context.Context, int64) (bool, error)
	var there func(q *queuesPane) bool
	if q.tab == outboxTab {
		e, _ := q.outbox.selected()
		seq, name, ack = e.Seq, "outbox", m.es.AckOutbox
		d.title = term.Lit("Acknowledge outbox entry " + strconv.FormatInt(seq, 10))
		to := "nobody"
		if e.TargetID != nil {
			to = *e.TargetID
		}
		d.target = []dialogRow{row("entry", "outbox "+strconv.FormatInt(seq, 10)), row("event", e.Event.Kind+" "+e.Event.ID), row("to", to)}
		d.effect = func() []dialogRow {
			return []dialogRow{row("effect", "the entry is removed; the event is not delivered")}
		}
		there = func(q *queuesPane) bool { return q.outbox.find(strconv.FormatInt(seq, 10)) >= 0 }
	} else {
		e, _ := q.spawns.selected()
		seq, name, ack = e.Seq, "spawn", m.es.AckSpawn
		d.title = term.Lit("Acknowledge spawn " + strconv.FormatInt(seq, 10))
		d.target = []dialogRow{row("entry", "spawn "+strconv.FormatInt(seq, 10)), row("child", e.ChildID), row("parent", e.ParentID)}
		d.effect = func() []dialogRow {
			return []dialogRow{row("effect", "removed; nobody will make the child, and a parent that waits for it waits for ever")}
		}
		there = func(q *queuesPane) bool { return q.spawns.find(strconv.FormatInt(seq, 10)) >= 0 }
	}
	d.command = func() string { return m.command("ack", nil, name, strconv.FormatInt(seq, 10)) }
	listed := q.of
	d.guard = func(m *Model) string {
		switch {
		case m.queues.of != listed:
			return "its execution is not looked at any more: it was deleted, or left the list"
		case !there(&m.queues):
			return "acknowledged by someone else"
		}
		return ""
	}
	d.run = func(ctx context.Context) outcome {
		removed, err := ack(ctx, seq)
		switch {
		case err != nil:
			return outcome{err: err}
		case !removed:
			return outcome{moot: "acknowledged by someone else"}
		}
		return outcome{done: "acknowledged " + name + " " + strconv.FormatInt(seq, 10)}
	}
	return m.ask(d)
}
