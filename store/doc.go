// Package store holds the two contracts that treering hosts and shows, and the
// values that cross them.
//
// An [ExecutionStore] keeps durable statechart executions: state under
// optimistic concurrency, and with every event one atomic commit of state,
// transactional outbox, dedupe mark, durable timers, spawn outbox and a trace
// ring. A [TreeStore] keeps immutable session trees: nodes with an id, a parent,
// a kind and a JSON object, appended idempotently by any number of actors.
//
// The package does no I/O. Backends implement the interfaces and prove it with
// the suites in store/storetest.
package store
