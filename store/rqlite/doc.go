// Package rqlite keeps both contracts in an rqlite cluster, through its HTTP API:
// executions on harel's six tables under any prefix, session trees on tables of the
// same shape as in SQLite files.
//
// # Writes
//
// A write is one request with one transaction, never queued. Its guard is a
// statement that fails unless the one before it has changed a row, so that a lost
// compare-and-swap rolls the whole transaction back and nothing of it remains. The
// request goes to the leader: a node that is none answers with a redirect, and the
// request is sent again there. It is sent again only where the answer says that
// nothing was done; where the answer was lost the outcome is
// [store.ErrOutcomeUnknown], and the same prepared value can be committed again.
//
// # Reads
//
// In a store that is open for writing, what decisions are made on is read at the
// level strong. Lists, counts and traces are for browsing: see [Options.Browse].
package rqlite
