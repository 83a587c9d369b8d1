package store_test

import (
	"context"
	"errors"
	"fmt"
	"log"

	"treering/store"
	"treering/store/memory"
)

// The contract's own scenario: a root, two runs below it, one of them delivered
// twice.
func ExampleTreeStore() {
	ctx := context.Background()
	s, err := memory.New(memory.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer func() {
		if err := s.Close(); err != nil {
			log.Fatal(err)
		}
	}()
	trees := s.Trees()

	if _, err := trees.CreateSession(ctx, "example", "session", store.Seconds(3600)); err != nil {
		log.Fatal(err)
	}
	root := store.Node{ID: store.NewID(), Kind: "init", Data: `{"image_uuid": "base-image"}`}
	first := store.Node{ID: store.NewID(), ParentID: &root.ID, Kind: "run", Data: `{"user": {"label": "first"}}`}
	second := store.Node{ID: store.NewID(), ParentID: &root.ID, Kind: "run", Data: `{"user": {"label": "second"}}`}
	for _, n := range []store.Node{root, first, second, first} { // a repeated delivery creates no duplicate
		if err := trees.Append(ctx, "example", n); err != nil {
			log.Fatal(err)
		}
	}

	slots, err := trees.Nodes(ctx, "example", []string{first.ID, "missing"})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(slots[0].SameAs(first), slots[1] == nil)

	children, err := trees.ListChildren(ctx, "example", root.ID, store.PageRequest{})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(len(children.Items), "children")

	page, err := trees.ListSessions(ctx, store.SessionFilter{Kinds: []string{"session"}}, store.PageRequest{Limit: 20})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(page.Items[0].ID)

	changed := first
	changed.Data = `{"user": {"label": "changed"}}`
	fmt.Println(errors.Is(trees.Append(ctx, "example", changed), store.ErrNodeConflict))
	// Output:
	// true true
	// 2 children
	// example
	// true
}

// A list is paged to its end by its cursors. Here the ancestors of a node, nearest
// first.
func ExampleAll() {
	ctx := context.Background()
	s, err := memory.New(memory.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer func() {
		if err := s.Close(); err != nil {
			log.Fatal(err)
		}
	}()
	trees := s.Trees()
	if _, err := trees.CreateSession(ctx, "example", "session", nil); err != nil {
		log.Fatal(err)
	}
	var parent *string
	for _, command := range []string{"init", "make", "make test"} {
		n := store.Node{ID: store.NewID(), ParentID: parent, Kind: "run", Data: store.ObjectOf(store.Member{Key: "command", Value: store.Quote(command)})}
		if err := trees.Append(ctx, "example", n); err != nil {
			log.Fatal(err)
		}
		parent = &n.ID
	}

	err = store.All(func(p store.PageRequest) (store.Page[store.Node], error) {
		p.Limit = 2
		return trees.ListHistory(ctx, "example", *parent, p)
	}, func(n store.Node) error {
		fmt.Println(n.Title())
		return nil
	})
	if err != nil {
		log.Fatal(err)
	}
	// Output:
	// make test
	// make
	// init
}
