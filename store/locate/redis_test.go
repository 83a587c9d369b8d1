package locate

import (
	"errors"
	"strings"
	"testing"

	"github.com/alicebob/miniredis/v2"

	"treering/store"
)

// Nothing is made on a Redis server by looking, nothing is written unless that was asked
// for, and no password is shown.
func TestOpenRedis(t *testing.T) {
	m := miniredis.RunT(t)
	m.RequireAuth("hush")
	url := "redis://:hush@" + m.Addr()
	open := func(o Options) (*Opened, error) {
		opened, err := Open(t.Context(), url, o)
		if err == nil {
			t.Cleanup(func() {
				if err := opened.Close(); err != nil {
					t.Error(err)
				}
			})
		}
		return opened, err
	}
	for _, o := range []Options{{}, {ReadWrite: true}, {ReadOnly: true}} {
		if _, err := open(o); !errors.Is(err, store.ErrNotAStore) || strings.Contains(err.Error(), "hush") {
			t.Errorf("an empty server, %+v: %v", o, err)
		}
	}
	if keys := m.Keys(); len(keys) != 0 {
		t.Errorf("made by looking: %q", keys)
	}
	for _, o := range []Options{{Create: true}, {Create: true, ReadWrite: true, ReadOnly: true}} {
		if _, err := open(o); !errors.Is(err, store.ErrReadOnly) || !strings.Contains(err.Error(), "--rw --create") || len(m.Keys()) != 0 {
			t.Errorf("made without --rw, %+v: %v", o, err)
		}
	}
	made, err := open(Options{Create: true, ReadWrite: true})
	if err != nil {
		t.Fatal(err)
	}
	if err := made.Executions.Save(t.Context(), &store.Execution{ID: "e", DefinitionID: "d", Status: store.Running}); err != nil {
		t.Fatal(err)
	}
	again, err := open(Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := again.Count(t.Context()); err != nil {
		t.Fatal(err)
	}
	i := again.Info
	if !i.Ours || i.Writable || again.Trees == nil || len(i.Sets) != 1 || *i.Sets[0].Executions != 1 || *i.Sessions != 0 || strings.Contains(i.Locator+i.Name, "hush") {
		t.Errorf("our own store: %+v", i)
	}
	if err := again.Executions.Save(t.Context(), &store.Execution{ID: "f"}); !errors.Is(err, store.ErrReadOnly) || !strings.Contains(err.Error(), "--rw") {
		t.Errorf("our own store was written to unasked: %v", err)
	}
	if reading, err := open(Options{ReadWrite: true, ReadOnly: true}); err != nil || reading.Info.Writable {
		t.Errorf("for reading only: %v", err)
	}
	m.Del("treering:store")
	theirs, err := open(Options{})
	if err != nil {
		t.Fatal(err)
	}
	if theirs.Info.Ours || theirs.Info.Writable || theirs.Trees != nil || theirs.Transport == nil {
		t.Errorf("somebody else's: %+v", theirs.Info)
	}
	if err := theirs.Executions.Save(t.Context(), &store.Execution{ID: "f"}); !errors.Is(err, store.ErrReadOnly) {
		t.Errorf("it was written: %v", err)
	}
	if armed, err := open(Options{ReadWrite: true}); err != nil || !armed.Info.Writable {
		t.Errorf("with --rw: %v", err)
	}
	if err := m.Set("stm:exe:old", `{"id":"old","version":1}`); err != nil {
		t.Fatal(err)
	}
	var several *AmbiguousSetError
	if _, err := open(Options{}); !errors.As(err, &several) || len(several.Sets) != 2 {
		t.Errorf("two prefixes: %v", err)
	}
	if survey, err := open(Options{Survey: true}); err != nil || survey.Executions != nil || len(survey.Info.Sets) != 2 {
		t.Errorf("looked at: %v", err)
	}
	stm := "stm"
	if legacy, err := open(Options{Prefix: &stm}); err != nil || !legacy.Info.Sets[0].Open {
		t.Errorf("chosen: %v", err)
	}
}
