package ui

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"treering/internal/term"
	"treering/store"
	"treering/treeview"
	"treering/ui/field"
	"treering/ui/when"
)

// command is the shell command that does what a dialog does.
func (m *Model) command(args ...string) string {
	if m.info.Path == "" && m.info.Backend == "memory" {
		return "none: no other program reaches a store in memory"
	}
	words := []string{"treering", "-s", m.info.Locator}
	if !m.info.Ours {
		words = append(words, "--rw")
	}
	for i, w := range append(words, args...) {
		w = shellWord(w)
		if i < len(words) {
			words[i] = w
		} else {
			words = append(words, w)
		}
	}
	return strings.Join(words, " ")
}

// shellWord quotes a word for a shell, where it needs to be.
func shellWord(s string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_./:@%+=,", r) || r > 0x7f
	}
	if s != "" && strings.IndexFunc(s, func(r rune) bool { return !plain(r) }) < 0 {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// openAppend asks for a node to append under the selected one.
func openAppend(m *Model, _ string) tea.Cmd {
	t := &m.tree
	id := t.of.id
	node := store.Node{ID: store.NewID()} // prepared once: a retry must be the same node
	kind, children := "run", 0
	target := []dialogRow{row("session", id)}
	if parent, ok := t.selectedNode(); ok {
		r, _ := t.widget.Cursor()
		node.ParentID = &parent
		if k := t.widget.Index().Kind(r); k != "" {
			kind = k
		}
		children = t.widget.Index().CountChildren(r, maxCounted)
		target = append(target, row("parent", parent))
	} else {
		kind = "init"
		target = append(target, row("parent", "none: it becomes the root"))
	}
	d := &dialog{
		title: term.Lit("Append a node"), target: target, verb: "append", confirm: "enter",
		fields: []*formField{
			{"kind", field.New(kind, store.MaxIDBytes)},
			{"data", field.New("{}", store.MaxDataBytes)},
		},
	}
	d.at = 1
	d.fields[1].field.Key("left")
	prepared := func() store.Node {
		n := node
		n.Kind, n.Data = d.fields[0].field.Text(), store.JSON(strings.TrimSpace(d.fields[1].field.Text()))
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
		return m.command(append([]string{"append", id, "--kind", n.Kind, "--data", string(n.Data), "--id", n.ID}, where...)...)
	}
	d.invalid = func() string {
		if err := prepared().Check(); err != nil {
			return err.Error()
		}
		return ""
	}
	d.guard = func(m *Model) string {
		if m.tree.of == (subject{session, id}) && m.tree.gone {
			return "the session was deleted or has expired"
		}
		return ""
	}
	ts := m.ts
	d.run = func(ctx context.Context) outcome {
		n := prepared()
		if err := ts.Append(ctx, id, n); err != nil {
			return outcome{err: err}
		}
		return outcome{done: "appended " + n.ID, after: func(m *Model) tea.Cmd { return m.tree.appended(m, id, n) }}
	}
	m.ask(d)
	return nil
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
		title: term.Lit("Time to live"), target: []dialogRow{row("session", id)}, verb: "set", confirm: "enter",
		fields: []*formField{{"lives", field.New("", 64)}},
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
		ttl, err := parseTTL(text())
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
		return m.command("session", "ttl", id, text())
	}
	d.invalid = func() string {
		if text() == "" {
			return "how long? seconds, a duration, or none"
		}
		if _, err := parseTTL(text()); err != nil {
			return err.Error()
		}
		return ""
	}
	d.guard = func(m *Model) string {
		if m.tree.of == (subject{session, id}) && m.tree.gone {
			return "the session was deleted or has expired"
		}
		return ""
	}
	ts, now, zone := m.ts, m.clock, m.zone
	d.run = func(ctx context.Context) outcome {
		ttl, err := parseTTL(text())
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
	m.ask(d)
	return nil
}

// parseTTL reads a time to live as the command does: seconds, a duration with
// days, or none.
func parseTTL(text string) (*float64, error) {
	if strings.EqualFold(text, "none") {
		return nil, nil
	}
	seconds, err := strconv.ParseFloat(text, 64)
	if err != nil && !errors.Is(err, strconv.ErrRange) {
		if days, ok := strings.CutSuffix(text, "d"); ok {
			seconds, err = strconv.ParseFloat(days, 64)
			seconds *= 24 * 60 * 60
		} else {
			var span time.Duration
			span, err = time.ParseDuration(text)
			seconds = span.Seconds()
		}
		if err != nil {
			return nil, fmt.Errorf("%q is no time to live: seconds, a duration such as 90m or 7d, or none", text)
		}
	}
	return &seconds, store.CheckTTL(&seconds)
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
		return "timers are not acknowledged; f makes one due"
	}
	return "no entry is selected"
}

// openAcknowledge asks whether to remove a queue entry.
func openAcknowledge(m *Model, _ string) tea.Cmd {
	q := &m.queues
	d := &dialog{verb: "remove it", confirm: "y"}
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
	d.command = func() string { return m.command("ack", name, strconv.FormatInt(seq, 10)) }
	d.guard = func(m *Model) string {
		if !there(&m.queues) {
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
	m.ask(d)
	return nil
}
