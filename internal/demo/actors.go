package demo

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"treering/store"
)

// Bounds of what the actors grow.
const (
	treeNodes    = 1200 // then they begin another
	treesKept    = 3
	previewNodes = 24
	knownNodes   = 64
	previewTTL   = 20.0 // seconds, once it is full
)

const (
	treePrefix  = idPrefix + "sandbox-"
	previewTree = idPrefix + "preview"
)

// actors are three who work in session trees at once. It is safe for concurrent use;
// they take turns.
type actors struct {
	ts    store.TreeStore
	now   func() time.Time
	ttl   float64 // of a preview that is full
	mu    sync.Mutex
	dice  dice
	names []string

	tree    int // number of the present one
	nodes   int // in it
	known   []tip
	tips    map[string]tip // where each of them is
	pending map[string]*operation
	repeat  *repeat // an append whose answer was lost

	preview struct {
		there bool
		nodes int
		last  tip
	}
	// Counts of what they did.
	appended, branched, raced, repeated, expired int64
}

type operation struct {
	id   string
	from tip
	at   time.Time
}

type repeat struct {
	session string
	node    store.Node
}

func newActors(ts store.TreeStore, now func() time.Time, ttl float64, d dice) *actors {
	return &actors{ts: ts, now: now, ttl: ttl, dice: d, names: []string{"ana", "bo", "cy"}, tips: map[string]tip{}, pending: map[string]*operation{}}
}

// act does one thing: at least one append, or what a tree needs before that.
func (a *actors) act(ctx context.Context) (err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.tree == 0 || a.nodes >= treeNodes {
		return a.begin(ctx)
	}
	if r := a.repeat; r != nil {
		// The answer was lost, so the very node is appended again, which changes nothing.
		if err := a.ts.Append(ctx, r.session, r.node); err != nil && !errors.Is(err, store.ErrNotFound) {
			return err
		}
		a.repeat = nil
		a.repeated++
		return nil
	}
	who := a.names[a.dice.between(0, len(a.names)-1)]
	if op := a.pending[who]; op != nil {
		delete(a.pending, who)
		return a.complete(ctx, who, op)
	}
	switch n := a.dice.between(1, 100); {
	case n <= 12:
		return a.grow(ctx)
	case n <= 20:
		return a.race(ctx)
	case n <= 32: // back to a node that several know, and on from there
		a.branched++
		return a.run(ctx, who, a.known[a.dice.between(0, len(a.known)-1)])
	case n <= 44:
		return a.operate(ctx, who)
	}
	return a.run(ctx, who, a.tips[who])
}

// begin starts a new tree, and removes the oldest of those that nobody works in.
func (a *actors) begin(ctx context.Context) error {
	for step := 1; ; step *= 2 {
		_, err := a.ts.Session(ctx, a.session(a.tree+step))
		if errors.Is(err, store.ErrNotFound) {
			a.tree += step
			break
		}
		if err != nil {
			return err
		}
	}
	if _, err := a.ts.CreateSession(ctx, a.session(a.tree), "session", nil); err != nil {
		return err
	}
	if a.tree > treesKept {
		if _, err := a.ts.DeleteSession(ctx, a.session(a.tree-treesKept)); err != nil {
			return err
		}
	}
	root := tip{node: "base", image: a.dice.uuid(), at: a.now()}
	err := a.ts.Append(ctx, a.session(a.tree), store.Node{ID: root.node, Kind: "init", Data: object(fields{
		{Key: "title", Value: text("from debian:13")}, {Key: "image_uuid", Value: text(root.image)}, {Key: "created_at", Value: iso(root.at)},
	})})
	if err != nil && !errors.Is(err, store.ErrNodeConflict) { // another process began it
		return err
	}
	a.nodes, a.known, a.repeat = 1, []tip{root}, nil
	for _, who := range a.names {
		a.tips[who] = root
		delete(a.pending, who)
	}
	return nil
}

func (a *actors) session(n int) string { return fmt.Sprintf("%s%d", treePrefix, n) }

// add appends a node and moves who made it there.
func (a *actors) add(ctx context.Context, who string, from tip, kind string, data fields) (tip, error) {
	to := tip{node: a.dice.uuid(), image: from.image, at: a.now().UTC().Truncate(time.Microsecond)}
	if kind == "run" {
		to.image = a.dice.uuid()
		data = append(data, store.Member{Key: "image_uuid", Value: text(to.image)})
	}
	data = append(data, store.Member{Key: "user", Value: userData(who, "")}, store.Member{Key: "created_at", Value: iso(to.at)})
	node := store.Node{ID: to.node, ParentID: &from.node, Kind: kind, Data: object(data)}
	err := a.ts.Append(ctx, a.session(a.tree), node)
	for errors.Is(err, store.ErrNodeConflict) { // another process with the same seed draws the same ids
		to.node = a.dice.uuid()
		node.ID = to.node
		err = a.ts.Append(ctx, a.session(a.tree), node)
	}
	switch {
	case errors.Is(err, store.ErrNotFound):
		a.nodes = treeNodes // somebody removed the tree: they begin another
		return from, nil
	case err != nil:
		return from, err
	}
	a.appended++
	a.nodes++
	a.tips[who] = to
	if len(a.known) < knownNodes {
		a.known = append(a.known, to)
	} else {
		a.known[a.dice.between(1, knownNodes-1)] = to
	}
	if a.dice.between(1, 16) == 1 {
		a.repeat = &repeat{a.session(a.tree), node}
	}
	return to, nil
}

func (a *actors) command() (string, int) {
	commands := []string{"make -j4", "go test ./...", "pytest -q", "ruff check .", "npm ci", "cargo build", "make CFLAGS=-O3", "git apply fix.patch", "ls -la build/"}
	exit := 0
	if a.dice.between(1, 7) == 1 {
		exit = a.dice.between(1, 2)
	}
	return commands[a.dice.between(0, len(commands)-1)], exit
}

func (a *actors) run(ctx context.Context, who string, from tip) error {
	command, exit := a.command()
	_, err := a.add(ctx, who, from, "run", fields{
		{Key: "command", Value: text(command)}, {Key: "exit_code", Value: number(exit)}, {Key: "duration", Value: decimal(float64(a.dice.between(40, 9000))/1000, 3)},
	})
	return err
}

// race has two append under one parent that both take for the newest.
func (a *actors) race(ctx context.Context) error {
	first := a.dice.between(0, len(a.names)-1)
	one, two := a.names[first], a.names[(first+1)%len(a.names)]
	from := a.tips[one]
	a.raced++
	return errors.Join(a.run(ctx, one, from), a.run(ctx, two, from))
}

// operate begins something that takes long.
func (a *actors) operate(ctx context.Context, who string) error {
	command, _ := a.command()
	op := &operation{id: a.dice.uuid(), at: a.now()}
	at, err := a.add(ctx, who, a.tips[who], "operation", fields{
		{Key: "command", Value: text(command)}, {Key: "operation_uuid", Value: text(op.id)}, {Key: "status", Value: text("pending")},
	})
	if err != nil {
		return err
	}
	op.from = at
	a.pending[who] = op
	return nil
}

func (a *actors) complete(ctx context.Context, who string, op *operation) error {
	_, exit := a.command()
	_, err := a.add(ctx, who, op.from, "completion", fields{
		{Key: "title", Value: text("completed")}, {Key: "operation_uuid", Value: text(op.id)}, {Key: "staging_complete", Value: boolean(true)},
		{Key: "response", Value: object(fields{{Key: "status", Value: text("finished")}, {Key: "exit_code", Value: number(exit)},
			{Key: "duration", Value: decimal(a.now().Sub(op.at).Seconds(), 3)}})},
	})
	return err
}

// grow adds to the preview, which expires when it is full and is begun anew.
func (a *actors) grow(ctx context.Context) error {
	p := &a.preview
	if !p.there {
		if _, err := a.ts.CreateSession(ctx, previewTree, "preview", nil); err != nil {
			return err
		}
		p.there, p.nodes, p.last = true, 0, tip{}
	}
	at := a.now().UTC().Truncate(time.Microsecond)
	node := store.Node{ID: a.dice.uuid(), Kind: "run", Data: object(fields{
		{Key: "command", Value: text(fmt.Sprintf("web --page %d", p.nodes))}, {Key: "created_at", Value: iso(at)},
	})}
	if parent := p.last.node; parent != "" {
		node.ParentID = &parent
	}
	switch err := a.ts.Append(ctx, previewTree, node); {
	case errors.Is(err, store.ErrNotFound): // it has expired
		p.there = false
		a.expired++
		return nil
	case errors.Is(err, store.ErrNodeConflict): // another process has begun it
		page, err := a.ts.ListNodes(ctx, previewTree, store.PageRequest{Limit: 1})
		if err != nil || len(page.Items) == 0 {
			return err
		}
		p.last = tip{node: page.Items[0].ID}
		return nil
	case err != nil:
		return err
	}
	a.appended++
	p.last = tip{node: node.ID}
	if p.nodes++; p.nodes == previewNodes {
		if _, err := a.ts.SetSessionTTL(ctx, previewTree, store.Seconds(a.ttl)); err != nil && !errors.Is(err, store.ErrNotFound) {
			return err
		}
	}
	return nil
}
