package redis

import (
	"context"
	"testing"

	"treering/store/storetest"
)

func openHost(ctx context.Context, locator string) (storetest.HostStore, error) {
	d, err := Open(ctx, Options{URL: locator, ReadWrite: true})
	if err != nil {
		return storetest.HostStore{}, err
	}
	return storetest.HostStore{Executions: d.Executions(), Trees: d.Trees(), Close: d.Close}, nil
}

// Two hosts with clocks of their own.
func TestHosts(t *testing.T) {
	s := startServer(t)
	openNew(t, s.url(0))
	storetest.TestHosts(t, s.url(0), openHost)
}
