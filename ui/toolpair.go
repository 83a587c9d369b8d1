package ui

import (
	"context"
	"slices"

	"treering/store"
)

// maxToolSearch is how many nodes are looked through for the other half of a tool's
// call: the two stand close together.
const maxToolSearch = 200

// toolPair finds the answer to the call in a node, or the call that it answers. A node
// with several calls is paired with the first answer.
func toolPair(ctx context.Context, ts store.TreeStore, session string, n store.Node) (pair, error) {
	m := messageOf(n.Data)
	switch {
	case m.reply != "":
		return callAbove(ctx, ts, session, n, m.reply)
	case len(m.calls) > 0:
		return answerBelow(ctx, ts, session, n, m.calls)
	}
	return pair{}, nil
}

// callAbove looks along the parents. Tools that run at once are chained before any of
// them is answered, so the call need not be the parent.
func callAbove(ctx context.Context, ts store.TreeStore, session string, n store.Node, call string) (pair, error) {
	page, err := ts.ListHistory(ctx, session, n.ID, store.PageRequest{Limit: maxToolSearch})
	if err != nil {
		return pair{}, err
	}
	for i, above := range page.Items {
		if above.ID != n.ID && slices.Contains(messageOf(above.Data).calls, call) {
			return pair{label: "answers", other: &page.Items[i]}, nil
		}
	}
	return pair{}, nil
}

// answerBelow looks through what follows, nearest first.
func answerBelow(ctx context.Context, ts store.TreeStore, session string, n store.Node, calls []string) (pair, error) {
	left := maxToolSearch
	for todo := []string{n.ID}; len(todo) > 0 && left > 0; todo = todo[1:] {
		page, err := ts.ListChildren(ctx, session, todo[0], store.PageRequest{Limit: left})
		if err != nil {
			return pair{}, err
		}
		left -= len(page.Items)
		for i, below := range page.Items {
			if reply := messageOf(below.Data).reply; reply != "" && slices.Contains(calls, reply) {
				return pair{label: "answered by", other: &page.Items[i]}, nil
			}
			todo = append(todo, below.ID)
		}
	}
	return pair{}, nil
}
