package rqlite

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"treering/store"
)

// liveTree is the number of the tree ?1 that lives at ?2; NULL where there is none.
const liveTree = "(SELECT tree FROM tree_sessions WHERE " + living + ")"

// The columns of a node, in the order of readNode.
const (
	nodeColumns  = "id, parent_id, kind, data"
	insertNode   = "INSERT INTO tree_nodes (tree, id, parent, parent_id, kind, data) SELECT s.tree, ?3, %s, ?4, ?5, ?6 FROM tree_sessions AS s%s WHERE s.id = ?1 AND (s.expires_at IS NULL OR s.expires_at > ?2)%s ON CONFLICT DO NOTHING"
	fromParent   = " JOIN tree_nodes AS p ON p.tree || '/' || p.id = s.tree || '/' || ?4"
	withoutRoot  = " AND NOT EXISTS (SELECT 1 FROM tree_nodes AS r WHERE r.tree = s.tree AND r.parent IS NULL)"
	selectStored = "SELECT " + nodeColumns + " FROM tree_nodes WHERE " + nodeKey + " = " + liveTree + " || '/' || ?3"
)

func appendStatement(session string, now float64, n store.Node) statement {
	text := fmt.Sprintf(insertNode, "p.node", fromParent, "")
	if n.ParentID == nil {
		text = fmt.Sprintf(insertNode, "NULL", "", withoutRoot)
	}
	return sql(text, session, now, n.ID, n.ParentID, n.Kind, string(n.Data))
}

// Append implements [store.TreeStore]. After [store.ErrOutcomeUnknown] the same node
// can be appended again.
func (t *trees) Append(ctx context.Context, session string, node store.Node) error {
	if err := firstOf(t.db.writable(ctx), node.Check()); err != nil {
		return err
	}
	for range tries {
		now, err := t.db.now(ctx, &t.clock)
		if err != nil {
			return err
		}
		results, err := t.db.execute(ctx, appendStatement(session, now, node))
		if err != nil || results[0].RowsAffected > 0 {
			return err
		}
		if again, err := t.refused(ctx, session, node); !again {
			return err
		}
	}
	return errUnsettled
}

// AppendAll implements [store.BatchAppender], in one transaction.
func (t *trees) AppendAll(ctx context.Context, session string, nodes []store.Node) error {
	if err := t.db.writable(ctx); err != nil {
		return err
	}
	for i, n := range nodes {
		if err := n.Check(); err != nil {
			return fmt.Errorf("node %d of %d: %w", i+1, len(nodes), err)
		}
	}
	for range tries {
		now, err := t.db.now(ctx, &t.clock)
		if err != nil {
			return err
		}
		// Those that are stored already are known beforehand: each of the others must be
		// inserted, or the transaction fails.
		fresh, err := t.unstored(ctx, session, nodes)
		if err != nil {
			return err
		}
		if len(fresh) == 0 {
			return nil
		}
		var all []statement
		for _, n := range fresh {
			all = append(all, appendStatement(session, now, n), sql(swapped))
		}
		_, err = t.db.execute(ctx, all...)
		var said *SQLError
		if err == nil || !errors.As(err, &said) || said.Statement%2 == 0 {
			return err
		}
		failed := fresh[said.Statement/2]
		if failed.ParentID != nil && slices.ContainsFunc(fresh[:said.Statement/2], func(n store.Node) bool { return n.ID == *failed.ParentID }) {
			continue // its parent was rolled back with it, so what is there now says nothing
		}
		if again, err := t.refused(ctx, session, failed); !again {
			return err
		}
	}
	return errUnsettled
}

// unstored returns the nodes that are not there yet, each once. One that is there with
// other contents, or is given twice with different ones, is a conflict.
func (t *trees) unstored(ctx context.Context, session string, nodes []store.Node) ([]store.Node, error) {
	var fresh []store.Node
	given := map[string]int{}
	for part := range slices.Chunk(nodes, store.MaxNodeIDs) {
		ids := make([]string, len(part))
		for i, n := range part {
			ids[i] = n.ID
		}
		stored, err := t.nodes(ctx, session, strong, ids)
		if err != nil {
			return nil, err
		}
		for i, n := range part {
			before := stored[i]
			if at, ok := given[n.ID]; ok {
				before = &fresh[at]
			}
			if before != nil {
				if reason := before.DiffersFrom(n); reason != "" {
					return nil, &store.NodeConflictError{Session: session, Node: n.ID, Reason: reason}
				}
				continue
			}
			given[n.ID] = len(fresh)
			fresh = append(fresh, n)
		}
	}
	if nodes == nil {
		_, err := t.nodes(ctx, session, strong, nil)
		return nil, err
	}
	return fresh, nil
}

// refused finds out why an append wrote nothing. Contract, append: an equal retry
// succeeds. With again nothing stands against it any more.
func (t *trees) refused(ctx context.Context, session string, node store.Node) (again bool, err error) {
	parent := ""
	if node.ParentID != nil {
		parent = *node.ParentID
	}
	results, err := t.query(ctx, session, strong, sql(selectStored, node.ID),
		sql("SELECT 1 FROM tree_nodes WHERE "+nodeKey+" = "+liveTree+" || '/' || ?3", parent),
		sql("SELECT 1 FROM tree_nodes WHERE tree = "+liveTree+" AND parent IS NULL LIMIT 1"))
	if err != nil {
		return false, err
	}
	if _, found, err := readTree(session, results[0]); err != nil || !found {
		return false, firstOf(err, noSession(session))
	}
	switch {
	case len(results[1].Values) > 0:
		stored, err := readNode(results[1].Values[0])
		if err != nil {
			return false, err
		}
		if reason := stored.DiffersFrom(node); reason != "" {
			return false, &store.NodeConflictError{Session: session, Node: node.ID, Reason: reason}
		}
		return false, nil
	case node.ParentID != nil && len(results[2].Values) == 0:
		return false, &store.NotFoundError{What: "parent", ID: *node.ParentID, In: session}
	case node.ParentID == nil && len(results[3].Values) > 0:
		return false, &store.NodeConflictError{Session: session, Node: node.ID, Reason: store.ReasonSecondRoot}
	}
	return true, nil
}

func readNode(row []cell) (store.Node, error) {
	if len(row) < 4 {
		return store.Node{}, errors.New("rqlite: a row of tree_nodes has too few columns")
	}
	return store.Node{ID: row[0].text, ParentID: row[1].pointer(), Kind: row[2].text, Data: store.JSON(row[3].text)}, nil
}

// Node implements [store.TreeStore].
func (t *trees) Node(ctx context.Context, session, id string) (store.Node, error) {
	found, err := t.nodes(ctx, session, t.db.browse(), []string{id})
	if err != nil {
		return store.Node{}, err
	}
	if found[0] == nil {
		return store.Node{}, &store.NotFoundError{What: "node", ID: id, In: session}
	}
	return *found[0], nil
}

// Nodes implements [store.TreeStore].
func (t *trees) Nodes(ctx context.Context, session string, ids []string) ([]*store.Node, error) {
	if err := firstOf(t.db.usable(ctx), store.CheckNodeIDs(ids)); err != nil {
		return nil, err
	}
	return t.nodes(ctx, session, t.db.browse(), ids)
}

// nodes reads nodes in one transaction. An id that no node can have finds none.
func (t *trees) nodes(ctx context.Context, session string, at level, ids []string) ([]*store.Node, error) {
	s := sql("SELECT " + nodeColumns + " FROM tree_nodes WHERE " + nodeKey + " IN (SELECT " + liveTree + " || '/' || value FROM json_each(?3))")
	var asked []store.JSON
	for _, id := range ids {
		if store.CheckID("node id", id) == nil {
			asked = append(asked, store.Quote(id))
		}
	}
	list := make([]string, len(asked))
	for i, id := range asked {
		list[i] = string(id)
	}
	s.params = []any{"[" + strings.Join(list, ",") + "]"}
	results, err := t.query(ctx, session, at, s)
	if err != nil {
		return nil, err
	}
	if _, found, err := readTree(session, results[0]); err != nil || !found {
		return nil, firstOf(err, noSession(session))
	}
	byID := make(map[string][]cell, len(results[1].Values))
	for _, row := range results[1].Values {
		byID[row[0].text] = row
	}
	slots := make([]*store.Node, len(ids))
	for i, id := range ids {
		row, ok := byID[id]
		if !ok {
			continue
		}
		// Each slot has its own, duplicates too.
		node, err := readNode(slices.Clone(row))
		if err != nil {
			return nil, err
		}
		slots[i] = &node
	}
	return slots, nil
}

// CountNodes implements [store.TreeStore].
func (t *trees) CountNodes(ctx context.Context, session string) (int64, error) {
	results, err := t.query(ctx, session, t.db.browse(), sql("SELECT count(*) FROM tree_nodes WHERE tree = "+liveTree))
	if err != nil {
		return 0, err
	}
	if _, found, err := readTree(session, results[0]); err != nil || !found {
		return 0, firstOf(err, noSession(session))
	}
	row, err := results[1].one(1)
	if err != nil || row == nil {
		return 0, firstOf(err, errCounted)
	}
	return strconv.ParseInt(row[0].text, 10, 64)
}
