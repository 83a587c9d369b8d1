package ui

import (
	"context"
	"errors"

	"treering/internal/term"
	"treering/store"
	"treering/treeview"
)

// pair is what belongs to a node: an operation that went on by itself and its
// completion are nodes of their own.
type pair struct {
	label string // what the other one is to the node; "" where the node is no half of a pair
	other *store.Node
	seen  int // nodes that were looked through
	more  bool
}

func (p pair) id() string {
	if p.other == nil {
		return ""
	}
	return p.other.ID
}

// maxPairSearch is how many nodes are looked through for the other half.
const maxPairSearch = 5000

// pairOf finds what a node belongs together with: the node that its data names, or
// the one with the same operation_uuid, which for an operation is a completion
// below it and for a completion the operation above.
func pairOf(ctx context.Context, ts store.TreeStore, session string, n store.Node) (pair, error) {
	p, err := namedPair(ctx, ts, session, n)
	if err != nil || p.other != nil {
		return p, err
	}
	if p, err = toolPair(ctx, ts, session, n); err != nil || p.label != "" {
		return p, err
	}
	operation, ok := n.Data.Get("operation_uuid").Text()
	if !ok || operation == "" {
		return p, nil
	}
	switch {
	case isCompletion(n):
		p.label = "completes"
		err = p.above(ctx, ts, session, n, operation)
	case isOperation(n):
		p.label = "completed by"
		err = p.below(ctx, ts, session, n, operation)
	}
	return p, err
}

func isCompletion(n store.Node) bool {
	return n.Kind == "completion" || !isOperation(n) && !n.Data.Get("response").IsNull()
}

func isOperation(n store.Node) bool {
	status, _ := n.Data.Get("status").Text()
	return n.Kind == "operation" || n.Kind == "run-detached" || status == "pending" && n.Kind != "completion"
}

// namedPair is the node whose id the data gives.
func namedPair(ctx context.Context, ts store.TreeStore, session string, n store.Node) (pair, error) {
	for _, named := range []struct{ key, label string }{
		{"completes", "completes"}, {"operation_id", "completes"}, {"operation", "completes"}, {"completion", "completed by"}, {"completed_by", "completed by"},
	} {
		id, ok := n.Data.Get(named.key).Text()
		if !ok || id == n.ID || store.CheckID("node id", id) != nil {
			continue
		}
		other, err := ts.Node(ctx, session, id)
		switch {
		case err == nil:
			return pair{label: named.label, other: &other}, nil
		case !errors.Is(err, store.ErrNotFound): // the text may be something else than an id
			return pair{}, err
		}
	}
	return pair{}, nil
}

func sameOperation(n store.Node, operation string) bool {
	other, ok := n.Data.Get("operation_uuid").Text()
	return ok && other == operation
}

// above looks along the parents.
func (p *pair) above(ctx context.Context, ts store.TreeStore, session string, n store.Node, operation string) error {
	page := store.PageRequest{}
	for {
		got, err := ts.ListHistory(ctx, session, n.ID, page)
		if err != nil {
			return err
		}
		for i, node := range got.Items {
			if node.ID == n.ID {
				continue
			}
			p.seen++
			if isOperation(node) && sameOperation(node, operation) {
				p.other = &got.Items[i]
				return nil
			}
		}
		if page.Cursor = got.Next; page.Cursor == "" {
			return nil
		}
		if p.seen >= maxPairSearch {
			p.more = true
			return nil
		}
	}
}

// below looks through the children, then theirs.
func (p *pair) below(ctx context.Context, ts store.TreeStore, session string, n store.Node, operation string) error {
	met := map[string]bool{n.ID: true}
	for todo := []string{n.ID}; len(todo) > 0; todo = todo[1:] {
		for page := (store.PageRequest{}); ; {
			got, err := ts.ListChildren(ctx, session, todo[0], page)
			if err != nil {
				return err
			}
			for i, node := range got.Items {
				if met[node.ID] {
					continue
				}
				met[node.ID] = true
				p.seen++
				if isCompletion(node) && sameOperation(node, operation) {
					p.other = &got.Items[i]
					return nil
				}
				todo = append(todo, node.ID)
			}
			if p.seen >= maxPairSearch {
				p.more = true
				return nil
			}
			if page.Cursor = got.Next; page.Cursor == "" {
				break
			}
		}
	}
	return nil
}

// write says what the other half is, or that there is none.
func (p pair) write(w *docWriter) {
	switch {
	case p.label == "":
	case p.other != nil:
		w.foreign(p.label, p.other.ID)
		w.foreign("", p.other.Title())
		w.styled("", term.Lit(w.pair+" goes there"), w.theme.Dim)
	case p.more:
		w.styled(p.label, term.Lit("not among the "+treeview.Grouped(int64(p.seen))+" nodes looked through"), w.theme.Warn)
	case p.label == "completes":
		w.styled(p.label, term.Lit("an operation that is not among the nodes above"), w.theme.Warn)
	default:
		w.styled(p.label, term.Lit("nothing yet: the operation is pending"), w.theme.Warn)
	}
}
