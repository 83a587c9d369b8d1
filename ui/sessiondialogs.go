package ui

import (
	"context"
	"errors"
	"strconv"
	"strings"

	tea "charm.land/bubbletea/v2"

	"treering/internal/term"
	"treering/store"
	"treering/treeview"
	"treering/ui/field"
	"treering/ui/when"
)

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

// openTTL asks for a session's time to live.
func openTTL(m *Model, _ string) tea.Cmd {
	id := m.subject.id
	d := &dialog{
		title: term.Lit("Time to live"), target: []dialogRow{row("session", id)}, verb: "set it",
		fields: []*formField{{label: "lives", input: field.New("", 64)}},
	}
	if info := m.tree.info; info != nil && m.tree.of.id == id {
		now := "kept until it is deleted"
		if info.ExpiresAt != nil {
			now = "expires " + when.Clock(*info.ExpiresAt, m.now(), m.zone, 0)
		}
		d.target = append(d.target, row("now", now))
	}
	text := func() string { return strings.TrimSpace(d.fields[0].input.Text()) }
	d.effect = func() []dialogRow {
		ttl, err := store.ParseTTL(text())
		switch {
		case err != nil:
			return []dialogRow{row("effect", "another time at which the session expires, or none")}
		case ttl == nil:
			return []dialogRow{row("effect", "kept until it is deleted")}
		case *ttl == 0:
			return []dialogRow{row("effect", "it expires at once: the tree cannot be seen any more")}
		}
		return []dialogRow{row("effect", "expires "+when.Clock(when.Seconds(m.now())+*ttl, m.now(), m.zone, 0)+", by the store's clock")}
	}
	d.command = func() string {
		if d.invalid() != "" {
			return "" // there is none that would do it
		}
		return m.command("session ttl", nil, id, text())
	}
	d.invalid = func() string {
		if text() == "" {
			return "how long? seconds, a duration such as 90m or 7d, or none"
		}
		if _, err := store.ParseTTL(text()); err != nil {
			return err.Error()
		}
		return ""
	}
	s := new(sessionDialog)
	d.look, d.guard = s.look(m.ts, id), s.moved
	ts, now, zone := m.ts, m.clock, m.zone
	d.write = func() func(context.Context) outcome {
		ttl, err := store.ParseTTL(text())
		return func(ctx context.Context) outcome {
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
	}
	return m.ask(d)
}

// treesOnly says why there are no sessions to write to; "" where there are.
func treesOnly(m *Model) string {
	if m.ts == nil {
		return "this store holds no session trees"
	}
	return ""
}

const createDraft = "create"

// openCreate asks for a new session, with its root where one is given.
func openCreate(m *Model, _ string) tea.Cmd {
	ts := m.ts
	name, kind := field.New("", store.MaxIDBytes), field.New("session", store.MaxIDBytes)
	ttl, data := field.New("", 64), field.NewArea("", store.MaxDataBytes)
	rootKind := field.New("init", store.MaxIDBytes)
	root := store.Node{ID: store.NewID()} // prepared once: another try must be the same node
	if texts := m.writes.drafts[createDraft]; len(texts) == 5 {
		name.Set(texts[0])
		kind.Set(texts[1])
		ttl.Set(texts[2])
		data.Set(texts[3])
		rootKind.Set(texts[4])
	}
	var check dataCheck
	checking := false
	d := &dialog{title: term.Lit("New session"), verb: "create it"}
	d.fields = []*formField{
		{label: "name", input: name},
		{label: "kind", input: kind, offered: kind.Text(), suggest: func(typed string) string { return m.seenKind(typed) }},
		{label: "lives", input: ttl, empty: "none: until it is deleted"},
		{label: "root", input: data, empty: "none: an empty tree; or the data of its root, {…}", optional: true, fault: func() (int, bool) {
			return check.at, check.at >= 0 && check.rev == data.Rev()
		}},
		{label: "its kind", input: rootKind, offered: rootKind.Text(), optional: true},
	}
	d.changed = func(*Model) tea.Cmd { return checkArea(data, &check, &checking) }
	lives := func() (*float64, error) {
		if text := strings.TrimSpace(ttl.Text()); text != "" {
			return store.ParseTTL(text)
		}
		return nil, nil
	}
	prepared := func() (store.Node, bool) {
		n := root
		n.Kind, n.Data = rootKind.Text(), check.data
		return n, !data.Empty()
	}
	// There may be one of that name already: which is no new one.
	var found sessionDialog
	looked := ""
	d.look = func(ctx context.Context) func() {
		id := looked
		if id == "" {
			return func() {}
		}
		info, err := ts.Session(ctx, id)
		return func() {
			if id == looked {
				found = sessionDialog{read: err == nil, info: info}
			}
		}
	}
	changed := d.changed
	d.changed = func(m *Model) tea.Cmd {
		cmd := changed(m)
		if text := name.Text(); text != looked && store.CheckID("name", text) == nil {
			looked, found = text, sessionDialog{}
			d.pace = pace{}
			cmd = tea.Batch(cmd, d.watch(m))
		}
		return cmd
	}
	tried := "" // a session that may be there by our own doing
	there := func() bool { return found.read && looked == name.Text() && tried != looked }
	d.effect = func() []dialogRow {
		said := "an empty session"
		seconds, err := lives()
		switch {
		case err != nil || seconds == nil:
			said += ", kept until it is deleted"
		case *seconds == 0:
			said += " that expires at once"
		default:
			said += " that expires " + when.Clock(when.Seconds(m.now())+*seconds, m.now(), m.zone, 0) + ", by the store's clock"
		}
		if n, ok := prepared(); ok {
			said += "; then its root, " + n.ID
		}
		return []dialogRow{row("effect", said)}
	}
	d.command = func() string {
		if d.invalid() != "" {
			return "" // there is none that would do it
		}
		flags := []string{"--kind", kind.Text()}
		if text := strings.TrimSpace(ttl.Text()); text != "" {
			flags = append(flags, "--ttl", text)
		}
		command := m.command("session create", flags, name.Text())
		n, ok := prepared()
		if !ok || strings.HasPrefix(command, noCommand) {
			return command
		}
		return command + " && " + m.command("append", []string{"--kind", n.Kind, "--data", argumentOf(n.Data), "--id", n.ID, "--root"}, name.Text())
	}
	d.invalid = func() string {
		if err := store.CheckID("name", name.Text()); err != nil {
			return err.Error()
		}
		if err := store.CheckID("kind", kind.Text()); err != nil {
			return err.Error()
		}
		if _, err := lives(); err != nil {
			return err.Error()
		}
		switch n, ok := prepared(); {
		case there():
			return "there is a session of that name, of kind " + found.info.Kind
		case !ok:
		case check.rev != data.Rev():
			return "checking the data…"
		case check.err != nil:
			return "root: " + check.err.Error()
		default:
			if err := store.CheckID("kind of the root", n.Kind); err != nil {
				return err.Error()
			}
		}
		return ""
	}
	texts := func() []string {
		return []string{name.Text(), kind.Text(), ttl.Text(), data.Text(), rootKind.Text()}
	}
	d.left = func(m *Model) {
		if !name.Empty() || !data.Empty() {
			m.writes.keep(createDraft, texts())
		}
	}
	d.write = func() func(context.Context) outcome {
		id, of := name.Text(), kind.Text()
		tried = id
		seconds, err := lives()
		n, rooted := prepared()
		return func(ctx context.Context) outcome {
			if err != nil {
				return outcome{err: err}
			}
			return create(ctx, ts, id, of, seconds, n, rooted)
		}
	}
	return tea.Batch(m.ask(d), d.changed(m))
}

// create makes a session and its root. Another try changes nothing that the first
// one did.
func create(ctx context.Context, ts store.TreeStore, id, kind string, ttl *float64, root store.Node, rooted bool) outcome {
	if _, err := ts.CreateSession(ctx, id, kind, ttl); err != nil {
		return outcome{err: err}
	}
	done := "created " + id
	if rooted {
		if err := ts.Append(ctx, id, root); err != nil {
			return outcome{err: &afterError{"the session is there, its root is not", err}}
		}
		done += " with its root"
	}
	return outcome{done: done, after: func(m *Model) tea.Cmd {
		delete(m.writes.drafts, createDraft)
		return m.nav.expect(m, id)
	}}
}

// afterError is a failure after something was done.
type afterError struct {
	did string
	err error
}

func (e *afterError) Error() string { return e.did + ": " + e.err.Error() }
func (e *afterError) Unwrap() error { return e.err }

// seenKind is a kind of a session in the list that begins like what was typed.
func (m *Model) seenKind(typed string) string {
	for _, s := range m.nav.sessions.items {
		if strings.HasPrefix(s.Kind, typed) {
			return s.Kind
		}
	}
	return ""
}

// expect shows a session that was just made as soon as the list has it.
func (n *navigator) expect(m *Model, id string) tea.Cmd {
	turned := n.setView(m, sessionsView)
	n.sessions.at, n.sessions.held = id, true // the list finds it when it is read again
	return tea.Batch(turned, m.show(subject{session, id}))
}

// deletable says why the session cannot be deleted; "" where it can. An expired one
// can be.
func deletable(m *Model) string {
	if reason := sessionOnly(m); reason != "" {
		return reason
	}
	if m.tree.of == m.subject && m.tree.gone {
		return "the session is gone"
	}
	return ""
}

// openDelete asks whether to delete a session. Its name is to be typed.
func openDelete(m *Model, _ string) tea.Cmd {
	id, ts := m.subject.id, m.ts
	typed := field.New("", 4*store.MaxIDBytes)
	d := &dialog{
		title: term.Lit("Delete a session"), target: []dialogRow{row("session", id)}, verb: "delete it for good",
		fields: []*formField{{label: "its name", input: typed, empty: "type the session's name"}},
	}
	var found struct {
		sessionDialog
		known bool
		nodes int64
		err   error
	}
	d.look = func(ctx context.Context) func() {
		info, err := ts.Session(ctx, id)
		var nodes int64
		if err == nil {
			nodes, err = ts.CountNodes(ctx, id)
		}
		return func() {
			found.err = err
			if found.gone = errors.Is(err, store.ErrNotFound); err != nil {
				return
			}
			// Nodes are never removed one by one: fewer of them are another tree's.
			found.gone = found.known && (found.info.Kind != info.Kind || nodes < found.nodes)
			found.known, found.read, found.info, found.nodes = true, true, info, nodes
		}
	}
	d.effect = func() []dialogRow {
		said := "the session and all its nodes are removed; nothing brings them back"
		if found.known {
			said = "the session and its " + countText(int(found.nodes), "node", "nodes").String() + " are removed; nothing brings them back"
			if found.nodes == 0 {
				said = "the session, which has no nodes, is removed"
			}
		}
		rows := []dialogRow{row("effect", said)}
		if n := len(m.writes.names.byName); n > 0 && m.writes.names.session == id {
			rows = append(rows, row("names", countText(n, "branch name goes", "branch names go").String()+" with it"))
		}
		return rows
	}
	d.command = func() string { return m.command("session delete", nil, id) }
	d.guard = func(m *Model) string {
		if found.gone {
			return "the session was deleted or has expired, or another has its name now"
		}
		return ""
	}
	d.invalid = func() string {
		switch {
		case typed.Empty():
			return "type the session's name to delete it"
		case typed.Text() != id && typed.Text() != term.Sanitise(id).String():
			return "that is not its name"
		case found.err != nil:
			return "what is in it cannot be read: " + m.reason(found.err)
		case !found.known:
			return "reading what is in it…"
		}
		return ""
	}
	d.write = func() func(context.Context) outcome {
		lost := d.lost
		names := sortedNames(m.writes.names.byName)
		if m.writes.names.session != id {
			names = nil
		}
		return func(ctx context.Context) outcome {
			existed, err := ts.DeleteSession(ctx, id)
			switch {
			case err != nil:
				return outcome{err: err}
			case !existed && lost:
				return outcome{done: id + " is not there any more: the first try was taken, or somebody else deleted it"}
			case !existed:
				return outcome{moot: "it is gone already: deleted by someone else"}
			}
			return outcome{done: "deleted " + id, after: func(m *Model) tea.Cmd {
				var cmds []tea.Cmd
				for _, n := range names {
					cmds = append(cmds, m.writes.names.set(id, n, ""))
				}
				return tea.Batch(cmds...)
			}}
		}
	}
	return m.ask(d)
}

// openPurgeExpired asks whether to remove all expired sessions. How many there are is
// counted first.
func openPurgeExpired(m *Model, _ string) tea.Cmd {
	ts := m.ts
	var found struct {
		known bool
		n     int
		err   error
	}
	d := &dialog{title: term.Lit("Purge expired sessions"), verb: "remove them for good", target: []dialogRow{row("store", m.info.Name)}}
	d.look = func(ctx context.Context) func() {
		n, err := ts.CountExpired(ctx)
		return func() {
			if found.err = err; err == nil {
				found.known, found.n = true, n
			}
		}
	}
	d.effect = func() []dialogRow {
		if !found.known {
			return nil
		}
		said := countText(found.n, "expired session is", "expired sessions are").String() + " removed with all nodes; those that expire meanwhile go too"
		return []dialogRow{row("effect", said)}
	}
	d.command = func() string { return m.command("purge", []string{"--expired"}) }
	d.guard = func(*Model) string {
		if found.known && found.n == 0 {
			return "no session has expired that is still there"
		}
		return ""
	}
	d.invalid = func() string {
		switch {
		case found.err != nil:
			return "they cannot be counted: " + m.reason(found.err)
		case !found.known:
			return "counting them…"
		}
		return ""
	}
	d.write = func() func(context.Context) outcome {
		return func(ctx context.Context) outcome {
			n, err := ts.PurgeExpired(ctx)
			switch {
			case err != nil && n > 0:
				return outcome{err: &afterError{"removed " + strconv.Itoa(n) + ", then", err}}
			case err != nil:
				return outcome{err: err}
			case n == 0:
				return outcome{moot: "somebody else removed them"}
			}
			return outcome{done: "removed " + treeview.Grouped(int64(n)) + " expired " + plural(n, "session", "sessions")}
		}
	}
	return m.ask(d)
}

func plural(n int, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}
