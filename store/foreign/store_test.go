package foreign

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"treering/store"
	"treering/store/storetest"
)

// shelf is a reader of what is in memory.
type shelf struct {
	token string
	heads []Head
	scans map[string]*talk
	reads int
	fail  error
}

// talk is a session of it.
type talk struct {
	records []Record
	title   string
	active  int
	labels  map[int][]string
}

func (s *shelf) Token(context.Context) (string, error)    { return s.token, s.fail }
func (s *shelf) Sessions(context.Context) ([]Head, error) { return s.heads, s.fail }
func (s *shelf) Close() error                             { return nil }

func (s *shelf) Read(_ context.Context, h Head, g *Growth) error {
	s.reads++
	if s.fail != nil {
		return s.fail
	}
	from := s.scans[h.ID]
	t := NewTree(BuildOptions{Session: h.ID, Source: "test"})
	a := About{Title: from.title, Active: -1, Labels: map[int32][]string{}}
	for i, r := range from.records {
		n := t.Add(r)
		if i == from.active {
			a.Active = n
		}
		if names := from.labels[i]; names != nil {
			a.Labels[n] = names
		}
	}
	g.Replace(t, a)
	return nil
}

func (s *shelf) Body(_ context.Context, _ Head, rec *Record) (store.JSON, error) {
	return store.JSON(fmt.Sprintf(`{"line":%d,"n":1.50}`, rec.Place.Line)), s.fail
}

func talkOf(list ...string) *talk {
	recs := records(list...)
	return &talk{records: recs, active: len(recs) - 1}
}

func newShelf() *shelf {
	return &shelf{
		token: "1", heads: []Head{{ID: "two", Kind: "pi"}, {ID: "one", Kind: "claude"}, {ID: "empty", Kind: "pi"}, {ID: "one", Kind: "again"}},
		scans: map[string]*talk{
			"one": talkOf("a", "b<a", "c<a", "d<a", "e<b", "f<e", "g<f", "e<b=other", "h<e", "i<gone", "j<i", "k<j"),
			"two": talkOf("x", "y<x"), "empty": talkOf(),
		},
	}
}

func TestReadingHalf(t *testing.T) {
	storetest.TestTreeReading(t, NewStore(newShelf(), "shelf"))
}

func TestDataOfANode(t *testing.T) {
	s := newShelf()
	scan := s.scans["two"]
	scan.title = "a talk"
	scan.records[1].Title, scan.records[1].Role, scan.records[1].Time, scan.records[1].Flags = "hello", "user", 1700000000.25, Failed
	scan.labels = map[int][]string{1: {"main", "mine"}}
	ts := NewStore(s, "shelf")
	n, err := ts.Node(t.Context(), "two", "y")
	if err != nil {
		t.Fatal(err)
	}
	want := `{"title":"hello","ts":"2023-11-14T22:13:20.25Z","role":"user","head":true,"labels":["main","mine"],"failed":true,"raw":{"line":2,"n":1.50}}`
	if string(n.Data) != want || n.Title() != "hello" {
		t.Errorf("%s\nwant %s", n.Data, want)
	}
	// A root that was made up says so, and where it comes from.
	n, err = ts.Node(t.Context(), "one", "one:root")
	if err != nil || string(n.Data) != `{"title":"one","synthetic":true,"source":"test","roots":2}` || n.Kind != "root" {
		t.Errorf("%+v, %v", n, err)
	}
	n, err = ts.Node(t.Context(), "one", "i")
	if err != nil || n.Data.Get("orphan_parent") != `"gone"` {
		t.Errorf("%+v, %v", n, err)
	}
	scan = s.scans["empty"]
	scan.records, scan.active = []Record{{ID: "long", Kind: "line", Flags: TooLong, Place: Place{Length: 1 << 30}}}, 0
	n, err = ts.Node(t.Context(), "empty", "long")
	if err != nil || n.Data.Get("raw") != `{"not_loaded":true,"bytes":1073741824}` {
		t.Errorf("%+v, %v", n, err)
	}
}

// A session is read once until its source changes, and then from where it was read to.
func TestASessionThatGrows(t *testing.T) {
	s := newShelf()
	ts := NewStore(s, "shelf")
	ctx := t.Context()
	list := func(cursor string, limit int) store.Page[store.Node] {
		t.Helper()
		page, err := ts.ListNodes(ctx, "two", store.PageRequest{Cursor: cursor, Limit: limit})
		if err != nil {
			t.Fatal(err)
		}
		return page
	}
	first := list("", 1)
	list("", 0)
	if s.reads != 1 {
		t.Errorf("read %d times", s.reads)
	}
	s.token, s.scans["two"] = "2", talkOf("x", "y<x", "z<y")
	rest := list(first.Next, 0)
	if len(rest.Items) != 2 || rest.Items[1].ID != "z" {
		t.Errorf("%+v", rest)
	}
	if s.reads != 2 {
		t.Errorf("read %d times", s.reads)
	}
	// One that is gone is missing from then on.
	s.token, s.heads = "3", s.heads[1:]
	if _, err := ts.ListNodes(ctx, "two", store.PageRequest{}); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("%v", err)
	}
	s.fail = errors.New("unplugged")
	if _, err := ts.ListNodes(ctx, "one", store.PageRequest{}); !errors.Is(err, s.fail) {
		t.Errorf("%v", err)
	}
}

func TestReports(t *testing.T) {
	ts := NewStore(newShelf(), "shelf")
	r, _, err := ts.Report(t.Context(), "one")
	if err != nil {
		t.Fatal(err)
	}
	r.Warnings = nil
	if diff := cmp.Diff(Report{Records: 12, Renamed: 1, Orphans: 1, Roots: 2}, r); diff != "" {
		t.Error(diff)
	}
}

// No more trees are kept than are looked at.
func TestTreesAreForgotten(t *testing.T) {
	s := &shelf{token: "1", scans: map[string]*talk{}}
	for i := range 20 {
		id := fmt.Sprint(i)
		s.heads = append(s.heads, Head{ID: id, Kind: "pi"})
		s.scans[id] = talkOf("a")
	}
	ts := NewStore(s, "shelf")
	for i := range 20 {
		if _, err := ts.CountNodes(t.Context(), fmt.Sprint(i)); err != nil {
			t.Fatal(err)
		}
	}
	if len(ts.loaded) != keptSessions || len(ts.recent) != keptSessions {
		t.Errorf("%d kept, %d of them in order", len(ts.loaded), len(ts.recent))
	}
}

// A list of children goes on where it was, or says that it cannot: it never begins
// again.
func TestChildrenAfterTheSourceWasReplaced(t *testing.T) {
	shelf := newShelf()
	s := NewStore(shelf, "shelf")
	page, err := s.ListChildren(t.Context(), "one", "a", store.PageRequest{Limit: 1})
	if err != nil || len(page.Items) != 1 || page.Items[0].ID != "b" || page.Next == "" {
		t.Fatalf("%+v, %v", page, err)
	}
	cursor := page.Next
	shelf.token, shelf.scans["one"] = "2", talkOf("a", "c<a", "d<a")
	if page, err := s.ListChildren(t.Context(), "one", "a", store.PageRequest{Cursor: cursor}); !errors.Is(err, store.ErrBadCursor) {
		t.Errorf("%+v, %v", page, err)
	}
	shelf.token, shelf.scans["one"] = "3", talkOf("a", "c<a", "b<a", "d<a")
	page, err = s.ListChildren(t.Context(), "one", "a", store.PageRequest{Cursor: cursor})
	if err != nil || len(page.Items) != 1 || page.Items[0].ID != "d" {
		t.Errorf("%+v, %v", page, err)
	}
}

// stamped is a shelf that can tell of one session whether it has changed.
type stamped struct {
	*shelf
	stamps map[string]string
	tokens int
}

func (s *stamped) Token(ctx context.Context) (string, error) {
	s.tokens++
	return s.shelf.Token(ctx)
}

func (s *stamped) Stamp(_ context.Context, h Head) (string, error) {
	if stamp := s.stamps[h.ID]; stamp != "" {
		return stamp, nil
	}
	return "", store.ErrNotFound
}

// As long as a session is as it was, reading on in it looks at no other.
func TestOneSessionIsReadWithoutTheOthers(t *testing.T) {
	r := &stamped{shelf: newShelf(), stamps: map[string]string{"one": "a", "two": "a"}}
	s := NewStore(r, "shelf")
	count := func(session string, want int64) {
		t.Helper()
		if n, err := s.CountNodes(t.Context(), session); err != nil || n != want {
			t.Errorf("%d, %v, want %d", n, err, want)
		}
	}
	one, err := s.CountNodes(t.Context(), "one")
	if err != nil {
		t.Fatal(err)
	}
	r.tokens, r.reads = 0, 0
	for range 5 {
		count("one", one)
	}
	if r.tokens != 0 || r.reads != 0 {
		t.Errorf("%d looks at all sessions, %d readings", r.tokens, r.reads)
	}
	r.stamps["one"], r.token, r.scans["one"] = "b", "2", talkOf("a", "b<a")
	count("one", 2)
	if r.tokens != 1 || r.reads != 1 {
		t.Errorf("%d looks at all sessions, %d readings", r.tokens, r.reads)
	}
	// One that is gone, though it was read: the list knows.
	delete(r.stamps, "one")
	r.token, r.heads = "3", r.heads[:1]
	if _, err := s.CountNodes(t.Context(), "one"); !errors.Is(err, store.ErrNotFound) {
		t.Error(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := s.CountNodes(t.Context(), "two"); !errors.Is(err, store.ErrClosed) {
		t.Error(err)
	}
}
