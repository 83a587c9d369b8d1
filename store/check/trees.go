package check

import (
	"context"
	"errors"
	"fmt"

	"treering/store"
)

// Trees looks through all live session trees. It stops at the first error of visit
// or of the store.
func Trees(ctx context.Context, ts store.TreeStore, r *Report, visit func(Finding) error) error {
	c := &checker{visit, r}
	return store.All(func(p store.PageRequest) (store.Page[store.SessionInfo], error) {
		return ts.ListSessions(ctx, store.SessionFilter{}, p)
	}, func(info store.SessionInfo) error {
		c.r.Sessions++
		err := c.tree(ctx, ts, info.ID)
		if errors.Is(err, store.ErrNotFound) {
			return nil // deleted or expired meanwhile
		}
		return err
	})
}

// none stands for the parent of a root, and for one that is not there.
const none = -1

func (c *checker) tree(ctx context.Context, ts store.TreeStore, session string) error {
	at := map[string]int32{}
	var ids []string
	var parents []*string
	add := func(n store.Node) {
		if _, again := at[n.ID]; again {
			return
		}
		at[n.ID] = int32(len(ids))
		ids = append(ids, n.ID)
		parents = append(parents, n.ParentID)
	}
	var err error
	if o, ok := ts.(store.Outliner); ok {
		// Another program's nodes keep its rules, not those of the contract: a longer id, a
		// larger record and a repeated key are no mistakes there.
		err = store.All(func(p store.PageRequest) (store.Page[store.Outline], error) {
			return o.ListOutline(ctx, session, p)
		}, func(n store.Outline) error {
			c.r.Nodes++
			add(store.Node{ID: n.ID, ParentID: n.ParentID})
			return nil
		})
	} else {
		err = store.All(func(p store.PageRequest) (store.Page[store.Node], error) {
			return ts.ListNodes(ctx, session, p)
		}, func(n store.Node) error {
			c.r.Nodes++
			add(n)
			if err := n.Check(); err != nil {
				return c.found(Finding{BadNode, Error, "nodes", n.ID, session, err.Error()})
			}
			return nil
		})
	}
	if err != nil {
		return err
	}
	// A parent may have come behind the cursor: what is missing is asked for once more.
	for i := 0; i < len(parents); i++ {
		p := parents[i]
		if p == nil {
			continue
		}
		if _, there := at[*p]; there {
			continue
		}
		nodes, err := ts.Nodes(ctx, session, []string{*p})
		if err != nil {
			return err
		}
		if nodes[0] != nil {
			add(*nodes[0])
			continue
		}
		if err := c.found(Finding{Orphan, Error, "nodes", ids[i], session, fmt.Sprintf("its parent %q is not there", *p)}); err != nil {
			return err
		}
	}
	return c.shape(session, ids, parents, at)
}

// shape finds second roots and cycles.
func (c *checker) shape(session string, ids []string, parents []*string, at map[string]int32) error {
	root := none
	up := make([]int32, len(ids))
	for i, p := range parents {
		up[i] = none
		if p != nil {
			if j, there := at[*p]; there {
				up[i] = j
			}
			continue
		}
		if root == none {
			root = i
			continue
		}
		if err := c.found(Finding{Roots, Error, "nodes", ids[i], session, fmt.Sprintf("is a second root, beside %q", ids[root])}); err != nil {
			return err
		}
	}
	const unseen, walking, done = 0, 1, 2
	state := make([]uint8, len(ids))
	var path []int32
	for i := range ids {
		path = path[:0]
		n := int32(i)
		for n != none && state[n] == unseen {
			state[n] = walking
			path = append(path, n)
			n = up[n]
		}
		if n != none && state[n] == walking {
			long := 1
			for m := up[n]; m != n; m = up[m] {
				long++
			}
			text := fmt.Sprintf("is its own ancestor, through %d nodes, and hangs on no root", long)
			if err := c.found(Finding{NodeCycle, Error, "nodes", ids[n], session, text}); err != nil {
				return err
			}
		}
		for _, n := range path {
			state[n] = done
		}
	}
	return nil
}
