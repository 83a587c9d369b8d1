package postgres

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"treering/store"
	"treering/store/postgres/pgserver"
)

// caughtUp waits until a standby has this version.
func caughtUp(t *testing.T, db *DB, id string, version int64) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for token := ""; ; {
		var err error
		token, err = db.Wait(ctx, token)
		must(t, err)
		if exe, err := db.Executions().Load(ctx, id); err == nil && exe.Version >= version {
			return
		}
	}
}

// A hot standby is read and never written, with the reason, and said to be behind when
// nothing reaches it; that it was promoted is noticed, and who opens it again writes.
func TestStandby(t *testing.T) {
	primary := pgserver.Start(t)
	ctx := t.Context()
	at := primary.Schema(t)
	db := openDB(t, Options{URL: at, ReadWrite: true, Create: true})
	exe := &store.Execution{ID: "e", DefinitionID: "d"}
	must(t, db.Executions().Save(ctx, exe))
	standby := primary.Standby(t)
	u, err := url.Parse(at)
	must(t, err)
	u.Host = standby.Addr()

	made := false
	r := openDB(t, Options{URL: u.String(), ReadWrite: true, Create: true, Announce: func([]string) error { made = true; return nil }})
	how, why := r.How()
	if made || r.Writable() || how != "read-only transactions" || !strings.Contains(why, "a replica (a standby), which takes no writes") {
		t.Errorf("made %t, writable %t, %s: %s", made, r.Writable(), how, why)
	}
	err = r.Executions().Save(ctx, &store.Execution{ID: "f", DefinitionID: "d"})
	if !errors.Is(err, store.ErrReadOnly) || !strings.Contains(err.Error(), "standby") {
		t.Errorf("a write: %v", err)
	}
	same(t, "noticing", r.Noticing(), "within 250ms of when it reaches the replica, by looking")
	one, err := db.Identity(ctx)
	must(t, err)
	other, err := r.Identity(ctx)
	must(t, err)
	same(t, "identity", other, one)
	for range 3 {
		must(t, db.Executions().Save(ctx, exe))
		caughtUp(t, r, "e", exe.Version)
	}
	page, err := r.Executions().ListExecutions(ctx, store.ExecutionFilter{}, store.PageRequest{})
	must(t, err)
	same(t, "listed", len(page.Items), 1)
	if since, why := r.Behind(); !since.IsZero() {
		t.Errorf("it follows, and is behind since %v: %s", since, why)
	}

	must(t, primary.Kill())
	token := waitUntil(t, r, "", func() bool { since, _ := r.Behind(); return !since.IsZero() })
	if _, why := r.Behind(); !strings.Contains(why, "nothing reaches from the one that it follows") {
		t.Errorf("behind: %s", why)
	}
	standby.Promote(t)
	waitUntil(t, r, token, func() bool { _, why := r.How(); return strings.Contains(why, "takes writes now: open it again") })
	if since, _ := r.Behind(); !since.IsZero() {
		t.Error("it follows nobody, and is behind")
	}
	if err := r.Executions().Save(ctx, exe); !errors.Is(err, store.ErrReadOnly) {
		t.Errorf("writing was armed by itself: %v", err)
	}
	again := openDB(t, Options{URL: u.String(), ReadWrite: true})
	must(t, again.Executions().Save(ctx, exe))
	caughtUp(t, r, "e", exe.Version)
}

// waitUntil waits for changes until something is so.
func waitUntil(t *testing.T, db *DB, token string, so func() bool) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for !so() {
		var err error
		if token, err = db.Wait(ctx, token); err != nil {
			t.Fatalf("it never comes to be: %v", err)
		}
	}
	return token
}

// A locator that names both goes on at the one that is left, as it was opened.
func TestFailover(t *testing.T) {
	primary := pgserver.Start(t)
	ctx := t.Context()
	at := primary.Schema(t)
	openDB(t, Options{URL: at, ReadWrite: true, Create: true})
	standby := primary.Standby(t)
	u, err := url.Parse(at)
	must(t, err)
	u.Host = standby.Addr() + "," + primary.Addr()
	q := u.Query()
	q.Set("target_session_attrs", "read-write")
	u.RawQuery = q.Encode()
	db := openDB(t, Options{URL: u.String(), ReadWrite: true})
	exe := &store.Execution{ID: "e", DefinitionID: "d"}
	must(t, db.Executions().Save(ctx, exe))
	caughtUp(t, openDB(t, Options{URL: strings.Replace(at, primary.Addr(), standby.Addr(), 1)}), "e", 1)
	must(t, primary.Kill())
	standby.Promote(t)
	const commits = 50
	must(t, countUp(ctx, db.Executions(), "e2", commits, func(int64) {}))
	for deadline := time.Now().Add(time.Minute); ; {
		if err = db.Executions().Save(ctx, exe); err == nil || time.Now().After(deadline) {
			break
		}
	}
	must(t, err)
	got, err := db.Executions().Load(ctx, "e2")
	must(t, err)
	same(t, "versions", fmt.Sprint(exe.Version, got.Version), fmt.Sprint(2, commits))
}
