package query

import (
	"context"
	"fmt"
	"runtime"
	"runtime/debug"
	"sync"
)

// Chunk is what [Run] found among the rows From <= i < To.
type Chunk struct {
	From, To int
	Hits     []int32 // ascending
	NoTime   int     // rows of which a time would have decided
}

// Bounds of Run's work.
const (
	// DefaultChunk is how many rows are decided on between two reports: 4096 titles
	// take about a millisecond.
	DefaultChunk = 4096
	// firstChunk is how many are in the first chunk; each is twice the one before, so
	// that the first hits need not wait for a whole one.
	firstChunk = 256
	// checkEvery is how many rows may pass before a cancelled context is noticed.
	checkEvery = 128
	// ahead is how many chunks each worker may be ahead of what was handed on.
	ahead = 4
)

// Run decides on the rows 0 <= i < n on all processors, up to chunk rows at a time
// (0: [DefaultChunk]), and hands on what was found in order, on the calling goroutine,
// as soon as it is known. worker is called once on each goroutine and returns what
// decides there, so that it can have a row of its own to fill.
//
// The first error of emit ends the run, and so does ctx, whose error is then
// returned. When Run returns, no worker runs any more. A panic in a worker becomes
// one of the caller.
func Run(ctx context.Context, n, chunk int, worker func() func(i int) Result, emit func(Chunk) error) error {
	if chunk <= 0 {
		chunk = DefaultChunk
	}
	size := min(chunk, firstChunk)
	workers := min(runtime.GOMAXPROCS(0), (n+size-1)/size)
	if workers <= 0 {
		return ctx.Err()
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	type job struct {
		chunk Chunk
		done  chan struct{}
	}
	todo, order := make(chan *job), make(chan *job, ahead*workers)
	var running sync.WaitGroup
	running.Go(func() {
		defer close(todo)
		defer close(order)
		for from := 0; from < n; size = min(2*size, chunk) {
			j := &job{Chunk{From: from, To: min(from+size, n)}, make(chan struct{})}
			from = j.chunk.To
			select {
			case order <- j:
			case <-ctx.Done():
				return
			}
			select {
			case todo <- j:
			case <-ctx.Done():
				return
			}
		}
	})
	for range workers {
		running.Go(func() {
			defer func() {
				if p := recover(); p != nil {
					cancel(&panicError{p, debug.Stack()})
				}
			}()
			decide := worker()
			for j := range todo {
				if !j.chunk.run(ctx, decide) {
					return
				}
				close(j.done)
			}
		})
	}
	err := func() error {
		for j := range order {
			select {
			case <-j.done:
			case <-ctx.Done():
				return context.Cause(ctx)
			}
			if err := emit(j.chunk); err != nil {
				return err
			}
		}
		return context.Cause(ctx)
	}()
	cancel(nil)
	running.Wait()
	if p, ok := err.(*panicError); ok { //nolint:errorlint // made above, not wrapped
		panic(p)
	}
	return err
}

// run decides on the chunk's rows. It reports whether it got to the end.
func (c *Chunk) run(ctx context.Context, decide func(int) Result) bool {
	for i := c.From; i < c.To; i++ {
		if (i-c.From)%checkEvery == 0 && ctx.Err() != nil {
			return false
		}
		switch decide(i) {
		case Yes:
			c.Hits = append(c.Hits, int32(i))
		case NoTime:
			c.NoTime++
		case No:
		}
	}
	return true
}

// panicError carries a worker's panic to the caller.
type panicError struct {
	value any
	stack []byte
}

func (p *panicError) Error() string {
	return fmt.Sprintf("panic while filtering: %v\n%s", p.value, p.stack)
}
