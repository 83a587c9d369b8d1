package locate

import (
	"context"
)

// openRqlite opens a store on rqlite by its URL, t.url.
func openRqlite(_ context.Context, t target, _ Options) (*Opened, error) {
	return nil, notBuilt(t)
}
