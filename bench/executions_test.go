package bench

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"

	zombiezen "zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"treering/store"
	"treering/store/sqlite"
)

// harelTables are the tables as harel itself makes them.
const harelTables = `
CREATE TABLE harel_executions (id TEXT PRIMARY KEY, definition_id TEXT NOT NULL, data TEXT NOT NULL, version INTEGER NOT NULL);
CREATE TABLE harel_outbox (seq INTEGER PRIMARY KEY AUTOINCREMENT, target_id TEXT, event TEXT NOT NULL);
CREATE TABLE harel_processed_events (execution_id TEXT NOT NULL, event_id TEXT NOT NULL, PRIMARY KEY (execution_id, event_id));
CREATE TABLE harel_timers (execution_id TEXT NOT NULL, path TEXT NOT NULL, fire_at REAL NOT NULL, PRIMARY KEY (execution_id, path));
CREATE TABLE harel_spawns (seq INTEGER PRIMARY KEY AUTOINCREMENT, parent_id TEXT NOT NULL, child_id TEXT NOT NULL, root_path TEXT NOT NULL, context TEXT NOT NULL);
CREATE TABLE harel_trace (execution_id TEXT NOT NULL, idx INTEGER NOT NULL, entry TEXT NOT NULL, PRIMARY KEY (execution_id, idx));
`

// fillExecutions inserts rows of about 540 bytes in four statuses, and returns how
// many are FAILED.
func fillExecutions(b *testing.B, path string, count int) (failed int) {
	b.Helper()
	statuses := []store.Status{store.Running, store.Done, store.Suspended, store.Failed}
	random := rand.New(rand.NewPCG(1, 1))
	fill(b, path, "INSERT INTO harel_executions (id, definition_id, data, version) VALUES (?, 'order', ?, 3)", count, func(n int, q *zombiezen.Stmt) {
		exe := execution(fmt.Sprintf("order-%08d", n))
		exe.Status = statuses[random.IntN(len(statuses))]
		exe.Context = store.JSON(`{"order":1004,"customer":"Ana Ruiz","total":455.3,"note":"` + strings.Repeat("x", 120) + `"}`)
		if exe.Status == store.Failed {
			failed++
		}
		data, err := exe.Encode(3)
		if err != nil {
			b.Fatal(err)
		}
		q.BindText(1, exe.ID)
		q.BindText(2, data)
	})
	return failed
}

// foreign makes a file as harel leaves it and opens it for reading.
func foreign(b *testing.B, count int) (es store.ExecutionStore, failed int) {
	b.Helper()
	path := filepath.Join(b.TempDir(), "harel.db")
	conn, err := zombiezen.OpenConn(path, zombiezen.OpenReadWrite, zombiezen.OpenCreate, zombiezen.OpenWAL)
	if err != nil {
		b.Fatal(err)
	}
	if err := sqlitex.ExecuteScript(conn, harelTables, nil); err != nil {
		b.Fatal(err)
	}
	if err := conn.Close(); err != nil {
		b.Fatal(err)
	}
	failed = fillExecutions(b, path, count)
	db, err := sqlite.Open(b.Context(), sqlite.Options{Path: path})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := db.Close(); err != nil {
			b.Error(err)
		}
	})
	return db.Executions(), failed
}

// BenchmarkExecutions lists in a file of ours and in one of harel's.
func BenchmarkExecutions(b *testing.B) {
	count := pick(100_000, 10_000)
	b.Run("ours", func(b *testing.B) {
		db, path := create(b, "OFF")
		failed := fillExecutions(b, path, count)
		listExecutions(b, db.Executions(), count, failed)
	})
	b.Run("harel", func(b *testing.B) {
		es, failed := foreign(b, count)
		listExecutions(b, es, count, failed)
	})
}

func listExecutions(b *testing.B, es store.ExecutionStore, count, failed int) {
	b.Run("first_page", func(b *testing.B) {
		for range b.N {
			page, err := es.ListExecutions(b.Context(), store.ExecutionFilter{}, store.PageRequest{})
			if err != nil {
				b.Fatal(err)
			}
			if len(page.Items) != store.DefaultLimit {
				b.Fatalf("a page of %d", len(page.Items))
			}
		}
	})
	all := func(b *testing.B, f store.ExecutionFilter, want int) {
		for range b.N {
			got := 0
			err := store.All(func(p store.PageRequest) (store.Page[store.Summary], error) {
				return es.ListExecutions(b.Context(), f, p)
			}, func(store.Summary) error { got++; return nil })
			if err != nil {
				b.Fatal(err)
			}
			if got != want {
				b.Fatalf("%d executions, want %d", got, want)
			}
		}
	}
	b.Run("all", func(b *testing.B) { all(b, store.ExecutionFilter{}, count) })
	b.Run("filtered", func(b *testing.B) { all(b, store.ExecutionFilter{Status: []store.Status{store.Failed}}, failed) })
	b.Run("counted", func(b *testing.B) {
		for range b.N {
			counts, err := es.Counts(b.Context())
			if err != nil {
				b.Fatal(err)
			}
			if counts.Executions != int64(count) || counts.ByStatus[store.Failed] != int64(failed) {
				b.Fatalf("%d executions, %d failed; want %d and %d", counts.Executions, counts.ByStatus[store.Failed], count, failed)
			}
		}
	})
}
