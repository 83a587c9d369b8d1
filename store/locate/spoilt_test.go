package locate

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	zombie "zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"treering/internal/testfiles"
	"treering/store"
)

// odd are values that no column of a session database should have.
func odd() []string {
	return []string{"NULL", "x'ff00fe'", "x''", "''", "-9223372036854775808", "1e300", "'NaN'", "CAST(x'ff41' AS TEXT)", "zeroblob(300000)", "x'dfffffffffdd7fffffff'", "'{\"source\":[],\"step\":{},\"parents\":7}'",
		"'[1,2'", "char(27)||'[2J'||char(8238)", "'" + `{"v":4,"channel_values":{"messages":[{"lc":1,"kwargs":7}]},"versions_seen":[],"channel_versions":3}` + "'"}
}

// Whatever is in the columns of a session database, each of its rows is a node that can
// be read, unless its session is none any more.
func TestSpoiltRows(t *testing.T) {
	for file, table := range map[string]string{"contree-cli.db": "session_history", "contree-sdk-v1.db": "session_history_v1", "langgraph.sqlite": "checkpoints"} {
		t.Run(file, func(t *testing.T) {
			rng := rand.New(rand.NewPCG(7, 7))
			for round := range 40 {
				path := testfiles.Copy(t, file)
				want := spoil(t, rng, path, table)
				o, err := Open(t.Context(), path, Options{})
				if err != nil {
					t.Fatalf("round %d: %v", round, err)
				}
				got := 0
				for id, nodes := range nodesOf(t, o) {
					r, _, err := o.Foreign.Report(t.Context(), id)
					if err != nil {
						t.Fatalf("round %d, %q: %v", round, id, err)
					}
					got += int(r.Records + r.Duplicates + r.Unreadable)
					for _, n := range nodes {
						if _, err := store.ParseJSON(string(n.Data)); err != nil {
							t.Fatalf("round %d, %q: %v", round, n.ID, err)
						}
					}
				}
				if got < want {
					t.Errorf("round %d: %d of %d rows", round, got, want)
				}
				if err := o.Close(); err != nil {
					t.Error(err)
				}
			}
		})
	}
}

// spoil changes columns of some rows and counts the rows.
func spoil(t *testing.T, rng *rand.Rand, path, table string) (rows int) {
	t.Helper()
	conn, err := zombie.OpenConn(path, zombie.OpenReadWrite)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	var columns []string
	err = sqlitex.ExecuteTransient(conn, "SELECT name FROM pragma_table_info('"+table+"')", &sqlitex.ExecOptions{ResultFunc: func(s *zombie.Stmt) error {
		columns = append(columns, s.ColumnText(0))
		return nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	values := odd()
	for range 1 + rng.IntN(12) {
		query := fmt.Sprintf(`UPDATE OR IGNORE "%s" SET "%s" = %s WHERE abs(rowid %% 7) = %d`, table, columns[rng.IntN(len(columns))], values[rng.IntN(len(values))], rng.IntN(7))
		if err := sqlitex.ExecuteTransient(conn, query, nil); err != nil && zombie.ErrCode(err) != zombie.ResultConstraintNotNull && zombie.ErrCode(err) != zombie.ResultMismatch {
			t.Fatal(err)
		}
	}
	err = sqlitex.ExecuteTransient(conn, "SELECT count(*) FROM "+table, &sqlitex.ExecOptions{ResultFunc: func(s *zombie.Stmt) error {
		rows = s.ColumnInt(0)
		return nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	return rows
}

// A file of which bytes are others is read or refused with an error; nothing panics and
// nothing hangs.
func TestSpoiltPages(t *testing.T) {
	for _, file := range []string{"contree-cli.db", "langgraph.sqlite"} {
		rng := rand.New(rand.NewPCG(3, 3))
		for range 60 {
			path := testfiles.Copy(t, file)
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			for range 1 + rng.IntN(200) {
				text[100+rng.IntN(len(text)-100)] = byte(rng.IntN(256))
			}
			if rng.IntN(4) == 0 {
				text = text[:rng.IntN(len(text))]
			}
			if err := os.WriteFile(path, text, 0o600); err != nil {
				t.Fatal(err)
			}
			o, err := Open(t.Context(), path, Options{})
			if err != nil {
				continue
			}
			page, err := o.Trees.ListSessions(t.Context(), store.SessionFilter{}, store.PageRequest{})
			if err == nil {
				for _, s := range page.Items {
					_, _ = o.Trees.ListNodes(t.Context(), s.ID, store.PageRequest{}) // an error is an answer
				}
			}
			if err := o.Close(); err != nil {
				t.Error(err)
			}
		}
	}
}

// Bytes of a session file may be others, or gone, or there twice: what can be read is
// one tree of nodes that can all be read.
func TestSpoiltLines(t *testing.T) {
	for _, file := range []string{"pi-session.jsonl", "claude-compacted.jsonl", "claude-torn-lines.jsonl"} {
		rng := rand.New(rand.NewPCG(5, 5))
		whole, err := os.ReadFile(testfiles.Copy(t, file))
		if err != nil {
			t.Fatal(err)
		}
		for round := range 60 {
			text := append([]byte(nil), whole...)
			for range 1 + rng.IntN(6) {
				at := rng.IntN(len(text))
				end := min(at+rng.IntN(200), len(text))
				switch rng.IntN(5) {
				case 0:
					text[at] = byte(rng.IntN(256))
				case 1:
					text = append(text[:at], text[end:]...)
				case 2:
					text = append(text[:end:end], text[at:]...)
				case 3:
					text = append(text[:at:at], append([]byte("\n\x00\xff{\"}]"), text[at:]...)...)
				case 4:
					clear(text[at:end])
				}
			}
			path := filepath.Join(t.TempDir(), "spoilt.jsonl")
			if err := os.WriteFile(path, text, 0o600); err != nil {
				t.Fatal(err)
			}
			o, err := Open(t.Context(), path, Options{})
			if err != nil {
				if errors.Is(err, store.ErrNotAStore) {
					continue // nothing of it is left that tells the format
				}
				t.Fatalf("%s, round %d: %v", file, round, err)
			}
			for id, nodes := range nodesOf(t, o) {
				roots := 0
				for _, n := range nodes {
					if n.ParentID == nil {
						roots++
					}
					if _, err := store.ParseJSON(string(n.Data)); err != nil {
						t.Fatalf("%s, round %d, %q: %v", file, round, n.ID, err)
					}
				}
				r, _, err := o.Foreign.Report(t.Context(), id)
				if err != nil || roots != 1 || r.Unreadable > 0 && len(r.Warnings) == 0 {
					t.Errorf("%s, round %d: %d roots, %+v, %v", file, round, roots, r, err)
				}
			}
			if err := o.Close(); err != nil {
				t.Error(err)
			}
		}
	}
}
