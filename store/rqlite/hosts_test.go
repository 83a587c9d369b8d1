package rqlite

import (
	"context"
	"os"
	"testing"
	"time"

	"treering/store/storetest"
)

func TestMain(m *testing.M) {
	storetest.HostMain(openHost)
	os.Exit(m.Run())
}

func openHost(ctx context.Context, locator string) (storetest.HostStore, error) {
	a, err := ParseAddress(locator)
	if err != nil {
		return storetest.HostStore{}, err
	}
	a.Timeout = 2 * time.Minute // the stand-in is slow under the race detector
	db, err := Open(ctx, Options{Address: a, ReadWrite: true})
	if err != nil {
		return storetest.HostStore{}, err
	}
	return storetest.HostStore{Executions: db.Executions(), Trees: db.Trees(), Close: db.Close}, nil
}

// Two hosts with clocks of their own, on three nodes with another one still.
func TestHosts(t *testing.T) {
	c := newStandIn(t, 3)
	c.skew = 3 * time.Hour
	openNew(t, c, Options{})
	storetest.TestHosts(t, c.locator(), openHost)
}
