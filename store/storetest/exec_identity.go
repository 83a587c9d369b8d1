package storetest

import (
	"errors"
	"fmt"
	"sync"

	"treering/store"
)

func identityCases() []execCase {
	return []execCase{
		{
			name:    "one object in many hands",
			rule:    "where Load gives the stored object itself, goroutines may commit that object at once, its first insert included: none conflicts, each commit is a version of its own with all its parts, and what others see is always of one version",
			needs:   identity,
			options: ExecOptions{TraceMax: ptr(0)},
			run: func(b *execBundle) {
				const hands = 4
				each := size(100, 25)
				exe := fresh("hot")
				var fails failures
				stop := make(chan struct{})
				var observers sync.WaitGroup
				observers.Go(func() { fails.add(watchVersions(b, "hot", stop)) })
				together(hands, func(w int) {
					for n := range each {
						if _, err := b.s.Commit(b.ctx, full(exe, tag(n, w))); err != nil {
							fails.add(err)
							return
						}
						got, err := b.s.Load(b.ctx, "hot")
						if err != nil || got != exe {
							fails.add(fmt.Errorf("loaded %p instead of %p: %w", got, exe, err))
							return
						}
						fails.add(b.s.Save(b.ctx, got))
					}
				})
				close(stop)
				observers.Wait()
				b.ok(errors.Join(fails.errs...))
				b.equal("version", b.load("hot").Version, int64(2*hands*each))
				b.equal("outbox", len(b.outbox()), hands*each)
				b.equal("spawns", len(b.spawns()), hands*each)
				b.equal("timers", len(b.due(10)), hands*each)
				b.equal("trace", len(b.trace("hot")), hands*each)
				for w := range hands {
					for n := range each {
						b.equal("mark of "+tag(n, w), b.processed("hot", "processed-"+tag(n, w)), true)
					}
				}
			},
		},
	}
}

// watchVersions reads one execution as an observer until stop: its version never
// falls, and a snapshot is of the version beside it.
func watchVersions(b *execBundle, id string, stop <-chan struct{}) error {
	observed, snapshots := b.s.(store.Observed)
	if snapshots {
		defer observed.Observe()()
	}
	for last := int64(0); ; {
		select {
		case <-stop:
			return nil
		default:
		}
		listed, err := version(b, b.s, id)
		if err != nil {
			return err
		}
		if listed < last {
			return fmt.Errorf("version %d is listed after %d", listed, last)
		}
		last = listed
		if !snapshots {
			continue
		}
		sum, snapshot, err := observed.Snapshot(b.ctx, id)
		switch {
		case errors.Is(err, store.ErrNotFound) && listed == 0:
		case err != nil:
			return err
		case sum.Version < last:
			return fmt.Errorf("a summary of version %d after %d", sum.Version, last)
		case snapshot != nil && snapshot.Version != sum.Version:
			return fmt.Errorf("a snapshot of version %d beside a summary of %d", snapshot.Version, sum.Version)
		default:
			last = sum.Version
		}
	}
}
