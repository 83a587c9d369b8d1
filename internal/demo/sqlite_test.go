package demo_test

import (
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"treering/internal/demo"
	"treering/store/sqlite"
)

// A file must hold what memory holds, byte for byte.
func TestSeedOnSQLite(t *testing.T) {
	db, err := sqlite.Open(t.Context(), sqlite.Options{
		Path: filepath.Join(t.TempDir(), "demo.db"), ReadWrite: true, Create: true, Synchronous: "OFF", Now: now,
	})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	}()
	es, ts := db.Executions(), db.Trees()
	if err := demo.Seed(t.Context(), es, ts, demo.Options{Now: now, Seed: 1}); err != nil {
		t.Fatal(err)
	}
	inMemory, inTrees := seeded(t)
	if diff := cmp.Diff(dump(t, inMemory, inTrees), dump(t, es, ts)); diff != "" {
		t.Errorf("memory and file differ (-memory +file):\n%s", diff)
	}
}
