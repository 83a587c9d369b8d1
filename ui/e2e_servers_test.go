//go:build !windows

package ui_test

import (
	"fmt"
	"testing"

	"treering/store"
	"treering/store/locate"
	"treering/store/postgres/pgserver"
)

// The explorer stays when its server is killed, says since when it is away, answers
// keys meanwhile, and shows what came to be once the server is there again.
func TestServerIsKilledUnderTheExplorer(t *testing.T) {
	bin := build(t)
	s := pgserver.Start(t)
	at := s.Schema(t)
	o, err := locate.Open(t.Context(), at, locate.Options{ReadWrite: true, Create: true})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := o.Close(); err != nil {
			t.Error(err)
		}
	}()
	save := func(id string) {
		t.Helper()
		for try := 0; ; try++ {
			err := o.Executions.Save(t.Context(), &store.Execution{ID: id, DefinitionID: "shop", Status: store.Running})
			if err == nil {
				return
			}
			if try == 100 {
				t.Fatal(err)
			}
		}
	}
	save("before-1")
	save("before-2")
	tm := shell(t, 80, 24, fmt.Sprintf("%s '%s'", bin, at))
	tm.waits("live", "before-1", "2 executions")
	if err := s.Kill(); err != nil {
		t.Fatal(err)
	}
	tm.waits("disconnected since", "before-1", "before-2")
	tm.keys("i")
	tm.waits("This store", "the server cannot be reached since")
	tm.keys("Escape")
	if err := s.Up(); err != nil {
		t.Fatal(err)
	}
	save("after-1")
	tm.waits("live", "after-1", "3 executions")
	tm.keys("q")
	tm.waits("ENDED 0 sane")
}
