package demo

import (
	"context"
	"time"

	"treering/store"
)

// seedExecutions writes the twelve executions, the longest story last.
func seedExecutions(ctx context.Context, es store.ExecutionStore, now time.Time, seed int64) error {
	s := &seeder{ctx: ctx, es: es, now: now, dice: newDice(seed, 1)}
	s.stuckOrder()
	s.cancelledOrder()
	s.forkedOrder()
	s.unrelayedOrder()
	s.publishedBuild()
	s.suspendedBuild()
	s.pendingBuild()
	s.retryingBuild()
	return s.err
}

// executionIDs lists all of them.
func executionIDs() []string {
	return append(orderIDs(), "build-aurora", "build-basalt", "build-cobalt", "build-delta")
}

func (s *seeder) buildContext(repo, ref string, units int) fields {
	return fields{
		{Key: "repo", Value: object(fields{
			{Key: "url", Value: text("https://git.example/" + repo + ".git")}, {Key: "ref", Value: text(ref)}, {Key: "commit", Value: text(s.dice.hex()[:12])},
		})},
		{Key: "toolchain", Value: object(fields{{Key: "cc", Value: text("clang-19")}, {Key: "flags", Value: texts("-O2", "-g")}})},
		{Key: "attempt", Value: number(0)},
		{Key: "progress", Value: object(fields{{Key: "done", Value: number(0)}, {Key: "of", Value: number(units)}})},
		{Key: "last_error", Value: store.Null},
	}
}

// fetch brings a build to its first compilation.
func (s *seeder) fetch(m *machine, runner string) {
	m.start(100 * time.Millisecond)
	m.do(
		step{after: 5 * time.Second, kind: "Claimed", data: fields{{Key: "runner", Value: text(runner)}}, set: fields{
			{Key: "sandbox", Value: object(fields{{Key: "runner", Value: text(runner)}, {Key: "image", Value: text(s.dice.uuid())}})},
		}},
		step{after: 14 * time.Second, kind: "Fetched", data: fields{{Key: "bytes", Value: number(s.dice.between(20e6, 60e6))}}, set: fields{
			{Key: "attempt", Value: number(1)},
			{Key: "cache", Value: object(fields{{Key: "hits", Value: number(0)}, {Key: "misses", Value: number(0)}})},
		}},
	)
}

// progress reports that a compilation came to done units, most of them cached.
func (s *seeder) progress(after time.Duration, done int) step {
	hits := done * s.dice.between(70, 95) / 100
	return step{after: after, kind: "Progress", data: fields{{Key: "done", Value: number(done)}}, set: fields{
		{Key: "progress.done", Value: number(done)}, {Key: "cache.hits", Value: number(hits)}, {Key: "cache.misses", Value: number(done - hits)},
	}}
}

func compileFailed(after time.Duration, unit, message string, backoff time.Duration) step {
	return step{after: after, kind: "CompileFailed", delay: backoff,
		data: fields{{Key: "unit", Value: text(unit)}, {Key: "exit_code", Value: number(1)}},
		set: fields{
			{Key: "last_error", Value: object(fields{{Key: "unit", Value: text(unit)}, {Key: "message", Value: text(message)}})},
			{Key: "backoff_s", Value: number(int(backoff / time.Second))},
		}}
}

func compiled(after time.Duration, image string) step {
	return step{after: after, kind: "Compiled", data: fields{{Key: "image", Value: text(image)}}, set: fields{
		{Key: "sandbox.image", Value: text(image)}, {Key: "last_error", Value: store.Null},
	}}
}

// publishedBuild went through after one retry.
func (s *seeder) publishedBuild() {
	const units = 96
	b := s.create(buildChart(), "build-basalt", s.ago(2*time.Hour), 0, s.buildContext("basalt", "v2.4.1", units))
	s.fetch(b, "r-03")
	b.do(s.progress(6*time.Second, 31), s.progress(7*time.Second, 58),
		compileFailed(3*time.Second, "src/wal.c", "mirror answered 503", 5*time.Second))
	b.timeout("Building.Backoff", fields{{Key: "attempt", Value: number(2)}, {Key: "progress.done", Value: number(0)}})
	b.do(s.progress(2*time.Second, 58), s.progress(6*time.Second, units), compiled(4*time.Second, s.dice.uuid()),
		step{after: 75 * time.Second, kind: "TestsPassed", data: fields{{Key: "passed", Value: number(1184)}, {Key: "skipped", Value: number(9)}}, set: fields{
			{Key: "tests", Value: object(fields{{Key: "passed", Value: number(1184)}, {Key: "failed", Value: number(0)}})},
			{Key: "artifact", Value: text("registry.example/basalt:2.4.1")},
		}})
}

// suspendedBuild was stopped by hand in its tests. Its deadline has passed
// meanwhile, and a Promote that came too early is deferred.
func (s *seeder) suspendedBuild() {
	const units = 210
	b := s.create(buildChart(), "build-cobalt", s.ago(41*time.Minute), 1, s.buildContext("cobalt", "main", units))
	s.fetch(b, "r-01")
	b.do(s.progress(20*time.Second, 87), s.progress(21*time.Second, 166), s.progress(9*time.Second, units),
		compiled(6*time.Second, s.dice.uuid()),
		step{after: 40 * time.Second, kind: "Promote", data: fields{{Key: "channel", Value: text("stable")}, {Key: "by", Value: text("bo")}}})
	b.control(70*time.Second, store.Suspend)
}

// pendingBuild was created, but its Start is still in the outbox.
func (s *seeder) pendingBuild() {
	s.create(buildChart(), "build-delta", s.ago(3*time.Minute), 3, s.buildContext("delta", "release/1.9", 64))
}

// What fills retryingBuild's ring: the three first steps, retryCycles times six
// steps round the backoff, and five of the next: 260, of which a ring of 200 keeps
// the last.
const (
	retryCycles = 42
	retryUnits  = 412
)

// retryingBuild has been failing for hours: its trace ring has wrapped, and it
// waits for the next attempt.
func (s *seeder) retryingBuild() {
	failures := []struct{ unit, message string }{
		{"src/net/tls.c", "mirror answered 503"},
		{"src/net/tls.c", "mirror answered 503"},
		{"third_party/zlib/inflate.c", "checksum of the download differs"},
		{"src/net/quic.c", "linker killed at 7.6 GiB"},
	}
	// A cycle takes about 40 seconds and its backoff, which climbs to five minutes.
	backoff := func(attempt int) time.Duration {
		return min(5*time.Minute, 5*time.Second<<min(attempt, 6))
	}
	took := time.Minute
	for a := range retryCycles {
		took += 40*time.Second + 300*time.Millisecond + backoff(a)
	}
	b := s.create(buildChart(), "build-aurora", s.ago(took+2*time.Minute), 0, s.buildContext("aurora", "main", retryUnits))
	s.fetch(b, "r-02")
	for a := range retryCycles + 1 {
		stop := s.dice.between(250, retryUnits-20)
		for quarter := 1; quarter <= 4; quarter++ {
			b.do(s.progress(9*time.Second, stop*quarter/4))
		}
		f := failures[s.dice.between(0, len(failures)-1)]
		b.do(compileFailed(4*time.Second, f.unit, f.message, backoff(a)))
		if a < retryCycles {
			b.timeout("Building.Backoff", fields{
				{Key: "attempt", Value: number(a + 2)}, {Key: "progress.done", Value: number(0)}, {Key: "cache.hits", Value: number(0)}, {Key: "cache.misses", Value: number(0)},
			})
		}
	}
}
