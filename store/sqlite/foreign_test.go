package sqlite

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"treering/internal/testfiles"
	"treering/store"
	"zombiezen.com/go/sqlite"
)

// pages collects a list page by page and fails on an empty page that goes on for
// ever.
func pages[T any](t testing.TB, limit int, list func(store.PageRequest) (store.Page[T], error)) []T {
	t.Helper()
	var all []T
	seen := map[string]bool{}
	for req := (store.PageRequest{Limit: limit}); ; {
		page, err := list(req)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, page.Items...)
		if page.Next == "" {
			return all
		}
		if seen[page.Next] {
			t.Fatal("a cursor came twice")
		}
		seen[page.Next] = true
		req.Cursor = page.Next
	}
}

func executionsOf(t testing.TB, es store.ExecutionStore, f store.ExecutionFilter, limit int) []store.Summary {
	t.Helper()
	return pages(t, limit, func(p store.PageRequest) (store.Page[store.Summary], error) {
		return es.ListExecutions(t.Context(), f, p)
	})
}

func timersOf(t testing.TB, es store.ExecutionStore, f store.QueueFilter, limit int) []store.Timer {
	t.Helper()
	return pages(t, limit, func(p store.PageRequest) (store.Page[store.Timer], error) { return es.ListTimers(t.Context(), f, p) })
}

func outboxOf(t testing.TB, es store.ExecutionStore, f store.QueueFilter, limit int) []store.OutboxEntry {
	t.Helper()
	return pages(t, limit, func(p store.PageRequest) (store.Page[store.OutboxEntry], error) {
		return es.ListOutbox(t.Context(), f, p)
	})
}

func spawnsOf(t testing.TB, es store.ExecutionStore, f store.QueueFilter, limit int) []store.SpawnEntry {
	t.Helper()
	return pages(t, limit, func(p store.PageRequest) (store.Page[store.SpawnEntry], error) {
		return es.ListSpawns(t.Context(), f, p)
	})
}

func mapped[T, U any](items []T, f func(T) U) []U {
	out := make([]U, len(items))
	for i, item := range items {
		out[i] = f(item)
	}
	return out
}

// limits are page sizes at which every row is the first, the last and in the middle
// of a page.
var limits = []int{1, 2, 3, 7, 0}

func TestBadValues(t *testing.T) {
	for _, rw := range []bool{false, true} {
		t.Run(fmt.Sprintf("read-write %v", rw), func(t *testing.T) {
			db, err := Open(t.Context(), Options{Path: testfiles.Copy(t, "harel-bad-values.db"), ReadWrite: rw})
			if err != nil {
				t.Fatal(err)
			}
			defer db.Close()
			es := db.Executions()
			for _, limit := range limits {
				badExecutions(t, es, limit)
				badTimers(t, es, limit)
				badQueues(t, es, limit)
			}
		})
	}
}

func badExecutions(t *testing.T, es store.ExecutionStore, limit int) {
	t.Helper()
	list := executionsOf(t, es, store.ExecutionFilter{}, limit)
	want := []string{
		"12345", "bad-json", "bad-utf8", "big-int", "big-int-2", "blob", "cancelling", "children", "deep", "dup-keys", "empty-json", "failed",
		"id-mismatch-in-json", `it's 100% "_odd_" ?#&/\`, "json-array", "json-null", "jsonb-ish", "nan", "new-status", "nul-in-text", "ok-1",
		"raw\x00nul", "version-mismatch", "version-null", "version-text",
	}
	if got := mapped(list, func(s store.Summary) string { return s.ID }); !slices.Equal(got, want) {
		t.Fatalf("by pages of %d: %q\nwant %q", limit, got, want)
	}
	bad := map[string]string{
		"bad-json": `{"id":"bad-json","status":"RUNN`, "bad-utf8": "{\"id\":\"\xff\xfe\"}", "empty-json": "", "json-array": "[1,2]",
		"json-null": "null", "jsonb-ish": "\xcc\x05\x1a\x00\xff", "version-text": "",
	}
	for _, s := range list {
		raw, isBad := bad[s.ID]
		exe, err := es.Load(t.Context(), s.ID)
		var row *store.RowError
		switch {
		case !isBad && (s.Bad != nil || err != nil || exe.ID != s.ID || exe.Version != s.Version || exe.Status != s.Status):
			t.Errorf("%q: listed with %v, loaded with %v", s.ID, s.Bad, err)
		case isBad && (s.Bad == nil || !errors.As(err, &row)):
			t.Errorf("%q: listed with %v, loaded with %v, want a *RowError of both", s.ID, s.Bad, err)
		case isBad && s.ID != "version-text" && (string(s.Bad.Raw) != raw || string(row.Raw) != raw):
			t.Errorf("%q: raw is %q and %q, want %q", s.ID, s.Bad.Raw, row.Raw, raw)
		case isBad && s.ID == "version-text" && (s.Status != store.Running || !strings.Contains(s.Bad.Error(), "version is text")):
			t.Errorf("%q: status %q, error %v", s.ID, s.Status, s.Bad)
		}
	}
	for id, want := range map[string]string{
		"version-mismatch":    "version: column 4, JSON 9",
		"id-mismatch-in-json": `id: column id-mismatch-in-json, JSON "another-id"`,
		"raw\x00nul":          "id: column raw\x00nul, JSON \"raw-nul\"",
	} {
		s := list[slices.IndexFunc(list, func(s store.Summary) bool { return s.ID == id })]
		if len(s.Drift) != 1 || s.Drift[0].String() != want {
			t.Errorf("%q: drift %v, want %s", id, s.Drift, want)
		}
	}
	for _, tc := range []struct {
		f    store.ExecutionFilter
		want int
	}{
		{store.ExecutionFilter{Status: []store.Status{"hibernating"}}, 1},
		{store.ExecutionFilter{Status: []store.Status{store.Done}}, 1}, // the last of two status members counts
		{store.ExecutionFilter{Status: []store.Status{"RUNN"}}, 0},
		{store.ExecutionFilter{RootsOnly: true}, 25},
	} {
		if got := executionsOf(t, es, tc.f, limit); len(got) != tc.want {
			t.Errorf("%s selects %d, want %d", tc.f.Scope(), len(got), tc.want)
		}
	}
	counts, err := es.Counts(t.Context())
	if err != nil || counts.Executions != 25 || counts.Unreadable != int64(len(bad)) || counts.Outbox != 3 || counts.Spawns != 2 || counts.Timers != 10 {
		t.Errorf("counts %+v, %v", counts, err)
	}
}

func badTimers(t *testing.T, es store.ExecutionStore, limit int) {
	t.Helper()
	timers := timersOf(t, es, store.QueueFilter{}, limit)
	want := []string{"/neg -1.5", "/zero 0.0", "/tiny 1e-09", "/x 1.0", "/a 1790000000.0", "/ms 1790000000000.0", "/ns 1.79e+18", "/far 1e+300", "/inf inf", "/text nan"}
	if got := mapped(timers, func(x store.Timer) string { return x.Path + " " + store.FormatFireAt(x.FireAt) }); !slices.Equal(got, want) {
		t.Fatalf("timers by pages of %d: %q\nwant %q", limit, got, want)
	}
	for _, x := range timers {
		if (x.Bad != nil) != (x.Path == "/text") {
			t.Errorf("timer %s: %v", x.Path, x.Bad)
		}
		if x.Path == "/text" && string(x.Bad.Raw) != "soon" {
			t.Errorf("raw of %s is %q", x.Path, x.Bad.Raw)
		}
	}
	due, err := es.DueTimers(t.Context(), 1e12)
	if err != nil || len(due) != 5 {
		t.Errorf("%d are due, %v", len(due), err)
	}
	id := "ok-1"
	if got := timersOf(t, es, store.QueueFilter{ExecutionID: &id}, limit); len(got) != 9 {
		t.Errorf("%d timers of %s, want 9", len(got), id)
	}
}

func badQueues(t *testing.T, es store.ExecutionStore, limit int) {
	t.Helper()
	outbox := outboxOf(t, es, store.QueueFilter{}, limit)
	if got := mapped(outbox, func(o store.OutboxEntry) int64 { return o.Seq }); !slices.Equal(got, []int64{5, 6, 9007199254740993}) {
		t.Fatalf("outbox %v", got)
	}
	if o := outbox[1]; o.Bad == nil || string(o.Bad.Raw) != "{broken" || *o.TargetID != "ok-1" || o.Raw != "" {
		t.Errorf("entry 6 is %+v", o)
	}
	if o := outbox[0]; o.Bad != nil || o.TargetID != nil || o.Event.Kind != "NoTarget" {
		t.Errorf("entry 5 is %+v", o)
	}
	spawns := spawnsOf(t, es, store.QueueFilter{}, limit)
	if len(spawns) != 2 || spawns[0].Bad != nil || spawns[1].Bad == nil || string(spawns[1].Bad.Raw) != "nope" || spawns[1].ChildID != "not-yet" {
		t.Errorf("spawns %+v", spawns)
	}
	id := "ok-1"
	if got := outboxOf(t, es, store.QueueFilter{ExecutionID: &id}, limit); len(got) != 2 {
		t.Errorf("%d entries to %s, want 2", len(got), id)
	}
	if got := spawnsOf(t, es, store.QueueFilter{ExecutionID: &id}, limit); len(got) != 1 {
		t.Errorf("%d spawns by %s, want 1", len(got), id)
	}
}

func TestShop(t *testing.T) {
	db := openDB(t, Options{Path: testfiles.Copy(t, "harel-shop.db")})
	es := db.Executions()
	list := executionsOf(t, es, store.ExecutionFilter{}, 0)
	steps := 0
	for _, s := range list {
		if s.Bad != nil || len(s.Drift) != 0 {
			t.Errorf("%q: %v, %v", s.ID, s.Bad, s.Drift)
		}
		trace, err := es.ReadTrace(t.Context(), s.ID)
		if err != nil {
			t.Fatal(err)
		}
		steps += len(trace)
	}
	if len(list) != 81 || steps != 415 {
		t.Errorf("%d executions with %d steps, want 81 with 415", len(list), steps)
	}
	long, err := es.ReadTrace(t.Context(), "order-long")
	if err != nil || len(long) != 200 || long[0].Index != 250 || long[199].Index != 449 {
		t.Errorf("%d steps from %d to %d, %v", len(long), long[0].Index, long[len(long)-1].Index, err)
	}
	counts, err := es.Counts(t.Context())
	if err != nil || counts.ByStatus[store.Running] != 45 || counts.ByStatus[store.Done] != 35 || counts.ByStatus[store.Suspended] != 1 || counts.Timers != 21 {
		t.Errorf("counts %+v, %v", counts, err)
	}
	roots := executionsOf(t, es, store.ExecutionFilter{RootsOnly: true}, 7)
	children := 0
	for _, r := range roots {
		children += len(executionsOf(t, es, store.ExecutionFilter{ParentID: &r.ID}, 7))
	}
	if len(roots) != 41 || children != 40 {
		t.Errorf("%d roots with %d children", len(roots), children)
	}
	if set, note := db.Set(); set.Prefix != "" || note != "" {
		t.Errorf("set %q, note %q", set.Prefix, note)
	}
}

func TestPrefixed(t *testing.T) {
	path := testfiles.Copy(t, "harel-shop-prefixed.db")
	for _, prefix := range []*string{nil, ptr("harel"), ptr("harel_")} {
		db := openDB(t, Options{Path: path, Prefix: prefix})
		set, _ := db.Set()
		if set.Prefix != "harel" {
			t.Errorf("prefix %q", set.Prefix)
		}
		es := db.Executions()
		if n := len(executionsOf(t, es, store.ExecutionFilter{}, 30)); n != 81 {
			t.Errorf("%d executions, want 81", n)
		}
		spawns, err := es.PendingSpawns(t.Context())
		if err != nil || len(spawns) != 2 {
			t.Fatalf("%d spawns, %v", len(spawns), err)
		}
		infinite := 0
		for _, s := range spawns {
			if s.Bad != nil {
				t.Errorf("spawn %d: %v", s.Seq, s.Bad)
			}
			for _, v := range s.Context.Members() {
				if v.Kind() == store.NonFinite {
					infinite++
				}
			}
		}
		if infinite != 1 {
			t.Errorf("%d bare infinities, want 1", infinite)
		}
		outbox, err := es.PendingOutbox(t.Context())
		if err != nil || len(outbox) != 3 || slices.IndexFunc(outbox, func(o store.OutboxEntry) bool { return o.TargetID == nil }) < 0 {
			t.Errorf("outbox %+v, %v", outbox, err)
		}
	}
	if _, err := Open(t.Context(), Options{Path: path, Prefix: ptr("other")}); !errors.As(err, new(*UnknownPrefixError)) {
		t.Errorf("prefix other: %v", err)
	}
}

func ptr[T any](v T) *T { return &v }

// A foreign table may be declared in any way and hold anything: no row is listed
// twice, none is lost, and one that cannot be read takes no other with it.
func TestOddStorage(t *testing.T) {
	path := filepath.Join(t.TempDir(), "odd.db")
	conn, err := sqlite.OpenConn(path, sqlite.OpenReadWrite, sqlite.OpenCreate)
	if err != nil {
		t.Fatal(err)
	}
	ok := `'{"status":"DONE","parent_id":"p"}'`
	for _, sql := range []string{
		// Without types, keys or constraints.
		"CREATE TABLE executions (id, definition_id, data, version)",
		"CREATE TABLE outbox (seq, target_id, event)", "CREATE TABLE spawns (seq, parent_id, child_id, root_path, context)",
		"CREATE TABLE timers (execution_id, path, fire_at)", "CREATE TABLE trace (execution_id, idx, entry)",
		"CREATE TABLE processed_events (execution_id, event_id)",
		"INSERT INTO executions VALUES (NULL, 'd', " + ok + ", 1), (NULL, 'd', " + ok + ", 2), (7, 'd', " + ok + ", 1), (-1.5, 'd', " + ok + ", 1), " +
			"('', 'd', " + ok + ", 1), ('7', 'd', " + ok + ", 1), ('twice', 'd', " + ok + ", 1), ('twice', 'd', " + ok + ", 1), ('zz', NULL, " + ok + ", 1), " +
			"(x'7a7a', 'd', " + ok + ", 1), (x'00ff', 'd', " + ok + ", 1), (x'', 'd', " + ok + ", 1), ('num', 'd', 5, 1), ('null', 'd', NULL, 1), " +
			"('float', 'd', " + ok + ", 1.5), ('blobdef', x'64', " + ok + ", 1)",
		"INSERT INTO timers VALUES ('e', 'a', NULL), ('e', 'a', NULL), (NULL, NULL, NULL), ('e', 'i', 5), ('e', 'f', 5.0), ('e', 'big', 9007199254740993), " +
			"('e', 'big2', 9007199254740992.0), ('e', 'inf', 9e999), ('e', '-inf', -9e999), ('e', 't', 'soon'), ('e', 't', 'soon'), ('e', 'b', x'01'), " +
			"(x'65', 'blob id', 1.0), (3, 4, 1.0)",
		"INSERT INTO outbox VALUES (NULL, NULL, '{}'), (NULL, 'e', '{}'), ('x', 'e', '{}'), (2, x'65', '{}'), (1.5, 'e', '{}'), (2, 'e', NULL), (x'01', 5, 9)",
		"INSERT INTO spawns VALUES (1, NULL, NULL, NULL, NULL), (1, 'e', x'63', 'r', '{}'), (NULL, 'e', 'c', 'r', '[]')",
		"INSERT INTO trace VALUES ('e', 'one', '{}'), ('e', 0, 'x'), ('e', 1, '{\"index\":9,\"a\":1}'), ('e', NULL, '{}'), ('e', 2, x'7b7d'), ('e', 3, '[]')",
	} {
		if err := run(conn, sql); err != nil {
			t.Fatal(sql, err)
		}
	}
	if err := conn.Close(); err != nil {
		t.Fatal(err)
	}
	es := openDB(t, Options{Path: path}).Executions()
	for _, limit := range limits {
		list := executionsOf(t, es, store.ExecutionFilter{}, limit)
		got := mapped(list, func(s store.Summary) string { return fmt.Sprintf("%q %d %v", s.ID, s.Version, s.Bad != nil) })
		want := []string{
			`"" 1 true`, `"" 2 true`, `"-1.5" 1 true`, `"7" 1 true`, `"" 1 false`, `"7" 1 false`, `"blobdef" 1 true`, `"float" 0 true`, `"null" 1 true`, `"num" 1 true`,
			`"twice" 1 false`, `"twice" 1 false`, `"zz" 1 true`, `"" 1 true`, `"\x00\xff" 1 true`, `"zz" 1 true`,
		}
		if !slices.Equal(got, want) {
			t.Fatalf("by pages of %d:\n%s\nwant\n%s", limit, strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
		if n := len(executionsOf(t, es, store.ExecutionFilter{ParentID: ptr("p"), Status: []store.Status{store.Done}}, limit)); n != 14 {
			t.Errorf("%d children, want the 14 whose JSON can be read", n)
		}
		timers := timersOf(t, es, store.QueueFilter{}, limit)
		gotTimers := mapped(timers, func(x store.Timer) string {
			return fmt.Sprintf("%s/%s %v %v", x.ExecutionID, x.Path, x.FireAt, x.Bad != nil)
		})
		wantTimers := []string{
			"/ NaN true", "e/a NaN true", "e/a NaN true", "e/-inf -Inf false", "3/4 1 true", "e/blob id 1 true", "e/f 5 false", "e/i 5 false",
			"e/big2 9.007199254740992e+15 false", "e/big 9.007199254740992e+15 true", "e/inf +Inf false", "e/t NaN true", "e/t NaN true", "e/b NaN true",
		}
		if !slices.Equal(gotTimers, wantTimers) {
			t.Fatalf("by pages of %d:\n%s\nwant\n%s", limit, strings.Join(gotTimers, "\n"), strings.Join(wantTimers, "\n"))
		}
		if n := len(timersOf(t, es, store.QueueFilter{ExecutionID: ptr("e")}, limit)); n != 12 {
			t.Errorf("%d timers shown as of e, want 12", n)
		}
		if n := len(timersOf(t, es, store.QueueFilter{DueBy: ptr(math.Inf(1))}, limit)); n != 8 {
			t.Errorf("%d timers due at the end of time, want 8", n)
		}
		outbox := outboxOf(t, es, store.QueueFilter{}, limit)
		bad := mapped(outbox, func(o store.OutboxEntry) string { return fmt.Sprint(o.Seq, " ", o.Bad != nil) })
		if want := []string{"0 true", "0 true", "0 true", "2 true", "2 true", "0 true", "0 true"}; !slices.Equal(bad, want) {
			t.Errorf("outbox %v, want %v", bad, want)
		}
		if n := len(outboxOf(t, es, store.QueueFilter{ExecutionID: ptr("e")}, limit)); n != 5 {
			t.Errorf("%d entries shown as to e, want 5", n)
		}
		if n := len(spawnsOf(t, es, store.QueueFilter{}, limit)); n != 3 {
			t.Errorf("%d spawns, want 3", n)
		}
	}
	steps, err := es.ReadTrace(t.Context(), "e")
	if err != nil {
		t.Fatal(err)
	}
	got := mapped(steps, func(s store.TraceEntry) string { return fmt.Sprintf("%d %s %v", s.Index, s.Entry, s.Bad != nil) })
	if want := []string{"-1 {} true", "0  true", `1 {"a":1} false`, "2 {} false", "3  true", "-1 {} true"}; !slices.Equal(got, want) {
		t.Errorf("trace %q, want %q", got, want)
	}
	for _, id := range []string{"", "7", "-1.5", "twice", "zz", "\x00\xff", "num", "null", "float"} {
		if _, err := es.Load(t.Context(), id); errors.Is(err, store.ErrNotFound) {
			t.Errorf("%q is listed but not found", id)
		}
	}
}

// A commit onto foreign rows: the columns count, text where a blob was, and one
// whose version is no number says so. An id in the JSON that nobody changed stays,
// and still differs from its column; the version is put right.
func TestWriteOnForeignRows(t *testing.T) {
	path := testfiles.Copy(t, "harel-bad-values.db")
	db, err := Open(t.Context(), Options{Path: path, ReadWrite: true})
	if err != nil {
		t.Fatal(err)
	}
	es := db.Executions()
	drifted := map[string]string{"id-mismatch-in-json": `"another-id"`, "raw\x00nul": `"raw-nul"`}
	for _, id := range []string{"blob", "version-mismatch", "id-mismatch-in-json", "nan", "deep", "raw\x00nul", "big-int", "dup-keys"} {
		exe, err := es.Load(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		was := exe.Version
		context := exe.Context
		if _, err := es.Commit(t.Context(), store.Commit{Execution: exe, Trace: `{"n":1}`}); err != nil {
			t.Fatalf("%q: %v", id, err)
		}
		again, err := es.Load(t.Context(), id)
		var drift []store.Drift
		if in, ok := drifted[id]; ok {
			drift = []store.Drift{{Column: "id", Stored: id, JSON: in}}
		}
		if err != nil || again.Version != was+1 || !slices.Equal(again.Drift, drift) || again.Context != context {
			t.Errorf("%q: version %d after %d, drift %v, %v", id, again.Version, was, again.Drift, err)
		}
	}
	stale := &store.Execution{ID: "version-text", DefinitionID: "Kettle", Version: 7}
	var row *store.RowError
	if err := es.Save(t.Context(), stale); !errors.As(err, &row) || stale.Version != 7 {
		t.Errorf("commit onto a version that is text: %v", err)
	}
	if removed, err := es.AckOutbox(t.Context(), 9007199254740993); err != nil || !removed {
		t.Errorf("ack of a large seq: %v, %v", removed, err)
	}
	if moved, err := es.RearmTimer(t.Context(), "ok-1", "/inf", math.Inf(1), 5); err != nil || !moved {
		t.Errorf("rearm of an infinite timer: %v, %v", moved, err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if left, err := os.ReadDir(filepath.Dir(path)); err != nil || len(left) != 1 {
		t.Errorf("beside the file: %v, %v", left, err)
	}
}
