package locate

import (
	"context"
)

// openRedis opens a store on Redis by its URL, t.url.
func openRedis(_ context.Context, t target, _ Options) (*Opened, error) {
	return nil, notBuilt(t)
}
