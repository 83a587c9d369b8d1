package sqlite

import (
	"context"

	"zombiezen.com/go/sqlite"
)

// interruption ends what a connection does when a context ends. The connection's own
// SetInterrupt starts a goroutine for each context and waits for its end, which
// costs a short read a third of its time; here one goroutine stays with the
// connection, and another is started only when a context does end.
type interruption struct {
	conn  *sqlite.Conn
	ended chan struct{} // closed to interrupt; nil before the first read
}

// owned is what a [File] knows of an open connection.
type owned struct {
	source       *source
	interruption *interruption
}

// during makes the end of ctx interrupt the connection until the caller calls off,
// which also resets kept statements that stand in the middle of their rows.
func (i *interruption) during(ctx context.Context) (off func()) {
	if i.ended == nil {
		i.renew()
	}
	ended, fired := i.ended, make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		close(ended)
		close(fired)
	})
	return func() {
		if !stop() {
			<-fired
			i.renew()
		} else if i.conn.CheckReset() != "" {
			i.renew()
		}
	}
}

// renew takes an interrupt back. It waits until one under way is over.
func (i *interruption) renew() {
	i.ended = make(chan struct{})
	i.conn.SetInterrupt(i.ended)
}
