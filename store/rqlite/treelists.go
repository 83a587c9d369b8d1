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

// scopeOf joins the parts of a cursor's scope with their lengths, so that no two lists
// share one.
func (t *trees) scopeOf(parts ...string) string {
	var b strings.Builder
	for _, p := range append([]string{t.db.scope, "trees"}, parts...) {
		b.WriteString(strconv.Itoa(len(p)))
		b.WriteByte(':')
		b.WriteString(p)
	}
	return b.String()
}

// position reads the position out of a cursor: want keys, or none for the first page.
func position(scope, cursor string, want int) ([]string, error) {
	if cursor == "" {
		return nil, nil
	}
	key, err := store.DecodeCursor(scope, cursor)
	if err == nil && len(key) != want {
		err = store.ErrBadCursor
	}
	return key, err
}

// ListSessions implements [store.TreeStore].
func (t *trees) ListSessions(ctx context.Context, f store.SessionFilter, req store.PageRequest) (store.Page[store.SessionInfo], error) {
	var out store.Page[store.SessionInfo]
	limit, err := req.Size()
	if err != nil {
		return out, err
	}
	if err := t.db.usable(ctx); err != nil {
		return out, err
	}
	only, not := kindList(f.Kinds), kindList(f.NotKinds)
	scope := t.scopeOf(append([]string{"sessions", fmt.Sprint(f.Kinds != nil, len(only))}, slices.Concat(only, not)...)...)
	key, err := position(scope, req.Cursor, 1)
	if err != nil {
		return out, err
	}
	now, err := t.db.now(ctx, &t.clock)
	if err != nil {
		return out, err
	}
	after := "" // every id comes after it, and no deleted tree's NULL
	if key != nil {
		after = key[0]
	}
	s := sql("SELECT id, kind, expires_at FROM tree_sessions WHERE id > ?1 AND (expires_at IS NULL OR expires_at > ?2)", after, now)
	if f.Kinds != nil {
		s.params = append(s.params, jsonList(only))
		// With several kinds their index would have the ids in the wrong order, and every
		// page would sort them all: the plus keeps it out.
		if s.sql += " AND +kind IN (SELECT value FROM json_each(?3))"; len(only) == 1 {
			s.sql = strings.Replace(s.sql, "+kind IN (SELECT value FROM json_each(?3))", "kind = json_extract(?3, '$[0]')", 1)
		}
	}
	if len(not) > 0 {
		s.params = append(s.params, jsonList(not))
		s.sql += " AND kind NOT IN (SELECT value FROM json_each(?" + strconv.Itoa(len(s.params)) + "))"
	}
	s.sql += " ORDER BY id LIMIT " + strconv.Itoa(limit+1)
	results, err := t.db.query(ctx, t.db.browse(), s)
	if err != nil {
		return out, err
	}
	for _, row := range results[0].Values {
		if len(row) != 3 {
			return store.Page[store.SessionInfo]{}, errors.New("rqlite: a row of tree_sessions has another number of columns")
		}
		if len(out.Items) == limit {
			out.Next = store.EncodeCursor(scope, out.Items[limit-1].ID)
			break
		}
		out.Items = append(out.Items, store.SessionInfo{ID: row[0].text, Kind: row[1].text, ExpiresAt: row[2].floatPointer()})
	}
	return out, nil
}

// kindList puts a selection into a form that is equal for equal selections, less the
// kinds that no tree can have.
func kindList(kinds []string) []string {
	list := slices.DeleteFunc(slices.Clone(kinds), func(k string) bool { return store.CheckID("kind", k) != nil })
	slices.Sort(list)
	return slices.Compact(list)
}

func jsonList(texts []string) string {
	quoted := make([]string, len(texts))
	for i, k := range texts {
		quoted[i] = string(store.Quote(k))
	}
	return "[" + strings.Join(quoted, ",") + "]"
}

// ListNodes implements [store.TreeStore].
func (t *trees) ListNodes(ctx context.Context, session string, req store.PageRequest) (store.Page[store.Node], error) {
	return t.list(ctx, session, req, []string{"nodes"}, page{
		columns: nodeColumns, table: "tree_nodes", order: nodeKey, key: "node", size: bytesOf("data"),
		// Every key of the tree comes after that of "", and 0 follows the stroke in ASCII.
		where: []string{nodeKey + " < " + liveTree + " || '0'"},
	}, func(p *page, after string) {
		p.where = append(p.where, nodeKey+" > "+liveTree+" || '/' || "+p.param(after))
	}, nil)
}

// ListChildren implements [store.TreeStore].
func (t *trees) ListChildren(ctx context.Context, session, node string, req store.PageRequest) (store.Page[store.Node], error) {
	p := page{columns: nodeColumns, table: "tree_nodes INDEXED BY tree_nodes_children", order: "id", key: "node", size: bytesOf("data"), where: []string{"tree = " + liveTree}}
	after := func(p *page, after string) { p.where = append(p.where, "id > "+p.param(after)) }
	if node == "" {
		p.where = append(p.where, "parent IS NULL")
		return t.list(ctx, session, req, []string{"roots"}, p, after, nil)
	}
	p.params = []any{nil, nil, node}
	p.where = append(p.where, "parent = (SELECT p.node FROM tree_nodes AS p WHERE p.tree || '/' || p.id = "+liveTree+" || '/' || ?3)")
	return t.list(ctx, session, req, []string{"children", node}, p, after, &node)
}

// list reads a page in identity order; after adds where it begins. Where parent is
// given, it must be in the tree.
func (t *trees) list(ctx context.Context, session string, req store.PageRequest, parts []string, p page, after func(*page, string), parent *string) (store.Page[store.Node], error) {
	var out store.Page[store.Node]
	limit, err := req.Size()
	if err != nil {
		return out, err
	}
	scope := t.scopeOf(append([]string{"tree", session}, parts...)...)
	key, err := position(scope, req.Cursor, 2)
	if len(p.params) == 0 {
		p.params = []any{nil, nil} // of every query: the session and the time
	}
	from := ""
	if key != nil {
		from = key[1]
	}
	after(&p, from)
	s := p.statement(limit)
	statements := []statement{sql(s.sql, s.params[2:]...)}
	if parent != nil {
		statements = append(statements, sql("SELECT 1 FROM tree_nodes WHERE "+nodeKey+" = "+liveTree+" || '/' || ?3", *parent))
	}
	if err != nil {
		statements = nil // whether there is a tree is said first
	}
	results, qerr := t.query(ctx, session, t.db.browse(), statements...)
	if qerr != nil {
		return out, qerr
	}
	there, found, terr := readTree(session, results[0])
	switch {
	case terr != nil:
		return out, terr
	case !found:
		return out, noSession(session)
	case err != nil:
		return out, err
	case parent != nil && len(results[2].Values) == 0:
		return out, &store.NotFoundError{What: "node", ID: *parent, In: session}
	case key != nil && key[0] != there.number:
		return out, store.ErrBadCursor // of an earlier tree of that name
	}
	rows, more := cut(results[1], limit)
	for _, row := range rows {
		node, err := readNode(row)
		if err != nil {
			return store.Page[store.Node]{}, err
		}
		out.Items = append(out.Items, node)
	}
	if more {
		out.Next = store.EncodeCursor(scope, there.number, out.Items[len(out.Items)-1].ID)
	}
	return out, nil
}

// history climbs from a node: depth counts the steps, size the bytes before.
const history = `WITH RECURSIVE up (node, parent, depth, before) AS (
SELECT node, parent, 0, 0 FROM tree_nodes WHERE ` + nodeKey + ` = ` + liveTree + ` || '/' || ?3
UNION ALL
SELECT n.node, n.parent, up.depth + 1, up.before + (SELECT octet_length(b.data) FROM tree_nodes AS b WHERE b.node = up.node)
FROM up JOIN tree_nodes AS n ON n.node = up.parent AND n.tree = ` + liveTree + ` WHERE up.depth < ?4 AND up.before < ?5)
SELECT n.id, n.parent_id, n.kind, n.data FROM up JOIN tree_nodes AS n ON n.node = up.node WHERE up.before < ?5 ORDER BY up.depth`

// ListHistory implements [store.TreeStore]. One recursive query climbs a whole page:
// a request for each parent would cost a round trip each.
func (t *trees) ListHistory(ctx context.Context, session, node string, req store.PageRequest) (store.Page[store.Node], error) {
	var out store.Page[store.Node]
	limit, err := req.Size()
	if err != nil {
		return out, err
	}
	scope := t.scopeOf("tree", session, "history", node)
	key, err := position(scope, req.Cursor, 4)
	w := walk{next: node, behind: node, moveAt: 1}
	var number string
	if key != nil {
		number = key[0]
		w, err = walkOf(key[1:])
	}
	statements := []statement{sql(history, w.next, int64(limit), int64(maxBytes))}
	if err != nil {
		statements = nil
	}
	results, qerr := t.query(ctx, session, t.db.browse(), statements...)
	if qerr != nil {
		return out, qerr
	}
	there, found, terr := readTree(session, results[0])
	switch {
	case terr != nil:
		return out, terr
	case !found:
		return out, noSession(session)
	case err != nil:
		return out, err
	case key != nil && number != there.number:
		return out, store.ErrBadCursor
	case len(results[1].Values) == 0:
		return out, &store.NotFoundError{What: "node", ID: w.next, In: session}
	}
	for _, row := range results[1].Values {
		if len(out.Items) == limit {
			break
		}
		n, err := readNode(row)
		if err != nil {
			return store.Page[store.Node]{}, err
		}
		out.Items = append(out.Items, n)
		if n.ParentID == nil {
			return out, nil
		}
		if err := w.step(*n.ParentID); err != nil {
			return store.Page[store.Node]{}, err
		}
	}
	out.Next = store.EncodeCursor(scope, append([]string{there.number}, w.key()...)...)
	return out, nil
}

// walk is a position in a history. Appends cannot close a circle, but a database may
// have been edited by hand, and then paging would never end: the walk keeps one node
// behind, moves it up whenever the steps have doubled, and meets it again if there is a
// circle. The steps since then are counted down to the next move.
type walk struct {
	next, behind  string
	steps, moveAt uint64
}

func walkOf(key []string) (walk, error) {
	w := walk{next: key[0], behind: key[1]}
	steps, move, ok := strings.Cut(key[2], "/")
	var errs [2]error
	w.steps, errs[0] = strconv.ParseUint(steps, 10, 64)
	w.moveAt, errs[1] = strconv.ParseUint(move, 10, 64)
	if !ok || errs != [2]error{} {
		return walk{}, store.ErrBadCursor
	}
	return w, nil
}

func (w *walk) key() []string {
	return []string{w.next, w.behind, strconv.FormatUint(w.steps, 10) + "/" + strconv.FormatUint(w.moveAt, 10)}
}

func (w *walk) step(parent string) error {
	w.next = parent
	w.steps++
	if parent == w.behind {
		return &store.RowError{Table: "tree_nodes", Key: parent, Err: errors.New("its ancestors lead back to it")}
	}
	if w.steps == w.moveAt {
		w.behind, w.steps, w.moveAt = parent, 0, 2*w.moveAt
	}
	return nil
}
