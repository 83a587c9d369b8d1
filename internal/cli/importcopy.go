package cli

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"

	"github.com/google/uuid"

	"treering/store"
	"treering/store/locate"
)

// copying is the shape of one session on its way into a store: what is read of the
// nodes is their ids and their parents.
type copying struct {
	from    store.TreeStore
	session string
	foreign bool
	nodes   []copied
	at      map[string]int32 // by the source's id
}

// copied is one node.
type copied struct {
	source string // its id there; "" for a root that the source has none of
	id     string
	parent int32 // -1: it is the root
}

// noParent is the parent of the root.
const noParent = int32(-1)

// targetID is the id that a node of a source has in a store of ours: its own where a
// store takes that, else a UUID made of its session's and its own, the same each time.
func targetID(session, id string) string {
	if store.CheckID("node id", id) == nil {
		return id
	}
	space := uuid.NewSHA1(uuid.NameSpaceURL, []byte("treering:session:"+session))
	return uuid.NewSHA1(space, []byte(id)).String()
}

// newCopying reads the shape of a session. One of another program that has no root
// before its records gets one: a second record without a parent may come later, and a
// tree keeps its root.
func newCopying(ctx context.Context, o *locate.Opened, one *imported) (*copying, error) {
	if store.CheckID("session id", one.into) != nil {
		one.into = targetID("", one.into)
	}
	if store.CheckID("kind", one.kind) != nil {
		one.kind = "session"
	}
	c := &copying{from: o.Trees, session: one.from, foreign: o.Info.Foreign, at: map[string]int32{}}
	planted := true
	if o.Foreign != nil {
		var err error
		if planted, err = o.Foreign.Planted(ctx, one.from); err != nil {
			return nil, err
		}
		count, lines, err := o.Warnings(ctx, one.from)
		if err != nil {
			return nil, err
		}
		for _, w := range lines {
			one.warn("%s", w)
		}
		one.unlisted += count - int64(len(lines))
	}
	type link struct {
		id     string
		parent *string
	}
	var links []link
	add := func(id string, parent *string) { links = append(links, link{id, parent}) }
	var err error
	if outliner, ok := o.Trees.(store.Outliner); ok {
		err = store.All(func(p store.PageRequest) (store.Page[store.Outline], error) {
			return outliner.ListOutline(ctx, one.from, p)
		},
			func(n store.Outline) error { add(n.ID, n.ParentID); return nil })
	} else {
		err = store.All(func(p store.PageRequest) (store.Page[store.Node], error) { return o.Trees.ListNodes(ctx, one.from, p) },
			func(n store.Node) error { add(n.ID, n.ParentID); return nil })
	}
	if err != nil {
		return nil, err
	}
	above := noParent
	if !planted && len(links) > 0 {
		c.nodes = append(c.nodes, copied{id: targetID(one.from, one.from+":root"), parent: noParent})
		above = 0
	}
	for _, l := range links {
		c.at[l.id] = int32(len(c.nodes))
		c.nodes = append(c.nodes, copied{source: l.id, id: targetID(one.from, l.id), parent: above})
	}
	first := len(c.nodes) - len(links)
	for i, l := range links {
		if l.parent == nil {
			continue
		}
		p, ok := c.at[*l.parent]
		if !ok {
			return nil, &store.NotFoundError{What: "parent", ID: *l.parent, In: one.from}
		}
		c.nodes[first+i].parent = p
	}
	return c, nil
}

// parentsFirst is an order in which every node comes after its parent, and which is
// the source's as far as that goes. A cycle, which no store has, is left out.
func (c *copying) parentsFirst() []int32 {
	next := make([]int32, len(c.nodes))  // the next child of the same parent
	first := make([]int32, len(c.nodes)) // that waits for it
	for i := range next {
		next[i], first[i] = noParent, noParent
	}
	out := make([]int32, 0, len(c.nodes))
	done := make([]bool, len(c.nodes))
	var ready []int32
	for i := range c.nodes {
		ready = append(ready[:0], int32(i))
		if p := c.nodes[i].parent; p != noParent && !done[p] {
			next[i], first[p] = first[p], int32(i)
			continue
		}
		for len(ready) > 0 {
			n := ready[len(ready)-1]
			ready = ready[:len(ready)-1]
			out = append(out, n)
			done[n] = true
			for w := first[n]; w != noParent; w = next[w] {
				ready = append(ready, w)
			}
		}
	}
	return out
}

// read reads the first of the nodes as they are to be stored, as many as a batch
// holds, and says which are left. What had to be left out is said to one, unless it is
// nil.
func (c *copying) read(ctx context.Context, nodes []int32, one *imported) (batch []store.Node, rest []int32, err error) {
	var size int
	for len(batch) < importBatch && size < batchBytes && len(nodes) > 0 {
		part := nodes[:min(len(nodes), 50)]
		ids := make([]string, 0, len(part))
		for _, n := range part {
			if id := c.nodes[n].source; id != "" {
				ids = append(ids, id)
			}
		}
		found, err := c.from.Nodes(ctx, c.session, ids)
		if err != nil {
			return nil, nil, err
		}
		for _, n := range part {
			if c.nodes[n].source == "" {
				batch = append(batch, store.Node{ID: c.nodes[n].id, Kind: "root", Data: madeRoot})
				continue
			}
			if found[0] == nil {
				return nil, nil, fmt.Errorf("node %q: %w", c.nodes[n].source, store.ErrSourceChanged)
			}
			node := c.store(n, *found[0], one)
			found = found[1:]
			size += len(node.Data)
			batch = append(batch, node)
		}
		nodes = nodes[len(part):]
	}
	return batch, nodes, nil
}

// madeRoot is the data of a root that was made up. It says nothing that may change.
const madeRoot = store.JSON(`{"synthetic":true}`)

// store is a node as it is stored.
func (c *copying) store(n int32, node store.Node, one *imported) store.Node {
	from := node.ID
	node.ID, node.ParentID = c.nodes[n].id, nil
	if p := c.nodes[n].parent; p != noParent {
		node.ParentID = &c.nodes[p].id
	}
	if store.CheckID("kind", node.Kind) != nil {
		node.Kind = "node"
	}
	if !c.foreign {
		return node
	}
	node.Data = lasting(node.Data, c.nodes[n].parent == noParent)
	raw := node.Data.Get("raw")
	err := store.CheckData(node.Data)
	if err != nil && !errors.Is(err, store.ErrTooLong) {
		// Keys that come twice, and numbers that are none.
		node.Data = replaced(node.Data, store.Member{Key: "raw_text", Value: store.Quote(string(raw))})
		if one != nil {
			one.warn("node %s: its record is kept as text: %v", from, err)
		}
		err = store.CheckData(node.Data)
	}
	if err != nil {
		sum := sha256.Sum256([]byte(raw))
		node.Data = replaced(node.Data, store.Member{Key: "truncated", Value: "true"}, store.Member{Key: "bytes", Value: store.JSON(strconv.Itoa(len(raw)))},
			store.Member{Key: "sha256", Value: store.Quote(hex.EncodeToString(sum[:]))})
		if one != nil {
			one.warn("node %s: its %d bytes are more than a node holds; their number and SHA-256 are kept", from, len(raw))
		}
	}
	return node
}

// lasting is the data of a node without what changes while the session goes on, or is
// said of whichever node is the root. The
// root of a session is called by its title, which may change as well.
func lasting(data store.JSON, root bool) store.JSON {
	if root && data.Get("synthetic") == "true" {
		return madeRoot
	}
	var keep []store.Member
	for key, v := range data.Members() {
		switch key {
		case "head", "labels", "roots", "path", "others", "from_session", "agent_type", "tool_use_id", "orphan_parent", "cycle_cut", "linear_assumed":
		case "title":
			if !root {
				keep = append(keep, store.Member{Key: key, Value: v})
			} else if cwd := data.At("raw", "cwd"); cwd != "" {
				keep = append(keep, store.Member{Key: key, Value: cwd})
			}
		default:
			keep = append(keep, store.Member{Key: key, Value: v})
		}
	}
	return store.ObjectOf(keep...)
}

// replaced is data with other members in the place of the record.
func replaced(data store.JSON, by ...store.Member) store.JSON {
	var keep []store.Member
	for key, v := range data.Members() {
		switch key {
		case "raw", "raw_text":
		default:
			keep = append(keep, store.Member{Key: key, Value: v})
		}
	}
	return store.ObjectOf(append(keep, by...)...)
}
