package postgres

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"treering/store"
	"treering/store/postgres/pgserver"
)

// A full disk refuses a commit whole, says so, and can be read; room is all it needs.
func TestFullDisk(t *testing.T) {
	s := pgserver.Start(t) // the disk goes after it
	for _, kind := range []string{"a disk", "a word"} {
		t.Run(kind, func(t *testing.T) {
			at := s.Schema(t)
			db := openDB(t, Options{URL: at, ReadWrite: true, Create: true, TraceMax: ptr(0)})
			room := func() { s.ExecOn(t, at, "DROP TRIGGER no_room ON harel_outbox") }
			fill := func() {
				s.ExecOn(t, at, `CREATE FUNCTION no_room() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'could not extend file: No space left on device' USING ERRCODE = '53100'; END $$;
CREATE TRIGGER no_room BEFORE INSERT ON harel_outbox EXECUTE FUNCTION no_room()`)
			}
			if kind == "a disk" {
				if err := s.SmallDisk(t, "small", 4<<20); err != nil {
					t.Skip(err)
				}
				s.ExecOn(t, at, "ALTER TABLE harel_outbox SET TABLESPACE small; CREATE TABLE ballast (t text) TABLESPACE small")
				fill = func() {
					s.ExecOn(t, at, `DO $$ BEGIN LOOP INSERT INTO ballast SELECT repeat('x', 5000) FROM generate_series(1, 10); END LOOP; EXCEPTION WHEN disk_full THEN NULL; END $$`)
				}
				room = func() { s.ExecOn(t, at, "DROP TABLE ballast; CHECKPOINT") }
			}
			testFullDisk(t, db, fill, room)
		})
	}
}

func testFullDisk(t *testing.T, db *DB, fill, room func()) {
	t.Helper()
	ctx, es, target := t.Context(), db.Executions(), "e"
	exe := &store.Execution{ID: "e", DefinitionID: "d"}
	long := store.JSON(fmt.Sprintf("%q", strings.Repeat("x", 100_000)))
	commit := func() error {
		mark := fmt.Sprintf("m-%d", exe.Version+1)
		// What goes to the disk cannot be packed into what is left of a page.
		_, err := es.Commit(ctx, store.Commit{
			Execution: exe, ProcessedEventID: &mark, Trace: "{}",
			Emits: []store.Emit{{TargetID: &target, Event: store.Event{ID: mark, Kind: "E", Data: store.ObjectOf(store.Member{Key: "x", Value: long})}}},
		})
		return err
	}
	for range 18 { // by the statement and by the function
		must(t, commit())
		_, err := es.AckOutbox(ctx, exe.Version)
		must(t, err)
	}
	fill()
	var err error
	want := exe.Version
	for range 2000 { // what is left of the room
		if err = commit(); err != nil {
			break
		}
		want = exe.Version
	}
	if err == nil || errors.Is(err, store.ErrOutcomeUnknown) || !errors.Is(err, ErrFull) || !strings.Contains(err.Error(), "disk is full, nothing was written") {
		t.Fatalf("a commit on a full disk: %v", err)
	}
	same(t, "version in hand", exe.Version, want)
	got, err := es.Load(ctx, "e")
	must(t, err)
	steps, err := es.ReadTrace(ctx, "e")
	must(t, err)
	done, err := es.IsProcessed(ctx, "e", fmt.Sprintf("m-%d", want+1))
	must(t, err)
	same(t, "what is there", fmt.Sprint(got.Version-want, int64(len(steps))-want, done), "0 0 false")
	if since := db.link.since; !since.IsZero() {
		t.Error("it answers, and counts as gone")
	}
	room()
	must(t, commit())
	same(t, "version", exe.Version, want+1)
}
