package foreign

import (
	"context"
	"errors"
	"slices"
	"testing"

	"treering/store"
)

// slow reads a session a record at a time, each when it is told to.
type slow struct {
	shelf
	records []Record
	header  *Record
	step    chan struct{}
	fail    error
}

func (s *slow) Read(ctx context.Context, _ Head, g *Growth) error {
	if g.State != nil {
		return nil
	}
	g.State = s
	g.Restart(BuildOptions{Source: "test", Header: s.header, Chain: true})
	for i, r := range s.records {
		select {
		case <-s.step:
		case <-ctx.Done():
			return ctx.Err()
		}
		g.Update(int64(i+1), int64(len(s.records)), func() { g.Tree().Add(r) })
	}
	<-s.step
	if s.fail != nil {
		return s.fail
	}
	g.Finish(About{Title: "a talk", Active: 1})
	return nil
}

func slowly(o *Record, list ...string) (*slow, *Store) {
	r := &slow{shelf: shelf{token: "1", heads: []Head{{ID: "s", Kind: "pi"}}}, records: records(list...), header: o, step: make(chan struct{}, len(list)+1)}
	return r, NewStore(r, "slow")
}

// preview reads pages until the session is whole; on is called before each but the first.
func preview(t *testing.T, s *Store, limit int, on func()) (ids []string, last store.Reading) {
	t.Helper()
	req := store.PageRequest{Limit: limit}
	for n := 0; ; n++ {
		if n > 0 {
			on()
		}
		page, r, err := s.PreviewOutline(t.Context(), "s", req)
		if err != nil {
			t.Fatal(err)
		}
		for _, o := range page.Items {
			id := o.ID
			if o.ParentID != nil {
				id += "<" + *o.ParentID
			}
			ids = append(ids, id)
		}
		if req.Cursor = page.Next; page.Next == "" {
			return ids, r
		}
	}
}

// What was read is shown before the rest of it is, in the order that it has at the end;
// and where the end is another one that is said.
func TestPreview(t *testing.T) {
	header := &Record{ID: "h", Kind: "session"}
	for _, c := range []struct {
		name   string
		header *Record
		list   []string
		want   []string
		moved  bool
	}{
		{"a tree", nil, []string{"a", "b<a", "c<a"}, []string{"a", "b<a", "c<a"}, false},
		{"below a header", header, []string{"a", "b", "c<a"}, []string{"h", "a<h", "b<h", "c<a"}, false},
		{"a parent that comes later", header, []string{"a<c", "b", "c<b"}, []string{"h", "a<c", "b<h", "c<b"}, false},
		{"two roots", nil, []string{"a", "b<a", "c"}, []string{"a", "b<a", "c"}, true},
		{"no link", header, []string{"a", "b", "c"}, []string{"h", "a<h", "b<h", "c<h"}, true},
		{"a parent that never comes", header, []string{"a", "b<a", "c<gone"}, []string{"h", "a<h", "b<a", "c<gone"}, true},
		{"a cycle", header, []string{"a<b", "x", "b<a"}, []string{"h", "a<b", "x<h", "b<a"}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, s := slowly(c.header, c.list...)
			r.step <- struct{}{}
			got, last := preview(t, s, 2, func() { r.step <- struct{}{} })
			if !slices.Equal(got, c.want) || last.Moved != c.moved || !last.Whole {
				t.Errorf("%q, %+v; want %q, moved %t", got, last, c.want, c.moved)
			}
			m, err := s.Marks(t.Context(), "s", 0)
			if err != nil || m.Root.Title != "a talk" && c.header != nil || m.Active != c.list[0][:1] || m.Tree == "" {
				t.Errorf("%+v, %v", m, err)
			}
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

// A node that was read is shown while others are still to come; a list is not.
func TestANodeBeforeTheRest(t *testing.T) {
	r, s := slowly(nil, "a", "b<a")
	r.step <- struct{}{}
	if _, _, err := s.PreviewOutline(t.Context(), "s", store.PageRequest{}); err != nil {
		t.Fatal(err)
	}
	n, err := s.Node(t.Context(), "s", "a")
	if err != nil || n.ID != "a" {
		t.Errorf("%+v, %v", n, err)
	}
	ctx, stop := context.WithCancel(t.Context())
	stop()
	if _, err := s.CountNodes(ctx, "s"); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	r.step <- struct{}{}
	r.step <- struct{}{}
	if n, err := s.CountNodes(t.Context(), "s"); err != nil || n != 2 {
		t.Errorf("%d, %v", n, err)
	}
}

// A reading that fails is told to all who wait for it, and begun again by the next.
func TestAReadingThatFails(t *testing.T) {
	r, s := slowly(nil, "a", "b<a")
	r.fail = errors.New("unplugged")
	for range 3 {
		r.step <- struct{}{}
	}
	if _, err := s.CountNodes(t.Context(), "s"); !errors.Is(err, r.fail) {
		t.Errorf("%v", err)
	}
	if _, _, err := s.PreviewOutline(t.Context(), "s", store.PageRequest{Cursor: ""}); err != nil && !errors.Is(err, r.fail) {
		t.Errorf("%v", err)
	}
}

// A store that is closed in the middle of a reading ends it.
func TestClosedWhileReading(t *testing.T) {
	r, s := slowly(nil, "a", "b<a")
	r.step <- struct{}{}
	if _, _, err := s.PreviewOutline(t.Context(), "s", store.PageRequest{}); err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() {
		_, err := s.CountNodes(t.Context(), "s")
		done <- err
	}()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-done; !errors.Is(err, store.ErrClosed) {
		t.Errorf("%v", err)
	}
}
