package postgres

import (
	"context"
	"testing"
	"time"

	"treering/store"
	"treering/store/storetest"
)

func openHost(ctx context.Context, locator string) (storetest.HostStore, error) {
	db, err := Open(ctx, Options{URL: locator, ReadWrite: true})
	if err != nil {
		return storetest.HostStore{}, err
	}
	return storetest.HostStore{Executions: db.Executions(), Trees: db.Trees(), Close: db.Close}, nil
}

// Two hosts with clocks of their own, and a server with another one still.
func TestHosts(t *testing.T) {
	s := server(t)
	at := s.Schema(t)
	s.ExecOn(t, at, `CREATE FUNCTION clock_timestamp() RETURNS timestamptz LANGUAGE sql AS $$ SELECT pg_catalog.clock_timestamp() + interval '3 hours' $$`)
	at += ",pg_catalog" // the schema's function is found first
	db := openDB(t, Options{URL: at, ReadWrite: true, Create: true})
	storetest.TestHosts(t, at, openHost)
	info, err := db.Trees().CreateSession(t.Context(), "s", "session", store.Seconds(60))
	must(t, err)
	if left := *info.ExpiresAt - float64(time.Now().Unix()); left < 3*3600+50 || left > 3*3600+70 {
		t.Errorf("it expires %.0f s from now by this clock, 3 hours behind the server's", left)
	}
}
