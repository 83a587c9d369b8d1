package locate

import (
	"context"
)

// openPostgres opens a store on PostgreSQL by its URL, t.url.
func openPostgres(_ context.Context, t target, _ Options) (*Opened, error) {
	return nil, notBuilt(t)
}
