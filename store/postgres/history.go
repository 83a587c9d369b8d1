package postgres

import (
	"context"
	"errors"
	"strconv"

	"treering/store"
)

// historySQL follows parents for one page, in one statement: first the way up by ids
// and lengths alone, then the nodes on it, as many as the bound of bytes allows.
func (s *trees) historySQL(limit int) string {
	return "WITH RECURSIVE up AS (SELECT id, parent_id, 1 AS step, 0::bigint AS spent, octet_length(data)::bigint AS size FROM " + s.t.nodes + " WHERE tree = $1 AND id = $2" +
		" UNION ALL SELECT n.id, n.parent_id, up.step + 1, up.spent + up.size, octet_length(n.data)::bigint FROM up JOIN " + s.t.nodes + " n ON n.tree = $1 AND n.id = up.parent_id" +
		" WHERE up.step < " + strconv.Itoa(limit) + " AND up.spent + up.size < " + strconv.Itoa(pageBytes) + ")" +
		" SELECT n.id, n.parent_id, n.kind, n.data FROM up JOIN " + s.t.nodes + " n ON n.tree = $1 AND n.id = up.id ORDER BY up.step"
}

// ListHistory implements [store.TreeStore].
func (s *trees) ListHistory(ctx context.Context, session, node string, req store.PageRequest) (page store.Page[store.Node], err error) {
	limit, err := req.Size()
	if err != nil {
		return page, err
	}
	err = s.db.readOne(ctx, func(q querier) error {
		page = store.Page[store.Node]{}
		t, err := s.living(ctx, q, session, "")
		if err != nil {
			return err
		}
		scope := s.treeScope(t, "history", node)
		c, err := decodeClimb(scope, req.Cursor, node)
		if err != nil {
			return err
		}
		if store.CheckID("node id", c.next) != nil {
			return &store.NotFoundError{What: "node", ID: c.next, In: session}
		}
		rows, err := q.Query(ctx, s.historySQL(limit), t.number, c.next)
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			var n store.Node
			if err := scanNode(rows, &n); err != nil {
				return err
			}
			page.Items = append(page.Items, n)
			if n.ParentID != nil {
				if err := c.step(*n.ParentID); err != nil {
					return err
				}
			}
		}
		rows.Close()
		if err := rows.Err(); err != nil {
			return err
		}
		if len(page.Items) == 0 {
			return &store.NotFoundError{What: "node", ID: c.next, In: session}
		}
		if page.Items[len(page.Items)-1].ParentID != nil {
			page.Next = c.cursor(scope)
		}
		return nil
	})
	if err != nil {
		return store.Page[store.Node]{}, err
	}
	return page, nil
}

// climb is a position in a history. Appends close no circle, but tables may have been
// edited by hand, and then paging would never end. So it keeps one id of those passed,
// a later one whenever the way since has doubled, and meets it again in a circle.
type climb struct {
	next, mark string
	since, far uint64 // steps from the mark, and how many until the next one is taken
}

func decodeClimb(scope, cursor, node string) (climb, error) {
	if cursor == "" {
		return climb{next: node, mark: node, far: 1}, nil
	}
	key, err := store.DecodeCursor(scope, cursor)
	if err != nil {
		return climb{}, err
	}
	if len(key) != 4 {
		return climb{}, store.ErrBadCursor
	}
	since, err1 := strconv.ParseUint(key[2], 10, 64)
	far, err2 := strconv.ParseUint(key[3], 10, 64)
	if err1 != nil || err2 != nil {
		return climb{}, store.ErrBadCursor
	}
	return climb{key[0], key[1], since, far}, nil
}

func (c *climb) cursor(scope string) string {
	return store.EncodeCursor(scope, c.next, c.mark, strconv.FormatUint(c.since, 10), strconv.FormatUint(c.far, 10))
}

func (c *climb) step(parent string) error {
	c.next = parent
	c.since++
	switch {
	case parent == c.mark:
		return &store.RowError{Table: tableTreeNodes, Key: parent, Err: errors.New("its ancestors lead back to it")}
	case c.since == c.far:
		c.mark, c.since, c.far = parent, 0, 2*c.far
	}
	return nil
}
